"""Where tensors come from: feeds, constants, variables and their updates, random numbers."""

from __future__ import annotations

from tfmemlens.knowledge.ops import values
from tfmemlens.knowledge.ops.record import Batch, Layout, Op, Output, each
from tfmemlens.knowledge.ops.shapes import elementwise, sources

OPS = {
    **each("_Arg Placeholder", Op(sources.feed, batch=Batch.SEEDED, quick=True, effect=True)),
    "_DeviceArg": Op(sources.feed, batch=Batch.SEEDED),
    **each(
        "_HostRecv _Recv",
        Op(
            elementwise.same,
            values=values.passed,
            output=Output.PASSED,
            layout=Layout.ON_HOST,
            batch=Batch.SEEDED,
            effect=True,
        ),
    ),
    **each(
        """
        _ReadVariablesOp ApplyAdagrad ApplyAdam ApplyGradientDescent ApplyMomentum ApplyRMSProp
        ResourceApplyAdam ResourceApplyGradientDescent ResourceApplyKerasMomentum
        ResourceApplyMomentum ResourceApplyRMSProp
    """,
        Op(batch=Batch.NEVER),
    ),
    "_VarHandlesOp": Op(),
    **each(
        "Assign AssignAdd AssignSub", Op(elementwise.same, output=Output.PASSED, effect=True, folded=False)
    ),
    **each(
        "AssignAddVariableOp AssignSubVariableOp AssignVariableOp",
        Op(output=Output.NOTHING, effect=True, folded=False),
    ),
    "BroadcastTo": Op(sources.spelled_by_second, layout=Layout.REARRANGING, batch=Batch.TILED),
    "Const": Op(sources.constant, values=values.constant, batch=Batch.NEVER, quick=True, effect=True),
    "Empty": Op(sources.spelled_by_first, batch=Batch.FROM_SHAPE),
    **each("FIFOQueueV2 OneShotIterator", Op(output=Output.HANDLE)),
    "Fill": Op(
        sources.spelled_by_first, values=values.filled, layout=Layout.FOLLOWING, batch=Batch.FROM_SHAPE
    ),
    "HostConst": Op(sources.constant, values=values.constant, batch=Batch.NEVER, quick=True),
    **each(
        "InfeedDequeueTuple IteratorGetNext IteratorGetNextSync",
        Op(sources.dataset, batch=Batch.SEEDED, effect=True),
    ),
    "IsVariableInitialized": Op(quick=True),
    "VariableShape": Op(quick=True, by_shapes=True),
    "Multinomial": Op(folded=False, random=True),
    **each(
        """
        ParameterizedTruncatedNormal RandomStandardNormal RandomUniform RandomUniformInt
        StatelessRandomNormal StatelessRandomNormalV2 StatelessRandomUniform
        StatelessRandomUniformIntV2 StatelessRandomUniformV2 StatelessTruncatedNormal
        StatelessTruncatedNormalV2 TruncatedNormal
    """,
        Op(sources.spelled_by_first, batch=Batch.FROM_SHAPE, folded=False, random=True),
    ),
    "PlaceholderV2": Op(sources.feed, batch=Batch.SEEDED, effect=True),
    "PlaceholderWithDefault": Op(
        sources.default, values=values.passed, output=Output.PASSED, batch=Batch.SEEDED, quick=True
    ),
    **each("QueueDequeueManyV2 QueueDequeueUpToV2 QueueDequeueV2", Op(batch=Batch.SEEDED, effect=True)),
    "ReadVariableOp": Op(
        elementwise.read, output=Output.PASSED, batch=Batch.NEVER, quick=True, effect=True, folded=False
    ),
    **each("ResourceScatterAdd ResourceScatterUpdate", Op(output=Output.NOTHING, effect=True)),
    **each("TemporaryVariable Variable VariableV2", Op(sources.variable, batch=Batch.NEVER, effect=True)),
    "VarHandleOp": Op(sources.variable, batch=Batch.NEVER, quick=True, effect=True),
}
