"""The batch is followed through the graph: by edges, not by sizes that happen to agree."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from tests.builders import MIB, row, timeline
from tfmemlens.estimation.batch_scaling.axes import Marks, batch_axis, marks_of
from tfmemlens.estimation.batch_scaling.scaling import Scale, laws_of
from tfmemlens.model.graph import Graph, Node
from tfmemlens.model.tensor import TensorType

SIDES = st.lists(st.integers(1, 6), min_size=1, max_size=4)
CUTS = st.lists(st.booleans(), min_size=4, max_size=4)


def reshaped(source: tuple[int, ...], target: tuple[int, ...], batch: int) -> Marks:
    """The marks of a feed after it took another shape."""
    nodes = (
        Node("x", "Placeholder", outputs=(TensorType(source, "float32"),)),
        Node("y", "Reshape", ("x", "shape"), outputs=(TensorType(target, "float32"),)),
    )
    return marks_of(Graph({node.name: node for node in nodes}), batch_axis(batch))["y"][0]


def grouped(sides: list[int], cuts: list[bool]) -> tuple[int, ...]:
    """Neighbouring sides multiplied where there is no cut between them."""
    found = [sides[0]]
    for side, cut in zip(sides[1:], cuts, strict=False):
        if cut:
            found.append(side)
        else:
            found[-1] *= side
    return tuple(found)


@given(SIDES, CUTS, CUTS)
def test_a_reshape_grows_where_its_input_grows(
    sides: list[int], before: list[bool], after: list[bool]
) -> None:
    """Two groupings of the same sides behind a leading batch: just one dimension of each doubles with the
    batch, and the products agree.
    """
    batch = 7
    source, target = grouped([batch, *sides], [True, *before]), grouped([batch, *sides], after)
    marks = reshaped(source, target, batch)
    assert sum(marks) == 1
    doubled = [size * 2 if marked else size for size, marked in zip(target, marks, strict=True)]
    assert math.prod(doubled) == 2 * math.prod(source)
    assert marks[0]


def test_a_batch_that_is_not_first_keeps_its_place() -> None:
    assert reshaped((5, 7, 6), (5, 7, 2, 3), 7) == (False, True, False, False)
    assert reshaped((5, 7, 6), (5, 42), 7) == (False, True)
    assert reshaped((5, 7, 6), (35, 6), 7) == (True, False)
    assert reshaped((1, 7, 6), (7, 1, 6), 7) == (True, False, False)
    assert reshaped((7, 6, 1), (7, 6), 7) == (True, False)


def test_a_feed_of_a_fixed_size_is_no_weight() -> None:
    """Where an edge is missing, shapes tell: that of a variable stays, that of a feed grows."""
    shape = (int(MIB / 4),)
    for op, scale in (("Placeholder", Scale.BATCH), ("VarHandleOp", Scale.FIXED)):
        found = laws_of(
            timeline(row("elsewhere/Relu", 1, 0, 1)),
            Graph({"x": Node("x", op, attributes={"shape": shape})}),
            shape[0],
        )
        assert [law.scale for law in found] == [scale]
