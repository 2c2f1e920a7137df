"""The processed form of the TF2 profiler's memory events."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.conftest import SAMPLES
from tfmemlens import pipeline
from tfmemlens.errors import UnreadableInput

SAMPLE = SAMPLES / "memory_profile" / "2.4-function.memory_profile.json.gz"


def test_the_peak_is_the_one_that_the_file_sums_up() -> None:
    stated = json.loads(gzip.decompress(SAMPLE.read_bytes()))["memoryProfilePerAllocator"][
        "bfc_cpu_allocator_for_gpu"
    ]["profileSummary"]
    (timeline,) = pipeline.capture(SAMPLE).timelines
    assert timeline.peak_bytes == max(timeline.curve) <= int(stated["peakBytesUsageLifetime"])
    assert timeline.limit_bytes == int(stated["memoryCapacity"])
    assert timeline.baseline_confidence == 1.0
    assert "net/features/Relu" in timeline.table.node


def _snapshot(offset: str, size: str) -> str:
    act = {"memoryActivity": "ALLOCATION", "allocationBytes": size}
    snapshot = {"activityMetadata": act, "aggregationStats": {}, "timeOffsetPs": offset}
    return json.dumps({"memoryProfilePerAllocator": {"x": {"memoryProfileSnapshots": [snapshot]}}})


def test_one_event_is_read(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text(_snapshot("2000000", "256"), encoding="utf-8")
    (timeline,) = pipeline.capture(file).timelines
    assert (timeline.table.size_bytes, timeline.table.start_micros) == ([256], [2.0])


@pytest.mark.parametrize(
    "text",
    [
        '{"memoryProfilePerAllocator": {"x": 3}}',
        '{"memoryProfilePerAllocator": {"x": {"memoryProfileSnapshots": [{}]}}}',
        '{"memoryProfilePerAllocator": [',
        '{"memoryProfilePerAllocator": []}',
        '{"memoryProfilePerAllocator": {"x": {"memoryProfileSnapshots": 3}}}',
        _snapshot(offset="1", size="many"),
        _snapshot(offset="1.5", size="3"),
        _snapshot(offset="1", size="9" * 20),
        '{"memoryProfilePerAllocator": ' + "9" * 5000,
    ],
    ids=str,
)
def test_damage_is_one_sentence(tmp_path: Path, text: str) -> None:
    file = tmp_path / "x.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UnreadableInput, match="damaged"):
        pipeline.capture(file)


def test_no_events_say_how_to_get_them(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text('{"memoryProfilePerAllocator": {}}', encoding="utf-8")
    assert "no memory events" in pipeline.capture(file).notes[0].text
