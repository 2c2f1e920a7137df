"""Stacks and arrays of TensorFlow 1's loops."""

from __future__ import annotations

import math
from typing import Any

from tfmemlens.estimation.kernels._call import Call, kernel
from tfmemlens.estimation.tokens import Token


def _handle(thing: Any) -> Token:
    return Token((2,), "resource", None, None, resource=thing)


@kernel("StackV2")
def _stack(call: Call) -> list[Token]:
    del call
    return [_handle([])]


@kernel("StackPushV2")
def _push(call: Call) -> list[Token]:
    call.inputs[0].resource.append(call.inputs[1])
    call.memory.hold(call.inputs[1].buffer)
    return [call.alias(1)]


@kernel("StackPopV2")
def _pop(call: Call) -> list[Token]:
    stack = call.inputs[0].resource
    if not stack:
        return [Token()]
    token: Token = stack.pop()
    call.state.setdefault("released", []).append(token.buffer)
    return [token]


@kernel("TensorArrayV3")
def _array(call: Call) -> list[Token]:
    return [_handle({}), call.output((), "float32")]


@kernel("TensorArrayGradV3")
def _array_gradient(call: Call) -> list[Token]:
    key = ("gradient", id(call.inputs[0].resource), call.attribute("source"))
    made = call.state.setdefault("arrays", {}).setdefault(key, {})
    call.state.setdefault("keep", []).append(call.inputs[0].resource)
    return [_handle(made), call.output((), "float32")]


@kernel("TensorArrayWriteV3")
def _array_write(call: Call) -> list[Token]:
    index = (call.values(1) or (len(call.inputs[0].resource),))[0]
    array = call.inputs[0].resource
    if index in array:
        total = call.output(call.inputs[2].shape, call.inputs[2].dtype)
        call.memory.hold(total.buffer)
        call.memory.release(array[index].buffer)
        array[index] = total
    else:
        array[index] = call.inputs[2]
        call.memory.hold(call.inputs[2].buffer)
    return [call.alias(3)]


@kernel("TensorArrayReadV3")
def _array_read(call: Call) -> list[Token]:
    array, index = call.inputs[0].resource, (call.values(1) or (0,))[0]
    found = array.get(index) or (next(iter(array.values())) if array else Token())
    return [Token(found.shape, found.dtype, None, found.buffer)]


@kernel("TensorArrayGatherV3")
def _array_gather(call: Call) -> list[Token]:
    array, count = call.inputs[0].resource, math.prod(call.inputs[1].shape)
    first = next(iter(array.values())) if array else Token()
    return [call.output((count, *first.shape), first.dtype)]


@kernel("TensorArrayScatterV3")
def _array_scatter(call: Call) -> list[Token]:
    value = call.inputs[2]
    for index in range(value.shape[0] if value.shape else 0):
        part = call.output(value.shape[1:], value.dtype)
        call.memory.hold(part.buffer)
        call.inputs[0].resource[index] = part
    return [call.alias(3)]


@kernel("TensorArraySizeV3")
def _array_size(call: Call) -> list[Token]:
    return [call.output((), "int32", (len(call.inputs[0].resource),))]
