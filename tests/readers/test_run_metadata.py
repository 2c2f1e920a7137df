"""Traced steps against the allocator's own peak, whole and damaged."""

from __future__ import annotations

import gzip
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.answers import explained
from tests.conftest import SAMPLES
from tfmemlens import pipeline
from tfmemlens.errors import UnreadableInput
from tfmemlens.model.allocation import BEFORE
from tfmemlens.model.timeline import BaselineSource
from tfmemlens.readers.formats.run_metadata import capture_of
from tfmemlens.readers.timelines import step_stats
from tfmemlens.schema import parse
from tfmemlens.use_cases.traced_step import allocations

TRACES = sorted((SAMPLES / "run_metadata").glob("*.pb*"))


def raw_of(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def truth_of(path: Path) -> dict[str, int]:
    found: dict[str, int] = json.loads(
        path.with_name(path.name.split(".pb")[0] + ".truth.json").read_text(encoding="utf-8")
    )
    return found


@pytest.mark.parametrize("trace", TRACES, ids=lambda path: path.name.split(".pb")[0])
def test_the_peak_is_the_allocators_own_to_the_byte(trace: Path) -> None:
    truth, timelines = truth_of(trace), pipeline.capture(trace).timelines
    assert len(timelines) == 1  # also where two devices share the allocator
    assert timelines[0].peak_bytes == truth.get("max_in_use_bytes", timelines[0].peak_bytes)


@pytest.mark.parametrize("trace", TRACES, ids=lambda path: path.name.split(".pb")[0])
def test_the_samples_of_the_allocators_total_agree_on_the_baseline(trace: Path) -> None:
    """A sample lies between the kernel's return and the end of its op; what disagrees with all instants in
    between was no sample of one baseline.
    """
    timeline = pipeline.capture(trace).timelines[0]
    if timeline.baseline_source is BaselineSource.ALLOCATOR:
        assert (timeline.baseline_confidence or 0) > 0.97


def test_a_variable_that_gets_a_new_buffer_loses_its_old_one_within_the_step() -> None:
    """Adam on a sparse gradient assigns its table and both slots anew; the frees of the old buffers are in no
    record.
    """
    timeline = pipeline.capture(SAMPLES / "run_metadata/2.21-sparse-adam.pb").timelines[0]
    gone = [row for row in timeline.table if row.purpose == BEFORE]
    assert {row.node for row in gone} <= {"wide/table/Adam_1", "wide/table/Adam", "wide/table"}
    assert (
        timeline.before_bytes - timeline.baseline_bytes
        == sum(row.size_bytes for row in gone)
        == 3 * 5000 * 32 * 4
    )


@pytest.mark.parametrize("trace", TRACES, ids=lambda path: path.name.split(".pb")[0])
def test_the_rows_of_the_peak_add_up_to_it(trace: Path) -> None:
    report = explained(trace)
    assert report.case.moments
    for moment in report.case.moments:
        assert moment.timeline
        assert moment.attribution.table.total_bytes == moment.timeline.peak_bytes


@pytest.mark.parametrize("trace", TRACES, ids=lambda path: path.name.split(".pb")[0])
def test_the_model_has_the_programs_own_parameters_and_slots(trace: Path) -> None:
    """Whatever the optimizers are called, however often a variable is used, and on whichever device it
    stands.
    """
    truth: dict[str, Any] = json.loads(
        trace.with_name(trace.name.split(".pb")[0] + ".truth.json").read_text(encoding="utf-8")
    )
    if "slots" not in truth:
        return
    layers = pipeline.report(pipeline.capture(trace)).case.layers
    assert sum(layer.parameters for layer in layers) == sum(
        math.prod(shape) for shape in truth["variables"].values()
    )
    assert sum(layer.slot_bytes for layer in layers) == sum(
        4 * math.prod(shape) for shape in truth["slots"].values()
    )
    assert {layer.layer for layer in layers if layer.parameters} == {
        variable.rpartition("/")[0] for variable in truth["variables"]
    }


@pytest.mark.parametrize("trace", TRACES, ids=lambda path: path.name.split(".pb")[0])
def test_weights_and_slots_are_those_of_the_model(trace: Path) -> None:
    truth, report = truth_of(trace), explained(trace)
    if "variables_bytes" not in truth:
        return
    weights = sum(layer.parameter_bytes for layer in report.case.layers)
    slots = sum(layer.slot_bytes for layer in report.case.layers)
    assert (
        abs(weights + slots - truth["variables_bytes"] - truth["slots_bytes"]) <= 64
    )  # beta powers and step counters go either way


@pytest.mark.parametrize("trace", TRACES, ids=lambda path: path.name.split(".pb")[0])
def test_a_long_trace_shows_the_same_weights(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = pipeline.capture(trace).timelines[0].standing
    monkeypatch.setattr(step_stats, "_MAX_NODES", 0)
    searched = pipeline.capture(trace).timelines[0].standing
    assert searched.total_bytes >= 0.97 * whole.total_bytes
    assert set(searched.size_bytes) >= {size for size in whole.size_bytes if size >= 0.01 * whole.total_bytes}


def test_founding_question_3() -> None:
    """Keras says 832 and 51,264 parameters, TensorBoard says 98 KB and 49 KB."""
    layers = {
        layer.layer: layer
        for layer in pipeline.explain(SAMPLES / "run_metadata" / "1.15-lenet.pb").case.layers
    }
    assert [(layers[name].parameters, layers[name].formula) for name in ("conv1", "conv2", "fc1", "fc2")] == [
        (832, "(5*5*1+1)*32"),
        (51264, "(5*5*32+1)*64"),
        (3212288, "(3136+1)*1024"),
        (10250, "(1024+1)*10"),
    ]
    assert layers["conv1"].outputs[0].shape == (1, 28, 28, 32)  # x 4 bytes = 98 KiB
    assert layers["conv2"].outputs[0].shape == (1, 14, 14, 64)  # x 4 bytes = 49 KiB


def test_text_and_bare_step_stats_say_the_same(tmp_path: Path) -> None:
    from google.protobuf import text_format

    metadata = parse("RunMetadata", raw_of(SAMPLES / "run_metadata" / "1.15-lenet.pb"))
    text, bare, bare_text = tmp_path / "md.pbtxt", tmp_path / "stats.pb", tmp_path / "stats.pbtxt"
    text.write_text(text_format.MessageToString(metadata), encoding="utf-8")
    bare.write_bytes(metadata.step_stats.SerializeToString())
    bare_text.write_text(text_format.MessageToString(metadata.step_stats), encoding="utf-8")
    peaks = {pipeline.capture(path).timelines[0].peak_bytes for path in (text, bare, bare_text)}
    assert peaks == {capture_of(metadata, "memory").timelines[0].peak_bytes}


TEXT = SAMPLES / "run_metadata_text" / "1.15-branches.pbtxt.gz"


def test_tensorflows_own_text_says_what_the_bytes_say() -> None:
    """TensorFlow spells data types by name, `dtype: DT_FLOAT`."""
    text, binary = pipeline.capture(TEXT), pipeline.capture(SAMPLES / "run_metadata" / "1.15-branches.pb")
    assert not text.notes
    assert allocations(text).equals(allocations(binary))
    assert text.timelines[0].peak_bytes == binary.timelines[0].peak_bytes
    assert text.graph and binary.graph and set(text.graph.nodes) == set(binary.graph.nodes)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "\ufeff" + text,
        lambda text: "# a step of the second run\n\n" + text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: " ".join(text.split("\n")),
    ],
    ids=["mark", "comment", "windows", "one-line"],
)
def test_text_may_be_written_otherwise(tmp_path: Path, change: Callable[[str], str]) -> None:
    text = raw_of(TEXT).decode()
    file = tmp_path / "otherwise.pbtxt"
    file.write_bytes(change(text).encode())
    assert pipeline.capture(file).timelines[0].peak_bytes == pipeline.capture(TEXT).timelines[0].peak_bytes


