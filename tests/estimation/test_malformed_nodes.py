"""Whatever a damaged graph says of a node, a rule answers or raises MalformedNode: everything else is
ours.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NoReturn

import pytest

from tfmemlens.errors import MalformedNode, NotUnderstood
from tfmemlens.estimation.graph_step.executor import Executor
from tfmemlens.estimation.graph_step.kernels import KERNELS, KernelCall, guessed, run
from tfmemlens.estimation.graph_step.tokens import Memory, Token
from tfmemlens.knowledge.bfc import Pool
from tfmemlens.knowledge.ops import roles
from tfmemlens.knowledge.ops.dtypes import dtypes_of
from tfmemlens.knowledge.ops.shapes import ShapeContext, axis_of, positive, side_of
from tfmemlens.knowledge.ops.table import OPS, op
from tfmemlens.knowledge.ops.type_inference import shapes_of
from tfmemlens.knowledge.ops.values import values_of
from tfmemlens.model.graph import Graph, Node
from tfmemlens.model.tensor import Constant, TensorType

_NUMBERS = (-(1 << 63), -2, -1, 0, 1, 2, 3, 5, 1 << 40, (1 << 63) - 1)
_NAMES = (
    "T dtype shape value axis keep_dims N num num_split padding strides dilations ksize ksizes rates k"
    " equation"
    " explicit_paddings data_format block_size batch_dims squeeze_dims transpose_a adj_x begin_mask end_mask"
    " ellipsis_mask new_axis_mask shrink_axis_mask src_format dst_format output_shapes results element_dtype"
    " out_type Tout"
).split()
_TEXTS = (
    "",
    "NCHW",
    "NHWC",
    "NDHWC",
    "XYZ",
    "SAME",
    "VALID",
    "EXPLICIT",
    "float32",
    "int32",
    "ab,bc->ac",
    "...,->",
)
_TRIES = 30


def _size(rng: random.Random) -> int:
    return rng.choice((0, 1, 2, 3, 5, 8))


def _value(rng: random.Random) -> object:
    kind = rng.randrange(8)
    if kind == 0:
        return rng.choice(_NUMBERS)
    if kind == 1:
        return rng.choice(_TEXTS)
    if kind == 2:
        return tuple(rng.choice(_NUMBERS) for _ in range(rng.randrange(6)))
    if kind == 3:
        return tuple(rng.choice((None, 0, 1, 4)) for _ in range(rng.randrange(6)))
    if kind == 4:
        return tuple(rng.choice(_TEXTS) for _ in range(rng.randrange(4)))
    if kind == 5:
        return Constant((2,), rng.choice(("int32", None)), (rng.choice(_NUMBERS), 1))
    return rng.choice((True, False, 2.5, TensorType(None, None), TensorType((2, None), "int64")))


def _node(name: str, rng: random.Random) -> Node:
    stated = {each: _value(rng) for each in _NAMES if rng.random() < 0.4}
    outputs = tuple(TensorType((2, 3), "float32") for _ in range(rng.randrange(3)))
    return Node("n", name, ("a", "b", "c"), "", stated, outputs)


def _vector(rng: random.Random) -> tuple[int, ...]:
    return tuple(rng.choice(_NUMBERS) for _ in range(rng.randrange(5)))


@pytest.mark.parametrize("name", sorted(OPS))
def test_shape_rules_answer_or_name_what_is_lacking(name: str) -> None:
    rng = random.Random(name)
    for _ in range(_TRIES):
        inputs = [
            TensorType(
                rng.choice((None, tuple(rng.choice((None, 0, 1, 2, 7)) for _ in range(rng.randrange(6))))),
                rng.choice((None, "float32", "int32", "resource")),
            )
            for _ in range(rng.randrange(5))
        ]
        numbers = [
            rng.choice((None, tuple(rng.choice((None, *_NUMBERS)) for _ in range(rng.randrange(5)))))
            for _ in inputs
        ]
        site = ShapeContext(
            _node(name, rng), inputs, numbers, rng.choice(((), (4,), (4, 2))), rng.random() < 0.2
        )
        values_of(site, op(name).values)
        try:
            shapes = shapes_of(site)
        except MalformedNode as problem:
            assert str(problem)
        else:
            assert len(dtypes_of(site, op(name), len(shapes))) == len(shapes)


@pytest.mark.parametrize("name", sorted({*OPS, *KERNELS} - roles.FEEDS))
def test_kernels_answer_or_name_what_is_lacking(name: str) -> None:
    rng = random.Random(name)
    for _ in range(_TRIES):
        inputs = []
        for _ in range(rng.randrange(5)):
            shape = tuple(_size(rng) for _ in range(rng.randrange(6)))
            values = _vector(rng) if rng.random() < 0.5 else None
            inputs.append(Token(shape, rng.choice(("float32", "int32", "resource", "variant")), values))
        call = KernelCall(_node(name, rng), inputs, Memory(Pool()), 1, {}, [])
        try:
            run(call)
        except NotUnderstood as problem:
            assert str(problem)
        assert guessed(call)


@pytest.mark.parametrize(
    ("ask", "reason"),
    [
        (lambda: axis_of(2, 2), "its axis is 2, its tensor of rank 2"),
        (lambda: axis_of(-3, 2), "its axis is -3, its tensor of rank 2"),
        (lambda: axis_of(0, 0), "its axis is 0, its tensor of rank 0"),
        (lambda: side_of((4, 5), 2), "side 2 is missing from [4, 5]"),
        (lambda: positive((1, 0), 1), "0 stands in [1, 0]"),
    ],
)
def test_what_is_lacking_is_named(ask: Callable[[], object], reason: str) -> None:
    with pytest.raises(MalformedNode) as problem:
        ask()
    assert str(problem.value) == reason


def test_what_is_there_is_given() -> None:
    assert (axis_of(-1, 2), axis_of(1, 2), axis_of(-2, 2)) == (1, 1, 0)
    assert (side_of((4, 5), 1), side_of((4, 5), -2), positive((1, 2), 1)) == (5, 4, 2)


def _stepped(node: Node) -> Executor:
    feed = Node("x", "Placeholder")
    feeds: Callable[[Node], list[Token]] = lambda _: [Token((2, 3), "float32")]  # noqa: E731
    executor = Executor(Graph({"x": feed, node.name: node}), Memory(Pool()), (node.name,), feeds, {})
    executor.step()
    return executor


def test_the_page_says_which_node_was_not_understood_and_what_it_weighs() -> None:
    attributes = {"T": "float32", "axis": 2}
    whole = _stepped(Node("n", "ExpandDims", ("x",), "", {"T": "float32"}, ()))
    assert whole.notes == [
        "what ExpandDims makes in n is not known, something like its input is taken for it"
    ]
    damaged = _stepped(
        Node("n", "Unpack", ("x",), "", {**attributes, "num": 2}, (TensorType((4,), "float32"),))
    )
    assert damaged.notes == [
        "n (Unpack) is not understood: its axis is 2, its tensor of rank 2; 16 B are counted for what it"
        " makes"
    ]
    assert damaged.memory.rows[-1].requested_bytes == 16


@pytest.mark.parametrize("error", [KeyError, TypeError, IndexError, AttributeError, ValueError])
def test_a_defect_of_a_kernel_is_not_taken_for_the_input(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: KernelCall) -> NoReturn:
        raise error("a slip")

    monkeypatch.setitem(KERNELS, "Unpack", broken)
    with pytest.raises(error, match="a slip"):
        _stepped(Node("n", "Unpack", ("x",)))
