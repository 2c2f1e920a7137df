"""What of a step's memory would be larger or smaller if the batch, the input's size or a setting changed."""

from __future__ import annotations

from collections.abc import Sequence

from tfmemlens.model.what_if import UNKNOWN, Saving
from tfmemlens.values import dataclass


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
