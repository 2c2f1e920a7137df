"""The peak without copies: which row is held in place of a copy, and until when."""

from __future__ import annotations

import pytest

from tests.builders import ALLOCATOR, DEVICE
from tfmemlens.attribution.layout_pass.copies import study
from tfmemlens.attribution.layout_pass.peak import curve_without, measured, peak_alone
from tfmemlens.model.allocation import Allocation, AllocationTable
from tfmemlens.model.finding import Certainty
from tfmemlens.model.graph import Graph, Node
from tfmemlens.model.tensor import Constant, TensorType
from tfmemlens.model.timeline import Timeline

Row = tuple[str, int, float, float | None]


def step(*rows: Row, baseline: int = 0, standing: tuple[Allocation, ...] = ()) -> Timeline:
    table = AllocationTable.of(
        [Allocation(name, size, start_micros=start, end_micros=end) for name, size, start, end in rows]
    )
    return Timeline(DEVICE, ALLOCATOR, table, AllocationTable.of(standing), baseline)


def graph(*edges: str) -> Graph:
    """`t<conv` is a node t that reads conv."""
    pairs = (edge.partition("<")[::2] for edge in edges)
    return Graph({name: Node(name, "Transpose", (source,) if source else ()) for name, source in pairs})


CHAIN = graph("conv", "t<conv", "t2<t")


def without(*rows: Row, gone: tuple[str, ...] = ("t",), known: Graph = CHAIN) -> int:
    """The peak of these rows beside one of 1 byte, from 60 to 80."""
    return curve_without(step(*rows, ("z", 1, 60, 80)), known, gone)


@pytest.mark.parametrize(
    "conv, copy, most",
    [
        ((0, 10), (5, 30), 100),
        ((0, 10), (5, 70), 101),  # the original lives as long as its copy did
        ((0, 70), (5, 30), 101),
        ((0, 10), (5, None), 101),  # to the end
        ((0, None), (5, 30), 101),
        ((0, 5), (5, 30), 100),  # freed just when the copy was made
        ((5, 10), (5, 30), 100),
        ((0, 4), (5, 70), 101),  # gone before: not what it was made from, the copy stays
        ((6, 10), (5, 70), 200),
        ((0, 0.2), (0.0, 30), 100),
        ((7, 40), (5, 30), 200),
        ((0.0, 10), (0.0, 30), 100),
    ],
)
def test_the_original_is_held_as_long_as_its_copy(
    conv: tuple[float, float | None], copy: tuple[float, float | None], most: int
) -> None:
    assert without(("conv", 100, *conv), ("t", 100, *copy)) == most


@pytest.mark.parametrize("size, most", [(50, 50), (49, 149)])
def test_an_original_is_no_smaller_than_half(size: int, most: int) -> None:
    """BFC's chunks are up to twice the request."""
    assert without(("conv", size, 0, 10), ("t", 100, 5, 30)) == most


def test_a_copy_of_a_copy() -> None:
    rows = (("conv", 100, 0, 10), ("t", 100, 5, 20), ("t2", 100, 15, 70))
    assert without(*rows, gone=("t", "t2")) == 101
    assert without(*rows, gone=("t2",)) == 200
    assert without(*rows, gone=()) == 200


def test_the_last_of_several_copies_counts() -> None:
    known = graph("conv", "t<conv", "u<conv")
    rows = (("conv", 100, 0, 10), ("t", 100, 5, 70), ("u", 100, 6, 30))
    assert without(*rows, gone=("t", "u"), known=known) == 101
    assert without(*rows, gone=("t", "u", "missing"), known=known) == 101


def test_a_copy_whose_original_is_not_found_stays() -> None:
    assert without(("t", 100, 5, 70), known=Graph({})) == 101
    assert without(("t", 100, 5, 70), known=graph("t")) == 101
    assert without(("t", 100, 5, 70), known=graph("t<t")) == 101


