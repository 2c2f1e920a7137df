"""`tfmemlens.read`, plots and exports."""

from __future__ import annotations

import json
import struct
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
    assert trace.by("kind").index.name == "kind"
    assert trace.by("layer").loc["conv2", "bytes"] > trace.by("layer").loc["conv1", "bytes"]
    assert trace.at("conv1/Relu")["node"].eq("conv1/Relu").any()
    assert trace.layers().set_index("layer").loc["conv2", "parameters"] == 51264
    assert "peak" in trace._repr_html_()


@pytest.mark.parametrize("name", ["1.15-lenet.pb", "2.11-two-cpus.pb", "2.21-gan.pb", "1.15-while-rnn.pb.gz"])
def test_the_curve_adds_up_by_kind_and_joins_the_allocations(name: str) -> None:
    trace = tfmemlens.read(SAMPLES / "run_metadata" / name)
    curve, rows = trace.timeline(), trace.allocations
    kinds = curve.drop(columns=["bytes", "allocation"])
    assert (kinds.sum(axis=1) == curve["bytes"]).all()
    assert (kinds >= 0).all(axis=None)
    assert curve.index.name == "micros" and curve.index[0] == 0.0
    peak = kinds.iloc[int(curve["bytes"].to_numpy().argmax())]
    assert peak[peak > 0].to_dict() == trace.by("kind")["bytes"].to_dict()
    joined = curve.join(rows, on="allocation")
    begins = joined[joined["start_micros"] == joined.index]
    changes = curve["bytes"].diff().iloc[1:]
    assert set(changes[changes > 0]) <= set(begins["size_bytes"])
    assert (joined["allocator"] == trace.main.allocator).all()


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


@pytest.mark.whole
def test_a_plot_for_a_paper_keeps_text_as_text(tmp_path: Path) -> None:
    sheet = ["--panel", "curve", "--size", "5x3", "--title", "What holds it"]
    vector, paper, dots = (tmp_path / f"a.{suffix}" for suffix in ("svg", "pdf", "png"))
    for target in (vector, paper):
        assert main(["plot", str(LENET), *sheet, "-o", str(target)]) == 0
    text = vector.read_text(encoding="utf-8")
    assert ">What holds it</text>" in text and ">activation</text>" in text
    assert "Lifetimes" not in text
    assert b"/Type3" not in paper.read_bytes()
    assert main(["plot", str(LENET), *sheet, "--dpi", "100", "-o", str(dots)]) == 0
    assert struct.unpack(">II", dots.read_bytes()[16:24]) == (500, 300)
    assert main(["plot", str(LENET), "--size", "5", "-o", str(dots)]) == 2


@pytest.mark.whole
def test_a_trace_is_drawn_on_axes_that_exist() -> None:
    from matplotlib.figure import Figure

    trace = tfmemlens.read(LENET)
    axes = Figure().subplots()
    assert trace.plot(ax=axes, by="layer") is axes
    _, labels = axes.get_legend_handles_labels()
    assert {"fc1", "conv2", "before the step"} <= set(labels)
    axes.figure.canvas.draw()
    curve, lifetimes, _ = trace.plot().axes
    assert curve.get_xlim() == lifetimes.get_xlim()
    with pytest.raises(UsageError, match="stack by"):
        trace.plot(by="colour")


def test_labels_tell_rows_apart() -> None:
    from tfmemlens.renderers.pictures._sheet import distinct

    names = [f"model/block_{number}/{'very_long_' * 6}name" for number in range(3)]
    assert distinct(names, 20) == [f"block_{number}/ve…long_name" for number in range(3)]
    assert distinct(["a/x", "a/x", "a/y"], 20) == ["x #1", "x #2", "y"]
    inside = [f"{'a' * 30}{letter}{'b' * 30}" for letter in "xyz"]
    assert len(set(distinct(inside, 20))) == 3
    assert distinct(["x$y$"], 20) == [r"x\$y\$"]


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
    section = beside.partition("A RECORDED STEP THAT RAN")[2]
    assert "optimizer-slot" in section or "activation" in section
    assert "rnn" in section
