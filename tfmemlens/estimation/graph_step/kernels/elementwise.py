"""Elementwise kernels: in place of an input where nobody else holds it."""

from __future__ import annotations

from collections.abc import Callable

from tfmemlens.estimation.graph_step.kernels._call import (
    WHOLE,
    KernelCall,
    broadcast,
    elements,
    kernel,
    list_of,
)
from tfmemlens.estimation.graph_step.tokens import Token

_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "Add": lambda a, b: a + b, "AddV2": lambda a, b: a + b, "Sub": lambda a, b: a - b, "Mul": lambda a, b: a * b,
    "Maximum": max, "Minimum": min, "FloorDiv": lambda a, b: a // b if b else 0, "FloorMod": lambda a, b: a % b if b else 0,
    "Div": lambda a, b: a // b if b else 0, "RealDiv": lambda a, b: a // b if b else 0, "TruncateDiv": lambda a, b: a // b if b else 0,
    "Less": lambda a, b: int(a < b), "LessEqual": lambda a, b: int(a <= b), "Greater": lambda a, b: int(a > b), "GreaterEqual": lambda a, b: int(a >= b),
    "Equal": lambda a, b: int(a == b), "NotEqual": lambda a, b: int(a != b), "LogicalAnd": lambda a, b: int(bool(a and b)),
    "LogicalOr": lambda a, b: int(bool(a or b)),
}  # fmt: skip
_TESTS = ("Less", "LessEqual", "Greater", "GreaterEqual", "Equal", "NotEqual")


def _combined(call: KernelCall) -> tuple[int, ...] | None:
    rule = _ARITHMETIC.get(call.node.op)
    if rule is None or len(call.inputs) != 2 or any(each.dtype not in WHOLE for each in call.inputs):
        return None
    left, right = call.values(0), call.values(1)
    if call.node.op == "Minimum" and (left is None or right is None):
        return left or right  # the length of a sequence that is fed is at most that of its tensor
    if left is None or right is None or not left or not right:
        return None
    size = max(len(left), len(right))
    if len(left) not in (1, size) or len(right) not in (1, size):
        return None
    left, right = left * (size // len(left)), right * (size // len(right))
    return tuple(rule(a, b) for a, b in zip(left, right, strict=True))


def elementwise(call: KernelCall) -> list[Token]:
    """In place of an input of the result's type, if nobody else holds it
    (`forward_input_or_allocate_output`).
    """
    shape = broadcast(
        [each.shape for each in call.inputs[:2]] if len(call.inputs) <= 3 else [call.inputs[0].shape]
    )
    dtype = (
        "bool"
        if call.node.op in (*_TESTS, "LogicalAnd", "LogicalOr", "LogicalNot", "IsFinite", "IsNan", "IsInf")
        else call.dtype
    )
    indices = [index for index, each in enumerate(call.inputs) if each.shape == shape]
    return [call.forward(indices, shape, dtype, _combined(call))]


@kernel("AddN", "AccumulateNV2")
def _sum_of_many(call: KernelCall) -> list[Token]:
    if len(call.inputs) == 1:
        return [call.alias(0)]
    return [call.forward(range(len(call.inputs)), call.inputs[0].shape)]


@kernel("Cast")
def _cast(call: KernelCall) -> list[Token]:
    target = str(call.attribute("DstT", "float32"))
    if target == call.inputs[0].dtype:
        return [call.alias(0)]
    return [call.output(call.inputs[0].shape, target, call.values(0) if target in WHOLE else None)]


@kernel("Select")
def _select(call: KernelCall) -> list[Token]:
    return [call.forward([1, 2], call.inputs[1].shape)]


@kernel("SelectV2")
def _select_broadcast(call: KernelCall) -> list[Token]:
    shape = broadcast([each.shape for each in call.inputs])
    return [call.forward([index for index in (1, 2) if call.inputs[index].shape == shape], shape)]


@kernel("ZerosLike")
def _zeros_like(call: KernelCall) -> list[Token]:
    source = call.inputs[0]
    if source.dtype == "variant":
        return [list_of(call, [call.output(each.shape, each.dtype) for each in elements(source)])]
    return [call.forward([0], source.shape)]


@kernel("BiasAdd", "Softmax", "LogSoftmax", "OnesLike", "ClipByValue", "LeakyRelu", "Relu", "Relu6", "LRN")
def _unary(call: KernelCall) -> list[Token]:
    return [call.forward([0], call.inputs[0].shape)]
