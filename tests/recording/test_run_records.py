"""What a RunMetadata tells in the process itself: constants that a session keeps, which steps are kept."""

from __future__ import annotations

import weakref
from pathlib import Path
from types import SimpleNamespace as Made
from typing import Any

import pytest

from tfmemlens.recording.inside import bundle, recorder, run_records


def node(name: str, label: str, size: int, place: int = 7, total: int = 0) -> Any:
    where = Made(
        allocated_bytes=size, requested_bytes=size - 24, ptr=place, allocation_id=1, allocator_name="bfc"
    )
    told = Made(allocation_description=where, dtype=1, shape=Made(dim=[Made(size=3), Made(size=5)]))
    memory = [Made(total_bytes=total)] if total else []
    return Made(node_name=name, timeline_label=label, output=[Made(tensor_description=told)], memory=memory)


def stats(*nodes: Any) -> Any:
    return Made(dev_stats=[Made(node_stats=nodes)])


class Session:
    _closed = False


def test_the_constants_of_a_run_have_the_chunks_that_they_lie_in() -> None:
    kept = run_records.Constants()
    kept.take(stats(node("w/Initializer/zeros", "w = Const()", 2048), node("w", "w = Relu(x)", 4096)), None)
    assert kept.told() == [
        {"name": "w/Initializer/zeros", "shape": [3, 5], "type": 1, "bytes": 2024, "chunk": 2048,
         "allocator": "bfc"}
    ]  # fmt: skip


@pytest.mark.parametrize("size, place, count", [(1024, 7, 1), (1023, 7, 0), (2048, 0, 1)])
def test_small_ones_tell_nothing(size: int, place: int, count: int) -> None:
    kept = run_records.Constants()
    kept.take(stats(node("c", "c = Const()", size, place)), None)
    assert len(kept.told()) == count


def test_a_buffer_that_two_runs_show_counts_once_and_two_of_one_name_twice() -> None:
    kept = run_records.Constants()
    for place in (7, 7, 8):
        kept.take(stats(node("c", "c = Const()", 2048, place)), None)
    assert len(kept.told()) == 2


class Shape(Made):
    def __iter__(self) -> Any:
        return iter([self.num_elements()])


def op(kind: str, *inputs: Any, name: str = "op", size: Any = 0, controls: tuple[Any, ...] = ()) -> Any:
    shape = Shape(is_fully_defined=lambda: size is not None, num_elements=lambda: size)
    dtype = Made(size=4, name="float32", as_datatype_enum=1)
    own = Made(
        type=kind, name=name, inputs=[each.outputs[0] for each in inputs], control_inputs=list(controls)
    )
    own.outputs = [Made(op=own, shape=shape, dtype=dtype)]
    return own


def test_the_graph_tells_the_constants_behind_what_is_fetched() -> None:
    table, small, unknown = (
        op("Const", name=name, size=size) for name, size in (("t", 300), ("s", 255), ("u", None))
    )
    before = op("Const", name="before", size=256)
    loss = op("Add", op("Mul", table, table), small, controls=(before, unknown))
    kept = run_records.Constants()
    kept.take_graph({"loss": [loss.outputs[0]], "step": "name"}, None)
    assert [(row["name"], row["shape"], row["bytes"], row["chunk"]) for row in kept.told()] == [
        ("t", [300], 1200, 1280), ("before", [256], 1024, 1024),
    ]  # fmt: skip


def test_what_is_filled_becomes_a_constant_unless_it_is_large() -> None:
    """The first values of a table's slots, which TensorFlow works out before it runs their making."""
    dims = op("Const", name="dims", size=2)
    slot, larger = op("Fill", dims, dims, name="zeros", size=2_560_000), op("Fill", dims, size=3_840_000)
    by_size = op("Fill", op("Shape"), dims, size=300)
    kept = run_records.Constants()
    kept.take_graph([slot, larger, by_size], None)
    assert [(row["name"], row["bytes"]) for row in kept.told()] == [("zeros", 10_240_000)]


def test_what_a_session_kept_goes_with_it() -> None:
    kept, session = run_records.Constants(), Session()
    kept.take(stats(node("c", "c = Const()", 2048)), weakref.ref(session))
    assert kept.told()
    session._closed = True
    assert not kept.told()
    session._closed = False
    assert kept.told()
    del session
    assert not kept.told()


def test_only_so_many_runs_are_looked_at() -> None:
    kept = run_records.Constants()
    for at in range(run_records.MAX_RUNS):
        assert kept.wanted
        kept.take(stats(node("c", "c = Const()", 2048, at)), None)
    assert not kept.wanted


def test_what_a_step_allocates_is_summed_over_its_nodes() -> None:
    assert (
        run_records.allocated(stats(node("a", "", 0, total=3), node("b", "", 0), node("c", "", 0, total=4)))
        == 7
    )


class Metadata:
    """Takes the bytes that it is given as its record."""

    step_stats = b""

    def ParseFromString(self, data: bytes) -> None:  # noqa: N802
        self.step_stats = data


@pytest.mark.parametrize(
    "data, told",
    [
        (b"\x0a\x02abGRAPHS", b"\x0a\x02ab"),
        (b"\x0a\x82\x01" + b"a" * 130 + b"GRAPHS", b"\x0a\x82\x01" + b"a" * 130),
        (b"\x0a\x09ab", None),  # cut
        (b"\x1a\x02ab", None),  # a graph alone
        (b"", None),
    ],
)
def test_the_steps_own_record_stands_before_the_graphs(data: bytes, told: bytes | None) -> None:
    assert run_records.stats(data, Metadata) == told
    assert run_records.stats(data, None) is None


def test_of_a_record_that_is_too_large_the_graphs_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"\x0a\x02abGRAPHS"
    assert run_records.kept(data) == data
    monkeypatch.setattr(run_records, "MAX_TRACE_BYTES", 8)
    assert run_records.kept(data) == b"\x0a\x02ab"


@pytest.mark.parametrize(
    "steps, kept",
    [
        ([(9, 900, 25), (9, 300, 2)], [True, False]),  # a checkpoint is read, after many steps
        ([(9, 900, 25), (9, 1000, 2)], [True, True]),  # larger than all
        ([(9, 900, 8), (9, 300, 2)], [True, True]),
        ([(9, 300, 2), (90, 900, 25)], [True, True]),
        ([(9000, 90, 2), (9, 900, 2)], [True, True]),  # a large file of a small step
        ([(9, 900, 2), (9000, 90, 2)], [True, False]),
    ],
)
def test_a_step_is_judged_by_what_it_allocates_and_how_often_its_kind_runs(
    steps: list[tuple[int, int, int]], kept: list[bool], tmp_path: Path
) -> None:
    own = bundle.Bundle(str(tmp_path))
    told = [
        own.keep_trace(number, bytes(length), ".pb", size, runs)
        for number, (length, size, runs) in enumerate(steps)
    ]
    assert told == kept
    assert len(list(tmp_path.iterdir())) == len(own.traces)


def test_constants_of_a_session_that_a_failure_closes_are_remembered(tmp_path: Path) -> None:
    session = Session()
    made = recorder.Recorder(str(tmp_path), {}, None)
    kept = made.constants = run_records.Constants()
    kept.take(stats(node("beats", "beats = Const()", 2048)), weakref.ref(session))
    made.keep_constants()
    session._closed = True
    assert kept.told() == []
    made.keep_constants()
    assert [row["name"] for row in made._constants] == ["beats"]
