"""What a command asks of a stage, and how it ends: the stage itself is replaced."""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import SAMPLES
from tfmemlens import pipeline, progress, renderers
from tfmemlens.cli import _options, fit, layout
from tfmemlens.cli.main import _wrapped, main, nearest, parser
from tfmemlens.errors import UsageError
from tfmemlens.use_cases import fit as fit_use_case
from tfmemlens.use_cases import page, traced_step

LOG = str(SAMPLES / "oom_log" / "1.15-unet-report.txt")
STEP = str(SAMPLES / "run_metadata" / "1.15-lenet.pb")


@pytest.mark.parametrize("text, number", [("0", 0), ("1", 1), ("12", 12)])
def test_a_whole_number(text: str, number: int) -> None:
    assert _options.whole(text) == number


@pytest.mark.parametrize("text", ["-1", "", "1.5", "x"])
def test_no_whole_number(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        _options.whole(text)


@pytest.mark.parametrize("text, number", [("0.5", 0.5), ("1", 1.0), ("1e3", 1000.0)])
def test_a_time(text: str, number: float) -> None:
    assert _options.seconds(text) == number


@pytest.mark.parametrize("text", ["0", "-1", "inf", "nan", "", "x"])
def test_no_time(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        _options.seconds(text)


def test_options_of_a_storage() -> None:
    given = argparse.Namespace(storage_option=["anon=true", "ssl=FALSE", "url=http://a?b=c", "empty="])
    wanted = {"anon": True, "ssl": False, "url": "http://a?b=c", "empty": ""}
    assert _options.storage(given) == wanted
    for wrong in ("anon", "=true", "="):
        with pytest.raises(UsageError, match="has no value"):
            _options.storage(argparse.Namespace(storage_option=[wrong]))


def test_the_nearest_word() -> None:
    assert nearest("layr", ["player", "layer", "kind"]) == "layer"
    assert nearest("zzz", ["layer", "kind"]) == ""


@pytest.mark.parametrize("columns, width", [(50, 48), (10, 20), (22, 20), (23, 21)])
def test_a_commands_page_is_two_columns_narrower_than_the_terminal_and_never_below_20(
    columns: int, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    fits = f"a {'b' * (width - 2)}"
    assert _wrapped(fits) == fits
    assert _wrapped(fits + "b").count("\n") == 1


@pytest.mark.parametrize("tty, form, wanted", [(True, "", True), (True, "--json", False), (False, "", False)])
def test_progress_is_shown_beside_a_page_on_a_terminal(
    tty: bool, form: str, wanted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []
    shown = progress.shown

    def watched(stream: Any, wanted: bool) -> Any:
        asked.append(wanted)
        return shown(stream, wanted=False)

    monkeypatch.setattr(progress, "shown", watched)
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: tty)
    monkeypatch.setattr(sys, "stdout", stream)
    main(["explain", LOG, *([form] if form else [])])
    assert asked == [wanted]


def test_a_reader_that_has_seen_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(*_: object, **__: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(pipeline, "explain", closed)
    with (tmp_path / "out").open("w") as out:
        monkeypatch.setattr(sys, "stdout", out)
        assert main(["explain", "x"]) == 0
        print("lost", file=out, flush=True)
    assert not (tmp_path / "out").read_text()


def test_completion_of_a_shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    made = SimpleNamespace(complete=lambda root, shell: f"{root.prog} in {shell}\n")
    monkeypatch.setitem(sys.modules, "shtab", made)
    assert main(["completion", "bash"]) == 0
    assert capsys.readouterr().out == "tfmemlens in bash\n"


def test_all_rules_as_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "--markdown"]) == 0
    assert capsys.readouterr().out.startswith("# The rules\n")


@pytest.mark.parametrize("words, batch", [((), 1), (("--batch", "6"), 6)])
def test_fit_asks_a_model_for_one_sample_unless_told(
    words: tuple[str, ...], batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(fit_use_case, "fit_report", lambda *given: asked.append(given))
    monkeypatch.setattr(fit._options, "show", lambda *_: None)
    assert main(["fit", STEP, *words]) == 0
    assert asked[0][-1].batch == batch


@pytest.mark.parametrize("copies, status", [(None, 1), ((), 1), (("a",), 0)])
def test_a_layout_without_copies_ends_with_1(
    copies: tuple[str, ...] | None, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = None if copies is None else SimpleNamespace(copies=copies)
    monkeypatch.setattr(layout, "_report", lambda _: SimpleNamespace(case=SimpleNamespace(layout=found)))
    monkeypatch.setattr(layout._options, "show", lambda *_: None)
    assert main(["layout", "graph.pb"]) == status


@pytest.mark.parametrize("moments, findings, status", [((), (), 1), ((1,), (), 0), ((), (1,), 0)])
def test_a_page_without_figures_ends_with_1(
    moments: tuple[int, ...],
    findings: tuple[int, ...],
    status: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    report = SimpleNamespace(case=SimpleNamespace(moments=moments), findings=findings)
    monkeypatch.setattr(
        page, "build_page", lambda *_, **__: SimpleNamespace(tabs=[SimpleNamespace(report=report)])
    )
    monkeypatch.setattr(renderers, "render", lambda *_: "the page")
    assert main(["report", STEP, "-o", str(tmp_path / "page.html")]) == status
    assert ("no memory figures" in capsys.readouterr().err) is (status == 1)


def test_parquet_has_no_column_of_row_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    frame = SimpleNamespace(to_parquet=lambda path, index: asked.append((path, index)))
    monkeypatch.setattr(traced_step, "allocations", lambda _: frame)
    assert main(["profile", STEP, "--parquet", str(tmp_path / "x")]) == 0
    assert asked == [(str(tmp_path / "x"), False)]


# ------------------------------------------------------------------ fleet


@pytest.mark.parametrize(
    "words, said",
    [
        (["fleet"], "arguments are required: COMMAND"),
        (["fleet", "scan", "a"], "arguments are required: -o/--output"),
        (["fleet", "report", "a"], "arguments are required: -o/--output"),
    ],
)
def test_what_fleet_must_be_told(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert said in capsys.readouterr().err


def test_limits_of_a_scan_unless_told() -> None:
    found = vars(parser("fleet").parse_args(["fleet", "scan", "a", "-o", "b"]))
    assert (found["time_limit"], found["memory_limit"]) == (300.0, 1 << 30)
    assert (found["limit_content"], found["retries"], found["rescan"]) == (4 << 30, 4, None)


class TestScan:
    """A scan that is asked for and not run."""

    @pytest.fixture(autouse=True)
    def _asked(self, monkeypatch: pytest.MonkeyPatch) -> None:
        pytest.importorskip("distributed")
        from tfmemlens.fleet import scanning

        self.asked: list[Any] = []
        self.raised: BaseException | None = None

        def scan(sources: list[str], output: str, **given: Any) -> None:
            self.asked.append((sources, output, given))
            if self.raised:
                raise self.raised

        monkeypatch.setattr(scanning, "scan", scan)

    def run(self, *words: str) -> int:
        return main(["fleet", "scan", *words])

    @pytest.mark.parametrize(
        "words, rescan", [((), False), (("--rescan",), "all"), (("--rescan", "unreadable"), "unreadable")]
    )
    def test_what_is_read_again(self, words: tuple[str, ...], rescan: object) -> None:
        assert self.run("a", "-o", "out", *words) == 0
        ((sources, output, given),) = self.asked
        assert (sources, output, given["rescan"]) == (["a"], "out", rescan)

    @pytest.mark.parametrize("output, told", [("out", None), ("s3://b/out", {"anon": True})])
    def test_the_storage_of_the_tables(self, output: str, told: object) -> None:
        assert self.run("s3://a", "-o", output, "--storage-option", "anon=true") == 0
        given = self.asked[0][2]
        assert (given["storage_options"], given["out_options"]) == ({"anon": True}, told)

    def test_what_ends_a_scan(self) -> None:
        self.raised = KeyboardInterrupt()
        assert self.run("a", "-o", "out") == 130
        self.raised = UsageError("x", "y")
        assert self.run("a", "-o", "out") == 2

    def test_sources_by_word_by_list_and_by_standard_input(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        listed = tmp_path / "list"
        listed.write_text("c\nd\n")
        for words in (["a", "b"], ["--list", str(listed)], ["a", "--list", str(listed)]):
            assert self.run(*words, "-o", "out") == 0
        for words in (["-"], ["--list", "-"]):
            monkeypatch.setattr(sys, "stdin", io.StringIO("e\n"))
            assert self.run(*words, "-o", "out") == 0
        assert [sources for sources, *_ in self.asked] == [
            ["a", "b"], ["c", "d"], ["a", "c", "d"], ["e"], ["e"],
        ]  # fmt: skip
        assert self.run("-o", "out") == 2
        assert "no source to scan" in capsys.readouterr().err
