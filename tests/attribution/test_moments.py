"""A moment of a step: which event is meant, what is alive then, and what of the baseline has a name."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import ALLOCATOR, DEVICE, MIB, capture, row, timeline
from tfmemlens.attribution.moments import timelines
from tfmemlens.attribution.moments.timelines import (
    baseline_rows,
    handle_of,
    index_of,
    kept_by_loops,
    moment_at,
    owners_of,
    standing_of,
)
from tfmemlens.errors import UsageError
from tfmemlens.model.allocation import BEFORE, PERSISTENT, TEMPORARY, Allocation, AllocationTable
from tfmemlens.model.attribution import NOBODY, Kind, Owner, Phase
from tfmemlens.model.capture import Hints
from tfmemlens.model.graph import Graph, Node
from tfmemlens.model.timeline import BaselineSource, Timeline
from tfmemlens.units import Size
from tfmemlens.values import replace

STEP = timeline(row("net/a", 4, 10, 30), row("net/b", 2, 20, 50), row("net/a", 1, 40, 50), baseline_mib=7)
"""Events at 10, 20, 30, 40, 50 and 50 ms; the peak of 13 MiB is the second."""


class TestWhichEvent:
    @pytest.mark.parametrize(
        "at, index",
        [
            ("0ms", 0),
            ("9.9ms", 0),
            ("10ms", 1),
            (" 10000 us ", 1),
            ("10000µs", 1),
            ("0.01s", 1),
            ("40ms", 5),
            ("net/b", 1),
            ("net/a", 3),
        ],
    )
    def test_is_meant(self, at: str, index: int) -> None:
        assert index_of(STEP, at) == index

    @pytest.mark.parametrize("at", ["40.001ms", "1.2.3ms", "net", "x", "ms", "10"])
    def test_there_is_none(self, at: str) -> None:
        with pytest.raises(UsageError):
            index_of(STEP, at)

    def test_near_names_are_offered_the_shortest_first(self) -> None:
        step = timeline(*(row(f"net/conv{'x' * more}", 1, 0, 1) for more in (4, 3, 2, 1)))
        with pytest.raises(UsageError) as refused:
            index_of(step, "CONV")
        said = str(refused.value.hint)
        assert "net/convx, or net/convxx, or net/convxxx?" in said
        with pytest.raises(UsageError) as refused:
            index_of(step, "dense")
        assert "12.5ms" in str(refused.value.hint)

    def test_what_takes_no_bytes_is_found(self) -> None:
        assert index_of(timeline(row("a", 1, 0, 9), row("z", 0, 1, 2)), "z") == 2

    def test_of_an_empty_step_the_start(self) -> None:
        assert index_of(timeline(), "0s") == -1
        with pytest.raises(UsageError):
            index_of(timeline(), "0.1us")


class TestWhatIsAliveThen:
    def test_at_the_peak_unless_another_event_is_asked_for(self) -> None:
        peak = moment_at(capture(STEP), STEP)
        assert [each.node for each in peak.attribution.table] == ["net/a", "net/b", None]
        assert peak.attribution.table.total_bytes == 13 * MIB
        assert (peak.peak_micros, peak.balance.in_use) == (20_000, Size.exactly(13 * MIB))
        assert (peak.balance.peak, peak.balance.listed) == (Size.exactly(13 * MIB),) * 2
        first, late = moment_at(capture(STEP), STEP, 0), moment_at(capture(STEP), STEP, 2)
        assert (first.peak_micros, first.attribution.table.total_bytes) == (10_000, 11 * MIB)
        assert late.balance.in_use == Size.exactly(9 * MIB)
        assert late.balance.peak == Size.exactly(13 * MIB)
        assert moment_at(capture(STEP), STEP, -1).peak_micros is None

    @pytest.mark.parametrize(
        "own, hint, limit, free",
        [(None, None, None, None), (20, None, 20, 7), (None, 15, 15, 2), (20, 15, 20, 7), (10, None, 10, 0)],
    )
    def test_what_is_left_of_the_limit(
        self, own: int | None, hint: int | None, limit: int | None, free: int | None
    ) -> None:
        step = replace(STEP, limit_bytes=own and own * MIB)
        case = replace(capture(step), hints=Hints(limit_bytes=hint and hint * MIB))
        books = moment_at(case, step).balance
        assert books.limit == (None if limit is None else Size.exactly(limit * MIB))
        assert books.free == (None if free is None else Size.exactly(free * MIB))

    def test_what_the_allocator_rounded(self) -> None:
        assert moment_at(capture(STEP), STEP).balance.waste is None
        asked = replace(row("net/a", 4, 10, 30), requested_bytes=4 * MIB - 100)
        step = timeline(asked, row("net/b", 2, 20, 50))
        assert moment_at(capture(step), step).balance.waste == Size.exactly(100)

    def test_what_stood_may_be_known_already(self) -> None:
        known = (Allocation("w", MIB), Owner("net", Kind.PARAMETER, Phase.NONE))
        found = moment_at(capture(STEP), STEP, standing=[known]).attribution.table
        assert [each.node for each in found] == ["net/a", "net/b", "w", None]


def test_of_the_baseline_what_is_known_the_largest_first() -> None:
    def rows(*sizes: int) -> list[tuple[str | None, int]]:
        known = [(Allocation(f"w{size}", size), NOBODY) for size in sizes]
        step = replace(timeline(), baseline_bytes=100)
        found = baseline_rows(step, known)
        assert all(
            each.device == DEVICE and each.allocator == ALLOCATOR for each, _ in found if not each.node
        )
        return [(each.node, each.size_bytes) for each, _ in found]

    assert rows() == [(None, 100)]
    assert rows(30, 60) == [("w60", 60), ("w30", 30), (None, 10)]
    assert rows(60, 40) == [("w60", 60), ("w40", 40)]
    assert rows(60, 41, 1) == [("w60", 60), ("w1", 1), (None, 39)]
    assert rows(101, 0, -5) == [(None, 100)]


class TestOwners:
    @staticmethod
    def of(node: str | None, purpose: str | None = None, **owners: Owner) -> Owner:
        step = Timeline(DEVICE, ALLOCATOR, AllocationTable.of([Allocation(node, 1, purpose=purpose)]))
        (found,) = owners_of(
            replace(step, owners={name.replace("__", "/"): own for name, own in owners.items()})
        )
        return found

    def test_by_purpose(self) -> None:
        copy = Owner("net", Kind.LAYOUT_TRANSPOSE, Phase.FORWARD)
        assert self.of(None) == NOBODY
        assert self.of("net/conv/Relu").kind is Kind.ACTIVATION
        assert self.of("net/conv/Relu", TEMPORARY).kind is Kind.WORKSPACE
        assert self.of("net/t", TEMPORARY, net__t=copy) == copy
        before = self.of("net/conv/x", BEFORE)
        assert (before.kind, before.phase) == (Kind.PARAMETER, Phase.NONE)
        slot = Owner("net", Kind.OPTIMIZER_SLOT, Phase.OPTIMIZER)
        assert self.of("net/m", BEFORE, net__m=slot) == slot


class TestStanding:
    def of(self, *rows: Allocation, graph: Graph | None = None, **more: Any) -> list[tuple[Any, ...]]:
        step = replace(timeline(), standing=AllocationTable.of(rows), **more)
        return [(row.node, row.size_bytes, owner.kind) for row, owner in standing_of(step, graph)]

    def test_by_the_name_of_the_variable_behind_a_reader(self) -> None:
        nodes = (
            Node("net/w", "VarHandleOp", (), DEVICE, {"shape": (10, 10), "dtype": "float32"}),
            Node("net/read", "ReadVariableOp", ("net/w",)),
            Node("net/c", "Const"),
        )
        graph = Graph({node.name: node for node in nodes})
        read = Allocation("net/read", 512, "ReadVariableOp", dtype="float32")
        assert self.of(read, Allocation("net/c", 8), graph=graph) == [
            ("net/w", 512, Kind.PARAMETER), ("net/c", 8, Kind.CONSTANT),
        ]  # fmt: skip
        assert self.of(graph=graph) == [("net/w", 512, Kind.PARAMETER)]  # the graph alone knows it
        assert self.of(Allocation("net/w", 64, dtype="resource")) == []
        assert self.of(read)[0][0] == "net/read"

    def test_whose_the_maker_says_it_is(self) -> None:
        slot = Owner("net", Kind.OPTIMIZER_SLOT, Phase.OPTIMIZER)
        assert self.of(Allocation("net/x", 8), owners={"net/x": slot}) == [("net/x", 8, Kind.OPTIMIZER_SLOT)]

    def test_a_slice_of_an_array_is_a_loops(self) -> None:
        found = self.of(
            Allocation("net/TensorArrayReadV3", 8, "TensorArrayReadV3"), Allocation("net/x", 8, "X")
        )
        assert [kind for _, _, kind in found] == [Kind.LOOP_STACK, Kind.PARAMETER]

    @pytest.mark.parametrize("most, left", [(3, ["a", "b", "c"]), (2, ["a", "c"])])
    def test_of_very_many_the_largest(
        self, monkeypatch: pytest.MonkeyPatch, most: int, left: list[str]
    ) -> None:
        monkeypatch.setattr(timelines, "_NAMED", most)
        rows = [Allocation(name, size) for name, size in (("a", 9), ("b", 1), ("c", 8))]
        assert [name for name, _, _ in self.of(*rows)] == left

    @pytest.mark.parametrize(
        "attributes, size, requested",
        [
            ({"shape": (10, 10), "dtype": "float32"}, 512, 400),
            ({"shape": (None, 10), "dtype": "float32"}, 0, 0),
            ({"dtype": "float32"}, 0, 0),
        ],
    )
    def test_a_variable_as_the_graph_describes_it(
        self, attributes: dict[str, Any], size: int, requested: int
    ) -> None:
        graph = Graph({"net/w": Node("net/w", "VarHandleOp", (), DEVICE, attributes)})
        found, owner = handle_of("net/w", timeline(), graph)
        assert (found.size_bytes, found.requested_bytes, found.purpose) == (size, requested, PERSISTENT)
        assert (found.shape, found.dtype) == (attributes.get("shape"), "float32")
        assert (found.op, found.device, owner.kind) == ("VarHandleOp", DEVICE, Kind.PARAMETER)


@pytest.mark.parametrize("times, kept", [(1, False), (2, True)])
def test_a_loop_keeps_what_is_alive_several_times(times: int, kept: bool) -> None:
    rows = [row("net/while/mul", 1, at, 50) for at in range(times)]
    assert bool(kept_by_loops(timeline(*rows, row("net/x", 1, 0, 50), row("net/x", 1, 0, 50)))) is kept
    assert kept_by_loops(timeline(row("net/x", 1, 0, 50), row("net/x", 1, 0, 50))) == {}


@pytest.mark.parametrize(
    "source, confidence, words",
    [
        (BaselineSource.ALLOCATOR, 1.0, ["consistent with every allocator sample."]),
        (BaselineSource.ALLOCATOR, 0.25, ["consistent with 25 % of the allocator samples."]),
        (BaselineSource.ALLOCATOR, 0.24, ["24 % of the allocator samples.", "That is few"]),
        (BaselineSource.ALLOCATOR, None, ["an unknown share of its samples.", "That is few"]),
        (BaselineSource.PREDICTED, None, ["All of this is predicted"]),
        (BaselineSource.STANDING, None, ["This allocator keeps no figure"]),
        (BaselineSource.UNKNOWN, None, ["is not known: all figures start at 0"]),
        (BaselineSource.EVENTS, None, []),
    ],
)
def test_how_the_baseline_was_got(source: BaselineSource, confidence: float | None, words: list[str]) -> None:
    step = replace(STEP, baseline_source=source, baseline_confidence=confidence)
    said = moment_at(capture(step), step).omissions
    assert len(said) == len(words)
    assert all(word in text for text, word in zip(said, words, strict=True))
