"""`tfmemlens.read`, plots and exports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tfmemlens
from tests.conftest import SAMPLES
from tfmemlens.cli.main import main
from tfmemlens.errors import UnreadableInput, UsageError
from tfmemlens.model.timeline import Timeline
from tfmemlens.schema import parse

LENET = SAMPLES / "run_metadata" / "1.15-lenet.pb"
STEPS = SAMPLES / "tfevents" / "1.15-tagged-steps.tfevents"


def test_the_tables_agree_with_each_other() -> None:
    trace = tfmemlens.read(LENET)
    curve, rows = trace.timeline(), trace.allocations
    assert curve["bytes"].max() == trace.peak_bytes == 103974656
    assert trace.by("layer")["bytes"].sum() == trace.by("kind")["bytes"].sum() == trace.peak_bytes
    assert trace.by("kind", 0.0)["bytes"].sum() < trace.by("kind", "1ms")["bytes"].sum() < trace.peak_bytes
    assert rows["size_bytes"].dtype == "int64"
    assert set(rows["kind"]) >= {"activation", "gradient", "workspace"}
    assert trace.at(0.0)["total_bytes"].sum() == curve["bytes"].iloc[0]
    assert trace.at("conv1/Relu")["node"].eq("conv1/Relu").any()
    assert trace.layers().set_index("layer").loc["conv2", "parameters"] == 51264
    assert "peak" in trace._repr_html_()


def test_the_curve_asks_for_the_peak_once_and_not_for_each_row(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = tfmemlens.read(LENET)
    asked: list[Timeline] = []
    peak_of = Timeline.peak_bytes.fget
    assert peak_of is not None
    monkeypatch.setattr(Timeline, "peak_bytes", property(lambda self: asked.append(self) or peak_of(self)))
    assert len(trace.timeline()) == 59
    assert len(asked) <= len(trace.capture.timelines)


def test_groups_and_layers_ask_no_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = tfmemlens.read(LENET)
    total, layers = trace.peak_bytes, len(trace.peak.case.layers)
    monkeypatch.setattr("tfmemlens.findings.examine", lambda case: pytest.fail("the rules were asked"))
    assert trace.by("kind")["bytes"].sum() == total
    assert len(trace.layers()) == layers > 0


def test_tensorflows_own_object_is_read_too() -> None:
    metadata = parse("RunMetadata", LENET.read_bytes())
    assert tfmemlens.read(metadata).peak_bytes == tfmemlens.read(LENET).peak_bytes


def test_steps_of_an_event_file() -> None:
    peaks = [tfmemlens.read(STEPS, tag=f"step{number:03d}").peak_bytes for number in range(3)]
    assert peaks == sorted(peaks)
    assert tfmemlens.read(STEPS).peak_bytes == tfmemlens.read(STEPS, step=2).peak_bytes == peaks[2]
    with pytest.raises(UsageError, match="no step with the tag"):
        tfmemlens.read(STEPS, tag="step999")


def test_graphs_without_statistics_say_so() -> None:
    with pytest.raises(UnreadableInput, match="no memory timeline") as caught:
        tfmemlens.read(SAMPLES / "tfevents" / "2.11-trace-export.tfevents")
    assert "FULL_TRACE" in caught.value.hint


def test_a_cut_event_file_keeps_its_whole_steps(tmp_path: Path) -> None:
    file = tmp_path / "cut.tfevents"
    file.write_bytes(STEPS.read_bytes()[:-2000])
    assert tfmemlens.read(file).peak_bytes == tfmemlens.read(STEPS, tag="step001").peak_bytes


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
@pytest.mark.whole
def test_plots_are_drawn(tmp_path: Path, suffix: str) -> None:
    target = tmp_path / f"peak.{suffix}"
    assert main(["plot", str(LENET), "-o", str(target), "--by", "layer"]) == 0
    assert target.stat().st_size > 5000
    assert main(["plot", str(LENET), "-o", str(tmp_path / "x.nonsense")]) == 2


def test_a_chrome_trace_counts_what_was_in_use(tmp_path: Path) -> None:
    target = tmp_path / "memory.json"
    assert main(["export", str(LENET), "--format", "chrome-trace", "-o", str(target)]) == 0
    events = json.loads(target.read_text(encoding="utf-8"))["traceEvents"]
    assert max(sum(event["args"].values()) for event in events if event["ph"] == "C") == 103974656
    begun, ended = ([event["id"] for event in events if event["ph"] == phase] for phase in "be")
    assert sorted(begun) == sorted(ended)


def test_a_speedscope_profile_adds_up(tmp_path: Path) -> None:
    for source, whole in ((LENET, 103974656), (SAMPLES / "oom_log" / "1.15-im2col.txt", 201326848)):
        target = tmp_path / "memory.speedscope.json"
        assert main(["export", str(source), "--format", "speedscope", "-o", str(target)]) == 0
        found = json.loads(target.read_text(encoding="utf-8"))
        assert sum(found["profiles"][0]["weights"]) == found["profiles"][0]["endValue"] == whole
        assert max(frame for sample in found["profiles"][0]["samples"] for frame in sample) < len(
            found["shared"]["frames"]
        )


def test_a_failure_beside_its_trace(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(
            [
                "explain",
                "sample_traces/oom_log/1.15-unet-report.txt",
                "--trace",
                "sample_traces/run_metadata/1.15-unet.pb.gz",
                "--all",
            ]
        )
        == 0
    )
    page = capsys.readouterr().out
    assert "THE FAILED REQUEST" in page
    assert "OVER TIME" in page


def test_a_trace_names_what_the_failures_list_leaves_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "sample_traces/oom_log/1.15-dynamic-lstm.txt", "--full"]) == 0
    alone = capsys.readouterr().out
    assert (
        main(
            [
                "explain",
                "sample_traces/oom_log/1.15-dynamic-lstm.txt",
                "--trace",
                "sample_traces/run_metadata/1.15-while-rnn.pb.gz",
                "--full",
            ]
        )
        == 0
    )
    beside = capsys.readouterr().out
    assert "record one good step" in alone and "record one good step" not in beside
    section = beside.partition("THE TRACED STEP BESIDE IT")[2]
    assert "optimizer-slot" in section or "activation" in section
    assert "rnn" in section
