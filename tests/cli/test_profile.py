"""`tfmemlens profile`: pages, other moments, tables, errors."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.builders import row, timeline
from tests.conftest import SAMPLES
from tfmemlens import pipeline
from tfmemlens.attribution.moments.timelines import standing_of
from tfmemlens.cli.main import main
from tfmemlens.model.allocation import AllocationTable
from tfmemlens.model.attribution import Kind
from tfmemlens.units import human

FOLDERS = ("run_metadata", "xspace", "chrome_trace", "memory_profile", "tfprof", "log_memory")
TRACES = sorted(
    path
    for folder in FOLDERS
    for path in (SAMPLES / folder).iterdir()
    if not path.name.endswith(".truth.json")
)
LENET = "sample_traces/run_metadata/1.15-lenet.pb"


def stem(trace: Path) -> str:
    return trace.name.removesuffix(".gz").rpartition(".")[0]


@pytest.mark.parametrize("trace", TRACES, ids=lambda path: f"{path.parent.name}-{stem(path)}")
def test_profile_reads_well(
    trace: Path, golden: Callable[[str, str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(["profile", str(trace.relative_to(SAMPLES.parent)), "--full"])
    page = capsys.readouterr().out
    assert status == (1 if "No memory figures" in page else 0)
    golden(f"profile/{trace.parent.name}/{stem(trace)}.txt", page)


def test_another_moment(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", LENET, "--at", "1ms", "--full"]) == 0
    by_time = capsys.readouterr().out
    assert main(["profile", LENET, "--at", "conv1/Relu", "--full"]) == 0
    by_node = capsys.readouterr().out
    assert "conv1/Relu" in by_node
    assert by_time != by_node


def test_the_table_as_csv(tmp_path: Path) -> None:
    target = tmp_path / "rows.csv"
    assert main(["profile", LENET, "--csv", str(target)]) == 0
    rows = list(csv.DictReader(target.read_text(encoding="utf-8").splitlines()))
    assert len(rows) == 30
    assert {row["layer"] for row in rows} >= {"conv1", "conv2", "fc1"}


@pytest.mark.parametrize(
    "arguments", [["--at", "yesterday"], ["--at", "1.2.3ms"], ["--csv", "/no/such/folder/x.csv"]]
)
def test_usage_errors_are_one_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", LENET, *arguments]) == 2
    complaint = capsys.readouterr().err
    assert "Traceback" not in complaint
    assert "hint: " in complaint


def test_a_device_that_is_not_there_is_status_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", LENET, "--device", "GPU:7"]) == 1
    assert capsys.readouterr().out


def test_a_failure_without_a_step_says_what_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log.txt"
    log.write_text("OOM when allocating tensor with shape[8,1024] and type float\n", encoding="utf-8")
    assert main(["profile", str(tmp_path)]) == 1
    told = capsys.readouterr().err
    assert "no step was recorded to its end" in told
    assert f"tfmemlens explain {tmp_path}" in told
    assert main(["profile", LENET]) == 0
    assert "no step" not in capsys.readouterr().err


def test_another_moment_is_not_called_the_peak(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", LENET, "--at", "1ms", "--full"]) == 0
    page = " ".join(capsys.readouterr().out.split())
    peak = pipeline.timelines(LENET).timelines[0].peak_bytes
    assert "This step's peak is" not in page
    assert f"below its peak of {human(peak)}" in page
    assert f"peak {human(peak)} at " in page


@pytest.mark.parametrize(
    ("at", "sentence"),
    [("500s", "500s is after the end of the step"), ("conv1/Rel", "did you mean conv1/Relu")],
)
def test_a_moment_that_does_not_exist(at: str, sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", LENET, "--at", at]) == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    "name",
    ["run_metadata/1.15-unet.pb.gz", "xspace/2.11-function.xplane.pb", "run_metadata/1.15-while-rnn.pb.gz"],
)
def test_the_model_fits_the_page_and_shows_no_empty_column(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["profile", str(SAMPLES / name), "--full"]) == 0
    table = capsys.readouterr().out.partition("THE MODEL\n")[2].partition("\n\n")[0].splitlines()
    assert table and all(len(line) <= 80 for line in table)
    assert "parameters" in table[0] or not any("=" in line for line in table)


def test_what_a_tensor_array_hands_out_is_no_weight() -> None:
    """A slice of an array has no record of its birth; it is not a variable of 2,048 parameters for that."""
    names = ["rnn/while/TensorArrayReadV3", "rnn/lstm_cell/kernel/read"]
    shown = replace(
        timeline(baseline_mib=1),
        standing=AllocationTable.of([replace(row(name, 0.01, 0, None), purpose=None) for name in names]),
    )
    assert [owner.kind for _, owner in standing_of(shown, None)] == [Kind.LOOP_STACK, Kind.PARAMETER]


@pytest.mark.parametrize(
    ("record", "advised"),
    [
        ('{"tfmemlens_run": 1, "exit_status": 1}', True),
        ('{"tfmemlens_run": 1, "exit_status": 0}', False),  # it caught the failure and went on
        ("{", False),
        (None, False),
    ],
)
def test_a_step_of_a_run_that_failed_points_to_the_failure(
    record: str | None, advised: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the step holds is not what the run failed for."""
    bundle = tmp_path / "the bundle"
    bundle.mkdir()
    shutil.copy(SAMPLES / "run_metadata" / "1.10-lenet.pb", bundle)
    (bundle / "log.txt").write_text("OOM when allocating tensor with shape[64,512,512,64] and type float\n")
    if record is not None:
        (bundle / "run.json").write_text(record)
    main(["profile", str(bundle)])
    page = " ".join(capsys.readouterr().out.split())
    assert (f"read the failure first, `tfmemlens explain '{bundle}'`" in page) is advised
