"""What of a step's memory would be larger or smaller if the batch, the input's size or a setting changed."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tfmemlens.model.attribution import Kind, Owner
from tfmemlens.model.what_if import UNKNOWN, Saving
from tfmemlens.patterns import regex
from tfmemlens.values import dataclass

BATCH_KINDS = (Kind.ACTIVATION, Kind.LAYOUT_TRANSPOSE, Kind.LOOP_STACK)
_OF_WEIGHTS = regex(
    r"BackpropFilter|MatMul(?:_grad)?/MatMul_1|BiasAddGrad|AddN|/(?:kernel|bias|gamma|beta)(?:/|\Z)|UnsortedSegmentSum|clip_by|L2Loss",
    re.IGNORECASE,
)


def of_weights(node: str | None) -> bool:
    """Whether a gradient is that of a weight: it has the weight's shape, whatever the batch."""
    return bool(_OF_WEIGHTS.search(node or ""))


def grows_with_batch(owner: Owner, node: str | None) -> bool:
    """Whether a row's first dimension is the batch, as its kind tells."""
    return owner.kind in BATCH_KINDS or (owner.kind is Kind.GRADIENT and not of_weights(node))


@dataclass(frozen=True, slots=True)
class Lever:
    """A change that leaves of the rows it touches the part `factor`; its slug is the change's."""

    slug: str
    text: str
    factor: float
    touches: Sequence[bool]
    saving: Saving = UNKNOWN
    """What the what-if engine says that it buys, the other controls untouched."""


@dataclass(frozen=True, slots=True)
class Scaling:
    """For each row of a ledger how it answers to changes.

    `grows` says whether it is proportional to the batch; `exponent` to which power of `axis` (`side`: height
    and width, `length`: a sequence's length) it grows, 0 if not at all.
    """

    batch: int | None
    grows: Sequence[bool]
    levers: tuple[Lever, ...] = ()
    axis: str | None = None
    axis_size: int | None = None
    exponent: Sequence[int] = ()
    batch_savings: Sequence[tuple[float, int]] = ()
    """What other batches save: (the batch as a share of the measured one, bytes), by the what-if engine."""
    axis_savings: Sequence[tuple[float, int]] = ()
    """The same of other sizes of the input."""


UNSCALED = Scaling(None, ())
"""Nothing is known of how rows answer."""
