"""Reading and writing variables; what changes them is up to the executor."""

from __future__ import annotations

from tfmemlens.estimation.graph_step.kernels._call import KernelCall, kernel, variable_of
from tfmemlens.estimation.graph_step.tokens import Token
from tfmemlens.knowledge.ops.table import Output, those


@kernel("ReadVariableOp")
def _read(call: KernelCall) -> list[Token]:
    return [variable_of(call.input(0))]


@kernel("VariableShape")
def _variable_shape(call: KernelCall) -> list[Token]:
    shape = variable_of(call.input(0)).shape
    return [call.output((len(shape),), str(call.attribute("out_type", "int32")), shape)]


@kernel(*those(lambda op: op.output is Output.NOTHING))
def _nothing(call: KernelCall) -> list[Token]:
    del call
    return []
