"""Shape inference against TensorFlow's own, on every node that the layout pass inserted and on what they
read.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.answers import graph_of
from tests.conftest import SAMPLES
from tfmemlens.knowledge.ops.type_inference import infer
from tfmemlens.model.graph import Graph, Node
from tfmemlens.model.tensor import Constant, TensorType

TRUTHS = sorted((SAMPLES / "layout").glob("*.truth.json"))


@pytest.mark.parametrize("path", TRUTHS, ids=lambda path: path.name.removesuffix(".truth.json"))
def test_types_are_tensorflows(path: Path) -> None:
    """What TensorFlow knows we know; where it leaves a dimension open we may know more, never something
    else.
    """
    types = infer(graph_of(Path(str(path).replace(".truth.json", ".after.pb.gz"))))
    for name, facts in json.loads(path.read_text(encoding="utf-8"))["inserted"].items():
        found = types[name][0]
        assert found.dtype == facts["dtype"], name
        if facts["shape"] is not None:
            assert found.shape is not None, name
            assert len(found.shape) == len(facts["shape"]), name
            assert all(
                stated in (None, own) for stated, own in zip(facts["shape"], found.shape, strict=True)
            ), name


def of(*nodes: Node) -> dict[str, tuple[TensorType, ...]]:
    return dict(infer(Graph({node.name: node for node in nodes})))


def feed(*shape: int | None, name: str = "x") -> Node:
    return Node(name, "Placeholder", attributes={"shape": shape, "dtype": "float32"})


def numbers(name: str, *values: int) -> Node:
    return Node(
        name, "Const", attributes={"dtype": "int32", "value": Constant((len(values),), "int32", values)}
    )


@pytest.mark.parametrize(
    ("attributes", "shape"),
    [
        ({"padding": "SAME", "strides": (1, 2, 2, 1)}, (8, 16, 16, 5)),
        ({"padding": "VALID", "strides": (1, 1, 1, 1)}, (8, 30, 30, 5)),
        ({"padding": "VALID", "strides": (1, 1, 1, 1), "dilations": (1, 2, 2, 1)}, (8, 28, 28, 5)),
        (
            {"padding": "EXPLICIT", "strides": (1, 2, 2, 1), "explicit_paddings": (0, 0, 1, 2, 1, 2, 0, 0)},
            (8, 17, 17, 5),
        ),
    ],
)
def test_convolutions(attributes: dict[str, object], shape: tuple[int, ...]) -> None:
    kernel = Node("w", "VariableV2", attributes={"shape": (3, 3, 3, 5), "dtype": "float32"})
    assert of(
        feed(8, 32, 32, 3), kernel, Node("y", "Conv2D", ("x", "w"), attributes={"T": "float32", **attributes})
    )["y"][0] == TensorType(shape, "float32")


def test_an_open_batch_stays_open_unless_stated() -> None:
    nodes = {
        node.name: node for node in (feed(None, 8), Node("y", "Relu", ("x",), attributes={"T": "float32"}))
    }
    assert infer(Graph(nodes))["y"][0].shape == (None, 8)
    assert infer(Graph(nodes), feed=(4,))["y"][0].shape == (4, 8)


def test_shapes_that_are_computed() -> None:
    """`tf.reshape(x, tf.stack([tf.shape(x)[0], -1]))`."""
    found = of(
        feed(4, 8, 2),
        Node("shape", "Shape", ("x",)),
        numbers("zero", 0),
        numbers("one", 1),
        Node("first", "StridedSlice", ("shape", "zero", "one", "one"), attributes={"shrink_axis_mask": 1}),
        numbers("rest", -1),
        Node("wanted", "Pack", ("first", "rest")),
        Node("y", "Reshape", ("x", "wanted"), attributes={"T": "float32"}),
    )
    assert found["y"][0] == TensorType((4, 16), "float32")


def test_what_no_rule_knows_stays_unknown() -> None:
    found = of(
        feed(4, 4),
        Node("y", "MyCustomOp", ("x",), attributes={"T": "float32"}),
        Node("z", "Relu", ("y",), attributes={"T": "float32"}),
    )
    assert found["z"][0] == TensorType(None, "float32")


def test_broken_graphs_do_not_break_it() -> None:
    found = of(
        Node("a", "Conv2D", ("nowhere", "b:7")),
        Node("b", "Relu", ("a",)),
        Node("c", "Merge", ("c", "b")),
        Node("d", "ConcatV2", ()),
        Node("e", "Split", ("d",), attributes={"num_split": "many"}),
        Node("f", "Transpose", ("x",)),
    )
    assert set(found) == set("abcdef")


SIDES = st.lists(st.integers(1, 5), min_size=1, max_size=3)


def made(op: str, *inputs: str, **attributes: object) -> Node:
    return Node("y", op, inputs, attributes={"T": "float32", **attributes})


@given(SIDES, st.data())
def test_a_strided_slice_is_numpys(sides: list[int], data: st.DataObject) -> None:
    count = data.draw(st.integers(1, len(sides)))
    begin, end, step = (
        data.draw(st.lists(st.integers(-6, 6).filter(bool), min_size=count, max_size=count)) for _ in range(3)
    )
    begin_mask, end_mask = (data.draw(st.integers(0, 2**count - 1)) for _ in range(2))
    cut = tuple(
        slice(None if begin_mask >> at & 1 else low, None if end_mask >> at & 1 else high, by)
        for at, (low, high, by) in enumerate(zip(begin, end, step, strict=True))
    )
    graph = (
        feed(*sides),
        numbers("b", *begin),
        numbers("e", *end),
        numbers("s", *step),
        made("StridedSlice", "x", "b", "e", "s", begin_mask=begin_mask, end_mask=end_mask),
    )
    assert of(*graph)["y"][0].shape == numpy.empty(sides)[cut].shape


@given(SIDES, st.data())
def test_axes_are_numpys(sides: list[int], data: st.DataObject) -> None:
    axis = data.draw(st.integers(-len(sides), len(sides) - 1))
    array, nodes = numpy.zeros(sides), (feed(*sides), numbers("axis", axis))
    expected = [
        (made("Sum", "x", "axis"), array.sum(axis).shape),
        (made("Sum", "x", "axis", keep_dims=True), array.sum(axis, keepdims=True).shape),
        (made("ArgMax", "x", "axis"), array.argmax(axis).shape),
        (made("ExpandDims", "x", "axis"), numpy.expand_dims(array, axis).shape),
        (made("ConcatV2", "x", "x", "axis", N=2), numpy.concatenate([array, array], axis).shape),
        (made("Pack", "x", "x", axis=axis), numpy.stack([array, array], axis).shape),
        (made("Squeeze", "x"), array.squeeze().shape),
        (made("Split", "axis", "x", num_split=sides[axis]), numpy.split(array, sides[axis], axis)[0].shape),
        (made("GatherV2", "x", "axis", "axis"), numpy.take(array, [0], axis).shape),
    ]
    for node, shape in expected:
        assert of(*nodes, node)["y"][0].shape == shape, node.op


UNKNOWN = Node("unknown", "MyCustomOp")
HALF = (feed(None, 7, name="open"), Node("half", "Shape", ("open",)))
"""A vector of which one number is known: the shape of [?, 7]."""


@pytest.mark.parametrize(
    ("node", "shape"),
    [
        (made("Sum", "x", "half"), None),
        (made("Sum", "x", "half", keep_dims=True), (None, None, None)),
        (made("Sum", "x", "unknown"), None),
        (made("ArgMax", "x", "unknown"), None),
        (made("ExpandDims", "x", "unknown"), None),
        (made("Transpose", "x", "unknown"), (None, None, None)),
        (made("Pad", "x", "unknown"), (None, None, None)),
        (made("Tile", "x", "unknown"), (None, None, None)),
        (made("Slice", "x", "unknown", "unknown"), (None, None, None)),
        (made("StridedSlice", "x", "zeros", "half", "ones"), (None, 5, 6)),
        (made("StridedSlice", "x", "half", "half", "ones", begin_mask=1, end_mask=1), (4, 0, 6)),
        (made("ConcatV2", "x", "unknown", "axis", N=2), (4, None, 6)),
        (made("Reshape", "x", "half"), (None, 7)),
    ],
    ids=lambda value: f"{value.op}-{value.inputs[1]}" if isinstance(value, Node) else str(value),
)
def test_what_is_not_known_is_not_guessed(node: Node, shape: tuple[int | None, ...] | None) -> None:
    known = (feed(4, 5, 6), numbers("zeros", 0, 0), numbers("ones", 1, 1), numbers("axis", 1))
    assert of(*known, UNKNOWN, *HALF, node)["y"][0].shape == shape


def read_back(*nodes: Node) -> object:
    """The numbers in `v`, as the shape that a Fill gives them."""
    return of(*nodes, numbers("zero", 0), Node("y", "Fill", ("v", "zero"), attributes={"T": "float32"}))["y"][
        0
    ].shape


def test_a_vector_with_an_unknown_number_keeps_the_others() -> None:
    assert read_back(*HALF, Node("v", "Identity", ("half",))) == (None, 7)
    assert read_back(*HALF, numbers("two", 2), Node("v", "Mul", ("half", "two"))) == (None, 14)


def test_a_vector_of_unknown_length_is_unknown() -> None:
    first = (
        Node("n", "StridedSlice", ("half", "zero", "one", "one"), attributes={"shrink_axis_mask": 1}),
        numbers("one", 1),
    )
    assert read_back(*HALF, *first, Node("v", "Fill", ("n", "one"))) is None
    assert read_back(*HALF, *first, Node("v", "StridedSlice", ("half", "n", "one", "one"))) is None
    assert read_back(*HALF, *first, Node("v", "Range", ("zero", "n", "one"))) is None


def test_an_endless_vector_is_not_made() -> None:
    assert (
        read_back(numbers("one", 1), numbers("many", 1 << 40), Node("v", "Range", ("zero", "many", "one")))
        is None
    )


def test_where_joined_parts_begin() -> None:
    """`ConcatOffset` of parts [2,3] and [2,4] along the second axis: the gradient of a concatenation slices
    there.
    """
    nodes = (
        numbers("axis", 1),
        numbers("a", 2, 3),
        numbers("b", 2, 4),
        Node("offsets", "ConcatOffset", ("axis", "a", "b")),
    )
    assert read_back(*nodes, Node("v", "Identity", ("offsets",))) == (0, 0)
    assert read_back(*nodes, Node("v", "Identity", ("offsets:1",))) == (0, 3)


@pytest.mark.parametrize(
    ("left", "right", "axes"),
    [
        ((2, 1, 3), (2, 1, 3), ((), ())),
        ((2, 1, 3), (1, 3), ((1,), (0, 1))),
        ((1, 1), (4, 1), ((0, 1), (1,))),
        ((2, 3), (2, 1), ((), (1,))),
        ((3,), (1, 3), ((0,), (0,))),
        ((2,), (), ((), (0,))),
    ],
)
def test_axes_to_sum_over_are_tensorflows(
    left: tuple[int, ...], right: tuple[int, ...], axes: object
) -> None:
    """What TensorFlow 2.21 gives for these shapes: where both sides are 1, both are summed over."""
    nodes = (numbers("a", *left), numbers("b", *right), Node("axes", "BroadcastGradientArgs", ("a", "b")))
    first, second = (read_back(*nodes, Node("v", "Identity", (name,))) for name in ("axes", "axes:1"))
    assert (first, second) == axes


@pytest.mark.parametrize(
    ("op", "result"), [("TruncateDiv", -3), ("Div", -3), ("FloorDiv", -4), ("Mod", -1), ("TruncateMod", -1)]
)
def test_whole_divisions_are_tensorflows(op: str, result: int) -> None:
    """What TensorFlow 2.21 gives for -7 and 2."""
    found = read_back(numbers("a", -7), numbers("b", 2), Node("v", op, ("a", "b")))
    assert found == (result,)


def test_a_table_of_many_numbers_is_no_shape() -> None:
    """Joining large tensors makes no vector of unknown numbers, one for each element."""
    large = feed(1000, 1000, name="large")
    joined = Node("v", "ConcatV2", ("large", "large", "axis"), attributes={"N": 2})
    assert read_back(large, numbers("axis", 0), joined) is None


@pytest.mark.parametrize(
    ("node", "shape"),
    [
        (made("GatherV2", "x", "rows", "one", batch_dims=1), (4, 3, 6)),
        (made("OneHot", "rows", "nine", "one", "one", axis=-1), (4, 3, 9)),
        (made("OneHot", "rows", "nine", "one", "one", axis=1), (4, 9, 3)),
        (made("SplitV", "x", "sizes", "one", num_split=2), (4, 2, 6)),
        (made("StridedSlice", "x", "b", "e", "s", ellipsis_mask=1, new_axis_mask=2), (4, 5, 1, 2)),
        (made("Einsum", "x", "y2", equation="bij,bjk->bik"), (4, 5, 7)),
        (made("TopKV2", "x", "two"), (4, 5, 2)),
    ],
    ids=lambda value: value.op if isinstance(value, Node) else str(value),
)
def test_shapes_are_tensorflows(node: Node, shape: tuple[int, ...]) -> None:
    """As TensorFlow 2.21 makes them of a tensor of [4, 5, 6]."""
    known = (
        feed(4, 5, 6),
        feed(4, 6, 7, name="y2"),
        feed(4, 3, name="rows"),
        *(numbers(name, value) for name, value in (("one", 1), ("two", 2), ("nine", 9))),
        numbers("sizes", 2, -1),
        numbers("b", 0, 0, 1),
        numbers("e", 0, 0, 3),
        numbers("s", 1, 1, 1),
    )
    assert of(*known, node)["y"][0].shape == shape
