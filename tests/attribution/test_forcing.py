"""Why the layout pass stopped at an op: each cause on the smallest graph, and the change that ends it."""

from __future__ import annotations

from typing import Any

import pytest

from tfmemlens.attribution.layout_pass.forcing import Forcing, Walk, on_cpu, ranked
from tfmemlens.model.graph import Graph, Node
from tfmemlens.model.tensor import Constant, TensorType

IMAGE = (2, 8, 8, 3)
GPU, CPU = "/job:w/replica:0/task:0/device:GPU:0", "/job:w/replica:0/task:0/device:CPU:0"
Shape = tuple[int | None, ...] | None
BEFORE, BEHIND = "c-0-TransposeNHWCToNCHW-LayoutOptimizer", "c-0-0-TransposeNCHWToNHWC-LayoutOptimizer"


def node(name: str, op: str, *inputs: str, on: str = GPU, **attributes: Any) -> Node:
    return Node(name, op, inputs, on, attributes)


def walk(
    *nodes: Node, shapes: dict[str, Shape] | None = None, seen: dict[str, Shape] | None = None,
    dtypes: dict[str, str] | None = None, leads_out: dict[str, bool] | None = None, on_device: bool = True,
) -> Walk:  # fmt: skip
    """Every node makes an image unless `shapes` says otherwise; the pass saw what `seen` says, else that."""
    graph = Graph({each.name: each for each in nodes})
    sides = {each.name: IMAGE for each in nodes} | (shapes or {})
    kinds = {name: (TensorType(shape, (dtypes or {}).get(name, "float32")),) for name, shape in sides.items()}
    known = kinds | {name: (TensorType(shape, "float32"),) for name, shape in (seen or {}).items()}
    return Walk(graph, kinds, known, leads_out or {}, on_device)


def why(at: Node, *others: Node, read: bool = True, **given: Any) -> str:
    """The cause at a node that another one reads."""
    reader = (node("reader", "NoOp", at.name),) if read else ()
    return walk(at, *others, *reader, **given).why(at)


X = node("x", "Placeholder")
AXES = node("axes", "Const", value=Constant((2,), "int32", (1, 2)))


