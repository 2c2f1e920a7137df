"""A step played through: each buffer's life by hand, on graphs of a few nodes."""

from __future__ import annotations

import pytest

from tfmemlens.knowledge.ops.simulated_order import peak
from tfmemlens.model.graph import Graph, Node
from tfmemlens.model.tensor import TensorType


def run(*nodes: tuple[str, str, str, int], left_out: tuple[str, ...] = ()) -> int:
    """The peak of (name, op, inputs, bytes of its output)."""
    graph = Graph({name: Node(name, op, tuple(inputs.split())) for name, op, inputs, _ in nodes})
    types = {name: (TensorType((size,), "int8"),) for name, _, _, size in nodes}
    return peak(graph, types, left_out)


X = ("x", "Placeholder", "", 100)


@pytest.mark.parametrize(
    "nodes, most",
    [
        ((X,), 100),
        ((X, ("a", "MyOp", "x", 30)), 130),
        ((X, ("a", "MyOp", "x", 30), ("b", "MyOp", "a", 50)), 130),
        ((X, ("a", "MyOp", "x", 30), ("b", "MyOp", "a", 120)), 150),  # x is gone
        ((X, ("a", "MyOp", "x", 30), ("b", "MyOp", "a x", 120)), 250),
        ((X, ("a", "MyOp", "x x", 30), ("b", "MyOp", "a", 120)), 150),  # read twice by one
        ((X, ("a", "MyOp", "^x", 30)), 100),  # waits, and reads nothing: x is gone
        ((X, ("a", "MyOp", "gone", 30)), 100),
        ((("w", "VariableV2", "", 999), ("a", "MyOp", "w", 30)), 30),  # stands in either case
    ],
)
def test_a_buffer_lives_from_its_op_to_its_last_reader(
    nodes: tuple[tuple[str, str, str, int], ...], most: int
) -> None:
    assert run(*nodes) == most


@pytest.mark.parametrize(
    "nodes, most",
    [
        ((X, ("i", "Identity", "x", 100), ("b", "MyOp", "i", 30)), 130),
        ((X, ("i", "Identity", "x", 100), ("b", "MyOp", "i x", 30), ("c", "MyOp", "b", 90)), 130),
        ((X, ("r", "Relu", "x", 100)), 100),  # nobody else reads x: in its place
        ((X, ("r", "Relu", "x", 100), ("b", "MyOp", "x r", 5)), 205),
        ((X, ("r", "Relu", "x", 99)), 199),
        ((("z", "Placeholder", "", 0), ("r", "Relu", "z", 0)), 0),
        ((X, ("y", "Placeholder", "", 40), ("a", "AddV2", "y x", 100)), 140),  # the input that fits
        ((X, ("r", "Relu", "x", 100), ("q", "Relu", "r", 100), ("b", "MyOp", "q", 7)), 107),
    ],
)
def test_outputs_that_take_an_inputs_buffer(nodes: tuple[tuple[str, str, str, int], ...], most: int) -> None:
    assert run(*nodes) == most


def test_each_output_of_identities_is_its_own_input() -> None:
    y = ("y", "Placeholder", "", 40)
    graph = Graph(
        {
            "x": Node("x", "Placeholder"), "y": Node("y", "Placeholder"),
            "n": Node("n", "IdentityN", ("x", "y")),
            "a": Node("a", "MyOp", ("n:0",)), "b": Node("b", "MyOp", ("a", "n:1")),
        }
    )  # fmt: skip
    types = {
        name: tuple(TensorType((size,), "int8") for size in sizes)
        for name, sizes in {"x": (100,), "y": (y[3],), "n": (100, 40), "a": (20,), "b": (90,)}.items()
    }
    assert peak(graph, types) == 160  # x, y and a; then y, a and b are 150


def test_what_is_left_out_passes_its_input_on() -> None:
    nodes = (X, ("t", "Transpose", "x", 100), ("b", "MyOp", "t", 10))
    assert (run(*nodes), run(*nodes, left_out=("t",))) == (200, 110)
    assert run(("t", "Transpose", "", 100), left_out=("t",)) == 100
    assert run(("t", "Transpose", "gone", 100), ("b", "MyOp", "t", 10), left_out=("t",)) == 10


def test_what_is_not_known_takes_nothing() -> None:
    graph = Graph({"x": Node("x", "Placeholder"), "a": Node("a", "MyOp", ("x",))})
    assert peak(graph, {"a": (TensorType((7,), "int8"),)}) == 7
    assert peak(graph, {"x": (TensorType((None,), "int8"),), "a": (TensorType((7,), "int8"),)}) == 7
    several = {"x": tuple(TensorType((size,), "int8") for size in (1, 20)), "a": ()}
    assert peak(graph, several) == 21
