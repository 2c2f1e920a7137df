"""Several logs given at once: the ranks of one job, or two files of one process."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.conftest import SAMPLES
from tfmemlens import pipeline
from tfmemlens.cli.main import main

DIED = SAMPLES / "oom_log" / "1.15-dynamic-lstm.txt"
FINE = "Epoch 1\nstep 10 loss = 0.4\nstep 20 loss = 0.3\nstep 30 loss = 0.2\n"


@pytest.fixture
def ranks(tmp_path: Path) -> Path:
    """Eight ranks, of which one dies at once while the others count their steps."""
    for rank in range(8):
        (tmp_path / f"rank-{rank}.log").write_text(FINE, encoding="utf-8")
    shutil.copy(DIED, tmp_path / "rank-3.log")
    return tmp_path


def test_other_ranks_steps_are_not_the_failing_ones(ranks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(ranks)]) == 0
    page = capsys.readouterr().out
    assert "growth-between-steps" not in page
    assert re.search(r"line \d+ of rank-3\.log", page)
    assert "of 8 logs only rank-3.log tells of a failure" in page
    assert page.split("\n")[0].endswith(": 8 files")


def test_the_one_other_file_may_be_the_process_standard_output(tmp_path: Path) -> None:
    shutil.copy(DIED, tmp_path / "stderr.txt")
    (tmp_path / "stdout.txt").write_text(FINE, encoding="utf-8")
    report = pipeline.explain([tmp_path / "stderr.txt", tmp_path / "stdout.txt"])
    assert "growth-between-steps" in {finding.rule for finding in report.findings}


def test_the_same_request_in_all_files_is_one_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for rank in range(8):
        shutil.copy(DIED, tmp_path / f"rank-{rank}.log")
    assert main(["explain", str(tmp_path), "--json"]) == 0
    together = json.loads(capsys.readouterr().out)["incidents"]
    alone = pipeline.explain(DIED).case.capture.incidents
    assert len(together) == len(alone)
    assert together[0]["occurrences"] == 8 * alone[0].occurrences
    assert main(["explain", str(tmp_path), "--full"]) == 0
    assert "in 8 files (rank-0.log, rank-1.log, rank-2.log, rank-3.log …)" in " ".join(
        capsys.readouterr().out.split()
    )
    assert main(["explain", str(tmp_path)]) == 0
    assert "(24×), in 8 files…\n" in capsys.readouterr().out


def test_failures_of_other_requests_stay_apart(tmp_path: Path) -> None:
    shutil.copy(DIED, tmp_path / "a.log")
    shutil.copy(SAMPLES / "oom_log" / "1.15-unet-report.txt", tmp_path / "b.log")
    requests = {
        incident.request.node
        for incident in pipeline.capture([tmp_path / "a.log", tmp_path / "b.log"]).incidents
    }
    assert len(requests) == 2