@pytest.mark.parametrize("between, most", [(7, 100), (8, 200)])
def test_through_ops_that_overwrote_their_input(between: int, most: int) -> None:
    names = [f"n{number}" for number in range(between)]
    known = graph(*(f"{name}<{after}" for name, after in zip(("t", *names), (*names, "conv"), strict=True)))
    assert without(("conv", 100, 0, 10), ("t", 100, 5, 30), known=known) == most


def test_it_stands_on_the_baseline() -> None:
    assert curve_without(step(("conv", 100, 0, 10), baseline=1000), CHAIN, ()) == 1100
    assert curve_without(step(baseline=1000), CHAIN, ()) == 1000


def test_types_are_those_of_a_nodes_first_row() -> None:
    shown = Allocation("w", 8, shape=(2,), dtype="int32")
    rows = AllocationTable.of(
        [
            Allocation("x", 8, shape=(1,), dtype="int8"), Allocation("x", 8, shape=(9,), dtype="int8"),
            Allocation("open", 8), Allocation(None, 8, shape=(3,), dtype="int8"),
        ]
    )  # fmt: skip
    timeline = Timeline(DEVICE, ALLOCATOR, rows, AllocationTable.of([shown]))
    assert measured([timeline]) == {"x": TensorType((1,), "int8"), "w": TensorType((2,), "int32")}


def test_a_graph_without_copies() -> None:
    found = peak_alone(graph("x"), {"x": (TensorType((5,), "int8"),)})
    assert found is not None
    assert (found.bytes, found.without_bytes, found.by_cause) == (5, 5, {})
    assert found.certainty is Certainty.ESTIMATE
    assert peak_alone(graph("x"), {}) is None


class TestStudies:
    """x is copied for conv; y, which the pass converted, for an op that stayed: 1536 bytes each."""

    NAMES = ("conv-0-TransposeNHWCToNCHW-LayoutOptimizer", "own-0-0-TransposeNCHWToNHWC-LayoutOptimizer")

    def graph(self, shape: tuple[int | None, ...] = (2, 8, 8, 3)) -> Graph:
        before, behind = self.NAMES
        feed = Node("x", "Placeholder", attributes={"shape": shape, "dtype": "float32"})
        order = {"value": Constant((4,), "int32", (0, 3, 1, 2)), "dtype": "int32"}
        plain = {"T": "float32"}
        nodes = (
            feed,
            Node("perm", "Const", attributes=order),
            Node(before, "Transpose", ("x", "perm"), attributes=plain),
            Node("relu", "Relu", (before,), attributes=plain),
            Node(behind, "Transpose", ("relu", "perm"), attributes=plain),
            Node("own", "MyOp", (behind,)),
        )
        return Graph({node.name: node for node in nodes})

    def test_of_a_timeline_with_copies_the_highest(self) -> None:
        before, behind = self.NAMES
        rows = (("x", 100, 0.0, 90.0), (before, 100, 1.0, 90.0), ("relu", 100, 2.0, 90.0),
                (behind, 100, 3.0, 90.0))  # fmt: skip
        low, other = step(*rows[:2]), step(("q", 9999, 0, 1))
        found = study(self.graph(), [low, step(*rows, baseline=7), other])
        assert found is not None and found.peak is not None
        assert (found.peak.bytes, found.peak.certainty) == (407, Certainty.BOUND)
        assert found.peak.without_bytes == 207
        assert sorted(found.peak.by_cause.values()) == [307, 307]

    def test_of_a_graph_alone(self) -> None:
        found = study(self.graph())
        assert found is not None and found.peak is not None
        assert found.peak.certainty is Certainty.ESTIMATE
        assert (found.peak.bytes, found.peak.without_bytes) == (3072, 1536)

    def test_of_sizes_that_are_not_known_nothing_is_said(self) -> None:
        found = study(self.graph((None, 8, 8, 3)))
        assert found is not None
        assert (found.unknown, found.peak) == (2, None)
