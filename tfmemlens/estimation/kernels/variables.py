"""Reading and writing variables; what changes them is up to the executor."""

from __future__ import annotations

from tfmemlens.estimation.kernels._call import Call, kernel, variable_of, vector
from tfmemlens.estimation.tokens import Token


@kernel("ReadVariableOp")
def _read(call: Call) -> list[Token]:
    return [variable_of(call.inputs[0])]


@kernel("VariableShape")
def _variable_shape(call: Call) -> list[Token]:
    return [vector(call, variable_of(call.inputs[0]).shape)]


@kernel("Assign", "AssignAdd", "AssignSub")
def _assign(call: Call) -> list[Token]:
    return [call.alias(0)]


@kernel("NoOp", "ControlTrigger", "Assert", "AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp", "PrintV2", "Abort", "ScatterUpdate")
@kernel("ResourceScatterAdd", "ResourceScatterUpdate", "_Send", "_HostSend", "StackCloseV2", "TensorArrayCloseV3", "DestroyResourceOp")
def _nothing(call: Call) -> list[Token]:
    return [call.alias(0)] if call.node.op == "ScatterUpdate" else []
