"""Where the batch stands in an op's output when only sizes tell."""

from __future__ import annotations

from typing import Any

import pytest

from tfmemlens.estimation.batch_scaling.axes import (
    _data_first,
    _general,
    _reduced,
    _transpose,
    constant_values,
)
from tfmemlens.model.graph import Graph, Node

Y, N = True, False
SOURCE: Any = ((8, 16, 3), (Y, N, N))


@pytest.mark.parametrize(
    "shape, inputs, marks",
    [
        ((3, 8, 16), [SOURCE], (N, Y, N)),
        ((8, 8, 3), [((8, 8, 3), (Y, N, N))], (Y, N, N)),  # each marked size once
        ((8, 16), [SOURCE], (N, N)),
        ((8, 16, 3), [(None, ())], (N, N, N)),
        ((8, 16), [], (N, N)),
    ],
)
def test_a_transpose_without_its_permutation(shape: Any, inputs: Any, marks: Any) -> None:
    assert _transpose(Node("t", "Transpose", ("x",)), shape, inputs, Graph({})) == marks
    unknown = Node("t", "Transpose", ("x", "gone"))
    assert _transpose(unknown, shape, inputs, Graph({})) == marks


@pytest.mark.parametrize(
    "shape, inputs, batch, marks",
    [
        ((8, 8), [((8,), (Y,))], 0, (N, Y)),  # from the right
        ((8, 5), [((8,), (Y,))], 0, (Y, N)),  # then from the left
        ((5, 8), [((8, 2, 2), (Y, N, N))], 0, (N, Y)),  # then by size
        ((5, 4, 8), [((8, 2), (Y, N))], 0, (N, N, Y)),
        ((8, 8), [((8, 8), (N, Y)), ((8, 8), (Y, N))], 0, (Y, Y)),
        ((8, 5), [((8, 5), (N, N)), (None, ())], 0, (N, N)),
        ((3, 16, 24), [((8, 2, 2), (Y, N, N))], 8, (N, Y, N)),  # the first multiple
        ((3, 16, 24), [((8, 2, 2), (Y, N, N))], 0, (N, N, N)),
        ((3, 16, 24), [((1, 2, 2), (Y, N, N))], 1, (N, N, N)),
        ((0, 16), [((8, 2, 2), (Y, N, N))], 8, (N, Y)),
    ],
)
def test_any_other_op(shape: Any, inputs: Any, batch: int, marks: Any) -> None:
    assert _general(shape, inputs, batch) == marks


@pytest.mark.parametrize(
    "shape, source, marks",
    [
        ((8, 16), SOURCE, (Y, N)),
        ((16, 3), SOURCE, (N, N)),
        ((8, 3), SOURCE, (Y, N)),
        ((8, 1, 3), SOURCE, (Y, N, N)),
        ((1, 16, 3), SOURCE, (N, N, N)),
        ((5,), SOURCE, (N,)),
        ((8, 16), (None, ()), (N, N)),
        ((8, 4), ((4, 8, 4), (Y, Y, Y)), (Y, Y)),
    ],
)
def test_a_sum_keeps_the_order_of_what_is_left(shape: Any, source: Any, marks: Any) -> None:
    assert _reduced(shape, source) == marks


@pytest.mark.parametrize(
    "op, layout, inputs, marks",
    [
        ("Conv2D", "NHWC", [((8, 5, 5, 3), (Y, N, Y, Y))], (Y, N, Y, N)),
        ("Conv2D", "NCHW", [((8, 3, 5, 5), (Y, Y, Y, N))], (Y, N, Y, N)),
        ("Conv2D", None, [((8, 5, 5, 3), (Y, N, N, Y))], (Y, N, N, N)),
        ("Conv2DBackpropInput", "NHWC", [SOURCE, SOURCE, ((8, 5, 5, 3), (Y, N, N, N))], (Y, N, N, N)),
        ("Conv2DBackpropInput", "NHWC", [SOURCE, SOURCE], (N, N, N, N)),
        ("Conv2D", "NHWC", [SOURCE], (N, N, N, N)),
    ],
)
def test_a_convolution_follows_its_data(op: str, layout: str | None, inputs: Any, marks: Any) -> None:
    node = Node("c", op, attributes={"data_format": layout} if layout else {})
    assert _data_first(node, (8, 5, 5, 3), inputs, Graph({})) == marks


def test_what_is_no_constant_has_no_values() -> None:
    nodes = {"i": Node("i", "Identity", ("i",)), "x": Node("x", "Placeholder")}
    assert [constant_values(name, Graph(nodes)) for name in ("gone", "x", "i")] == [None, None, None]
