"""Branches of a simulated step that few graphs take: each by a graph of two or three nodes."""

from __future__ import annotations

from types import SimpleNamespace as Made
from typing import Any

import pytest

from tfmemlens.errors import UsageError
from tfmemlens.estimation.batch_scaling import axes
from tfmemlens.estimation.graph_step import capture, captured_variables, executor
from tfmemlens.estimation.graph_step.session import _Feeds
from tfmemlens.estimation.keras_step.lowering import _context
from tfmemlens.model.graph import Graph, Node
from tfmemlens.model.settings import StepSettings
from tfmemlens.model.tensor import TensorType

Y, N = True, False


def graph(*nodes: Node) -> Graph:
    return Graph({node.name: node for node in nodes})


@pytest.mark.parametrize(
    "a, b, attributes, marks",
    [
        (((8, 5), (Y, N)), ((5, 7), (N, N)), {}, (Y, N)),
        (((8, 5), (Y, N)), ((5, 7), (N, Y)), {}, (Y, Y)),
        (((5, 8), (N, Y)), ((5, 7), (N, N)), {"transpose_a": True}, (Y, N)),
        (((5, 8), (N, Y)), ((5, 7), (N, N)), {}, (N, N)),
        (((8, 5), (N, N)), ((7, 5), (Y, N)), {"transpose_b": True}, (N, Y)),
        (((8, 5), (N, N)), ((7, 5), (Y, N)), {}, (N, N)),
        (((5, 8), (N, Y)), ((7, 5), (Y, N)), {"adj_x": True, "adj_y": True}, (Y, Y)),
        (((5,), (Y,)), ((5, 7), (Y, Y)), {}, (N, N)),
        ((None, ()), ((5, 7), (Y, Y)), {}, (N, N)),
    ],
)
def test_rows_and_columns_of_a_product(a: Any, b: Any, attributes: dict[str, Any], marks: Any) -> None:
    node = Node("m", "MatMul", ("a", "b"), attributes=attributes)
    assert axes._matmul(node, (8, 7), [a, b], Graph({})) == marks
    assert axes._matmul(node, (8, 7), [a], Graph({})) == (N, N)


def test_heads_of_a_product_are_those_of_either_factor() -> None:
    node = Node("m", "BatchMatMul", ("a", "b"))
    a, b = ((8, 4, 6, 5), (Y, N, N, N)), ((4, 5, 7), (Y, N, N))
    assert axes._matmul(node, (8, 4, 6, 7), [a, b], Graph({})) == (Y, Y, N, N)
    assert axes._matmul(node, (8, 4, 6, 7), [a, ((5, 7), (N, Y))], Graph({})) == (Y, N, N, Y)


@pytest.mark.parametrize(
    "shape, batch, marks",
    [
        ((8, 5), 8, (Y, N)),
        ((5, 8, 8), 8, (N, Y, N)),
        ((16, 5), 8, (Y, N)),
        ((5, 16), 8, (N, N)),
        ((12, 5), 8, (N, N)),
        ((5, 7), 1, (N, N)),
        ((1, 7), 1, (Y, N)),
    ],
)
def test_the_batch_of_an_input(shape: Any, batch: int, marks: Any) -> None:
    assert axes._input(shape, batch) == marks
    assert axes.batch_axis(batch).seed(shape) == marks


@pytest.mark.parametrize(
    "shape, batch, marks",
    [
        ((8,), 8, (Y,)), ((16,), 8, (N,)), ((16, 5), 8, (Y, N)), ((0, 5), 8, (N, N)), ((12, 5), 8, (N, N)),
        ((5, 8), 8, (N, N)), ((5, 8, 2), 8, (N, Y, N)), ((1, 5), 1, (N, N)), ((1, 5, 2), 1, (Y, N, N)),
    ],
)  # fmt: skip
def test_the_batch_of_what_is_made_of_a_shape(shape: Any, batch: int, marks: Any) -> None:
    assert axes._by_size(shape, batch) == marks


@pytest.mark.parametrize(
    "shape, marks",
    [
        ((8, 32, 32, 3), (N, Y, Y, N)), ((8, 3, 32, 32), (N, N, Y, Y)), ((8, 4, 32, 32), (N, N, Y, Y)),
        ((8, 5, 32, 32), (N, Y, Y, N)), ((8, 3, 3, 3), (N, Y, Y, N)), ((8, 32, 3), (N, N, N)),
        ((8, 9, 32, 32, 3), (N, Y, Y, Y, N)),
    ],
)  # fmt: skip
def test_the_sides_of_an_image(shape: Any, marks: Any) -> None:
    assert axes.side_axis(8).seed(shape) == marks


@pytest.mark.parametrize(
    "shape, marks",
    [
        ((8, 20), (N, Y)), ((8, 20, 5), (N, Y, N)), ((20, 8, 5), (Y, N, N)), ((8, 8, 5), (N, Y, N)),
        ((20, 8), (N, Y)), ((8,), (N,)), ((8, 20, 5, 5), (N, N, N, N)),
    ],
)  # fmt: skip
def test_the_length_of_sequences(shape: Any, marks: Any) -> None:
    assert axes.length_axis(8).seed(shape) == marks


# ------------------------------------------------------------------ what a graph is asked to do