def test_a_cut_text_of_tensorflows_keeps_what_stands_before(tmp_path: Path) -> None:
    text = raw_of(TEXT).decode()
    file = tmp_path / "cut.pbtxt"
    file.write_text(text[: len(text) // 2], encoding="utf-8")
    found = pipeline.capture(file)
    assert found.timelines and any("cut" in note.text for note in found.notes)


def test_protobufs_json_of_the_message_is_read_too(tmp_path: Path) -> None:
    from google.protobuf import json_format

    metadata = parse("RunMetadata", raw_of(SAMPLES / "run_metadata" / "1.15-lenet.pb"))
    file = tmp_path / "metadata.json"
    file.write_text(
        re.sub(r'"dtype": 1\b', '"dtype": "DT_FLOAT"', json_format.MessageToJson(metadata)), encoding="utf-8"
    )
    assert (
        pipeline.capture(file).timelines[0].peak_bytes
        == capture_of(metadata, "memory").timelines[0].peak_bytes
    )


@pytest.mark.parametrize("share", [0.6, 0.9, 0.999])
def test_a_cut_file_shows_what_could_be_read(tmp_path: Path, share: float) -> None:
    raw = raw_of(SAMPLES / "run_metadata" / "1.15-unet.pb.gz")
    file = tmp_path / "cut.pb"
    file.write_bytes(raw[: int(share * len(raw))])
    found = pipeline.capture(file)
    assert found.timelines[0].peak_bytes > 0
    assert any("cut" in note.text for note in found.notes)


def test_a_cut_text_shows_what_could_be_read(tmp_path: Path) -> None:
    from google.protobuf import text_format

    text = text_format.MessageToString(
        parse("RunMetadata", raw_of(SAMPLES / "run_metadata" / "1.15-lenet.pb"))
    )
    file = tmp_path / "cut.pbtxt"
    file.write_text(text[: len(text) // 2], encoding="utf-8")
    found = pipeline.capture(file)
    assert found.timelines or found.notes
    assert any("cut" in note.text for note in found.notes)


def test_a_trace_without_memory_says_how_to_get_one(tmp_path: Path) -> None:
    metadata = parse("RunMetadata", raw_of(SAMPLES / "run_metadata" / "1.15-lenet.pb"))
    metadata.ClearField("step_stats")
    file = tmp_path / "graphs.pb"
    file.write_bytes(metadata.SerializeToString())
    found = pipeline.capture(file)
    assert found.graph
    assert any("FULL_TRACE" in note.text for note in found.notes)


def test_garbage_is_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "x.pb"
    file.write_bytes(b"\x0a\x10\x0a\x0e\x0a\x0c/job:x/cpu:0" + b"\xff" * 200)
    try:
        assert not pipeline.capture(file).timelines
    except UnreadableInput as problem:
        assert "\n" not in problem.sentence


@pytest.mark.parametrize(
    "text",
    ["step_stats {\n  dev_stats {\n" + "unknown {1 " * 5000, '{"stepStats": ' + '{"unknown": ' * 5000 + "1"],
    ids=["text", "json"],
)
def test_messages_nested_too_deeply_are_damage(tmp_path: Path, text: str) -> None:
    path = tmp_path / "deep"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UnreadableInput):
        pipeline.timelines(path)
