"""Shape inference against TensorFlow's own, on every node that the layout pass inserted and on what they read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import SAMPLES
from tfmemlens.costs.types import infer
from tfmemlens.model.graph import Graph, Node
from tfmemlens.model.tensor import Constant, TensorType
from tfmemlens.readers.graph_file import read_graph

TRUTHS = sorted((SAMPLES / "layout").glob("*.truth.json"))


@pytest.mark.parametrize("path", TRUTHS, ids=lambda path: path.name.removesuffix(".truth.json"))
def test_types_are_tensorflows(path: Path) -> None:
    """What TensorFlow knows we know; where it leaves a dimension open we may know more, never something else."""
    types = infer(read_graph(str(path).replace(".truth.json", ".after.pb.gz")))
    for name, facts in json.loads(path.read_text(encoding="utf-8"))["inserted"].items():
        found = types[name][0]
        assert found.dtype == facts["dtype"], name
        if facts["shape"] is not None:
            assert found.shape is not None, name
            assert len(found.shape) == len(facts["shape"]), name
            assert all(stated in (None, own) for stated, own in zip(facts["shape"], found.shape, strict=True)), name


def of(*nodes: Node) -> dict[str, tuple[TensorType, ...]]:
    return dict(infer(Graph({node.name: node for node in nodes})))


def feed(*shape: int | None, name: str = "x") -> Node:
    return Node(name, "Placeholder", attributes={"shape": shape, "dtype": "float32"})


def numbers(name: str, *values: int) -> Node:
    return Node(name, "Const", attributes={"dtype": "int32", "value": Constant((len(values),), "int32", values)})


@pytest.mark.parametrize(
    ("attributes", "shape"),
    [
        ({"padding": "SAME", "strides": (1, 2, 2, 1)}, (8, 16, 16, 5)),
        ({"padding": "VALID", "strides": (1, 1, 1, 1)}, (8, 30, 30, 5)),
        ({"padding": "VALID", "strides": (1, 1, 1, 1), "dilations": (1, 2, 2, 1)}, (8, 28, 28, 5)),
        ({"padding": "EXPLICIT", "strides": (1, 2, 2, 1), "explicit_paddings": (0, 0, 1, 2, 1, 2, 0, 0)}, (8, 17, 17, 5)),
    ],
)
def test_convolutions(attributes: dict[str, object], shape: tuple[int, ...]) -> None:
    kernel = Node("w", "VariableV2", attributes={"shape": (3, 3, 3, 5), "dtype": "float32"})
    assert of(feed(8, 32, 32, 3), kernel, Node("y", "Conv2D", ("x", "w"), attributes={"T": "float32", **attributes}))["y"][0] == TensorType(shape, "float32")


def test_an_open_batch_stays_open_unless_stated() -> None:
    nodes = {node.name: node for node in (feed(None, 8), Node("y", "Relu", ("x",), attributes={"T": "float32"}))}
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
    found = of(feed(4, 4), Node("y", "MyCustomOp", ("x",), attributes={"T": "float32"}), Node("z", "Relu", ("y",), attributes={"T": "float32"}))
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
