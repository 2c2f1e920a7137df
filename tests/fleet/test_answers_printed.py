"""`fleet top` and `fleet diff` as commands: one screen, statuses, documents, names that command nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fleet.made import at, failure, log, write
from tfmemlens.cli.main import main
from tfmemlens.fleet import answers
from tfmemlens.renderers.terminal import causes
from tfmemlens.renderers.terminal._blocks import display_width
from tfmemlens.renderers.terminal._screen import ROWS
from tfmemlens.renderers.view import View

pytest.importorskip("pyarrow")


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """Twelve signatures with long names over four weeks, and a log that nobody could read."""
    rows = [
        failure(
            f"s3://logs/jobs/a-team-with-a-long-name/train-{number:04d}/attempt-1/rank-0.log",
            line=400 + number,
            job=f"job{number % 40}",
            team="vision" if number % 3 else None,
            signature=f"tensorflow one-tensor-dominates model/block_#/conv [?,{number % 12},112,112] #ab",
            time=at(-number % 28),
            action="halve the batch",
        )
        for number in range(200)
    ]
    inputs = [log(row["source"], at(-40), row["time"]) for row in rows]
    broken = log("broken.log", status="unreadable", incidents=0)
    return write(tmp_path / "failures", rows, [*inputs, broken], files=2)


def lines(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> list[str]:
    assert main(["fleet", *words]) == status
    return capsys.readouterr().out.splitlines()


def test_top_is_one_screen(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    printed = lines(capsys, "top", folder)
    assert len(printed) <= ROWS
    assert max(map(display_width, printed)) <= 80
    text = "\n".join(printed)
    assert "200 failures in 80 jobs, " in text
    assert "201 inputs" in text and "1 input of 201 could not be read" in text
    assert "5 more signatures with" in text
    assert "trend: jobs in the last 7 days, and in as long before" in text


@pytest.mark.parametrize("width", [60, 80, 160])
def test_the_page_takes_the_width_that_there_is(folder: str, width: int) -> None:
    page = causes.render(answers.rank(folder, limit=7), View(width=width)).splitlines()
    assert max(map(display_width, page)) <= width
    assert len(page) <= ROWS or width < 80
    if width == 160:
        assert any("train-0" in line and "…" not in line for line in page), "room is used"


def test_full_says_what_happened_and_what_to_do(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = "\n".join(lines(capsys, "top", folder, "--full", "--top", "1"))
    assert "verdict of s3://logs/jobs" in text.replace("\n      ", " ")
    assert "try: halve the batch" in text
    assert text.count("  1. ") == 1 and "  2. " not in text


@pytest.mark.parametrize("by", answers.BY)
def test_by_and_since_are_heeded(by: str, folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads("\n".join(lines(capsys, "top", folder, "--by", by, "--since", "3d", "--json")))
    assert document["schema"] == "tfmemlens.fleet-top/1" and document["by"] == by
    assert 0 < document["failures"] < 200
    assert sum(group["failures"] for group in document["groups"]) == document["failures"]
    assert document["others"] == {"groups": 0, "failures": 0}


def test_what_has_no_value_is_said_to_have_none(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert any("(no team)" in line for line in lines(capsys, "top", folder, "--by", "team"))
    assert (
        json.loads("\n".join(lines(capsys, "top", folder, "--by", "host", "--json")))["groups"][0]["name"]
        is None
    )


def test_no_failure_is_exit_status_1(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    printed = lines(capsys, "top", folder, "--since", "2024-12-30", status=1)
    assert "No memory failure was found in 201 inputs since 2024-12-30 00:00" in " ".join(printed)


def test_diff_tells_by_its_exit_status(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "No signature is new" in "\n".join(lines(capsys, "diff", folder, "--after", "2d"))
    printed = lines(capsys, "diff", folder, "--before", "2024-11-21", "--after", "2024-11-21", status=1)
    assert "are new since 2024-11-21 00:00" in " ".join(printed)
    assert max(map(display_width, printed)) <= 80
    printed = lines(capsys, "diff", folder, "--after", "2020-01-01", status=3)
    assert printed[1].startswith("Undecided: no input was read that covers the time before 2020-01-01 00:00")
    assert "Undecided" in lines(capsys, "diff", folder, "--after", "2024-12-30", status=3)[1]


def test_diff_as_a_document(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(
        "\n".join(lines(capsys, "diff", folder, "--after", "2024-11-21", "--json", status=1))
    )
    assert document["schema"] == "tfmemlens.fleet-diff/1" and document["decided"]
    assert len(document["new"]) + document["known"] == 12
    assert document["before"]["time"] == "2024-11-21T00:00:00"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["top", "nowhere"], "nowhere does not exist"),
        (["top", "."], "no folder that a scan wrote"),
        (["top", "{folder}", "--since", "yesterday"], "neither a date nor a length of time"),
        (["top", "{folder}", "--by", "hosts"], "did you mean host?"),
        (["diff", "{folder}"], "--after"),
        (["diff", "{folder}", "--after", "2024-11-01", "--before", "2024-11-02"], "overlap"),
        (["tpo", "{folder}"], "did you mean top?"),
    ],
)
def test_a_slip_gets_a_hint(
    words: list[str], said: str, folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fleet", *(word.format(folder=folder) for word in words)]) == 2
    assert said in capsys.readouterr().err


def test_names_command_no_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evil = "\x1b[31mred\u202e"
    row = failure(evil, signature=evil, verdict=evil, action=evil, team=evil, job=evil, time=at(0))
    folder = write(tmp_path / "d", [row])
    for words in (
        ["top", folder, "--full"],
        ["top", folder, "--by", "job"],
        ["diff", folder, "--after", "0d"],
    ):
        main(["fleet", *words])
        printed = capsys.readouterr().out
        assert "red" in printed and "\x1b" not in printed and "\u202e" not in printed


def test_seconds_are_not_told_as_none_lost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write(tmp_path / "d", [failure("a.log", time=at(0))], [log("a.log", at(0), at(0, 0.01))])
    assert "1 failure in 1 job, <0.1 hours lost" in lines(capsys, "top", folder)[1]
