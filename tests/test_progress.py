"""The line that says how far a long read is: on terminals, late, and gone afterwards."""

from __future__ import annotations

import io
import sys

import pytest

from tests.conftest import SAMPLES
from tfmemlens import progress
from tfmemlens.cli.main import main


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "DELAY", 0.0)
    monkeypatch.setattr(progress, "STEP", 0.0)


def test_a_line_is_drawn_and_taken_away() -> None:
    stream = Terminal()
    with progress.shown(stream):
        progress.at("trace.pb", 1 << 20, 4 << 20)
        progress.at("trace.pb", 4 << 20, 4 << 20)
    drawn = stream.getvalue()
    assert "reading trace.pb  [######------------------]  25%  1 of 4 MiB" in drawn
    assert "100%" in drawn
    assert drawn.endswith("\r")
    assert not drawn.rsplit("\r", 2)[1].strip()
    progress.at("trace.pb", 1, 2)
    assert stream.getvalue() == drawn


def test_nothing_is_drawn_into_a_pipe_or_when_not_wanted() -> None:
    pipe, terminal = io.StringIO(), Terminal()
    with progress.shown(pipe):
        progress.at("x", 1, 2)
    with progress.shown(terminal, wanted=False):
        progress.at("x", 1, 2)
    assert pipe.getvalue() == terminal.getvalue() == ""


def test_nothing_is_drawn_before_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "DELAY", 1e6)
    stream = Terminal()
    with progress.shown(stream):
        progress.at("x", 1, 2)
    assert stream.getvalue() == ""


@pytest.mark.parametrize(("arguments", "drawn"), [([], True), (["--json"], False)])
def test_a_command_draws_on_a_terminal_but_never_with_json(
    arguments: list[str], drawn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    errors = Terminal()
    monkeypatch.setattr(sys, "stderr", errors)
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert main(["profile", str(SAMPLES / "log_memory" / "1.15-lenet.log.gz"), *arguments]) == 0
    assert ("reading 1.15-lenet.log.gz" in errors.getvalue()) == drawn


@pytest.mark.parametrize("command", [("diff", "TRACE", "TRACE"), ("check", "TRACE", "--max-peak", "1GiB")])
def test_the_line_is_gone_before_the_answer_stands_on_the_same_terminal(
    command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Screen(io.TextIOWrapper):
        def isatty(self) -> bool:
            return True

    screen = Screen(io.BytesIO(), encoding="utf-8", write_through=True)
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setattr(sys, "stderr", screen)
    trace = str(SAMPLES / "run_metadata" / "2.21-unet.pb.gz")
    main([trace if word == "TRACE" else word for word in command])
    lines = screen.buffer.getvalue().decode().split("\n")  # type: ignore[attr-defined]
    drawn = [line for line in lines if "reading " in line]
    assert drawn and not any("reading " in line.rpartition("\r")[2] for line in drawn)
