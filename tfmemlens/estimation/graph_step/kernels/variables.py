"""Reading and writing variables; what changes them is up to the executor."""

from __future__ import annotations

from tfmemlens.estimation.graph_step.kernels._call import KernelCall, kernel, variable_of, vector
from tfmemlens.estimation.graph_step.tokens import Token


@kernel("ReadVariableOp")
def _read(call: KernelCall) -> list[Token]:
    return [variable_of(call.inputs[0])]


@kernel("VariableShape")
def _variable_shape(call: KernelCall) -> list[Token]:
    return [vector(call, variable_of(call.inputs[0]).shape)]


@kernel("Assign", "AssignAdd", "AssignSub")
def _assign(call: KernelCall) -> list[Token]:
    return [call.alias(0)]


@kernel(
    "NoOp",
    "ControlTrigger",
    "Assert",
    "AssignVariableOp",
    "AssignAddVariableOp",
    "AssignSubVariableOp",
    "PrintV2",
    "Abort",
    "ScatterUpdate",
)
@kernel(
    "ResourceScatterAdd",
    "ResourceScatterUpdate",
    "_Send",
    "_HostSend",
    "StackCloseV2",
    "TensorArrayCloseV3",
    "DestroyResourceOp",
)
def _nothing(call: KernelCall) -> list[Token]:
    return [call.alias(0)] if call.node.op == "ScatterUpdate" else []
