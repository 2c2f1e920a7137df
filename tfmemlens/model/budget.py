"""A limit that a project sets for itself, and whether a step keeps to it."""

from __future__ import annotations

from tfmemlens.model.case import Fits
from tfmemlens.values import dataclass


@dataclass(frozen=True, slots=True)
class Budget:
    """What may be needed, and what is: the truth lies in [low, high]; `high_bytes` is None where only a lower
    bound is known.
    """

    name: str
    """`peak`, `layer encoder/*`, `growth over old.pb`."""
    allowed_bytes: int
    low_bytes: int
    high_bytes: int | None
    note: str = ""

    @property
    def fits(self) -> Fits:
        """Within only with the upper end, over only with the lower one."""
        if self.low_bytes > self.allowed_bytes:
            return Fits.NO
        if self.high_bytes is not None and self.high_bytes <= self.allowed_bytes:
            return Fits.YES
        return Fits.UNDECIDED
