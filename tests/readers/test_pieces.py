"""Files that are too big for protobuf, read in pieces: the same as in one go. The limit is lowered, so that
samples are big files.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from tests.conftest import SAMPLES
from tfmemlens import pipeline
from tfmemlens.model.timeline import Timeline
from tfmemlens.readers.bytes import large_protobuf
from tfmemlens.readers.gathering.inputs import Input, Opened
from tfmemlens.readers.gathering.opening import open_input
from tfmemlens.schema import message, parse
from tfmemlens.use_cases.traced_step import of_run_metadata

TRACES = sorted(path for folder in ("run_metadata", "xspace") for path in (SAMPLES / folder).glob("*.pb*"))
UNET = SAMPLES / "run_metadata" / "1.15-unet.pb.gz"


def raw_of(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def facts(timeline: Timeline) -> list[object]:
    rows = [
        list(column)
        for column in (
            timeline.table.node,
            timeline.table.op,
            timeline.table.shape,
            timeline.table.dtype,
            timeline.table.purpose,
        )
    ]
    stands = sorted(zip(timeline.standing.node, timeline.standing.size_bytes, strict=True), key=str)
    return [
        timeline.device,
        timeline.allocator,
        timeline.peak_bytes,
        timeline.baseline_bytes,
        list(timeline.curve),
        rows,
        stands,
    ]


@pytest.mark.parametrize("trace", TRACES, ids=lambda path: f"{path.parent.name}-{path.name.split('.pb')[0]}")
def test_pieces_say_what_the_whole_says(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = pipeline.capture(trace)
    monkeypatch.setattr(large_protobuf, "WHOLE", 100)
    monkeypatch.setattr(large_protobuf, "WHOLE_STEP", 100)
    monkeypatch.setattr(large_protobuf, "WINDOW", 1000)
    found = pipeline.capture(trace)
    assert [facts(timeline) for timeline in found.timelines] == [
        facts(timeline) for timeline in whole.timelines
    ]
    assert list(found.graph or ()) == list(whole.graph or ()) or {
        node.name for node in found.graph or ()
    } == {node.name for node in whole.graph or ()}
    assert [note.text for note in found.notes] == [note.text for note in whole.notes]


def test_bare_step_stats_and_repeated_devices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a concatenation of messages is to protobuf: repeated fields go on."""
    metadata = parse("RunMetadata", raw_of(SAMPLES / "run_metadata" / "1.15-lenet.pb"))
    whole = of_run_metadata(metadata).timelines[0]
    halves = message("StepStats")()
    for device in metadata.step_stats.dev_stats:
        for index in (0, 1):
            middle = len(device.node_stats) // 2
            part = halves.dev_stats.add(device=device.device)
            part.node_stats.extend(device.node_stats[middle:] if index else device.node_stats[:middle])
    file = tmp_path / "stats.pb"
    file.write_bytes(halves.SerializeToString())
    monkeypatch.setattr(large_protobuf, "WHOLE", 100)
    monkeypatch.setattr(large_protobuf, "WHOLE_STEP", 100)
    (found,) = pipeline.capture(file).timelines
    assert found.peak_bytes == whole.peak_bytes


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(share=some.floats(0.3, 0.999))
def test_a_cut_file_shows_what_could_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    monkeypatch.setattr(large_protobuf, "WHOLE", 100)
    monkeypatch.setattr(large_protobuf, "WHOLE_STEP", 100)
    for trace in (UNET, SAMPLES / "xspace" / "2.11-eager.xplane.pb.gz"):
        raw = raw_of(trace)
        file = tmp_path / "cut.pb"
        file.write_bytes(raw[: int(share * len(raw))])
        found = pipeline.capture(file)
        assert any("cut" in note.text for note in found.notes)
        assert found.timelines or len(found.notes) > 1


def test_damage_in_the_middle_is_no_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_protobuf, "WHOLE", 100)
    monkeypatch.setattr(large_protobuf, "WHOLE_STEP", 100)
    raw = bytearray(raw_of(UNET))
    for at in range(5000, len(raw), 7919):
        raw[at] ^= 0xFF
    file = tmp_path / "damaged.pb"
    file.write_bytes(bytes(raw))
    found = pipeline.capture(file)
    assert found.timelines or found.notes


def entries_of(tmp_path: Path, raw: bytes) -> large_protobuf.Entries:
    file = tmp_path / "device.pb"
    file.write_bytes(raw)
    with open_input(Input(str(file))).file as opened:
        pieces = large_protobuf.Pieces(Opened(str(file), "device.pb", opened, len(raw)))
    found = large_protobuf.Entries(pieces, "DeviceStepStats", "node_stats", 2)
    found.add(0, len(raw))
    return found


def device(count: int) -> bytes:
    lane = message("DeviceStepStats")(device="/device:CPU:0", thread_names={1: "main"})
    for index in range(count):
        lane.node_stats.add(node_name=f"node{index}" * (index % 40), all_start_micros=index)
    raw: bytes = lane.SerializeToString()
    return raw


def test_entries_are_the_same_in_any_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_protobuf, "WINDOW", 500)
    found = entries_of(tmp_path, device(3000))
    assert [each.all_start_micros for each in found] == list(range(3000)) and len(found) == 3000
    for indices in (range(3000), range(2999, -1, -1), range(0, 3000, 7), [2, 2999, 3, 0, 512, 511]):
        assert [found[index].all_start_micros for index in indices] == list(indices)
    assert [number for number, _, _ in found.others] == [1, 3]


def test_a_damaged_entry_is_empty_and_its_neighbours_are_not(tmp_path: Path) -> None:
    raw = bytearray(device(100))
    name = raw.index(b"node50node50")
    raw[name - 1] = 0xFF  # the length of its name goes beyond it
    names = [each.all_start_micros for each in entries_of(tmp_path, bytes(raw))]
    assert names == [*range(50), 0, *range(51, 100)]
