"""Where tensors come from: feeds, constants, variables and their updates, random numbers."""

from __future__ import annotations

from tfmemlens.knowledge.ops import values
from tfmemlens.knowledge.ops.record import Batch, Layout, Op, Output, each
from tfmemlens.knowledge.ops.shapes import elementwise, sources

OPS = {
    **each("_Arg Placeholder", Op(sources.feed, batch=Batch.SEEDED, quick=True, effect=True)),
    **each("_DeviceArg PlaceholderV2", Op(sources.feed, batch=Batch.SEEDED)),
    **each(
        "_HostRecv _Recv",
        Op(
            elementwise.same,
            values=values.passed,
            output=Output.PASSED,
            layout=Layout.ON_HOST,
            batch=Batch.SEEDED,
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
    **each("_VarHandlesOp FIFOQueueV2 OneShotIterator QueueDequeueUpToV2 QueueDequeueV2", Op()),
    **each(
        "Assign AssignAdd AssignSub", Op(elementwise.same, output=Output.PASSED, effect=True, folded=False)
    ),
    **each("AssignAddVariableOp AssignSubVariableOp AssignVariableOp", Op(effect=True, folded=False)),
    **each("BroadcastTo", Op(sources.spelled_by_second, layout=Layout.REARRANGING, batch=Batch.TILED)),
    **each("Const", Op(sources.constant, values=values.constant, batch=Batch.NEVER, quick=True, effect=True)),
    **each("Empty", Op(sources.spelled_by_first, batch=Batch.FROM_SHAPE)),
    **each(
        "Fill",
        Op(sources.spelled_by_first, values=values.filled, layout=Layout.FOLLOWING, batch=Batch.FROM_SHAPE),
    ),
    **each("HostConst", Op(sources.constant, values=values.constant, batch=Batch.NEVER, quick=True)),
    **each("InfeedDequeueTuple", Op(sources.dataset)),
    **each("IsVariableInitialized VariableShape", Op(quick=True)),
    **each("IteratorGetNext", Op(sources.dataset, batch=Batch.SEEDED, effect=True)),
    **each("IteratorGetNextSync", Op(sources.dataset, batch=Batch.SEEDED)),
    **each("Multinomial", Op(random=True)),
    **each("ParameterizedTruncatedNormal", Op(sources.spelled_by_first, random=True)),
    **each(
        "PlaceholderWithDefault",
        Op(sources.default, values=values.passed, output=Output.PASSED, batch=Batch.SEEDED, quick=True),
    ),
    **each("QueueDequeueManyV2", Op(batch=Batch.SEEDED)),
    **each(
        """
        RandomStandardNormal RandomUniform StatelessRandomNormalV2 StatelessRandomUniform
        StatelessRandomUniformV2 TruncatedNormal
    """,
        Op(sources.spelled_by_first, batch=Batch.FROM_SHAPE, folded=False, random=True),
    ),
    **each(
        """
        RandomUniformInt StatelessRandomNormal StatelessRandomUniformIntV2 StatelessTruncatedNormal
        StatelessTruncatedNormalV2
    """,
        Op(sources.spelled_by_first, folded=False, random=True),
    ),
    **each(
        "ReadVariableOp",
        Op(elementwise.read, output=Output.PASSED, batch=Batch.NEVER, quick=True, effect=True, folded=False),
    ),
    **each("ResourceScatterAdd ResourceScatterUpdate", Op(effect=True)),
    **each("TemporaryVariable", Op(sources.variable, batch=Batch.NEVER)),
    **each("VarHandleOp", Op(sources.variable, batch=Batch.NEVER, quick=True, effect=True)),
    **each("Variable VariableV2", Op(sources.variable, batch=Batch.NEVER, effect=True)),
}
