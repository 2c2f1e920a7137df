"""How a row follows the batch, by its name and its shape alone or with a graph: each rule at its edge."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import timeline
from tfmemlens.estimation.batch_scaling.scaling import (
    batch_of,
    input_rank,
    laws_of,
    shares_of_half,
    side_axis,
    standing_laws_of,
)
from tfmemlens.model.allocation import OUTPUT, TEMPORARY, Allocation, AllocationTable
from tfmemlens.model.fit import Scale
from tfmemlens.model.graph import Graph, Node
from tfmemlens.model.tensor import TensorType
from tfmemlens.model.timeline import Timeline
from tfmemlens.units import MIB
from tfmemlens.values import replace

Dims = tuple[int | None, ...]
F, B, S = Scale.FIXED, Scale.BATCH, Scale.SQUARE


def made(
    node: str | None,
    shape: Dims | None,
    *,
    op: str | None = None,
    size: int = 1024,
    dtype: str | None = "float32",
    temporary: bool = False,
) -> Allocation:
    """A row of a step that lives from its first to its second microsecond."""
    return Allocation(
        node, size, op, requested_bytes=size, start_micros=0.0, end_micros=1.0, shape=shape, dtype=dtype,
        purpose=TEMPORARY if temporary else OUTPUT,
    )  # fmt: skip


def step(*rows: Allocation, standing: tuple[Allocation, ...] = ()) -> Timeline:
    return replace(timeline(*rows), standing=AllocationTable.of(list(standing)))


def graph(*nodes: Node) -> Graph:
    return Graph({node.name: node for node in nodes})


def node(name: str, op: str, *inputs: str, shape: Dims | None = None, **attributes: object) -> Node:
    """A node whose first output has this shape."""
    outputs = () if shape is None else (TensorType(shape, "float32"),)
    return Node(name, op, inputs, attributes=attributes, outputs=outputs)


def at(law: Any, *batches: int) -> list[int]:
    return [law.request(batch) for batch in batches]


@pytest.mark.parametrize(
    "row, batch, scale, double",
    [
        (made("a/Relu", (8, 5)), 8, B, 320),
        (made("a/Relu", (8,)), 8, B, 64),
        (made("a/Relu", (16,)), 8, F, 64),
        (made("a/Relu", (16, 5)), 8, B, 640),
        (made("a/Relu", (12, 5)), 8, F, 240),
        (made("a/Relu", (4, 5)), 8, F, 80),
        (made("a/Relu", (0, 5)), 8, F, 1024),
        (made("a/Relu", (1, 5)), 1, B, 40),
        (made("a/Relu", (1,)), 1, F, 4),
        (made("a/Relu", (2, 5)), 1, F, 40),
        (made("a/Relu", (7, 8, 3)), 8, B, 1344),
        (made("a/Relu", (7, 8)), 8, F, 224),
        (made("a/Relu", (7, 9, 8)), 8, F, 2016),
        (made("a/Relu", (7, 1, 3)), 1, B, 168),
        (made("a/Relu", ()), 8, F, 4),
        (made("a/Relu", None), 8, F, 1024),
        (made("a/Relu", (None, 8)), 8, F, 1024),
        (made("a/Relu", (8, 5), dtype="float16"), 8, B, 160),
        (made("a/Relu", (8, 5), dtype="string"), 8, B, 2048),
        (made("a/Relu", (9, 5), dtype="string"), 8, F, 1024),
        (made(None, (8, 5)), 8, B, 320),
        (made("gradients/a/Conv2D_grad/Conv2DBackpropFilter", (8, 5)), 8, F, 160),
        (made("gradients/a_grad/bias_add_grad", (8,)), 8, F, 32),
        (made("odd", (8, 5), op="BiasAddGrad"), 8, F, 160),
        (made("gradients/a/Conv2D_grad/Conv2DBackpropInput", (8, 9, 9, 5)), 8, B, 25920),
        (made("gradients/a/Conv2D_grad/Conv2DBackpropInput", (8, 81, 5)), 8, F, 12960),
        (made("odd", (8, 81, 5), op="Conv2DBackpropInput"), 8, F, 12960),
        (made("up/conv2d_transpose", (8, 81, 5)), 8, F, 12960),
        (made("a/MaxPoolGrad", None, temporary=True), 8, F, 1024),
        (made("a/MaxPoolGrad", (8, 5), temporary=True), 8, B, 320),
    ],
)  # fmt: skip
def test_without_a_graph_the_shape_and_the_name_tell(
    row: Allocation, batch: int, scale: Scale, double: int
) -> None:
    (law,) = laws_of(step(row), None, batch)
    assert (law.scale, law.request(2 * batch)) == (scale, double)


def test_a_shape_of_a_weight_stays() -> None:
    row = made("a/Relu", (8, 5))
    assert laws_of(step(row, standing=(made("w", (8, 5)),)), None, 8)[0].scale is F
    assert laws_of(step(row, standing=(made("w", (8, 6)),)), None, 8)[0].scale is B
    for reading in (made("w/ReadVariableOp", (8, 5)), made("w/read", (8, 5), op="ReadVariableOp")):
        assert [law.scale for law in laws_of(step(row, reading), None, 8)] == [F, F]


@pytest.mark.parametrize("op", ["VarHandleOp", "VariableV2"])
def test_a_shape_of_a_variable_of_the_graph_stays(op: str) -> None:
    variable = graph(Node("w", op, attributes={"shape": (8, 5)}))
    assert laws_of(step(made("a/Relu", (8, 5))), variable, 8)[0].scale is F


def test_a_tensor_may_grow_with_the_square_of_the_batch() -> None:
    """All pairs of samples: half the batch needs a quarter."""
    pairs = graph(
        node("x", "Placeholder", shape=(8, 5)),
        node("pairs", "MatMul", "x", "x", shape=(8, 8), transpose_b=True),
    )
    (law,) = laws_of(step(made("pairs", (8, 8))), pairs, 8)
    assert law.scale is S and at(law, 8, 16, 4) == [256, 1024, 64]
    (law,) = laws_of(step(made("pairs", (8, 9))), pairs, 8)
    assert law.scale is B  # another shape than the node's is judged by itself
    (law,) = laws_of(step(made("pairs", None)), pairs, 8)
    assert law.scale is B and at(law, 16) == [2048]


# ------------------------------------------------------------------ scratch memory


def with_scratch(size: int, op: str = "Softmax") -> Any:
    """A node that takes [8, 25] (800 bytes, chunks of 1024) and makes [8, 100] (3200 bytes, of 3328)."""
    known = graph(
        node("x", "Placeholder", shape=(8, 25)),
        Node("a", op, ("x",), outputs=(TensorType((8, 100), "float32"),), attributes={"T": "float32"}),
    )
    (law,) = laws_of(step(made("a", None, size=size, temporary=True)), known, 8)
    return law


@pytest.mark.parametrize(
    "chunk, request_bytes",
    [
        (1024, 800), (2047, 800), (768, 768), (2048, 2048), (3327, 3327), (3328, 3200), (6655, 3200),
        (6656, 6656),
    ],
)  # fmt: skip
def test_scratch_is_as_large_as_a_tensor_of_the_op_whose_chunk_it_may_be(
    chunk: int, request_bytes: int
) -> None:
    """A chunk holds a request from its own rounded size to below twice that: BFC splits the rest off."""
    law = with_scratch(chunk, op="Relu")
    assert law.scale is B and at(law, 8, 16) == [request_bytes, 2 * request_bytes]


FILTER, GRADIENT = (3, 3, 16, 32), (8, 32, 32, 32)
IMAGE = 32 * 32 * 9 * 16 * 4
TOGETHER = 43 * IMAGE
"""30 MiB over the work of one image: positions x patch, x filters, patch x filters: 184,832 elements."""


def convolution(op: str, chunk: int, batch: int = 8, filters: Dims = FILTER) -> Any:
    gradient = (batch, *GRADIENT[1:])
    image = (batch, 32, 32, 16)
    known = graph(
        node("x", "Placeholder", shape=image),
        node("w", "Const", shape=filters),
        node("dy", "Relu", "x", shape=gradient),
        node("g", op, "x", "w", "dy", shape=image if op.endswith("Input") else filters),
    )
    (law,) = laws_of(step(made("g", None, size=chunk, temporary=True)), known, batch)
    return law


@pytest.mark.parametrize("chunk", [TOGETHER, 2 * TOGETHER - 1])
def test_patches_of_a_filters_gradient_fill_30_mib_whatever_the_batch(chunk: int) -> None:
    law = convolution("Conv2DBackpropFilter", chunk)
    assert law.scale is F and at(law, 1, 8, 64) == [TOGETHER] * 3


@pytest.mark.parametrize("chunk", [TOGETHER - 256, 2 * TOGETHER, 4096])
def test_scratch_of_another_size_is_no_patches(chunk: int) -> None:
    for op in ("Conv2DBackpropFilter", "Conv2DBackpropInput"):
        law = convolution(op, chunk)
        assert law.scale is F and at(law, 1, 64) == [chunk, chunk]


def test_patches_of_an_inputs_gradient_are_of_one_image_or_of_30_mib() -> None:
    assert at(convolution("Conv2DBackpropInput", IMAGE), 1, 8, 64) == [IMAGE] * 3
    assert at(convolution("Conv2DBackpropInput", 2 * IMAGE - 1), 1, 8, 64) == [IMAGE] * 3
    assert at(convolution("Conv2DBackpropInput", TOGETHER), 1, 2, 64) == [IMAGE, TOGETHER, TOGETHER]


def test_one_image_tells_nothing_of_the_threads_and_eight_are_assumed() -> None:
    """184,832 elements are 23,104 for each of eight threads, below the 65,536 of an L2 cache."""
    assert at(convolution("Conv2DBackpropInput", IMAGE, batch=1), 1, 2) == [IMAGE, TOGETHER]


def test_filters_of_another_rank_are_no_convolution() -> None:
    assert at(convolution("Conv2DBackpropFilter", TOGETHER, filters=(3, 16, 32)), 64) == [TOGETHER]


# ------------------------------------------------------------------ what stood before the step


def constant(shape: Dims, name: str = "zeros", op: str = "Const") -> Allocation:
    return made(name, shape, op=op, size=4 * 8 * 100)


@pytest.mark.parametrize(
    "row, batch, scale",
    [
        (constant((8, 100)), 8, B),
        (constant((8, 100), op="HostConst"), 8, B),
        (constant((8, 100), op="VariableV2"), 8, F),
        (constant((9, 100)), 8, F),
        (constant((100, 8)), 8, F),
        (constant((8,)), 8, F),
        (constant((1, 100)), 1, F),
        (constant(()), 8, F),
    ],
)  # fmt: skip
def test_folded_constants_are_as_long_as_the_batch(row: Allocation, batch: int, scale: Scale) -> None:
    (law,) = standing_laws_of(step(made("a", (8, 5)), standing=(row,)), None, batch)
    assert law.scale is scale


def test_a_constant_of_a_weights_shape_stays() -> None:
    weights = made("w", (8, 100), op="VarHandleOp")
    laws = standing_laws_of(step(made("a", (8, 5)), standing=(constant((8, 100)), weights)), None, 8)
    assert [law.scale for law in laws] == [F, F]


def read_by(*ops: str, shape: Dims = (8, 100)) -> Graph:
    """A constant that these ops read one after the other, the last together with a fed tensor."""
    chain = [Node("c", "Const", outputs=(TensorType(shape, "float32"),))]
    for number, op in enumerate(ops[:-1]):
        chain.append(node(f"p{number}", op, chain[-1].name, shape=shape))
    last = node("sum", ops[-1], chain[-1].name, "x", shape=shape)
    return graph(node("x", "Placeholder", shape=shape), *chain, last)


@pytest.mark.parametrize(
    "ops, scale",
    [
        (("AddV2",), B),
        (("Identity", "AddV2"), B),
        (("Identity",) * 3 + ("AddV2",), B),
        (("Identity",) * 4 + ("AddV2",), F),
        (("Neg", "AddV2"), F),
    ],
)
def test_a_constant_is_as_long_as_the_tensors_it_meets(ops: tuple[str, ...], scale: Scale) -> None:
    row = replace(constant((8, 100), "c"), node="c")
    (law,) = standing_laws_of(step(made("x", (8, 100)), standing=(row,)), read_by(*ops), 8)
    assert law.scale is scale


@pytest.mark.parametrize("name, size", [("c", 0), ("zeros", 20 * MIB), ("net/ones_like_3", 20 * MIB)])
def test_grappler_folds_up_to_10_mib_and_more_where_one_value_fills_it(name: str, size: int) -> None:
    shape = (8, 10 * MIB // 32)
    known = read_by("AddV2", shape=shape)
    nodes = {
        each.name.replace("c", name) if each.name == "c" else each.name: replace(
            each,
            name=name if each.name == "c" else each.name,
            inputs=tuple(name if source == "c" else source for source in each.inputs),
        )
        for each in known
    }
    row = replace(constant(shape, name), node=name)
    (law,) = standing_laws_of(step(made("x", shape), standing=(row,)), Graph(nodes), 8)
    assert at(law, 8, 16) == [10 * MIB, size]


# ------------------------------------------------------------------ which number is the batch


def fed(*shapes: Dims, op: str = "Placeholder") -> Graph:
    return graph(*(node(f"x{at}", op, shape=shape) for at, shape in enumerate(shapes)))


@pytest.mark.parametrize(
    "known, batch",
    [
        (fed((8, 5)), 8),
        (fed((8, 5), (9,)), 8),
        (fed((9, 5), (8,)), 8),
        (fed((7, 8, 3)), 8),
        (fed((7, 8)), 7),
        (fed((7, 8, 3, 3)), 7),
        (graph(node("_arg_x", "_Arg", shape=(8, 5))), 8),
    ],
)
def test_of_the_inputs_leading_sides_the_one_that_most_bytes_share(known: Graph, batch: int) -> None:
    activations = [made(f"a{at}", (8, 5), size=1000) for at in range(3)]
    found = batch_of(
        step(*activations, made("b", (9, 5), size=2000), made("t", (9, 1), temporary=True)), known
    )
    assert found == (batch, "the graph's inputs")


def test_a_multiple_of_the_batch_speaks_for_it_by_half() -> None:
    rows = step(made("a", (16, 5), size=1000), made("b", (9, 5), size=600))
    assert batch_of(rows, fed((8, 5), (9, 5))) == (9, "the graph's inputs")
    rows = step(made("a", (16, 5), size=1000), made("b", (9, 5), size=400))
    assert batch_of(rows, fed((8, 5), (9, 5))) == (8, "the graph's inputs")
    assert batch_of(rows, fed((1, 5), (9, 5))) == (9, "the graph's inputs")


COMMON = "the commonest leading dimension"


@pytest.mark.parametrize(
    "rows, batch",
    [
        ([made("a", (8, 5)), made("b", (8, 6)), made("c", (9, 5))], 8),
        ([made("a", (9, 5)), made("a", (9, 5)), made("b", (8, 5)), made("c", (8, 5))], 8),
        ([made("a", (8, 5)), made("u/MatMul_1", (9, 5)), made("v/MatMul_1", (9, 6))], 8),
        ([made("a", (8, 5)), made("t", (9, 5), temporary=True), made("u", (9, 6), temporary=True)], 8),
        ([made("a", (8, 5)), made("b", (9,)), made("c", (9,))], 8),
        ([made("a", (8, 5)), made("b", (0, 9)), made("c", (0, 8))], 8),
        ([made("a", (8, 5)), made("Adam/b", (9, 5)), made("c", (9, 5)), made("d", (9, 5))], 8),
        ([made("a", (8, 5), size=10**6), made("b", (9, 5), size=999), made("c", (9, 6), size=999)], 8),
        ([made("a", (8, 5), size=10**6), made("b", (9, 5), size=2000), made("c", (9, 6), size=2000)], 9),
    ],
)  # fmt: skip
def test_without_inputs_the_commonest_leading_dimension(rows: list[Allocation], batch: int) -> None:
    assert batch_of(step(*rows), None) == (batch, COMMON)


def test_where_nothing_has_two_dimensions_the_batch_is_not_known() -> None:
    assert batch_of(step(made("a", (8,)), made("b", None)), None) is None


def test_weights_that_stand_do_not_count() -> None:
    rows = [made("a", (8, 5)), made("b", (9, 5)), made("c", (9, 5))]
    assert batch_of(step(*rows, standing=(made("w", (9, 5)),)), None) == (8, COMMON)


@pytest.mark.parametrize(
    "known, rank",
    [
        (None, None),
        (graph(node("a", "Relu", shape=(8, 5))), None),
        (fed((8, 5)), 2),
        (fed((8, 5), (8, 4, 4, 3)), 4),
        (fed((8, 500), (8, 4, 4, 3)), 2),
    ],
)
def test_the_rank_of_the_largest_input(known: Graph | None, rank: int | None) -> None:
    assert input_rank(known) == rank


def test_half_the_height_and_width_leaves_a_quarter_of_a_feature_map() -> None:
    known = graph(
        node("x", "Placeholder", shape=(8, 16, 16, 3)),
        node("a", "Relu", "x", shape=(8, 16, 16, 3)),
        node("flat", "Mean", "a", shape=(8, 3)),
    )
    rows = [
        made("a", (8, 16, 16, 3)),
        made("a", None, temporary=True),
        made("w", (3, 3)),
        made("flat", (8, 3)),
    ]
    assert shares_of_half(step(*rows), known, side_axis(8)) == [0.25, 0.25, 1.0, 1.0]
    assert shares_of_half(step(*rows), None, side_axis(8)) == [1.0] * 4


@pytest.mark.parametrize("name, count, share", [("while/a", 4, 0.5), ("while/a", 3, 1.0), ("a", 4, 1.0)])
def test_an_iteration_for_each_element_of_a_sequence(name: str, count: int, share: float) -> None:
    rows = [made(name, (8, 5))] * count
    assert shares_of_half(step(*rows), None, side_axis(8)) == [share] * count
