"""Functions, loops and branches of a graph's library, written out."""

from __future__ import annotations

import pytest

from tfmemlens.errors import UsageError
from tfmemlens.estimation.graph_step.captured_variables import check, effects, is_function, with_variables
from tfmemlens.estimation.graph_step.inlining import inlined, unchained
from tfmemlens.estimation.graph_step.session import of_graph
from tfmemlens.model.graph import Graph, Node, Signature
from tfmemlens.model.tensor import Constant, TensorType

X = Node("x", "Placeholder", attributes={"shape": (256, 1024), "dtype": "float32"})
MIB = 1 << 20


def body(nodes: list[Node], arguments: tuple[str, ...], results: tuple[str, ...]) -> Graph:
    return Graph({node.name: node for node in nodes}, signature=Signature(arguments, results))


def whole(nodes: list[Node], **functions: Graph) -> Graph:
    return Graph({node.name: node for node in nodes}, functions, "2.11")


TWICE = body(
    [Node("double", "Add", ("a", "a")), Node("root", "Sqrt", ("double:z:0",))], ("a",), ("root:y:0",)
)


def test_a_call_is_its_nodes() -> None:
    graph = whole(
        [
            X,
            Node("call", "PartitionedCall", ("x",), attributes={"f": "twice"}),
            Node("end", "Square", ("call",)),
        ],
        twice=TWICE,
    )
    found, fetches = inlined(graph, ["end", "call"])
    assert found.nodes["call/double"].inputs == ("x", "x")
    assert found.nodes["end"].inputs == ("call/root:0",)
    assert fetches == ("end", "call/root")


def test_a_call_that_stays_holds_its_arguments() -> None:
    """The first tensor could be written over by what follows; a call keeps it."""
    nodes = [
        X,
        Node("h", "Exp", ("x",)),
        Node("call", "PartitionedCall", ("h",), attributes={"f": "root"}),
        Node("end", "Sum", ("call", "axes")),
    ]
    nodes.append(Node("axes", "Const", attributes={"value": Constant((1,), "int32", (1,)), "dtype": "int32"}))
    graph = whole(nodes, root=body([Node("root", "Sqrt", ("a",))], ("a",), ("root:y:0",)))
    inside = of_graph(graph, ["end"], optimized=False)
    called = of_graph(graph, ["end"], optimized=True)
    assert called.peak_bytes > inside.peak_bytes + MIB // 2


def test_outputs_of_a_body_are_found_by_their_names() -> None:
    norm = Node("n", "FusedBatchNormV3", ("a", "s", "s", "s", "s"))
    inner = body([norm], ("a", "s"), ("n:batch_variance:0", "n:y:0"))
    graph = whole([X, Node("s", "Const"), Node("call", "f", ("x", "s"))], f=inner)
    found, fetches = inlined(
        Graph({**graph.nodes, "end": Node("end", "Neg", ("call:1",))}, graph.functions), ["end"]
    )
    assert found.nodes["end"].inputs == ("call/n:0",) and fetches == ("end",)


def loop(times: int) -> Graph:
    """x is squared a number of times; each turn makes a new tensor, since the old one is kept by a list that
    is never read.
    """

    def whole_number(name: str, value: int) -> Node:
        return Node(name, "Const", attributes={"value": Constant((), "int32", (value,)), "dtype": "int32"})

    condition = body(
        [whole_number("most", times), Node("less", "Less", ("i", "most:output:0"))], ("i", "v"), ("less:z:0",)
    )
    turn = body(
        [whole_number("one", 1), Node("next", "AddV2", ("i", "one:output:0")), Node("sq", "Square", ("v",))],
        ("i", "v"),
        ("next:z:0", "sq:y:0"),
    )
    start = whole_number("start", 0)
    call = Node(
        "while",
        "StatelessWhile",
        ("start", "x"),
        attributes={"cond": "c", "body": "b", "T": ("int32", "float32")},
    )
    return whole([X, start, call, Node("end", "Neg", ("while:1",))], c=condition, b=turn)


@pytest.mark.parametrize("times", [1, 5])
def test_a_loop_turns_as_often_as_its_condition_holds(times: int) -> None:
    timeline = of_graph(loop(times), ["end"])
    assert (
        sum(name == "while/body/sq" for name in timeline.executions.node) == times + 1
    )  # the last one is dead
    assert timeline.peak_bytes < 3 * MIB


def test_a_branch_is_taken() -> None:
    cond = Node("p", "Const", attributes={"value": Constant((), "int32", (0,)), "dtype": "int32"})
    small = body([Node("s", "Sqrt", ("a",))], ("a",), ("s:y:0",))
    call = Node("if", "If", ("p", "x"), attributes={"then_branch": "twice", "else_branch": "small"})
    timeline = of_graph(
        whole([X, cond, call, Node("end", "Neg", ("if",))], twice=TWICE, small=small), ["end"]
    )
    assert "if/else_branch/s" in timeline.executions.node
    assert (
        sum(
            size
            for name, size in zip(timeline.table.node, timeline.table.size_bytes, strict=True)
            if name and "then_branch" in name
        )
        == 0
    )


def test_a_captured_variable_gets_its_shape_from_its_reader() -> None:
    handle = Node("w", "Placeholder", attributes={"shape": (), "dtype": "resource"})
    read = Node(
        "read",
        "ReadVariableOp",
        ("w",),
        attributes={"dtype": "float32"},
        outputs=(TensorType((1024, 512), None),),
    )
    graph = whole([X, handle, read, Node("y", "MatMul", ("x", "read"))])
    assert is_function(graph) and not effects(graph)
    timeline = of_graph(with_variables(graph), ["y"])
    assert timeline.baseline_bytes == 1024 * 512 * 4


def test_a_captured_variable_without_a_shape_says_what_to_do() -> None:
    graph = whole(
        [
            Node("w", "Placeholder", attributes={"shape": (), "dtype": "resource"}),
            Node("read", "ReadVariableOp", ("w",)),
        ]
    )
    with pytest.raises(UsageError, match="the shape of the variable behind w"):
        check(with_variables(graph), ["w", "read"])


def test_a_recorded_loops_condition_waits_for_its_counter_alone() -> None:
    name = "Func/while/cond/_0/input_control_node/_9"
    graph = whole([Node(name, "NoOp", ("^while/enter/_1", "^while/merge/_12", "^while/merge/_3"))])
    assert unchained(graph).nodes[name].inputs == ("^while/merge/_3",)
