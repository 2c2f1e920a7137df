"""Control flow, calls, transfers, and what only has effects."""

from __future__ import annotations

from tfmemlens.knowledge.ops import values
from tfmemlens.knowledge.ops.record import Layout, Op, Output, each
from tfmemlens.knowledge.ops.shapes import elementwise

OPS = {
    **each("_CopyFromGpuToHost _CopyFromHostToGpu", Op(elementwise.same)),
    **each("_DeviceRetval RefIdentity", Op(elementwise.same, values=values.passed, output=Output.PASSED)),
    **each("_FunctionArguments _ParallelConcatStart", Op(elementwise.each, output=Output.PASSED)),
    "_FunctionResults": Op(output=Output.PASSED),
    **each("_HostSend _Send", Op(output=Output.NOTHING, layout=Layout.ON_HOST)),
    "_Retval": Op(elementwise.same, values=values.passed, output=Output.PASSED, quick=True, effect=True),
    **each("Assert PrintV2", Op(output=Output.NOTHING, layout=Layout.ON_HOST, effect=True)),
    **each("ControlTrigger NoOp", Op(output=Output.NOTHING, quick=True, effect=True, folded=False)),
    "Debug": Op(elementwise.same, output=Output.PASSED, effect=True, folded=False),
    **each(
        "EagerPyFunc HistogramSummary ImageSummary PyFunc PyFuncStateless TensorSummary",
        Op(layout=Layout.ON_HOST),
    ),
    **each(
        "Enter Exit NextIteration",
        Op(
            elementwise.same,
            values=values.passed,
            output=Output.PASSED,
            layout=Layout.FOLLOWING,
            quick=True,
            effect=True,
            folded=False,
        ),
    ),
    **each(
        "LoopCond RefEnter RefExit RefNextIteration",
        Op(
            elementwise.same,
            values=values.passed,
            output=Output.PASSED,
            quick=True,
            effect=True,
            folded=False,
        ),
    ),
    "Merge": Op(
        elementwise.merge,
        dtypes=("T", "int32"),
        output=Output.PASSED,
        layout=Layout.FOLLOWING,
        quick=True,
        effect=True,
        folded=False,
        outputs=("output", "value_index"),
    ),
    "Print": Op(elementwise.same, output=Output.PASSED, layout=Layout.ON_HOST, effect=True, folded=False),
    "RefMerge": Op(
        elementwise.merge,
        dtypes=("T", "int32"),
        output=Output.PASSED,
        quick=True,
        effect=True,
        folded=False,
        outputs=("output", "value_index"),
    ),
    "RefSwitch": Op(
        elementwise.switch,
        output=Output.PASSED,
        quick=True,
        effect=True,
        folded=False,
        outputs=("output_false", "output_true"),
    ),
    "ScatterUpdate": Op(elementwise.same, output=Output.PASSED, effect=True),
    "Switch": Op(
        elementwise.switch,
        output=Output.PASSED,
        layout=Layout.FOLLOWING,
        quick=True,
        effect=True,
        folded=False,
        outputs=("output_false", "output_true"),
    ),
}
