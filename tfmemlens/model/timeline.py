"""The allocations of one step on one allocator, over time."""

from __future__ import annotations

from dataclasses import dataclass

from tfmemlens.model.allocation import AllocationTable


@dataclass(frozen=True, slots=True)
class Timeline:
    """Allocations with their lifetimes, the baseline they stand on, and how well it is known."""

    device: str
    allocator: str
    table: AllocationTable
    baseline_bytes: int = 0
    baseline_confidence: float | None = None
    """Share of the samples that agree on the baseline (1.0 = all)."""
    limit_bytes: int | None = None
    predicted: bool = False
