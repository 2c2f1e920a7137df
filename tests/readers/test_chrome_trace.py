"""Chrome traces against the allocator's own peak, which they bound from below; whole, cut and without
memory.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from tests.conftest import SAMPLES
from tfmemlens import pipeline
from tfmemlens.errors import UnreadableInput
from tfmemlens.model.timeline import CurveSource
from tfmemlens.readers.bytes import json_events
from tfmemlens.readers.bytes.json_events import start_of

FOLDER = SAMPLES / "chrome_trace"
WITH_MEMORY = sorted(FOLDER.glob("*-memory.timeline.json*"))
WITHOUT = sorted(
    path for path in FOLDER.glob("*.json*") if "memory" not in path.name and "truth" not in path.name
)
LENET = FOLDER / "1.15-lenet-memory.timeline.json.gz"


def text_of(path: Path) -> str:
    return (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).decode()


@pytest.mark.parametrize("trace", WITH_MEMORY, ids=lambda path: path.name.split(".timeline")[0])
def test_the_peak_is_a_lower_bound_of_the_allocators_own(trace: Path) -> None:
    truth = json.loads(
        trace.with_name(trace.name.split(".timeline")[0] + ".truth.json").read_text(encoding="utf-8")
    )
    (timeline,) = pipeline.capture(trace).timelines
    assert timeline.curve_source is CurveSource.LIVENESS
    assert timeline.precision == "lower bound"
    if "max_in_use_bytes" in truth:
        assert 0.6 * truth["max_in_use_bytes"] < timeline.peak_bytes <= truth["max_in_use_bytes"]


@pytest.mark.parametrize("trace", WITH_MEMORY, ids=lambda path: path.name.split(".timeline")[0])
def test_a_buffer_counts_once_however_many_outputs_lie_in_it(trace: Path) -> None:
    (timeline,) = pipeline.capture(trace).timelines
    moment = pipeline.explain(trace).case.moments[0]
    assert moment.attribution.table.total_bytes == timeline.peak_bytes
    assert {"fc1/weights", "fc1/weights/Adam"} <= set(timeline.standing.node) or "while" in trace.name


def test_the_same_step_as_run_metadata_is_never_lower() -> None:
    """A RunMetadata of the same net in the same TensorFlow has the scratch memory, too."""
    exact = pipeline.capture(SAMPLES / "run_metadata" / "1.15-lenet.pb").timelines[0]
    assert pipeline.capture(LENET).timelines[0].peak_bytes < exact.peak_bytes


@pytest.mark.parametrize("trace", WITHOUT, ids=lambda path: path.name.split(".")[1])
def test_a_trace_without_memory_says_how_to_get_it(trace: Path) -> None:
    found = pipeline.capture(trace)
    assert found.source.formats == ("chrome-trace",)
    assert not found.timelines
    assert any("no memory" in note.text for note in found.notes)


@pytest.mark.parametrize("share", [0.05, 0.3, 0.7, 0.95, 0.9999])
def test_a_cut_trace_shows_what_could_be_read(tmp_path: Path, share: float) -> None:
    text = text_of(LENET)
    file = tmp_path / "timeline-1.json"
    file.write_text(text[: int(share * len(text))], encoding="utf-8")
    found = pipeline.capture(file)
    assert found.notes
    assert "cut" in found.notes[0].text or "end is missing" in found.notes[0].text
    assert all(
        timeline.peak_bytes <= pipeline.capture(LENET).timelines[0].peak_bytes for timeline in found.timelines
    )


def test_counters_alone_are_a_curve_without_names(tmp_path: Path) -> None:
    document = json.loads(text_of(LENET))
    document["traceEvents"] = [event for event in document["traceEvents"] if event["ph"] in "CM"]
    file = tmp_path / "counters.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    timeline = pipeline.capture(file).timelines[0]
    assert timeline.curve_source is CurveSource.COUNTERS
    assert timeline.peak_bytes == max(
        event["args"][event["name"]] for event in document["traceEvents"] if event["ph"] == "C"
    )
    assert set(timeline.table.node) == {None}


@pytest.mark.parametrize(
    "text",
    [
        '{"cells": [{"traceEvents": []}]}',
        '{"a": 1}',
        "[1, 2]",
        '{"nodes": [{"ph": "X"}]}',
        '{"traceEvents": 3}',
        "",
    ],
)
def test_other_json_is_not_ours(text: str) -> None:
    assert start_of(text.encode()) < 0


@pytest.mark.parametrize(
    "text",
    [
        '{"displayTimeUnit":"ns","metadata":{"highres-ticks":true},\n"traceEvents":[',
        '[{"name": "x", "ph": "M"}',
        '{ "traceEvents" : [ ] }',
    ],
)
def test_each_spelling_of_the_format_is_recognised(text: str) -> None:
    assert start_of(text.encode()) >= 0


def test_an_empty_trace_is_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text('{"traceEvents": []}', encoding="utf-8")
    with pytest.raises(UnreadableInput, match="no event"):
        pipeline.capture(file)


@settings(max_examples=40, deadline=None)
@given(piece=some.integers(1, 400), cut=some.floats(0, 1))
def test_pieces_of_any_size_give_the_same_events(piece: int, cut: float) -> None:
    import io
    from unittest.mock import patch

    from tfmemlens.readers.gathering.inputs import Opened

    events = [{"ph": "X", "name": f"é{number}", "args": {"x": "]}[{" * number}} for number in range(30)]
    raw = json.dumps({"traceEvents": events}, ensure_ascii=False).encode()
    raw = raw[: max(int(cut * len(raw)), 40)]
    with patch.object(json_events, "PIECE", piece):
        found = list(json_events.events(Opened("x", "x", io.BytesIO(raw), len(raw))))
    whole = [event for event in found if isinstance(event, dict)]
    assert whole == events[: len(whole)]
    assert len(found) - len(whole) == (0 if len(whole) == 30 and raw.rstrip(b"}").endswith(b"]") else 1)


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"ph": "C", "cat": "Memory", "args": None},
        {"ph": "X", "args": {"op": 3}, "ts": "soon"},
        {"ph": "O", "args": {"snapshot": 1}},
        {"ph": "D", "pid": [1]},
    ],
)
def test_events_of_others_do_no_harm(tmp_path: Path, event: dict[str, object]) -> None:
    file = tmp_path / "x.json"
    file.write_text(json.dumps({"traceEvents": [event, 3, None, event]}), encoding="utf-8")
    assert not pipeline.capture(file).timelines
