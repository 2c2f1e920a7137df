"""What Grappler's layout pass does with each op type, as the table of ops says: convert it, let transposes
pass through it, or stop at it.
"""

from __future__ import annotations

from tfmemlens.knowledge.ops import roles
from tfmemlens.knowledge.ops.shapes import elementwise, vectors
from tfmemlens.knowledge.ops.table import Layout, in_layout, those

CONVERTED = in_layout(Layout.CONVERTED)
"""Ops with a `data_format` of their own."""
REDUCTIONS = in_layout(Layout.FOLLOWING_AXES)
BINARY = in_layout(Layout.FOLLOWING_BOTH)
AGNOSTIC = in_layout(Layout.FOLLOWING) | BINARY | REDUCTIONS
"""Ops that work on either format, if all goes well."""
FEEDS = roles.INPUTS
RANDOM = those(lambda op: op.random)
STORED = roles.STORED
HOST = in_layout(Layout.ON_HOST)
REARRANGING = in_layout(Layout.REARRANGING)
LOSSES = in_layout(Layout.LOSS)
SENSITIVE = CONVERTED - {"BiasAdd", "BiasAddGrad"}
_OF_ALL = those(
    lambda op: op.shape in (elementwise.each, elementwise.merge, elementwise.sum_of, vectors.of_shapes)
)
"""Ops all of whose inputs are tensors of one kind."""


def data_inputs(op: str, count: int) -> range | tuple[int, ...]:
    """Which of an agnostic op's inputs carry the tensor itself, rather than axes, sizes or conditions."""
    if op == "Split":
        return (1,)
    if op == "Concat":
        return range(1, count)
    if op == "ConcatV2":
        return range(max(count - 1, 0))
    if op in BINARY or (op.endswith("Grad") and op in AGNOSTIC):
        return range(min(count, 2))
    if op in ("Select", "SelectV2", "Betainc"):
        return range(min(count, 3))
    if op in _OF_ALL:
        return range(count)
    return (0,) if count else ()
