"""Requests so small that nothing but a device or a machine which was full before refuses them."""

from __future__ import annotations

from tfmemlens.units import MIB

_LAST_DROP = 16 * MIB


def is_last_drop(size: int | None) -> bool:
    """Whether a request of so many bytes says so; not where their number is unknown."""
    return 0 < (size or 0) < _LAST_DROP
