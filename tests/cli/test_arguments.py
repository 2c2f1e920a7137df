"""What the command line makes of words: each command's defaults, what options become, and exit statuses."""

from __future__ import annotations

import argparse
import errno
import io
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SAMPLES
from tfmemlens import cli, discovery, pipeline
from tfmemlens.cli import _options, _output, diff, run
from tfmemlens.cli.conv import sized
from tfmemlens.cli.main import main, parser
from tfmemlens.errors import UsageError
from tfmemlens.model.capture import Capture, Hints, Source
from tfmemlens.model.convolution import ConvolutionKind
from tfmemlens.model.difference import ComparedInput, Difference
from tfmemlens.renderers.view import View
from tfmemlens.units import MIB
from tfmemlens.use_cases import run as use_case

STEP = str(SAMPLES / "run_metadata" / "1.15-lenet.pb")

NOTHING = (None, False, [])
ASSUMED: dict[str, dict[str, Any]] = {
    "check x": {"input": "x"},
    "completion bash": {"shell": "bash"},
    "conv --input 2x8x9x3 --kernel 3x3x4": {
        "input": "2x8x9x3", "kernel": "3x3x4", "padding": "same", "strides": "1", "dilations": "1",
        "dtype": "float32", "tf": "2.21", "device": "cpu",
    },
    "diff a b": {"before": "a", "after": "b", "output": "-"},
    "estimate m": {"model": "m", "batch": 32, "mode": "training", "device": "cpu"},
    "explain": {"input": ["-"]},
    "export x --format speedscope": {"input": ["x"], "format": "speedscope", "output": "-"},
    "fit x": {"input": ["x"], "seconds": 300},
    "layout": {"gpu": "sm_61", "python": sys.executable, "passes": "default"},
    "plot x -o f": {"input": ["x"], "output": "f", "by": "kind", "dpi": 150},
    "profile x": {"input": ["x"]},
    "report x": {"input": ["x"]},
    "rules": {},
    "run -- x": {"command": ["--", "x"]},
    "schema": {"name": "report"},
}  # fmt: skip


def parsed(words: str) -> dict[str, Any]:
    command, *rest = words.split()
    found = vars(parser(command).parse_args([command, *rest]))
    found.pop("run")
    return found


@pytest.mark.parametrize("words", ASSUMED)
def test_what_a_command_assumes(words: str) -> None:
    """Nothing of what nobody said but this."""
    given = {name: value for name, value in parsed(words).items() if value not in NOTHING}
    assert given.pop("form", "terminal") == "terminal"
    assert given == ASSUMED[words]


def test_no_command_is_left_out() -> None:
    """`fleet` assumes nothing itself: its commands do."""
    assert {words.split()[0] for words in ASSUMED} | {"fleet"} == set(discovery.names(cli))


@pytest.mark.parametrize(
    "words", ["plot x", "export x", "conv --input i", "conv --kernel k", "diff a", "fit"]
)
def test_what_is_required(words: str) -> None:
    with pytest.raises(UsageError, match="required"):
        parsed(words)


@pytest.mark.parametrize(
    "words, name, value",
    [
        ("estimate m --no-jit", "jit", False),
        ("estimate m --onednn --jit", "onednn", True),
        ("estimate m --tensorflow", "tensorflow", True),
        ("estimate m --fetch a --fetch b", "fetch", ["a", "b"]),
        ("estimate m --input-shape 2 --input-shape 3", "input_shape", ["2", "3"]),
        ("layout g --try a --try b", "tries", ["a", "b"]),
        ("layout --print-exporter", "print_exporter", True),
        ("profile x --csv-raw", "csv_raw", True),
        ("profile x --step 3", "step", 3),
        ("fit x --step 3", "step", 3),
        ("report x -o f --together", "together", True),
        ("explain a --trace b --trace c", "trace", ["b", "c"]),
        ("explain --all", "all", True),
        ("explain --full", "full", True),
        ("fit x --full", "full", True),
        ("diff a b --top 1", "top", 1),
        ("run --out o -- a --out b", "command", ["--", "a", "--out", "b"]),
    ],
)
def test_what_an_option_becomes(words: str, name: str, value: object) -> None:
    assert parsed(words)[name] == value


@pytest.mark.parametrize("text, number", [("1", 1), ("01", 1), ("64", 64)])
def test_a_count(text: str, number: int) -> None:
    assert _options.count(text) == number


