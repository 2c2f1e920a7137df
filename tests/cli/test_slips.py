"""Slips of the finger: commands, numbers, sizes, shapes and files that are not what was meant each get a
sentence and a hint.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import SAMPLES
from tfmemlens.cli.main import main, overview, parser
from tfmemlens.model.tensor import parse_shape
from tfmemlens.renderers.view import UNICODE_TO_ASCII
from tfmemlens.units import MIB, human, parse_limit

LOG = str(SAMPLES / "oom_log" / "1.15-unet-report.txt")
STEP = str(SAMPLES / "run_metadata" / "1.15-lenet.pb")
MODEL = "sample_models/files-2.21/small.keras"


def complaint(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said
    return said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["explian", LOG], "did you mean explain?"),
        ([LOG], f"hint: tfmemlens explain {LOG}"),
        (["frobnicate"], "one of check, completion, conv, diff"),
        (["explain", LOG, "--batch", "0"], "0 is no whole number of 1 or more"),
        (["explain", LOG, "--batch", "1e3"], "1e3 is no whole number"),
        (["explain", LOG, "--top", "0"], "0 is no whole number"),
        (["explain", LOG, "--limit", "11"], "write 11GiB or 11MiB"),
        (["explain", LOG, "--input-shape", "2xax4"], "not a shape: '2xax4'"),
        (["explain", LOG, "--by", "layr"], "did you mean layer?"),
        (
            ["plot", STEP],
            (
                "the following arguments are required: -o/--output\n  hint: `tfmemlens plot --help` shows all"
                " options"
            ),
        ),
        (["report", LOG, "--blank"], "tfmemlens report has no option --blank\n"),
        (["plot", STEP, "--pannel", "curve"], "tfmemlens plot has no option --pannel\n"),
        (["plot", STEP, "--pannel", "curve"], "did you mean --panel? `tfmemlens plot --help` shows all"),
        (["plot", STEP, "--pan", "curve", "--", "--pannel"], "are required: -o/--output"),
        (["fleet", "scan", "logs", "--sinse", "7d"], "tfmemlens fleet scan has no option --sinse"),
        (["explain", LOG, "--fulll"], "did you mean --full? `tfmemlens explain --help` shows all options"),
        (["report", LOG, "--zzz=1", "-o", "x"], "tfmemlens report has no option --zzz\n"),
        (["report", LOG, "--zzz=1", "-o", "x"], "hint: `tfmemlens report --help` shows all options"),
        (["rules", "a", "b"], "tfmemlens rules has no use for 'b'"),
        (["diff", STEP, STEP, "--html", "out.html"], "hint: `-o out.html` says where to write; `tfmemlens"),
        (["rules", "a", "b.html"], "has no use for 'b.html'\n  hint: `tfmemlens rules --help`"),
        (["--frob"], "a command comes first, not --frob"),
        (["-"], "hint: tfmemlens explain -"),
        (["explain", LOG, "--limit-read", "much"], "much is no size such as 8GiB"),
        (["explain", LOG, "--limit-read", "0"], "0 is no size"),
        (["diff", STEP, STEP, "--fail-above", "5"], "write --fail-above 5% or --fail-above 64MiB"),
        (["profile", MODEL], "`tfmemlens estimate sample_models/files-2.21/small.keras` predicts a step"),
        (["layout", MODEL], "GraphDef, MetaGraphDef"),
    ],
)
def test_a_slip_gets_a_hint(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said in complaint(arguments, capsys)


def test_without_a_command_the_commands_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    said = complaint([], capsys)
    assert "to begin with:" in said and "explain train.log" in said


def test_the_help_without_imports_says_what_the_commands_say() -> None:
    assert overview().format_help() == parser().format_help()


@pytest.mark.parametrize("command", ["plot", "export", "report", "layout", "estimate"])
def test_descriptions_fit_the_terminal(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main([command, "--help"])
    description = capsys.readouterr().out.split("\n\n")[1]
    assert all(len(line) <= 80 for line in description.splitlines())


def test_the_page_is_told_with_its_size_and_opened(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda url: not shown.append(url))
    page = tmp_path / "page.html"
    assert main(["report", LOG, "-o", str(page)]) == 0
    assert capsys.readouterr().err == f"{page} ({human(page.stat().st_size)})\n"
    assert not shown
    assert main(["report", LOG, "-o", str(page), "--open"]) == 0
    assert shown == [page.as_uri()]
    monkeypatch.setattr("webbrowser.open", lambda url: False)
    assert "no browser could be started" in complaint(["report", LOG, "-o", str(page), "--open"], capsys)


def test_a_page_without_figures_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "fine.log").write_text("step 1\nstep 2\n", encoding="utf-8")
    assert main(["report", str(tmp_path / "fine.log"), "-o", str(tmp_path / "page.html")]) == 1
    assert "no memory figures were found" in capsys.readouterr().err


def test_a_device_that_is_not_there_is_told_those_that_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", STEP, "--device", "GPU:7"]) == 1
    assert "no device's name contains 'GPU:7'; the trace has /job:localhost" in " ".join(
        capsys.readouterr().out.split()
    )


def test_a_curve_keeps_its_heights_in_ascii() -> None:
    assert len(set(" ▁▂▃▄▅▆▇█".translate(UNICODE_TO_ASCII))) == 9


@pytest.mark.parametrize(
    ("text", "size"),
    [("11G", 11 << 30), ("11gb", 11 << 30), ("512MiB", 512 * MIB), ("11B", 11), ("1048576", MIB), ("0", 0)],
)
def test_limits_as_people_type_them(text: str, size: int) -> None:
    assert parse_limit(text) == size


@pytest.mark.parametrize("text", ["", "a", "2xx-", "2x3.5", "[]"])
def test_what_is_no_shape(text: str) -> None:
    with pytest.raises(ValueError, match="not a shape"):
        parse_shape(text)
