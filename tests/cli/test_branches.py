"""Each way through a command: what it prints, what it is asked for, its exit status."""

from __future__ import annotations

import argparse
import io
import struct
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SAMPLES
from tfmemlens import renderers
from tfmemlens.cli import _options, _output, check, explain, plot, run
from tfmemlens.cli.main import main, parser
from tfmemlens.errors import UsageError
from tfmemlens.model.case import Fits
from tfmemlens.use_cases import check as check_use_case
from tfmemlens.use_cases import run as run_use_case

TRACE = str(SAMPLES / "fit" / "1.15-lenet-b32.pb.gz")
LARGER = str(SAMPLES / "fit" / "1.15-lenet-b64.pb.gz")
LOG = str(SAMPLES / "oom_log" / "1.10-founding-question-unet.txt")


@pytest.mark.parametrize(
    "text, share",
    [("3%", 0.03), (" 3% ", 0.03), ("100%", 1.0), ("0.03", 0.03), ("9", 9.0), ("0", 0.0), ("0%", 0.0)],
)
def test_a_growth_is_a_share(text: str, share: float) -> None:
    assert check._share(text) == pytest.approx(share)


@pytest.mark.parametrize("text", ["-1", "-0.1%", "inf", "nan", "", "%", "x", "3%%"])
def test_no_growth(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        check._share(text)


@pytest.mark.parametrize(
    "text, layer",
    [("a=2KiB", ("a", 2048)), ("encoder/*=1MiB", ("encoder/*", 1 << 20)), ("a=b=2KiB", ("a=b", 2048))],
)
def test_a_layer_with_its_size(text: str, layer: tuple[str, int]) -> None:
    assert check._layer(text) == layer


@pytest.mark.parametrize("text", ["=1GiB", "a", "a=", "a=x", ""])
def test_no_layer_with_a_size(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        check._layer(text)


@pytest.mark.parametrize(
    "answers, status",
    [
        ([], 0),
        ([Fits.YES, Fits.YES], 0),
        ([Fits.YES, Fits.UNDECIDED], 3),
        ([Fits.UNDECIDED, Fits.NO], 1),
        ([Fits.NO, Fits.YES], 1),
    ],
)
def test_the_exit_status_of_answers(answers: list[Fits], status: int) -> None:
    assert check._status(answers) == status


@pytest.mark.parametrize(
    "words, growth", [((), 0.0), (("--max-growth", "3%"), 0.03), (("--max-growth", "0"), 0.0)]
)
def test_a_baseline_allows_no_growth_unless_told(
    words: tuple[str, ...], growth: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(check_use_case, "budgets", lambda *given: asked.append(given) or [])
    assert main(["check", TRACE, "--baseline", LARGER, *words]) == 0
    ((_, peak, layers, before, allowed),) = asked
    assert (peak, layers, before[0], allowed) == (None, [], LARGER, growth)


@pytest.mark.parametrize("said, annotated", [("true", True), ("1", False), (None, False)])
def test_annotations_where_github_runs_it(
    said: str | None, annotated: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    if said:
        monkeypatch.setenv("GITHUB_ACTIONS", said)
    main(["check", TRACE, "--max-peak", "1MiB"])
    assert ("::error" in capsys.readouterr().out) is annotated


def test_junit_on_standard_output_stands_alone(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["check", TRACE, "--max-peak", "1MiB", "--junit", "-"]) == 1
    printed = capsysbinary.readouterr().out
    assert printed.startswith(b"<?xml") and b"OVER" not in printed.split(b"</testsuite")[-1]


# ------------------------------------------------------------------ shared options


@pytest.mark.parametrize("text, size", [("1B", 1), ("2KiB", 2048), ("1025", 1025)])
def test_a_size(text: str, size: int) -> None:
    assert _options.size(text) == size


@pytest.mark.parametrize("text", ["0", "0B", "0GiB", "x", "", "-1MiB"])
def test_no_size(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        _options.size(text)


def test_forms_stand_under_output_unless_they_stand_among_the_options() -> None:
    def help_of(command: str) -> str:
        (commands,) = (
            each for each in parser(command)._actions if isinstance(each, argparse._SubParsersAction)
        )
        return commands.choices[command].format_help()

    assert "\noutput:\n" in help_of("explain")
    assert "\noutput:\n" not in help_of("diff")
    assert "--json" in help_of("diff") and "--json" in help_of("explain")


def test_only_the_terminals_form_has_its_colours_and_width(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(renderers, "render", lambda *given: seen.append(given[2:]) or "")
    monkeypatch.setenv("FORCE_COLOR", "1")
    for form in (renderers.DEFAULT, "json", "markdown"):
        _options.render(None, argparse.Namespace(form=form), "report")
    _options.render(None, argparse.Namespace(form="junit"), "report")
    assert [(form, view.color) for form, view in seen] == [
        ("terminal", True), ("json", False), ("markdown", False), ("terminal", True),
    ]  # fmt: skip


def test_a_picture_has_150_dots_an_inch(tmp_path: Path) -> None:
    class Drawn:
        def savefig(self, path: str, dpi: int) -> None:
            if path.endswith(".odd"):
                raise ValueError("no such format")
            Path(path).write_text(str(dpi))

    drawn: Any = Drawn()
    _output.draw(drawn, str(tmp_path / "a.png"))
    _output.draw(drawn, str(tmp_path / "b.png"), 72)
    assert [(tmp_path / name).read_text() for name in ("a.png", "b.png")] == ["150", "72"]
    with pytest.raises(UsageError):
        _output.draw(drawn, str(tmp_path / "a.odd"))
    with pytest.raises(UsageError):
        _output.draw(drawn, str(tmp_path / "no" / "a.png"))


def test_a_convolutions_picture_is_drawn_with_150_dots(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    file = tmp_path / "a.png"
    assert main(["conv", "--input", "1x8x8x3", "--kernel", "3x3x4", "--plot", str(file)]) == 0
    (dots,) = struct.unpack(">I", file.read_bytes().partition(b"pHYs")[2][:4])
    assert round(dots * 0.0254) == 150


@pytest.mark.parametrize(
    "text, size",
    [("7x4", (7, 4)), ("7×4", (7, 4)), (" 3.5 x 2.5 ", (3.5, 2.5)), ("1x1", (1, 1)), ("100x100", (100, 100))],
)
def test_inches(text: str, size: tuple[float, float]) -> None:
    assert plot._inches(text) == size


@pytest.mark.parametrize(
    "text", ["7", "0.9x4", "4x0.9", "100.5x4", "4x100.5", "1000x4", "x", "-7x4", "7x4x2"]
)
def test_no_inches(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        plot._inches(text)


# ------------------------------------------------------------------ rules


def test_the_list_of_rules_has_two_lines_each(capsys: pytest.CaptureFixture[str]) -> None:
    from tfmemlens import findings

    assert main(["rules"]) == 0
    lines = capsys.readouterr().out.splitlines()
    slugs = list(findings.rules())
    width = max(map(len, slugs))
    for number, slug in enumerate(slugs):
        first, second = lines[2 * number : 2 * number + 2]
        assert first[: width + 2].split() == [slug] and first[width + 2] != " "
        assert second.startswith(" " * (width + 2) + "evidence: ")


def test_the_page_of_a_rule(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", " Layout_Optimizer_Copies "]) == 0
    page = capsys.readouterr().out
    assert page.startswith("layout-optimizer-copies\n\n") and "What ranks it: evidence " in page


@pytest.mark.parametrize(
    "name, hint", [("chunk-slak", "did you mean chunk-slack?"), ("zzz", "`tfmemlens rules` lists them all")]
)
def test_a_rule_that_there_is_not(name: str, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", name]) == 2
    assert hint in capsys.readouterr().err


# ------------------------------------------------------------------ explain, profile


class Terminal(io.StringIO):
    """Standard input that somebody types into."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    "given, typed, asked", [(["-"], True, True), (["-"], False, False), (None, True, False)]
)
def test_somebody_who_types_is_told_how_to_end(
    given: list[str] | None, typed: bool, asked: bool, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], tmp_path: Path,
) -> None:  # fmt: skip
    file = tmp_path / "a.txt"
    file.write_text("nothing\n")
    monkeypatch.setattr(explain.pipeline, "explain", lambda *_: (_ for _ in ()).throw(UsageError("x", "y")))
    monkeypatch.setattr(sys, "stdin", Terminal() if typed else io.StringIO())
    main(["explain", *(given or [str(file)])])
    assert ("Ctrl-D" in capsys.readouterr().err) is asked


def test_the_csv_has_the_rows_alone(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    for raw in ((), ("--csv-raw",)):
        assert main(["profile", TRACE, "--csv", "-", *raw]) == 0
        first, *rest = capsysbinary.readouterr().out.decode().splitlines()
        assert first.startswith("node,") and not rest[0].startswith("0,")
        assert all(line.count(",") >= first.count(",") for line in rest)


# ------------------------------------------------------------------ run


@pytest.mark.parametrize("text, number", [("1", 1), ("20", 20)])
def test_an_interval(text: str, number: int) -> None:
    assert run._interval(text) == number


@pytest.mark.parametrize("text", ["0", "-1", "x", "", "1.5"])
def test_no_interval(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        run._interval(text)


@pytest.mark.parametrize(
    "words, asked",
    [
        (["--", "a", "--", "b"], (["a", "--", "b"], None, False, None)),
        (["a", "b"], (["a", "b"], None, False, None)),
        (["--trace", "--", "a"], (["a"], None, True, None)),
        (["--trace=5", "--out", "o", "--", "a"], (["a"], "o", True, 5)),
    ],
)
def test_what_a_run_is_asked(
    words: list[str], asked: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []

    def ran(*given: Any) -> run_use_case.RunOutcome:
        seen.append(given)
        return run_use_case.RunOutcome(7)

    monkeypatch.setattr(run_use_case, "run", ran)
    assert main(["run", *words]) == 7
    assert seen == [asked]


def test_what_stands_below_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tfmemlens import pipeline

    report = pipeline.explain(LOG)
    monkeypatch.chdir(tmp_path)
    kept = tmp_path / "my run"
    kept.mkdir()
    for outcome, last in (
        (
            run_use_case.RunOutcome(1, None, str(kept), ("no disk",)),
            "tfmemlens: this is kept: `tfmemlens explain 'my run'`",
        ),
        (run_use_case.RunOutcome(1, None, None, ("no disk",)), "tfmemlens: no disk"),
        (run_use_case.RunOutcome(1, report, None, ("no disk",)), "tfmemlens: no disk"),
        (
            run_use_case.RunOutcome(1, report, str(kept)),
            "tfmemlens: this is kept: `tfmemlens explain 'my run'`",
        ),
    ):
        monkeypatch.setattr(run_use_case, "run", lambda *_, outcome=outcome: outcome)
        assert main(["run", "--", "a"]) == 1
        told = capsys.readouterr().err
        assert told.splitlines()[-1] == last
        assert (outcome.report is not None) is told.startswith("\n")
    (kept / "report.html").write_text("")
    main(["run", "--", "a"])
    assert capsys.readouterr().err.endswith("explain 'my run'`, 'my run'/report.html\n")
    main(["run", "--out", "elsewhere", "--", "a"])
    assert "`tfmemlens explain elsewhere`" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name, there, error, status, hint",
    [
        ("nothing", False, FileNotFoundError(2, "no"), 127, "check the name and PATH"),
        ("train.py", True, FileNotFoundError(2, "no"), 127, "tfmemlens run -- python train.py 1"),
        ("train.py", False, FileNotFoundError(2, "no"), 127, "check the name and PATH"),
        ("train.py", True, PermissionError(13, "no"), 126, "tfmemlens run -- python train.py 1"),
        ("data.txt", True, PermissionError(13, "no"), 126, "is it a program, and executable?"),
    ],
)
def test_what_cannot_be_started(
    name: str, there: bool, error: OSError, status: int, hint: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    if there:
        (tmp_path / name).write_text("")

    def refused(*_: Any) -> run_use_case.RunOutcome:
        raise error

    monkeypatch.setattr(run_use_case, "run", refused)
    assert main(["run", "--", name, "1"]) == status
    told, hinted, *rest = capsys.readouterr().err.splitlines()
    assert told == f"tfmemlens: {name} cannot be run: no" and not rest
    assert hinted.startswith(f"  hint: {hint}")


# ------------------------------------------------------------------ completion


def test_fish_is_told_each_command_and_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "fish"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("complete -c tfmemlens -n __fish_use_subcommand -f -a check -d 'Check ")

    def of(command: str, option: str) -> str:
        start = f"complete -c tfmemlens -n '__fish_seen_subcommand_from {command}' "
        (found,) = [
            line[len(start) :] for line in lines if line.startswith(start) and option in line.split(" -d ")[0]
        ]
        return found

    assert of("plot", "-s o").startswith("-s o -l output -r -d 'where to draw")
    assert of("plot", "-l by").startswith("-l by -x -a 'kind layer' -d 'what the curve")
    assert of("profile", "-l csv-raw").startswith("-l csv-raw -d 'names")
    assert of("profile", "-s h") == "-s h -l help -d 'show this help message and exit'"
    growth = of("check", "-l max-growth")
    assert growth == "-l max-growth -r -d 'how much more than the baseline\\'s is allowed (default 0)'"


@pytest.mark.parametrize(
    "text, quoted", [(None, "''"), ("it's", "'it\\'s'"), ("a\\b", "'a\\\\b'"), ("3%%\n  more", "'3% more'")]
)
def test_a_text_as_one_word_of_fish(text: str | None, quoted: str) -> None:
    from tfmemlens.cli.completion import _quoted

    assert _quoted(text) == quoted
