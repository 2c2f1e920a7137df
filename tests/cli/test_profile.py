"""`tfmemlens profile`: pages, other moments, tables, errors."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import SAMPLES
from tfmemlens.cli.main import main

FOLDERS = ("run_metadata", "xspace", "chrome_trace", "memory_profile", "tfprof", "log_memory")
TRACES = sorted(path for folder in FOLDERS for path in (SAMPLES / folder).iterdir() if not path.name.endswith(".truth.json"))
LENET = "sample_traces/run_metadata/1.15-lenet.pb"


def stem(trace: Path) -> str:
    return trace.name.removesuffix(".gz").rpartition(".")[0]


@pytest.mark.parametrize("trace", TRACES, ids=lambda path: f"{path.parent.name}-{stem(path)}")
def test_profile_reads_well(trace: Path, golden: Callable[[str, str], None], capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["profile", str(trace.relative_to(SAMPLES.parent))])
    page = capsys.readouterr().out
    assert status == (1 if "No memory figures" in page else 0)
    golden(f"profile/{trace.parent.name}/{stem(trace)}.txt", page)


def test_another_moment(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", LENET, "--at", "1ms"]) == 0
    by_time = capsys.readouterr().out
    assert main(["profile", LENET, "--at", "conv1/Relu"]) == 0
    by_node = capsys.readouterr().out
    assert "conv1/Relu" in by_node
    assert by_time != by_node


def test_the_table_as_csv(tmp_path: Path) -> None:
    target = tmp_path / "rows.csv"
    assert main(["profile", LENET, "--csv", str(target)]) == 0
    rows = list(csv.DictReader(target.read_text(encoding="utf-8").splitlines()))
    assert len(rows) == 30
    assert {row["layer"] for row in rows} >= {"conv1", "conv2", "fc1"}


@pytest.mark.parametrize("arguments", [["--at", "yesterday"], ["--at", "1.2.3ms"], ["--csv", "/no/such/folder/x.csv"]])
def test_usage_errors_are_one_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", LENET, *arguments]) == 2
    complaint = capsys.readouterr().err
    assert "Traceback" not in complaint
    assert "hint: " in complaint


def test_a_device_that_is_not_there_is_status_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", LENET, "--device", "GPU:7"]) == 1
    assert capsys.readouterr().out
