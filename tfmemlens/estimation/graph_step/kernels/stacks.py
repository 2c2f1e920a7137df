"""Stacks and arrays of TensorFlow 1's loops."""

from __future__ import annotations

import math
from typing import Any

from tfmemlens.errors import MalformedNode
from tfmemlens.estimation.graph_step.kernels._call import KernelCall, kernel
from tfmemlens.estimation.graph_step.tokens import Token


class Array(dict[int, Token]):
    """A TensorArray: its elements by index. `clears`: an element is gone once it was read
    (`clear_after_read`).
    """

    def __init__(self, clears: bool, size: int) -> None:
        super().__init__()
        self.clears = clears
        self.size = size
        self.like = Token()
        """The type of an element, also when all are gone."""

    def put(self, call: KernelCall, index: int, token: Token) -> None:
        """Another element, held from now on."""
        call.memory.hold(token.buffer)
        if index in self:
            call.memory.release(self[index].buffer)
        self[index] = self.like = token
        self.size = max(self.size, index + 1)

    def read(self, call: KernelCall, index: int) -> Token:
        """An element; what it held is let go when the call is done."""
        element = self.get(index)
        if element is None:
            return call.output(self.like.shape, self.like.dtype)
        if self.clears:
            del self[index]
            call.state.setdefault("released", []).append(element.buffer)
        return element


def _array_of(call: KernelCall) -> Array:
    """The array that the first input names. Raises MalformedNode."""
    array = call.input(0).resource
    if not isinstance(array, Array):
        raise MalformedNode("its first input is no array")
    return array


def _stack_of(call: KernelCall) -> list[Token]:
    """The stack that the first input names. Raises MalformedNode."""
    stack = call.input(0).resource
    if not isinstance(stack, list):
        raise MalformedNode("its first input is no stack")
    return stack


def _handle(thing: Any) -> Token:
    return Token((2,), "resource", None, None, resource=thing)


@kernel("StackV2")
def _stack(call: KernelCall) -> list[Token]:
    del call
    return [_handle([])]


@kernel("StackPushV2")
def _push(call: KernelCall) -> list[Token]:
    _stack_of(call).append(call.input(1))
    call.memory.hold(call.input(1).buffer)
    return [call.alias(1)]


@kernel("StackPopV2")
def _pop(call: KernelCall) -> list[Token]:
    stack = _stack_of(call)
    if not stack:
        return [Token()]
    token = stack.pop()
    call.state.setdefault("released", []).append(token.buffer)
    return [token]


@kernel("TensorArrayV3")
def _array(call: KernelCall) -> list[Token]:
    return [
        _handle(Array(call.attribute("clear_after_read", True) is not False, (call.values(0) or (0,))[0])),
        call.output((), "float32"),
    ]


@kernel("TensorArrayGradV3")
def _array_gradient(call: KernelCall) -> list[Token]:
    key = ("gradient", id(_array_of(call)), call.attribute("source"))
    made = call.state.setdefault("arrays", {}).setdefault(key, Array(True, 0))
    call.state.setdefault("keep", []).append(_array_of(call))
    return [_handle(made), call.output((), "float32")]


@kernel("TensorArrayWriteV3")
def _array_write(call: KernelCall) -> list[Token]:
    array, value = _array_of(call), call.input(2)
    index = (call.values(1) or (len(array),))[0]
    array.put(call, index, call.output(value.shape, value.dtype) if index in array else value)
    return [call.alias(3)]


@kernel("TensorArrayReadV3")
def _array_read(call: KernelCall) -> list[Token]:
    array = _array_of(call)
    element = array.read(call, (call.values(1) or (next(iter(array), 0),))[0])
    return [Token(element.shape, element.dtype, None, element.buffer)]


@kernel("TensorArrayGatherV3")
def _array_gather(call: KernelCall) -> list[Token]:
    array, count = _array_of(call), math.prod(call.input(1).shape)
    result = call.output((count, *array.like.shape), array.like.dtype)
    if array.clears:
        for index in list(array):
            array.read(call, index)
    return [result]


@kernel("TensorArrayScatterV3")
def _array_scatter(call: KernelCall) -> list[Token]:
    value = call.input(2)
    for index in range(value.shape[0] if value.shape else 0):
        _array_of(call).put(call, index, call.output(value.shape[1:], value.dtype))
    return [call.alias(3)]


@kernel("TensorArrayConcatV3")
def _array_concat(call: KernelCall) -> list[Token]:
    array = _array_of(call)
    shapes = [array[index].shape for index in sorted(array)] or [array.like.shape]
    result = call.output(
        (sum(shape[0] if shape else 1 for shape in shapes), *shapes[0][1:]), array.like.dtype
    )
    if array.clears:
        for index in list(array):
            array.read(call, index)
    return [result, call.output((len(shapes),), "int64")]


@kernel("TensorArraySplitV3")
def _array_split(call: KernelCall) -> list[Token]:
    value, lengths = call.input(1), call.values(2) or ()
    for index, length in enumerate(lengths):
        _array_of(call).put(call, index, call.output((length, *value.shape[1:]), value.dtype))
    return [call.alias(3)]


@kernel("TensorArraySizeV3")
def _array_size(call: KernelCall) -> list[Token]:
    return [call.output((), "int32", (_array_of(call).size,))]
