"""The layer of an op without a scope, from the ops around it."""

from __future__ import annotations

from tfmemlens.attribution.moments.neighbours import beside
from tfmemlens.attribution.names.node_names import owner_of
from tfmemlens.model.attribution import Kind, Phase
from tfmemlens.model.graph import Graph, Node


def asked(node: str, *nodes: str) -> tuple[str | None, Kind, Phase]:
    """The owner of one node of a graph: `sum=Sum net/conv/Relu` with its inputs."""
    made = {}
    for each in nodes:
        name, _, rest = each.partition("=")
        op, *inputs = rest.split()
        made[name] = Node(name, op, tuple(inputs))
    owner = beside(owner_of(node, made[node].op if node in made else None), node, Graph(made))
    return owner.layer, owner.kind, owner.phase


RELU_GRAD = "gradient_tape/stem/ReluGrad=ReluGrad truediv"


def test_a_gradient_is_of_the_layer_that_it_goes_to() -> None:
    found = asked("Tile", "x=Sum", "Tile=Tile x", "truediv=RealDiv Tile", RELU_GRAD)
    assert found == ("stem", Kind.GRADIENT, Phase.GRADIENT)


def test_a_forward_op_is_of_the_layer_that_made_its_input() -> None:
    found = asked("mul", "stem/Relu=Relu", "c=Const", "mul=Mul stem/Relu c", "head/MatMul=MatMul mul")
    assert found == ("stem", Kind.ACTIVATION, Phase.FORWARD)


def test_two_layers_are_none() -> None:
    assert asked("add", "a/Relu=Relu", "b/Relu=Relu", "add=AddV2 a/Relu b/Relu")[0] == "add"


def test_what_is_too_far_is_not_asked() -> None:
    chain = ["a=Neg stem/Relu", *(f"{after}=Neg {before}" for before, after in ("ab", "bc", "cd", "de"))]
    assert asked("d", "stem/Relu=Relu", *chain)[0] == "stem"
    assert asked("e", "stem/Relu=Relu", *chain)[0] == "e"


def test_a_name_with_a_scope_and_one_that_the_graph_lacks_stay() -> None:
    assert asked("net/mul", "stem/Relu=Relu", "net/mul=Mul stem/Relu")[0] == "net"
    assert asked("mul", "stem/Relu=Relu")[0] == "mul"
