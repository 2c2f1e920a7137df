"""The kernel of an op of which the table says all: what comes out, and whose buffer it lies in."""

from __future__ import annotations

from tfmemlens.estimation.graph_step.kernels._call import KernelCall, elements, kernel, list_of
from tfmemlens.estimation.graph_step.tokens import Token
from tfmemlens.knowledge.ops.table import Output


def by_table(call: KernelCall) -> list[Token]:
    """Outputs that pass an input on, that lie in place of one, or that are new."""
    output = call.record.output
    if output is Output.PASSED:
        return passed(call)
    made = call.results()
    if output is Output.OVERWRITTEN:
        return [in_place(call, made[0]), *map(call.fresh, made[1:])]
    return [call.fresh(token) for token in made]


def passed(call: KernelCall) -> list[Token]:
    """The inputs themselves, perhaps under other shapes."""
    if not call.inputs:
        return [Token()]
    dtyped = bool(call.record.dtypes)
    return [
        call.alias(min(index, len(call.inputs) - 1), token.shape, token.dtype if dtyped else None)
        for index, token in enumerate(call.results())
    ]


def in_place(call: KernelCall, token: Token) -> Token:
    """In place of an input of the result's shape and type, if nobody else holds it
    (`forward_input_or_allocate_output`).
    """
    return call.forward([at for at, each in enumerate(call.inputs) if each.shape == token.shape], token)


@kernel("Minimum")
def _minimum(call: KernelCall) -> list[Token]:
    """The length of a sequence that is fed is at most that of its tensor: one known side is taken for
    both.
    """
    made = call.result()
    sides = [each.values for each in call.inputs if each.values]
    if made.values is None and len(sides) == 1 and call.input(0).dtype == call.input(1).dtype == "int32":
        made.values = sides[0]
    return [in_place(call, made)]


@kernel("AddN", "AccumulateNV2")
def _sum_of_many(call: KernelCall) -> list[Token]:
    return [call.alias(0)] if len(call.inputs) == 1 else [in_place(call, call.result())]


@kernel("Cast")
def _cast(call: KernelCall) -> list[Token]:
    made = call.result()
    return [call.alias(0)] if made.dtype == call.input(0).dtype else [call.fresh(made)]


@kernel("Select", "SelectV2")
def _select(call: KernelCall) -> list[Token]:
    """In place of a branch, never of the condition."""
    made = call.result()
    return [call.forward([at for at in (1, 2) if call.input(at).shape == made.shape], made)]


@kernel("ZerosLike")
def _zeros_like(call: KernelCall) -> list[Token]:
    if call.input(0).dtype == "variant":
        return [list_of(call, [call.output(each.shape, each.dtype) for each in elements(call.input(0))])]
    return [in_place(call, call.result())]
