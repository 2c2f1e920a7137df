"""Every allocation of one moment's time axis with its owner, so that any instant can be looked up without
asking again.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfmemlens.model.allocation import AllocationTable
from tfmemlens.model.attribution import Owner
from tfmemlens.model.scaling import UNSCALED, Scaling
from tfmemlens.model.tensor import TensorType
from tfmemlens.values import dataclass


@dataclass(frozen=True, slots=True)
class Ledger:
    """Rows as columns of equal length. Row r is alive after event e when `birth[r] <= e < death[r]`; what
    stood before the step has birth -1.

    Without a time axis every birth is -1 and every death 0. The events are those of `Timeline.events`.
    """

    table: AllocationTable
    owners: Sequence[Owner]
    tensors: Sequence[TensorType | None]
    """The tensor in each row: as measured, or the likeliest for its size."""
    birth: Sequence[int]
    death: Sequence[int]
    scaling: Scaling = UNSCALED
    last_reader: Sequence[str | None] = ()
    """The op that read each row last before it was freed, empty where nothing tells."""

    def alive(self, index: int) -> list[int]:
        """The rows that are alive after the event with this index."""
        return [
            row
            for row, (born, died) in enumerate(zip(self.birth, self.death, strict=True))
            if born <= index < died
        ]