class TestAtTheOp:
    @pytest.mark.parametrize(
        "at, cause",
        [
            (node("n", "Placeholder"), "graph-input"),
            (node("n", "RandomUniform"), "random-source"),
            (node("n", "Const"), "constant"),
            (node("gradients/n_grad/ones", "Const"), "loss-boundary"),
            (node("n", "SparseSoftmaxCrossEntropyWithLogits", "x"), "loss-boundary"),
            (node("n", "MyOp", "x"), "not-supported"),
            (node("n", "Reshape", "x"), "reshape-boundary"),
            (node("n", "Fill", "x"), "reshape-boundary"),
            (node("n", "Tile", "x"), "reshape-boundary"),
            (node("n", "Squeeze", "x"), "reshape-boundary"),
            (node("n", "Conv2D", "x"), "fetched"),
            (node("n", "Relu", "x"), "not-supported"),
            (node("n", "Relu", "x", on=CPU), "host-op"),
            (node("n", "MyOp", "x", on=CPU), "host-op"),
        ],
    )
    def test_by_its_kind(self, at: Node, cause: str) -> None:
        assert why(at, X) == cause

    def test_a_copy_on_the_cpu_makes_no_host_op(self) -> None:
        assert why(node("n", "Relu", "x", on=CPU), X, on_device=False) == "not-supported"

    def test_an_op_that_is_not_placed_between_copies_that_are(self) -> None:
        copy, placed = node("t", "Transpose", "x"), node("t", "Transpose", "x", on="")
        at = node("n", "Relu", "x", on="")
        assert why(at, X, copy, leads_out={"t": False}) == "host-op"
        assert why(at, X, placed, leads_out={"t": False}) == "not-supported"
        assert why(at, X, copy, leads_out={"t": False}, on_device=False) == "not-supported"
        assert why(node("n", "MyOp", "x", on=""), X, copy, leads_out={"t": False}) == "not-supported"

    @pytest.mark.parametrize("op", ["Relu", "Conv2D"])
    def test_what_nobody_reads_is_fetched(self, op: str) -> None:
        assert why(node("n", op, "x"), X, read=False) == "fetched"
        waited = why(node("n", op, "x"), X, node("done", "NoOp", "^n"), read=False)
        assert waited == (
            "not-supported" if op == "Relu" else "fetched"
        )  # nothing but a fetch keeps a Conv2D

    @pytest.mark.parametrize("training, cause", [(False, True), (True, False), (None, False)])
    def test_batch_norm_gradients_convert_in_training_only(self, training: bool | None, cause: bool) -> None:
        at = node("n", "FusedBatchNormGradV3", "x", is_training=training)
        assert (why(at, X) == "batch-norm-inference-mode") is cause

    @pytest.mark.parametrize("mask", ["ellipsis_mask", "new_axis_mask", "shrink_axis_mask", "begin_mask"])
    def test_slices_that_drop_axes(self, mask: str) -> None:
        cut = why(node("n", "StridedSlice", "x", **{mask: 1}), X)
        assert (cut == "slice-drops-axes") is (mask != "begin_mask")
        assert why(node("n", "StridedSlice", "x", **{mask: 0}), X) != "slice-drops-axes"
        assert why(node("n", "Slice", "x", **{mask: 1}), X) != "slice-drops-axes"

    @pytest.mark.parametrize(
        "other, fits",
        [
            ((), True),
            ((3,), True),
            ((8, 3), False),
            ((8, 8, 3), False),
            (IMAGE, True),
            ((2, 1, 8, 8, 3), True),
            (None, False),
        ],
    )
    def test_operands_that_the_pass_follows(self, other: Shape, fits: bool) -> None:
        """An unknown rank is a cause of its own."""
        expected = "not-supported" if fits else "unsupported-shapes"
        if other is None:
            expected = "unknown-rank"
        assert why(node("n", "AddV2", "x", "y"), X, node("y", "Relu", "x"), shapes={"y": other}) == expected

    @pytest.mark.parametrize(
        "op, dtype, cause",
        [
            ("Conv2D", "float32", "fetched"),
            ("Conv2D", "int8", "not-supported"),
            ("Conv2D", "uint8", "not-supported"),
            ("Conv3D", "float32", "not-supported"),
        ],
    )
    def test_kinds_that_not_every_version_converts(self, op: str, dtype: str, cause: str) -> None:
        assert why(node("n", op, "x"), X, dtypes={"n": dtype}) == cause

    @pytest.mark.parametrize(
        "name", ["a-0-TransposeNDHWCToNCDHW-LayoutOptimizer", "a-0-TransposeNCDHWToNDHWC-LayoutOptimizer"]
    )
    def test_volumes_are_converted_where_others_are(self, name: str) -> None:
        at = node("n", "Conv3D", "x")
        assert why(at, X, node(name, "Transpose", "x")) == "fetched"
        assert why(at, X, node(BEFORE, "Transpose", "x")) == "not-supported"
        assert why(at, X, node(name.removesuffix("-LayoutOptimizer"), "Transpose", "x")) == "not-supported"


class TestUnknownRanks:
    def test_of_a_converted_op(self) -> None:
        at = node("n", "Conv2D", "x")
        assert why(at, X, seen={"n": None, "x": None}) == "unknown-rank"
        assert why(at, X, seen={"n": None}) == "fetched"  # the input's rank tells
        assert why(at, X, seen={"x": None}) == "fetched"
        assert why(at, X, seen={"n": (2, 3), "x": (2, 3)}) == "unknown-rank"

    def test_an_op_that_we_have_no_rule_for_is_no_evidence(self) -> None:
        own = node("own", "MyOp", "x")
        assert why(node("n", "Conv2D", "own"), own, X, seen={"n": None, "own": None}) == "fetched"

    def test_of_a_default(self) -> None:
        at = node("n", "PlaceholderWithDefault", "x")
        assert why(at, X, seen={"n": None}) == "unknown-rank"
        assert why(at, X) == "graph-input"

    def test_the_feed_that_hides_it_is_named(self) -> None:
        same, conv = node("same", "Identity", "x"), node("n", "Conv2D", "same")
        hidden: dict[str, Shape] = {"n": None, "same": None, "x": None}
        found = walk(X, same, conv, node("r", "NoOp", "n"), node(BEHIND, "Transpose", "x"), seen=hidden)
        assert found.before(node(BEFORE, "Transpose", "n")) == [Forcing("x", "unknown-rank", ("n",))]


