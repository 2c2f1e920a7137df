"""What lives outside the allocator."""

from __future__ import annotations

from tfmemlens.estimation.graph_step.kernels._call import KernelCall, kernel
from tfmemlens.estimation.graph_step.tokens import Token
from tfmemlens.knowledge.ops.table import Output, those


@kernel(*those(lambda op: op.output is Output.HANDLE))
def _thing(call: KernelCall) -> list[Token]:
    del call
    return [Token((), "resource")]
