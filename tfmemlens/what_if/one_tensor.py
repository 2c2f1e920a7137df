"""What a change takes off one tensor alone: by the dimensions that shrink, or by its absence from a step.

Where nothing but a failed request is known, this is all that can be told; what else would shrink with it
comes on top.
"""

from __future__ import annotations

from tfmemlens.model.allocation import Allocation
from tfmemlens.model.finding import Certainty
from tfmemlens.model.timeline import Timeline
from tfmemlens.model.what_if import Saving, SavingBasis, Shrunk


def of_tensor(tensor: Shrunk) -> Saving:
    """What these tensors take less, rounded down to whole bytes each; no figure without a size."""
    if tensor.size_bytes is None:
        return Saving(tensor.change)
    whole, left = tensor.before**tensor.axes, tensor.after**tensor.axes
    return _saving(
        tensor.change,
        SavingBasis.TENSOR,
        tensor.count * (tensor.size_bytes * (whole - left) // whole),
        tensor.certainty,
    )


def without(timeline: Timeline | None, allocation: Allocation, change: str) -> Saving:
    """How much lower the peak of a step is without an allocation (all that have its size and begin with it),
    everything else as it was; no figure without a step.
    """
    if timeline is None:
        return Saving(change)
    table, gone = timeline.table, (allocation.start_micros, allocation.size_bytes)
    peak = timeline.peak_without(lambda row: (table.start_micros[row], table.size_bytes[row]) == gone)
    return _saving(change, SavingBasis.TIMELINE, timeline.peak_bytes - peak, Certainty.EXACT)


def _saving(change: str, basis: SavingBasis, saved: int, certainty: Certainty) -> Saving:
    """A point where it is exact, no interval where it is not."""
    end = saved if certainty is Certainty.EXACT else None
    return Saving(change, basis, saved, end, end, certainty)