class TestReductions:
    def test_with_stated_axes(self) -> None:
        at = node("n", "Mean", "x", "axes")
        assert why(at, X, AXES, shapes={"n": (2, 3)}) == "not-supported"
        assert why(at, X, AXES, shapes={"n": (2, 3)}, read=False) == "loss-boundary"
        assert why(at, X, AXES, shapes={"n": ()}) == "loss-boundary"
        assert why(at, X, AXES, shapes={"n": (2, 8, 3)}) == "loss-boundary"
        assert why(at, X, AXES) == "reduction-axes"
        assert why(at, X, AXES, shapes={"n": None}) == "reduction-axes"

    def test_that_keeps_its_axes_is_like_any_other(self) -> None:
        assert why(node("n", "Mean", "x", "axes", keep_dims=True), X, AXES) == "not-supported"

    @pytest.mark.parametrize(
        "name, cause", [("n", "reduction-axes"), ("bn/moments/mean", "batch-norm-unfused")]
    )
    def test_with_axes_that_are_computed(self, name: str, cause: str) -> None:
        computed = node("axes", "Range")
        assert why(node(name, "Mean", "x", "axes"), X, computed) == cause
        assert why(node(name, "Mean", "x"), X) == cause

    @pytest.mark.parametrize(
        "name, cause",
        [
            ("gradients/add_grad/Sum", "reduction-axes"),
            ("gradients/bn/batchnorm/mul_grad/Sum", "batch-norm-unfused"),
        ],
    )
    def test_of_a_gradient(self, name: str, cause: str) -> None:
        assert why(node(name, "Sum", "x", "axes"), X, AXES, shapes={name: (3,)}) == cause

    @pytest.mark.parametrize("axes", [AXES, node("axes", "Range")])
    def test_of_a_gradient_of_what_has_no_known_rank(self, axes: Node) -> None:
        at, forward = node("gradients/add_grad/Sum", "Sum", "x", "axes"), node("add", "AddV2", "x", "x")
        others = (X, axes, forward, node("other", "NoOp", "add"))
        assert why(at, *others, shapes={at.name: (3,)}, seen={"add": None}) == "unknown-rank"
        assert why(at, *others, shapes={at.name: (3,)}) == "reduction-axes"


class TestGradients:
    def test_of_an_op_that_was_converted(self) -> None:
        at, forward = node("gradients/up_grad/MyGrad", "MyGrad", "x"), node("up", "ResizeBilinear", "x")
        assert why(at, X) == "not-supported"
        relu = node("up", "Relu", "x")
        assert why(at, X, relu) == "gradient-not-supported"
        assert why(at, X, forward) in ("gradient-not-supported", "not-supported")
        copied = node("up", "Relu", BEHIND)
        copy = node(BEHIND, "Transpose", "x")
        assert why(at, X, copy, copied, leads_out={BEHIND: True}) == "not-supported"  # it was not converted
        assert why(at, X, copy, copied, leads_out={BEHIND: False}) == "gradient-not-supported"
        assert why(at, X, node("up", "Mean", "x")) == "not-supported"
        assert why(node("up2/MyGrad", "MyGrad", "x"), X, relu) == "not-supported"

    def test_reshapes(self) -> None:
        at = node("gradients/up_grad/Reshape", "Reshape", "x")
        assert why(at, X, node("up", "Relu", "x")) == "reshape-boundary"
        assert why(at, X, node("up", "Mean", "x")) == "loss-boundary"
        loss = node("up", "SparseSoftmaxCrossEntropyWithLogits", "x")
        assert why(at, X, loss) == "loss-boundary"
        assert why(at, X, node("up", "Relu", "x"), seen={"up": None}) == "unknown-rank"
        assert why(at, X, node("up", "MyOp", "x"), seen={"up": None}) == "reshape-boundary"
        norm = node("gradients/bn/batchnorm/mul_grad/Reshape", "Reshape", "x")
        assert why(norm, X) == "batch-norm-unfused"
        assert why(at, X, seen={"x": None}) == "unknown-rank"
        assert why(node("net/Reshape", "Reshape", "x"), X, seen={"x": None}) == "reshape-boundary"


