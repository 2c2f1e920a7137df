"""Ops by the part they play in a graph: the light columns of the table, for callers that need no more.

`ops.table` holds all else. This module imports nothing, so that explaining a pasted log stays quick.
"""

from __future__ import annotations


def _named(names: str) -> frozenset[str]:
    return frozenset(names.split())


CONSTANTS = _named("Const HostConst")
ALL_CONSTANTS = CONSTANTS | _named("GuaranteeConst ImmutableConst")
VARIABLES = _named("VariableV2 Variable VarHandleOp")
REFERENCE_VARIABLES = VARIABLES - {"VarHandleOp"}
ALL_VARIABLES = VARIABLES | _named("TemporaryVariable AutoReloadVariable")
READS = _named("ReadVariableOp _ReadVariablesOp _VarHandlesOp")
VALUES_OF_VARIABLES = _named("Identity ReadVariableOp Enter Cast")
"""What stands between a weight and the op that computes with it."""
STORED = CONSTANTS | ALL_VARIABLES | READS
"""What is in memory before a step begins."""
ASSIGNS = _named("Assign AssignVariableOp")
COUNTS = _named("AssignAddVariableOp AssignSubVariableOp")
"""Assignments that add to a resource variable."""


def updates_variable(op: str) -> bool:
    """Whether an op changes what a resource's handle names: an assignment, or an optimizer's update."""
    return op == "AssignVariableOp" or op in COUNTS or op.startswith("ResourceApply")


def updates_rows(op: str) -> bool:
    """Whether an op changes some rows of the table that a resource's handle names."""
    return op.startswith(("ResourceScatter", "ResourceSparseApply"))


def reads_variable(op: str) -> bool:
    """Whether an op reads the variable, or rows of it, that a resource's handle names."""
    return op == "ReadVariableOp" or op.startswith("ResourceGather")


FILTER_GRADIENTS = _named("Conv2DBackpropFilter Conv3DBackpropFilterV2 Conv3DBackpropFilter")
"""Of a convolution's weights."""
INPUT_GRADIENTS = _named("Conv2DBackpropInput Conv3DBackpropInputV2 Conv3DBackpropInput")
"""Of a convolution's input; a transposed convolution is one, forwards."""
GRADIENTS_2D = _named("Conv2DBackpropFilter Conv2DBackpropInput")
BIAS_GRADIENTS = _named("BiasAddGrad")

PREPARES = _named("Cast Mul RealDiv Sub AddV2 Div")
"""What scales and shifts an array before it is trained on."""
PLACEHOLDERS = _named("Placeholder PlaceholderV2 PlaceholderWithDefault")
ARGUMENTS = _named("_Arg _DeviceArg")
FEEDS = (
    PLACEHOLDERS
    | ARGUMENTS
    | _named(
        "IteratorGetNext IteratorGetNextSync QueueDequeueV2 QueueDequeueManyV2 QueueDequeueUpToV2"
        " InfeedDequeueTuple"
    )
)
"""Ops whose tensors come from outside the graph."""
PIPELINES = _named("MakeIterator IteratorV2 OneShotIterator AutoShardDataset FIFOQueueV2")
INPUTS = FEEDS | PIPELINES
SENDS = _named("_Send _HostSend")
RECEIVES = _named("_Recv _HostRecv")
TRANSFERS = (
    SENDS
    | RECEIVES
    | _named(
        "Send Recv SendV2 RecvV2 CopyFromGpuToHost CopyFromHostToGpu _CopyFromGpuToHost _CopyFromHostToGpu"
    )
)
LOOP_STACKS = _named(
    """
        StackV2 StackPushV2 StackPopV2 Stack StackPush StackPop TensorArrayV3 TensorArrayV2 TensorArrayWriteV3
        TensorArrayGradV3 TensorArrayScatterV3 TensorListPushBack TensorListPopBack EmptyTensorList
        TensorListReserve TensorListSetItem TensorListStack TensorListFromTensor
        TensorListScatterIntoExistingList TensorArrayWrite TensorArrayV2Stack TensorListResize
    """
)
"""Ops that keep what a loop's iterations made."""

ENTERS, EXITS, MERGES, SWITCHES, NEXTS = (
    frozenset((name, f"Ref{name}")) for name in ("Enter", "Exit", "Merge", "Switch", "NextIteration")
)
CONTROL = ENTERS | EXITS | MERGES | SWITCHES | NEXTS
SEGMENT_SUMS = _named(
    "SegmentMax SegmentMean SegmentMin SegmentProd SegmentSum UnsortedSegmentMax UnsortedSegmentMin"
    " UnsortedSegmentProd UnsortedSegmentSum"
)
"""Their second input says to which row of the result each row belongs."""
SAME_ELEMENTS = _named("Cast ExpandDims Identity Reshape Squeeze StridedSlice")
"""Ids that pass through them are the same, or some of them."""
PASSING_CONDITIONS = _named("All Any Enter Identity Reshape Squeeze Switch")
"""A condition behind them is that of the first input."""
CALLS = _named("PartitionedCall StatefulPartitionedCall")
LOOPS = _named("While StatelessWhile")
BRANCHES = _named("If StatelessIf")
"""Functional control flow, before it is lowered to the ops of `CONTROL`."""
