"""What TensorFlow's ops do: one record an op type, in a module for each family, and queries over all of them.

Asked by shape inference, the kernels of predicted steps, the walk along the batch, and the study of the
layout pass. Importing it takes milliseconds; `ops.roles` answers without it which ops are constants or
variables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tfmemlens.knowledge.ops.record import Batch, Layout, Op, Output, Swallowed
from tfmemlens.knowledge.ops.table import (
    arithmetic,
    control,
    images,
    lists,
    products,
    rearranging,
    sources,
)

OPS: Mapping[str, Op] = {
    **arithmetic.OPS,
    **control.OPS,
    **images.OPS,
    **lists.OPS,
    **products.OPS,
    **rearranging.OPS,
    **sources.OPS,
}
UNKNOWN = Op()


def op(name: str) -> Op:
    """The record of an op type; of one that is not in the table one that says nothing."""
    return OPS.get(name, UNKNOWN)


def those(is_meant: Callable[[Op], object]) -> frozenset[str]:
    """The op types whose record is meant."""
    return frozenset(name for name, record in OPS.items() if is_meant(record))


def passes_on(name: str) -> bool:
    """Whether an op's output is its input's buffer."""
    return op(name).output is Output.PASSED


def may_hand_on(name: str) -> bool:
    """Whether an op's output may lie in an input's buffer: passed on, or written over."""
    return op(name).output in (Output.PASSED, Output.OVERWRITTEN)


def in_layout(*behaviours: Layout) -> frozenset[str]:
    """Ops that the layout pass treats so."""
    return those(lambda each: each.layout in behaviours)


__all__ = [
    "OPS",
    "UNKNOWN",
    "Batch",
    "Layout",
    "Op",
    "Output",
    "Swallowed",
    "in_layout",
    "may_hand_on",
    "op",
    "passes_on",
    "those",
]