def test_the_ends_of_a_graph_that_trains_nothing() -> None:
    x = Node("x", "Placeholder")
    ends = (Node("y", "Relu", ("x",)), Node("z", "Identity", ("x",)))
    inference = StepSettings(training=False)
    assert capture._default(graph(x, ends[0]), inference) == ["y"]
    assert capture._default(graph(x, *ends), inference) == ["z"]
    assert capture._default(graph(x, *ends), StepSettings()) == ["y", "z"]
    writes = Node("w", "AssignVariableOp", ("v", "x"))
    assert capture._default(graph(x, Node("v", "VarHandleOp"), writes, ends[0]), inference) == ["y"]
    with pytest.raises(UsageError):
        capture._default(graph(), inference)


def test_sizes_without_a_name_are_for_inputs_that_leave_something_open() -> None:
    def node(name: str, shape: Any, dtype: str = "float32") -> Node:
        return Node(name, "Placeholder", attributes={"shape": shape, "dtype": dtype})

    made = graph(
        node("open", (None, None, 3)), node("known", (None, 5, 3)), node("no", None),
        node("flag", None, "bool"), node("handle", None, "resource"),
    )  # fmt: skip
    found = capture._shapes(made, StepSettings(batch=4, inputs={"": (7, 3)}))
    assert found == {"open": (4, 7, 3), "no": (4, 7, 3)}
    assert capture._shapes(made, StepSettings(batch=4, inputs={"known": (5,)})) == {"known": (4, 5)}
    with pytest.raises(UsageError):
        capture._shapes(made, StepSettings(inputs={"other": (5,)}))


def test_what_reads_and_writes_of_a_handle_tell() -> None:
    def told(*nodes: Node) -> list[TensorType]:
        return list(captured_variables._told("h", graph(Node("h", "Placeholder"), *nodes), set()))

    outputs = (TensorType((3, 4), "float32"),)
    read = Node("r", "ReadVariableOp", ("h",), attributes={"dtype": "float16"}, outputs=outputs)
    assert told(read) == [TensorType((3, 4), "float16")]
    behind = Node("i", "Identity", ("h",))
    assert told(behind, Node("r", "ReadVariableOp", ("i",), outputs=outputs)) == [
        TensorType((3, 4), "float32")
    ]
    value = Node("x", "Relu", outputs=(TensorType((), "float32"), TensorType((5,), "float32")))
    assign = Node("a", "AssignVariableOp", ("h", "x:1", "^c"))
    assert told(value, assign) == [TensorType((5,), "float32")]
    scalar = Node("a", "AssignVariableOp", ("h", "x"))
    assert told(value, scalar) == [TensorType((), "float32")]
    update = Node("a", "ResourceApplyGradientDescent", ("h", "x", "x:1"))
    assert told(value, update) == [TensorType((5,), "float32")]
    assert told(value, Node("a", "AssignVariableOp", ("h", "x:2"))) == []
    assert told(Node("a", "AssignVariableOp", ("h", "gone"))) == []


def test_an_unknown_condition_holds_a_few_times() -> None:
    """In each iteration of a loop alike, whatever ran before; a branch is taken."""
    graph = Graph({"c": Node("c", "LoopCond"), "p": Node("p", "Less")})
    walker: Any = Made(graph=graph, turns={"known": 20}, guessed={}, notes=[])
    walker._note = lambda text: walker.notes.append(text)

    def side(condition: str, frame: str, iteration: int, *values: int) -> int:
        walker.turn = Made(name=frame, parent=None), iteration
        call: Any = Made(values=lambda port: values, node=Node("s", "Switch", ("x", condition)))
        return executor.Executor._predicate(walker, call)

    few = executor._UNKNOWN_TURNS
    assert [side("c", "new", each) for each in (0, few - 1, few)] == [1, 1, 0]
    assert [side("c", "known", each) for each in (few, 19, 20)] == [1, 1, 0]
    assert (side("c", "new", 0, 0), side("c", "new", few, 1)) == (0, 1)
    assert side("p", "new", few + 1) == 1
    assert walker.guessed == {"new": "s", "known": "s"} and len(walker.notes) == 1
    executor.Executor.tell_guesses(walker)
    assert "20 times" in walker.notes[1] and walker.notes[2].startswith(executor.TURNS_UNKNOWN)


def test_what_a_graph_says_of_an_input() -> None:
    def of(**attributes: Any) -> list[TensorType]:
        own: Any = Made()
        return _Feeds.declared(own, Node("x", "Placeholder", attributes=attributes))

    assert of(output_shapes=((2,), None), output_types=("int32", "bool")) == [
        TensorType((2,), "int32"), TensorType(None, "bool"),
    ]  # fmt: skip
    assert of(output_shapes=((2,), (3,))) == [TensorType((2,), "float32"), TensorType((3,), "float32")]
    assert of(shape=(2,), dtype="int32") == [TensorType((2,), "int32")]
    assert of(T="half") == [TensorType(None, "half")]


@pytest.mark.parametrize(
    "value, name",
    [
        (None, "linear"),
        ("ReLU", "relu"),
        ("leaky_relu", "leakyrelu"),
        ("Custom>gelu", "gelu"),
        ({"config": {"activation": "tanh"}}, "tanh"),
        ({"config": "swish"}, "swish"),
        ({"class_name": "ELU", "config": {}}, "elu"),
        ({"class_name": "ELU"}, "elu"),
    ],
)
def test_how_an_activation_is_spelled(value: Any, name: str) -> None:
    assert _context.activation_of({"activation": value}) == name
    assert _context.activation_of({}, default="tanh") == "tanh"
    assert _context.activation_of({"recurrent": value}, "recurrent") == name