class TestWalks:
    def test_behind_a_copy_each_reader_tells(self) -> None:
        copy = node(BEHIND, "Transpose", "x")
        found = walk(
            X, copy, node("a", "MyOp", BEHIND), node("b", "Reshape", BEHIND), node("r", "NoOp", "a", "b")
        )
        assert found.behind(copy) == ranked([Forcing("a", "not-supported"), Forcing("b", "reshape-boundary")])
        assert walk(X, copy).behind(copy) == [Forcing(BEHIND, "fetched")]

    def test_behind_a_merge_its_other_inputs_tell(self) -> None:
        copy = node(BEHIND, "Transpose", "x")
        merge = node("m", "Merge", BEHIND, "other")
        others = (node("other", "MyOp", "x"), node("r", "NoOp", "m"))
        found = walk(X, copy, merge, *others, leads_out={BEHIND: True})
        assert found.behind(copy) == [Forcing("other", "not-supported", ("m",))]
        fetched = walk(X, copy, merge, others[0], leads_out={BEHIND: True})
        assert fetched.behind(copy) == [Forcing("m", "fetched")]

    def test_before_a_copy_the_old_format_begins_above(self) -> None:
        copy = node(BEFORE, "Transpose", "c")
        chain = (X, node("own", "MyOp", "x"), node("b", "Relu", "own"), node("c", "Relu", "b"), copy)
        assert walk(*chain).before(copy) == [Forcing("own", "not-supported", ("c", "b"))]

    def test_before_a_copy_without_its_source(self) -> None:
        found = walk(X)
        assert found.before(node(BEFORE, "Transpose", "gone:1")) == [Forcing("gone:1", "not-in-this-graph")]
        assert found.before(node(BEFORE, "Transpose")) == [Forcing(BEFORE, "not-in-this-graph")]

    def test_small_tensors_are_not_followed(self) -> None:
        copy = node(BEFORE, "Transpose", "c")
        add = node("c", "AddV2", "own", "bias")
        chain = (X, node("own", "MyOp", "x"), node("bias", "Const"), add, copy)
        assert walk(*chain, shapes={"bias": (3,)}).before(copy) == [Forcing("own", "not-supported", ("c",))]
        both = walk(*chain).before(copy)
        assert {each.node for each in both} == {"own", "bias"}

    def test_what_reads_converted_data_is_asked_why(self) -> None:
        out, copy = node(BEHIND, "Transpose", "x"), node(BEFORE, "Transpose", "c")
        chain = (X, out, node("own", "MyOp", "x"), copy)
        directions = {BEHIND: True, BEFORE: False}
        merge, add = node("c", "Merge", BEHIND, "own"), node("c", "AddV2", BEHIND, "own")
        assert walk(*chain, merge, leads_out=directions).before(copy) == [
            Forcing("own", "not-supported", ("c",))
        ]
        assert walk(*chain, add, leads_out=directions).before(copy) == [Forcing("c", "not-supported")]

    def test_an_op_with_a_reason_of_its_own_ends_the_walk(self) -> None:
        copy = node(BEFORE, "Transpose", "c")
        chain = (X, node("own", "MyOp", "x"), node("c", "Relu", "own", on=CPU), copy)
        assert walk(*chain).before(copy) == [Forcing("c", "host-op")]

    def test_each_cause_once_the_gravest_first(self) -> None:
        graph, norm = Forcing("a", "graph-input"), Forcing("b", "batch-norm-inference-mode")
        assert ranked([graph, norm, graph]) == [norm, graph]


@pytest.mark.parametrize(
    "device, expected",
    [
        (CPU, True),
        (GPU, False),
        ("", False),
        ("/cpu:0", True),
        ("/device:CPU:*", True),
        ("/job:CPUs/device:GPU:0", False),
    ],
)
def test_on_the_cpu(device: str, expected: bool) -> None:
    assert on_cpu(node("n", "Relu", on=device)) is expected
