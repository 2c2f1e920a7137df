"""Profiler traces against the allocator's own peak, whole, damaged and without memory."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.conftest import SAMPLES
from tfmemlens import pipeline
from tfmemlens.model.allocation import PIPELINE
from tfmemlens.readers.bytes import large_protobuf
from tfmemlens.readers.formats import xspace
from tfmemlens.readers.gathering.inputs import Opened
from tfmemlens.schema import message, parse

TRACES = sorted(path for path in (SAMPLES / "xspace").glob("*.xplane.pb*") if "no-memory" not in path.name)


def raw_of(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


@pytest.mark.parametrize("trace", TRACES, ids=lambda path: path.name.split(".xplane")[0])
def test_the_peak_is_the_allocators_own_to_the_byte(trace: Path) -> None:
    truth = json.loads(
        trace.with_name(trace.name.split(".xplane")[0] + ".truth.json").read_text(encoding="utf-8")
    )
    timeline = pipeline.capture(trace).timelines[0]
    assert timeline.peak_bytes == truth.get("max_in_use_bytes", timeline.peak_bytes)
    assert timeline.baseline_confidence == 1.0


@pytest.mark.parametrize("trace", TRACES, ids=lambda path: path.name.split(".xplane")[0])
def test_every_event_agrees_with_the_allocators_own_total(trace: Path) -> None:
    """The curve passes through each figure that BFC wrote into its events."""
    timeline = pipeline.capture(trace).timelines[0]
    space = parse("XSpace", raw_of(trace))
    stated = set()
    for plane in space.planes:
        names = {key: data.name for key, data in plane.stat_metadata.items()}
        for line in plane.lines:
            for event in line.events:
                stated |= {
                    stat.int64_value or stat.uint64_value
                    for stat in event.stats
                    if names.get(stat.metadata_id) == "bytes_allocated"
                }
    assert stated <= {*timeline.curve, timeline.baseline_bytes}


def test_a_cut_file_shows_what_could_be_read(tmp_path: Path) -> None:
    raw = raw_of(SAMPLES / "xspace" / "2.11-eager.xplane.pb.gz")
    file = tmp_path / "cut.xplane.pb"
    file.write_bytes(raw[: len(raw) * 2 // 3])
    found = pipeline.capture(file)
    assert found.timelines or found.notes
    assert any("cut" in note.text for note in found.notes)


def test_a_trace_without_memory_events_says_how_to_get_them(tmp_path: Path) -> None:
    space = parse("XSpace", raw_of(SAMPLES / "xspace" / "2.11-function.xplane.pb"))
    for plane in space.planes:
        for line in plane.lines:
            del line.events[:]
    file = tmp_path / "empty.xplane.pb"
    file.write_bytes(space.SerializeToString())
    assert any("no memory events" in note.text for note in pipeline.capture(file).notes)


def test_malloc_has_no_memory_events() -> None:
    found = pipeline.capture(SAMPLES / "xspace" / "2.21-no-memory-events.xplane.pb")
    assert not found.timelines
    assert "TF_CPU_ALLOCATOR_USE_BFC" in found.notes[0].text


def test_the_allocator_tells_addresses_and_its_fragmentation() -> None:
    timeline = pipeline.timelines(SAMPLES / "xspace" / "2.21-function.xplane.pb").timelines[0]
    table = timeline.table
    assert len(timeline.addresses) == len(table)
    alive: dict[int, int] = {}
    events = zip(*timeline.events, strict=True)
    for micros, change, row in sorted(events, key=lambda event: event[:2]):
        if change < 0:
            alive.pop(row, None)
            continue
        start, end = timeline.addresses[row], timeline.addresses[row] + table.size_bytes[row]
        assert all(end <= timeline.addresses[other] or start >= stop for other, stop in alive.items()), micros
        alive[row] = end
    shares = [share for _, share in timeline.fragmentation]
    assert shares[0] == pytest.approx(0.5, abs=0.1) and all(0 <= share <= 1 for share in shares)


@pytest.mark.parametrize(
    "thread, purpose", [("tf_data_iterator_resource/7", PIPELINE), ("tf_Compute/7", "output"), ("", "output")]
)
def test_what_a_thread_of_the_pipeline_makes_is_told(tmp_path: Path, thread: str, purpose: str) -> None:
    """As a space that is parsed whole, and one that is walked through."""
    space = message("XSpace")()
    plane = space.planes.add(name="/host:CPU")
    plane.event_metadata[1].name = "MemoryAllocation"
    for key, name in enumerate(("allocator_name", "allocation_bytes", "addr", "region_type"), start=1):
        plane.stat_metadata[key].name = name
    event = plane.lines.add(name=thread).events.add(metadata_id=1)
    event.stats.add(metadata_id=1, str_value="cpu")
    event.stats.add(metadata_id=2, int64_value=2048)
    event.stats.add(metadata_id=3, int64_value=9)
    event.stats.add(metadata_id=4, str_value="output")
    file = tmp_path / "one.xplane.pb"
    file.write_bytes(space.SerializeToString())
    assert list(pipeline.capture(file).timelines[0].table.purpose) == [purpose]
    with file.open("rb") as opened:
        pieces = large_protobuf.Pieces(Opened(str(file), file.name, opened, file.stat().st_size))
        (line,) = next(large_protobuf.planes(pieces)).lines
        assert line.name == thread


def _of_eager_ops(folder: Path, *events: tuple[str, int], thread: str = "python") -> list[str | None]:
    """The nodes of allocations in a trace; an event is an op that allocates, or the mark of a scope, and when
    it happened (in microseconds).
    """
    plane = message("XPlane")(name="/host:CPU")
    kinds = {"MemoryAllocation": 1}
    for number, name in enumerate(("tf_op", "allocation_bytes", "addr"), 1):
        plane.stat_metadata[number].id, plane.stat_metadata[number].name = number, name
    line = plane.lines.add(name=thread, timestamp_ns=5_000)
    for at, (name, micros) in enumerate(events):
        is_mark = name.startswith(xspace.SCOPE)
        kind = kinds.setdefault(name if is_mark else "MemoryAllocation", len(kinds) + 1)
        told = line.events.add(metadata_id=kind, offset_ps=micros * 1_000_000)
        if not is_mark:
            told.stats.add(metadata_id=1, str_value=name)
            told.stats.add(metadata_id=2, int64_value=256)
            told.stats.add(metadata_id=3, int64_value=4096 * (at + 1))
    for name, kind in kinds.items():
        plane.event_metadata[kind].id, plane.event_metadata[kind].name = kind, name
    trace = folder / "step.xplane.pb"
    trace.write_bytes(message("XSpace")(planes=[plane]).SerializeToString())
    (timeline,) = pipeline.capture(trace).timelines
    return [str(node) for node in timeline.table.node]


def test_an_eager_op_is_of_the_scope_of_the_tensor_that_is_made_next(tmp_path: Path) -> None:
    scope = xspace.SCOPE
    events = [
        ("Conv2D", 1), (scope + "net/stem/", 2), ("Relu", 3), ("Relu", 4), (scope + "net/act/", 5),
        ("Mean", 6), (scope, 7), ("net/inner/Conv2D", 8), (scope + "net/act/", 9), ("MatMul", 10),
    ]  # fmt: skip
    assert _of_eager_ops(tmp_path, *events) == [
        "net/stem/Conv2D", "net/act/Relu", "net/act/Relu", "Mean", "net/inner/Conv2D", "MatMul",
    ]  # fmt: skip


def test_what_a_data_set_makes_meanwhile_is_in_no_scope(tmp_path: Path) -> None:
    events = [("ShuffleDatasetV3", 1), (xspace.SCOPE + "net/stem/", 2)]
    assert _of_eager_ops(tmp_path, *events, thread="tf_data_iterator_get_next") == ["ShuffleDatasetV3"]


def test_eager_ops_of_keras_3_have_the_layers_own_numbers(tmp_path: Path) -> None:
    """A graph's `look_1` is most likely the first call of `look`; in eager execution it is a layer."""
    layers = ("judge/look", "judge/look_1", "judge/look_3", "compile_loss/mse")
    events = [
        each
        for at, layer in enumerate(layers)
        for each in (("Conv2D", 2 * at), (xspace.SCOPE + layer, 2 * at + 1))
    ]
    _of_eager_ops(tmp_path, *events)
    case = pipeline.case(pipeline.timelines(tmp_path / "step.xplane.pb"))
    assert {group.name for group in case.moments[0].attribution.by("layer")} >= set(layers[:3])
