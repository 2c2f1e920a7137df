"""The walk to the forcing op on graphs that are odd, broken or large."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tfmemlens.attribution.layout_pass.copies import study
from tfmemlens.knowledge.layout_causes import CAUSES
from tfmemlens.model.graph import Graph, Node
from tfmemlens.model.tensor import Constant

OPS = [
    "Conv2D",
    "Relu",
    "Add",
    "Merge",
    "Switch",
    "NextIteration",
    "Placeholder",
    "Const",
    "Reshape",
    "Mean",
    "MyOp",
    "Transpose",
    "ConcatV2",
    "Split",
    "Squeeze",
]
NAMES = [f"n{index}" for index in range(8)] + [
    "a-0-TransposeNHWCToNCHW-LayoutOptimizer",
    "a-0-0-TransposeNCHWToNHWC-LayoutOptimizer",
    "gradients/n1_grad/Mul",
]
NODES = st.builds(
    Node,
    st.sampled_from(NAMES),
    st.sampled_from(OPS),
    st.lists(st.sampled_from([*NAMES, "^n1", "n2:1", "nowhere"]), max_size=4).map(tuple),
    st.sampled_from(["", "/device:GPU:0", "/device:CPU:0"]),
)


def graph_of(*nodes: Node) -> Graph:
    return Graph({node.name: node for node in nodes})


@example([Node("n0", "Split"), Node("a-0-TransposeNHWCToNCHW-LayoutOptimizer", "Transpose", ("n0",))])
@settings(max_examples=300, deadline=None)
@given(st.lists(NODES, max_size=12))
@pytest.mark.whole
def test_any_graph_gets_an_answer(nodes: list[Node]) -> None:
    graph = graph_of(*nodes)
    found = study(graph)
    inserted = {node.name for node in graph if "LayoutOptimizer" in node.name}
    assert {copy.node for copy in (*found.copies, *found.helpers)} == inserted if found else not inserted
    for copy in found.copies if found else ():
        assert copy.causes <= set(CAUSES)


ORDER = Node("perm", "Const", attributes={"value": Constant((4,), "int32", (0, 3, 1, 2)), "dtype": "int32"})


def feed(name: str = "x") -> Node:
    return Node(name, "Placeholder", attributes={"shape": (2, 8, 8, 3), "dtype": "float32"})


def turn(name: str, source: str) -> Node:
    return Node(name, "Transpose", (source, "perm"), attributes={"T": "float32"})


def test_a_ladder_of_sums_is_walked_once() -> None:
    """Each sum reads the one before twice: paths double with every rung, nodes do not."""
    resize = Node("r0", "ResizeBilinear", ("x", "size"), attributes={"T": "float32"})
    size = Node("size", "Const", attributes={"value": Constant((2,), "int32", (8, 8)), "dtype": "int32"})
    rungs = [
        Node(f"r{index}", "AddV2", (f"r{index - 1}", f"r{index - 1}"), attributes={"T": "float32"})
        for index in range(1, 200)
    ]
    copy = turn("conv-0-TransposeNHWCToNCHW-LayoutOptimizer", "r199")
    conv = Node("conv", "Conv2D", (copy.name, "w"), attributes={"T": "float32", "data_format": "NCHW"})
    found = study(graph_of(feed(), size, resize, *rungs, ORDER, copy, conv))
    assert found
    assert (found.copies[0].forced_by, found.copies[0].cause) == ("r0", "not-supported")
    assert found.copies[0].tensor.bytes == 2 * 8 * 8 * 3 * 4


def test_a_feed_behind_an_identity_is_still_the_feed() -> None:
    copy = turn("conv-0-TransposeNHWCToNCHW-LayoutOptimizer", "same")
    found = study(
        graph_of(
            feed(),
            Node("same", "Identity", ("x",), attributes={"T": "float32"}),
            ORDER,
            copy,
            Node("conv", "Conv2D", (copy.name, "w")),
        )
    )
    assert found
    assert (found.copies[0].forced_by, found.copies[0].cause) == ("x", "graph-input")


def test_names_that_later_passes_changed() -> None:
    """A second copy of a name gets a number, a folded one becomes a constant."""
    copy = turn("conv-0-TransposeNHWCToNCHW-LayoutOptimizer_1", "x")
    folded = Node("ConstantFolding/w-0-TransposeNHWCToNCHW-LayoutOptimizer-folded", "Const")
    found = study(graph_of(feed(), ORDER, copy, folded, Node("conv", "Conv2D", (copy.name, "w"))))
    assert found
    assert ([copy.node for copy in found.copies], [copy.node for copy in found.helpers]) == (
        [copy.name],
        [folded.name],
    )
    assert found.copies[0].direction == "NHWCToNCHW"


def test_copies_inside_a_function() -> None:
    copy = turn("conv-0-TransposeNHWCToNCHW-LayoutOptimizer", "x")
    body = graph_of(feed(), ORDER, copy, Node("conv", "Conv2D", (copy.name, "w")))
    found = study(Graph({"call": Node("call", "PartitionedCall")}, {"f": body}))
    assert found
    assert len(found.copies) == 1


def test_a_graph_without_the_pass_is_nothing() -> None:
    assert study(graph_of(feed(), Node("conv", "Conv2D", ("x", "w")))) is None


def test_what_only_a_control_edge_waits_for_is_not_fetched() -> None:
    """A Relu that nobody reads is what the user asked for; one that another node waits for is not."""
    kernel = Node("w", "VariableV2", attributes={"shape": (3, 3, 3, 4), "dtype": "float32"})
    copy = turn("conv-0-0-TransposeNCHWToNHWC-LayoutOptimizer", "conv")
    conv = Node(
        "conv",
        "Conv2D",
        ("x", "w"),
        attributes={"T": "float32", "data_format": "NCHW", "padding": "SAME", "strides": (1, 1, 1, 1)},
    )
    relu = Node("relu", "Relu", (copy.name,), attributes={"T": "float32"})
    alone = study(graph_of(feed(), kernel, ORDER, conv, copy, relu))
    waited = study(graph_of(feed(), kernel, ORDER, conv, copy, relu, Node("done", "NoOp", ("^relu",))))
    assert alone
    assert waited
    assert alone.copies[0].cause == "fetched"
    assert waited.copies[0].cause != "fetched"


@pytest.mark.parametrize(
    ("order", "direction"),
    [
        ((0, 3, 1, 2), "NHWCToNCHW"),
        ((0, 2, 3, 1), "NCHWToNHWC"),
        ((0, 4, 1, 2, 3), "NDHWCToNCDHW"),
        ((0, 2, 3, 4, 1), "NCDHWToNDHWC"),
    ],
)
def test_without_formats_in_its_name_a_copy_is_told_by_its_permutation(
    order: tuple[int, ...], direction: str
) -> None:
    perm = Node(
        "perm", "Const", attributes={"value": Constant((len(order),), "int32", order), "dtype": "int32"}
    )
    image = Node("x", "Placeholder", attributes={"shape": (2, 8, 8, 8, 3)[: len(order)], "dtype": "float32"})
    copy = turn("conv-0-LayoutOptimizer", "x")
    found = study(graph_of(image, perm, copy, Node("conv", "Conv2D", (copy.name, "w"))))
    assert found
    assert [each.direction for each in found.copies] == [direction]


def image(name: str, *sides: int | None) -> Node:
    return Node(name, "Placeholder", attributes={"shape": sides, "dtype": "float32"})


def test_copies_of_all_bodies_count_the_largest_first() -> None:
    """2 x 8 x 8 x 3 floats in the graph; in a function twice as many, and a copy that is not known."""
    name = "conv-0-TransposeNHWCToNCHW-LayoutOptimizer"
    conv = Node("conv", "Conv2D", (name, "w"))
    helper = Node("conv-1-PermConstNHWCToNCHW-LayoutOptimizer", "Const")
    unknown = turn("late-0-TransposeNHWCToNCHW-LayoutOptimizer", "open")
    body = graph_of(
        image("x", 4, 8, 8, 3), image("open", None, 8, 8, 3), ORDER, turn(name, "x"), unknown, conv
    )
    plain = graph_of(feed(), Node("conv", "Conv2D", ("x", "w")))
    outer = graph_of(feed(), ORDER, turn(name, "x"), conv, Node("again", "MaxPool", ("conv",)), helper)
    found = study(Graph(outer.nodes, {"f": body, "g": plain}))
    assert found
    assert [copy.tensor.bytes for copy in found.copies] == [3072, 1536, None]
    assert (found.bytes, found.unknown, found.sensitive) == (4608, 1, 3)
    assert [copy.node for copy in found.helpers] == [helper.name]
    assert (found.source_format, found.target_format) == ("NHWC", "NCHW")


def test_a_copy_that_the_backward_pass_reads_is_kept() -> None:
    name = "conv-0-TransposeNHWCToNCHW-LayoutOptimizer"
    gradient = "gradients/conv_grad/Conv2DBackpropFilter"

    def kept(source: str, *readers: str) -> bool:
        nodes = [Node(reader, "Conv2D", (name, "w")) for reader in readers]
        found = study(graph_of(feed(source), ORDER, turn(name, source), *nodes))
        assert found is not None
        return found.copies[0].retained

    assert kept("x", "conv", gradient)
    assert kept("x", gradient)
    assert not kept("x", "conv")
    assert not kept("gradients/x", gradient)


def test_the_users_line_is_that_of_the_forcing_op_else_of_the_copied() -> None:
    name = "conv-0-TransposeNHWCToNCHW-LayoutOptimizer"

    def line(*nodes: Node) -> str | None:
        found = study(graph_of(ORDER, *nodes, Node("conv", "Conv2D", (name, "w"))))
        assert found is not None
        return found.copies[0].source

    own = Node("own", "MyOp", ("x",), source="own.py:1")
    made = Node("relu", "Relu", ("own",), source="relu.py:2")
    assert line(feed(), own, made, turn(name, "relu")) == "own.py:1"
    assert line(feed(), Node("own", "MyOp", ("x",)), made, turn(name, "relu")) == "relu.py:2"
    assert line(feed(), Node("own", "MyOp", ("x",)), turn(name, "own")) is None
    gradient = Node("gradients/up_grad/MyGrad", "MyGrad", ("x",), source="train.py:9")
    forward = Node("up", "MyOp", ("x",), source="net.py:5")
    assert line(feed(), gradient, forward, turn(name, gradient.name)) == "net.py:5"
    assert line(feed(), gradient, turn(name, gradient.name)) == "train.py:9"
    assert line(feed(), Node(gradient.name, "MyGrad", ("x",)), turn(name, gradient.name)) is None


def test_kernels_of_onednn_are_read_by_their_plain_names() -> None:
    name = "conv-0-TransposeNHWCToNCHW-LayoutOptimizer"
    copy = Node(name, "_MklTranspose", ("x", "perm"), attributes={"T": "float32"})
    conv = Node("conv", "_MklNativeConv2DWithBias", (name, "w"))
    found = study(graph_of(feed(), ORDER, copy, conv))
    assert found
    assert [each.op for each in found.copies] == ["Transpose"]
    assert found.sensitive == 1
