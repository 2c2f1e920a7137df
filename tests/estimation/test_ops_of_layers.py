"""What element-wise ops of layers make and what their gradients read: each op as a line."""

from __future__ import annotations

from typing import Any

import pytest

from tfmemlens.estimation.keras_step.lowering import _context
from tfmemlens.estimation.keras_step.lowering.core import concatenate
from tfmemlens.estimation.keras_step.tape import Tape
from tfmemlens.model.attribution import Kind


class Value(str):
    """A tensor by its name, with a shape."""

    shape: tuple[int, ...]

    def __new__(cls, name: str, shape: tuple[int, ...]) -> Value:
        made = super().__new__(cls, name)
        made.shape = shape
        return made

    @property
    def bytes(self) -> int:
        return 4


class FakeTape:
    """Writes down what is asked for: `Mul(x, y) [4, 8] over x`."""

    training = True
    fetches = False

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.back: Any = None
        self.wanted = {"x", "y"}

    def op(self, op: str, reads: Any, shape: Any = None, over: Any = (), **given: Any) -> Value:
        made = Value(f"{op}{len(self.lines)}", tuple(shape if shape is not None else reads[0].shape))
        text = f"{op}({', '.join(reads)}) {list(made.shape)}"
        self.lines.append(text + (f" over {', '.join(over)}" if over else ""))
        return made

    def gradient(self, made: Value, reads: Any, back: Any) -> None:
        self.back = back

    def needs(self, value: Value) -> bool:
        return str(value) in self.wanted


WIDE, ROW = (4, 8), (8,)


def run(function: Any, *values: Any, **given: Any) -> tuple[list[str], list[str], list[Any]]:
    """Lines of the forward and of the gradient, and what that gives back."""
    tape = FakeTape()
    made = function(tape, *values, **given)
    forward, tape.lines = tape.lines, []
    gradients = tape.back(Value("grad", made.shape))
    return forward, tape.lines, [each and str(each) for each in gradients]


def test_a_product_with_a_constant_is_in_place_both_ways() -> None:
    forward, backward, given = run(_context.scaled, Value("x", WIDE))
    assert forward == ["Mul(x) [4, 8] over x"]
    assert backward == ["Mul(grad) [4, 8] over grad"] and given == ["Mul0"]


@pytest.mark.parametrize(
    "x, y, shape",
    [(WIDE, WIDE, [4, 8]), (WIDE, ROW, [4, 8]), (ROW, WIDE, [4, 8]), ((1, 8), (8, 1), [1, 8])],
)
def test_a_product_has_the_larger_shape(x: Any, y: Any, shape: list[int]) -> None:
    forward, backward, given = run(_context.multiply, Value("x", x), Value("y", y))
    assert forward == [f"Mul(x, y) {shape} over x, y"]
    lines = []
    for one, other in ((x, "y"), (y, "x")):
        lines.append(f"Mul(grad, {other}) {shape} over grad")
        if list(one) != shape:
            lines.append(f"Sum(Mul{len(lines) - 1}) {list(one)}")
    assert backward == lines
    assert [name[:3] for name in given] == ["Mul" if list(one) == shape else "Sum" for one in (x, y)]


def test_a_product_gives_no_gradient_that_nobody_needs() -> None:
    tape = FakeTape()
    tape.wanted = {"y"}
    made = _context.multiply(tape, Value("x", WIDE), Value("y", WIDE))  # type: ignore[arg-type]
    first, second = tape.back(Value("grad", made.shape))
    assert first is None and second is not None


def test_a_sum_passes_its_gradient_on() -> None:
    forward, backward, given = run(_context.add, [Value("x", WIDE), Value("y", ROW)], WIDE)
    assert forward == ["AddV2(x, y) [4, 8] over x, y"]
    assert backward == ["Sum(grad) [8]"] and given == ["grad", "Sum0"]
    three, _, _ = run(_context.add, [Value(name, WIDE) for name in "xyz"], WIDE, op="Add")
    assert three == ["Add(x, y) [4, 8] over x, y", "Add(Add0, z) [4, 8] over Add0, z"]


def test_a_bias_is_added_in_place() -> None:
    forward, backward, given = run(_context.biased, Value("x", WIDE), Value("y", ROW))
    assert forward == ["BiasAdd(x, y) [4, 8] over x"]
    assert backward == ["BiasAddGrad(grad) [8]"] and given == ["grad", "BiasAddGrad0"]
    tape: Any = FakeTape()
    value: Any = Value("x", WIDE)
    assert _context.biased(tape, value, None) is value and not tape.lines


@pytest.mark.parametrize(
    "needs, steps, backward",
    [
        ("none", 0, ["ReluGrad(grad) [4, 8] over grad"]),
        ("output", 0, ["ReluGrad(grad, Relu0) [4, 8] over grad, Relu0"]),
        ("input", 0, ["ReluGrad(grad, x) [4, 8] over grad, x"]),
        (
            "input",
            2,
            [
                "ReluGrad(x) [4, 8]",
                "ReluGrad(ReluGrad0) [4, 8] over ReluGrad0",
                "ReluGrad(grad, ReluGrad1) [4, 8] over grad, ReluGrad1",
            ],
        ),
        (
            "none",
            1,
            ["ReluGrad(grad) [4, 8]", "ReluGrad(grad, ReluGrad0) [4, 8] over grad, ReluGrad0"],
        ),
    ],
)
def test_what_a_gradient_reads(needs: str, steps: int, backward: list[str]) -> None:
    forward, found, _ = run(_context.unary, Value("x", WIDE), "Relu", needs, steps)
    assert forward == ["Relu(x) [4, 8] over x"]
    assert found == backward


def test_a_softmax_passes_over_two_products() -> None:
    forward, backward, _ = run(_context.softmax, Value("x", WIDE))
    assert forward == ["Softmax(x) [4, 8] over x"]
    assert backward == [
        "Mul(grad, Softmax0) [4, 8]",
        "Sum(Mul0) [4, 1]",
        "Sub(grad, Sum1) [4, 8] over grad",
        "Mul(Sub2, Softmax0) [4, 8] over Sub2",
    ]
    forward, backward, _ = run(_context.softmax, Value("x", WIDE), twice=True)
    assert forward == ["Softmax(x) [4, 8] over x", "Mul(Softmax0) [4, 8]"]
    assert backward == [
        "Mul(grad, Softmax0) [4, 8] over Softmax0",
        "Sum(Mul0) [4, 1]",
        "Sub(grad, Sum1) [4, 8] over grad",
        "Mul(Sub2, Mul1) [4, 8] over Mul1, Sub2",
    ]


@pytest.mark.parametrize("count, ops", [(16, ["Slice"] * 16), (17, ["SplitV"])])
def test_the_gradient_of_many_parts_is_one_op(count: int, ops: list[str]) -> None:
    tape = Tape()
    parts = [
        tape.source(f"w{number}", (4, 2), "float32", Kind.PARAMETER, trainable=True)
        for number in range(count)
    ]
    made = concatenate(tape, parts, (4, 2 * count))
    tape.differentiate([(made, made)])
    backward = [op for op in tape.ops if op.op != "ConcatV2"]
    assert [op.op for op in backward] == ops
    written = [buffer for op in backward for buffer in op.writes]
    assert [tape.buffers[buffer].bytes for buffer in written] == [32] * count
    assert {tape.gradients[part.buffer].buffer for part in parts} == set(written)
