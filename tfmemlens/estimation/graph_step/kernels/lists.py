"""Lists of TensorFlow 2's loops: a handle holds its elements."""

from __future__ import annotations

from tfmemlens.errors import MalformedNode
from tfmemlens.estimation.graph_step.kernels._call import KernelCall, elements, kernel, list_of
from tfmemlens.estimation.graph_step.tokens import Token
from tfmemlens.knowledge.ops.shapes import MAX_OUTPUTS


def _own_list(call: KernelCall) -> Token:
    """The list itself when nobody else holds it, else a copy of the handle."""
    return call.alias(0) if call.is_last(call.input(0)) else list_of(call, elements(call.input(0)))


def _index(call: KernelCall) -> int:
    """The number of an element, or of all, 0 where it is not known. Raises MalformedNode."""
    number = (call.values(1) or (0,))[0]
    if not 0 <= number <= MAX_OUTPUTS:
        raise MalformedNode(f"it asks for element {number} of a list")
    return number


@kernel("EmptyTensorList")
def _empty_list(call: KernelCall) -> list[Token]:
    return [list_of(call, ())]


@kernel("TensorListReserve")
def _reserve(call: KernelCall) -> list[Token]:
    return [
        list_of(
            call,
            [Token((0,), str(call.attribute("element_dtype", "float32")))] * _index(call),
        )
    ]


@kernel("TensorListPushBack")
def _push_back(call: KernelCall) -> list[Token]:
    made = _own_list(call)
    elements(made).append(call.input(1))
    call.memory.hold(call.input(1).buffer)
    return [made]


@kernel("TensorListPopBack")
def _pop_back(call: KernelCall) -> list[Token]:
    made = _own_list(call)
    held = elements(made)
    token = held.pop() if held else Token()
    call.state.setdefault("released", []).append(token.buffer)
    return [made, token]


@kernel("TensorListSetItem")
def _set_item(call: KernelCall) -> list[Token]:
    made = _own_list(call)
    index, held = _index(call), elements(made)
    if index < len(held):
        call.memory.hold(call.input(2).buffer)
        call.state.setdefault("released", []).append(held[index].buffer)
        held[index] = call.input(2)
    return [made]


@kernel("TensorListGetItem")
def _get_item(call: KernelCall) -> list[Token]:
    index, held = _index(call), elements(call.input(0))
    token = held[index] if index < len(held) else Token()
    if token.shape == (0,):  # never written: zeros
        return [call.output(tuple(size for size in call.values(2) or () if size >= 0), token.dtype)]
    return [Token(token.shape, token.dtype, None, token.buffer)]


@kernel("TensorListStack", "TensorListConcatV2")
def _stack_list(call: KernelCall) -> list[Token]:
    held = elements(call.input(0))
    first = next(
        (token for token in held if token.shape != (0,)),
        Token((), str(call.attribute("element_dtype", "float32"))),
    )
    return [call.output((len(held), *first.shape), first.dtype)]


@kernel("TensorListFromTensor")
def _from_tensor(call: KernelCall) -> list[Token]:
    """Every element is a copy of its own."""
    source = call.input(0)
    return [
        list_of(
            call,
            [
                call.output(source.shape[1:], source.dtype)
                for _ in range(source.shape[0] if source.shape else 0)
            ],
        )
    ]


@kernel("TensorListElementShape")
def _element_shape(call: KernelCall) -> list[Token]:
    held = elements(call.input(0))
    shape = held[0].shape if held else ()
    return [call.output((len(shape),), "int32", shape)]


@kernel("TensorListLength")
def _list_length(call: KernelCall) -> list[Token]:
    return [call.output((), "int32", (len(elements(call.input(0))),))]