@pytest.mark.parametrize("text", ["0", "-1", "", "1.5", "x"])
def test_no_count(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        _options.count(text)


def arguments(**given: Any) -> argparse.Namespace:
    unsaid = dict.fromkeys(("input_shape", "batch", "limit", "threads", "l3", "onednn", "jit"))
    return argparse.Namespace(**{**unsaid, **given})


def test_conditions_as_the_settings_have_them() -> None:
    given = arguments(threads=3, l3="2MiB", onednn=False, jit=True)
    assert _options.conditions(given) == {"workers": 3, "l3_bytes": 2 * MIB, "onednn": False, "jit": True}
    assert set(_options.conditions(arguments()).values()) == {None}
    with pytest.raises(UsageError, match="--l3"):
        _options.conditions(arguments(l3="much"))


def test_hints_as_a_value() -> None:
    given = arguments(input_shape="2x3", limit="1GiB", batch=5, tag="t", step=7, graph="g")
    assert _options.hints(given) == Hints((2, 3), 5, 1 << 30, "t", 7, graph="g")
    assert _options.hints(arguments()) == Hints()
    for wrong in ({"input_shape": "fish"}, {"limit": "fish"}):
        with pytest.raises(UsageError):
            _options.hints(arguments(**wrong))


class Stream(io.StringIO):
    """What a program prints to: a terminal or none, with an encoding or without."""

    def __init__(self, tty: bool, encoding: str | None = "utf-8") -> None:
        super().__init__()
        self._tty, self._encoding = tty, encoding

    def isatty(self) -> bool:
        return self._tty

    @property
    def encoding(self) -> str | None:  # type: ignore[override]
        return self._encoding


def shown_on(
    monkeypatch: pytest.MonkeyPatch,
    stream: Stream,
    columns: int = 100,
    given: dict[str, Any] | None = None,
    **names: str,
) -> View:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {**names, "COLUMNS": str(columns), "LINES": "24"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stdout", stream)
    return _options.view(argparse.Namespace(**(given or {})))


@pytest.mark.parametrize("columns, width", [(59, 60), (60, 60), (61, 61), (159, 159), (160, 160), (161, 160)])
def test_a_terminals_width(columns: int, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown_on(monkeypatch, Stream(True), columns).width == width
    assert shown_on(monkeypatch, Stream(False), columns).width == 80


def test_a_terminal_that_tells_no_width_has_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown_on(monkeypatch, Stream(True), 0).width == 80


@pytest.mark.parametrize(
    "tty, names, color",
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"NO_COLOR": ""}, True),
        (True, {"TERM": "dumb"}, False),
        (True, {"TERM": "xterm"}, True),
        (False, {"FORCE_COLOR": "1"}, True),
        (True, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, True),
        (False, {"FORCE_COLOR": "0"}, False),
        (False, {"FORCE_COLOR": ""}, False),
    ],
)
def test_colour(tty: bool, names: dict[str, str], color: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown_on(monkeypatch, Stream(tty), **names).color is color


@pytest.mark.parametrize(
    "encoding, drawn", [("utf-8", True), ("ascii", False), ("no-such", False), (None, False)]
)
def test_letters_that_draw(encoding: str | None, drawn: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown_on(monkeypatch, Stream(True, encoding)).unicode is drawn


@pytest.mark.parametrize(
    "given, full",
    [
        ({}, False),
        ({"full": True}, True),
        ({"full": False, "top": None, "by": None, "all": False}, False),
        ({"top": 3}, True),
        ({"by": "kind"}, True),
        ({"all": True}, False),
    ],
)
def test_what_asks_for_everything(given: dict[str, Any], full: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    view = shown_on(monkeypatch, Stream(False), given=given)
    assert view.full is full
    assert (view.top, view.by, view.all_moments) == (
        given.get("top") or 8,
        given.get("by"),
        given.get("all", False),
    )


@pytest.mark.parametrize(
    "tty, columns, names, expected",
    [
        (False, 100, {}, (80, False)),
        (True, 100, {}, (100, True)),
        (True, 10, {}, (60, True)),
        (True, 999, {}, (160, True)),
        (True, 0, {}, (80, True)),
        (True, 100, {"NO_COLOR": "1"}, (100, False)),
        (True, 100, {"TERM": "dumb"}, (100, False)),
        (False, 100, {"FORCE_COLOR": "1"}, (80, False)),  # somebody's program: nothing is forced on it
    ],
)
def test_the_page_below_a_program(
    tty: bool,
    columns: int,
    names: dict[str, str],
    expected: tuple[int, bool],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[View] = []
    monkeypatch.setattr(_options.renderers, "render", lambda *given: asked.append(given[3]) or "page\n\n")
    shown_on(monkeypatch, Stream(False), columns, **names)
    assert _options.short_page(None, Stream(tty)) == "page"
    assert (asked[0].width, asked[0].color, asked[0].unicode) == (*expected, True)


def conv(words: str) -> argparse.Namespace:
    return argparse.Namespace(**parsed(f"conv {words}"))


@pytest.mark.parametrize(
    "words, kind, kernel, filters",
    [
        ("--input 2x8x9x3 --kernel 3x4x5", "conv", (3, 4), 5),
        ("--input 2x8x9x3 --kernel 3x4x3x5", "conv", (3, 4), 5),
        ("--input 2x8x9x3 --kernel 3x4x5 --kind CONV2D", "conv", (3, 4), 5),
        ("--input 2x7x8x9x3 --kernel 2x3x4x5", "conv3d", (2, 3, 4), 5),
        ("--input 2x7x8x9x3 --kernel 2x3x4x3x5", "conv3d", (2, 3, 4), 5),
        ("--input 2x7x8x9x3 --kernel 2x3x4x5 --kind conv", "conv3d", (2, 3, 4), 5),
        ("--input 2x7x8x9x3 --kernel 2x3x4x5 --kind deconv", "transposed", (2, 3, 4), 5),
        ("--input 2x8x9x3 --kernel 3x4 --kind depthwise", "depthwise", (3, 4), 1),
        ("--input 2x8x9x3 --kernel 3x4x2 --kind depthwise", "depthwise", (3, 4), 2),
        ("--input 2x8x9x3 --kernel 3x4x3x5 --kind transposed", "transposed", (3, 4), 5),
        ("--input 2x8x9x3 --kernel 3x4x5x3 --kind transposed", "transposed", (3, 4), 5),
        ("--input 2x8x9x1 --kernel 1x1x1 --kind conv", "conv", (1, 1), 1),
    ],
)
def test_a_kernel_as_it_is_written(words: str, kind: str, kernel: tuple[int, ...], filters: int) -> None:
    found = sized(conv(words)).convolution
    assert (found.kind, found.kernel, found.filters) == (ConvolutionKind(kind), kernel, filters)


@pytest.mark.parametrize(
    "words, said",
    [
        ("--input 8x64x64 --kernel 3x3x8", "3 sizes"),
        ("--input 1x2x3x4x5x6 --kernel 3x3x8", "6 sizes"),
        ("--input 2x8x9x3 --kernel 3x4", "hint: write KHxKWxFILTERS, such as 3x3x16, or KHxKWxCHANNELS"),
        ("--input 2x7x8x9x3 --kernel 3x4", "hint: write KDxKHxKWxFILTERS, such as 3x3x3x16"),
        ("--input 2x7x8x9x3 --kernel 3x4", "2 sizes for an input of 5"),
        ("--input 2x8x9x3 --kernel 3x4x5x3", "for 5 channels, the input has 3"),
        ("--input 2x8x9x3 --kernel 3x3x3 --kind conv3d", "an input of 5 sizes, not 4"),
        ("--input 2x7x8x9x3 --kernel 3x3x3 --kind depthwise", "an input of 4 sizes, not 5"),
        ("--input 2x8x9x3 --kernel 3x3x0", "needs sizes of 1 or more"),
        ("--input 2x8x9x3 --kernel 3x3x4 --strides 2x2x2", "--strides has 3 sizes"),
        ("--input 2x8x9x3 --kernel 3x3x4 --strides 2x2x2x2", "--strides has 4 sizes"),
        ("--input 2x8x9x3 --kernel 9x3x4 --padding valid", "does not fit"),
    ],
)  # fmt: skip
def test_what_a_kernel_cannot_be(words: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        sized(conv(words))
    assert said in str(refused.value)


@pytest.mark.parametrize(
    "text, strides", [("2", (2, 2)), ("2x3", (2, 3)), ("1x2x3x1", (2, 3)), ("1x1x1x1", (1, 1))]
)
def test_sizes_for_each_axis(text: str, strides: tuple[int, ...]) -> None:
    found = sized(conv(f"--input 2x8x9x3 --kernel 3x4x5 --strides {text} --dilations {text}")).convolution
    assert found.strides == found.dilations == strides


def test_a_kernel_as_large_as_its_input_fits() -> None:
    assert sized(conv("--input 2x8x9x3 --kernel 8x9x5 --padding VALID")).convolution.padding == "valid"
    assert sized(conv("--input 2x8x9x3 --kernel 99x9x5 --padding same")).convolution.kernel == (99, 9)
    larger = conv("--input 2x8x9x3 --kernel 99x9x5 --padding valid --kind transposed")
    assert sized(larger).convolution.kernel == (99, 9)  # its output is what the kernel must fit into


@pytest.mark.parametrize(
    "words, expected",
    [
        ("--tf 2.8", ((2, 8), False)),
        ("--tf 2.9", ((2, 9), True)),
        ("--tf 2.9 --no-onednn", ((2, 9), False)),
        ("--tf 2.5 --onednn", ((2, 5), True)),
        ("--tf 2.9 --device gpu", ((2, 9), False)),
        ("--tf 2.9 --device GPU --onednn", ((2, 9), False)),
        ("--tf 0.12", ((0, 12), False)),
        ("--tf 1.15.5", ((1, 15), False)),
        ("--tf 2.10rc1", ((2, 10), True)),
        ("--tf 2.10-gpu", ((2, 10), True)),
    ],
)
def test_a_setting(words: str, expected: tuple[tuple[int, int], bool]) -> None:
    setting = sized(conv(f"--input 2x8x9x3 --kernel 3x3x4 --threads 3 --l3 1MiB {words}")).setting
    assert (setting.version, setting.onednn) == expected
    assert (setting.threads, setting.l3_bytes) == (3, MIB)


@pytest.mark.parametrize(
    "words", ["--tf 2.4 --onednn", "--tf 3.0", "--tf 2", "--tf 2.x", "--threads 0", "--device tpu"]
)
def test_what_is_no_setting(words: str) -> None:
    with pytest.raises(UsageError):
        sized(conv(f"--input 2x8x9x3 --kernel 3x3x4 {words}"))


@pytest.mark.parametrize("processors, threads", [(6, 6), (None, 1)])
def test_threads_are_this_machines(
    processors: int | None, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: processors)
    assert sized(conv("--input 2x8x9x3 --kernel 3x3x4")).setting.threads == threads


@pytest.mark.parametrize(
    "text, allowed",
    [(None, None), ("5%", 0.05), (" .5 % ", 0.005), ("0%", 0.0), ("64MiB", 64 * MIB), ("0", 0), (" 0 ", 0)],
)
def test_how_much_may_be_added(text: str | None, allowed: float | None) -> None:
    found = diff._allowed(text)
    assert found == allowed
    assert type(found) is type(allowed)


@pytest.mark.parametrize(
    "before, after, allowed, exceeds",
    [
        (100, 200, None, False),
        (100, 106, 0.05, True),
        (100, 105, 0.05, False),  # by more than this, not by this
        (100, 106, 5, True),
        (100, 105, 5, False),
        (100, 101, 0, True),
        (100, 100, 0, False),
        (100, 90, 0.0, False),
        (0, 1, 0.5, True),
    ],
)
def test_whether_it_grew_by_more(before: int, after: int, allowed: float | None, exceeds: bool) -> None:
    sides = [ComparedInput("x", "peak", total, 0, {}) for total in (before, after)]
    assert diff._exceeds(Difference(sides[0], sides[1], (), (), ()), allowed) is exceeds


class TestStatuses:
    def test_words_come_from_the_command_line(self, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
        monkeypatch.setattr(sys, "argv", ["tfmemlens", "schema", "diff"])
        assert main() == 0
        assert '"tfmemlens.diff/1"' in capsys.readouterr().out

    @pytest.mark.parametrize("raised, status", [(KeyboardInterrupt, 130), (UsageError, 2)])
    def test_what_ends_a_command(
        self, raised: type[BaseException], status: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def ended(*_: object, **__: object) -> None:
            raise raised("x")

        monkeypatch.setattr(pipeline, "explain", ended)
        assert main(["explain", "x"]) == status

    def test_a_reader_that_has_seen_enough(self) -> None:
        """`tfmemlens rules | head`: in a process of its own, whose output is closed at once."""
        reading, writing = os.pipe()
        os.close(reading)
        child = os.fork()
        if not child:
            os.dup2(writing, 1)
            sys.stdout = os.fdopen(1, "w")
            os._exit(main(["schema"]))
        os.close(writing)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

    @pytest.mark.parametrize(
        "error, name, status, said",
        [
            (FileNotFoundError(errno.ENOENT, "No such file"), "nothing", 127, "check the name and PATH"),
            (FileNotFoundError(errno.ENOENT, "No such file"), "gone.py", 127, "check the name and PATH"),
            (
                PermissionError(errno.EACCES, "Permission denied"),
                "data",
                126,
                "is it a program, and executable?",
            ),
            (
                PermissionError(errno.EACCES, "Permission denied"),
                "train.py",
                126,
                "tfmemlens run -- python train.py a",
            ),
            (OSError("odd"), "data", 126, "data cannot be run: odd"),
        ],
    )
    def test_a_program_that_does_not_start(
        self, error: OSError, name: str, status: int, said: str, tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    ) -> None:  # fmt: skip
        def refused(*_: object) -> None:
            raise error

        monkeypatch.chdir(tmp_path)
        Path("train.py").touch()
        monkeypatch.setattr(use_case, "run", refused)
        assert main(["run", "--", name, "a"]) == status
        assert said in capsys.readouterr().err

    @pytest.mark.parametrize("words", ["run", "run --"])
    def test_no_program(self, words: str) -> None:
        assert main(words.split()) == 2

    def test_a_program_that_failed_for_memory(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        report = pipeline.report(Capture(Source("x")))
        asked: list[Any] = []

        def ended(command: list[str], out: str | None, *_: object) -> use_case.RunOutcome:
            asked.append((command, out))
            return use_case.RunOutcome(7, report, str(tmp_path), ("one thing was lost",))

        monkeypatch.setattr(use_case, "run", ended)
        monkeypatch.setattr(_options, "short_page", lambda *_: "THE PAGE")
        monkeypatch.chdir(tmp_path.parent)
        assert main(["run", "--", "--", "x"]) == 7
        assert main(["run", "x", "--", "y"]) == 7
        assert [each for each, _ in asked] == [["--", "x"], ["x", "--", "y"]]
        said = capsys.readouterr().err.splitlines()
        kept = f"tfmemlens: this is kept: `tfmemlens explain {tmp_path.name}`"
        assert said[:4] == ["", "THE PAGE", "tfmemlens: one thing was lost", kept]
        (tmp_path / "report.html").touch()
        assert main(["run", "--out", str(tmp_path), "--", "x"]) == 7
        assert capsys.readouterr().err.splitlines()[-1] == (
            f"tfmemlens: this is kept: `tfmemlens explain {tmp_path}`, {tmp_path}/report.html"
        )

    def test_other_systems_have_no_run(self, monkeypatch: pytest.MonkeyPatch) -> None:
        namespace = argparse.Namespace(command=["x"], out=None)
        monkeypatch.setattr(run.os, "name", "nt")
        with pytest.raises(UsageError, match="Linux"):
            run.run(namespace)

    def test_steps_that_are_listed_or_not_there(self, tmp_path: Path) -> None:
        assert main(["profile", "--list", STEP]) == 0
        assert main(["profile", "--list", str(tmp_path)]) == 1
        (tmp_path / "fine.log").write_text("step 1\n")
        assert main(["explain", str(tmp_path / "fine.log")]) == 1

    def test_a_step_written_as_csv_alone(
        self, capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path
    ) -> None:
        assert main(["profile", STEP, "--csv", "-"]) == 0
        table = capfdbinary.readouterr().out
        assert b"size_bytes" in table.splitlines()[0]
        assert b"LARGEST HOLDERS" not in table
        assert main(["profile", STEP, "--csv", str(tmp_path / "x.csv")]) == 0
        assert (tmp_path / "x.csv").read_bytes() == table
        assert capfdbinary.readouterr().out  # the page, beside the file


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written: No such file or directory"):
        _output.write("x", str(tmp_path / "no" / "x"))


def test_a_standard_output_of_text_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    told = io.StringIO()
    monkeypatch.setattr(sys, "stdout", told)
    _output.write("größe\n", "-")
    _output.write(b"bytes\n", "-")
    assert told.getvalue() == "größe\nbytes\n"
