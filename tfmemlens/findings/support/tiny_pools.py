"""Pools in which no network has room, and why: what others left of a GPU, or a limit that somebody set.

One definition for all rules: a limit of an odd number of bytes is what TensorFlow found free when it started,
one of whole MiB is a setting, and so is a pool of the CPU.
"""

from __future__ import annotations

from tfmemlens.findings.support.rows import attributed, on_host
from tfmemlens.model.case import Moment
from tfmemlens.units import MIB

_LEAST_GPU = 768 * MIB
"""Less than any GPU has for which TensorFlow is built."""
_TINY, _TINY_FOR_A_GPU = 8 * MIB, 64 * MIB
"""No larger limit leaves room for a network; on a GPU the libraries' own memory takes more."""


def left_by_others(moment: Moment) -> bool:
    """Whether a GPU's pool is smaller than any GPU, by a number that nobody sets. Not where a list names who
    holds the memory: then a network had room.
    """
    limit = moment.incident.state.limit if moment.incident else None
    if moment.request is None or limit is None or attributed(moment) or on_host(moment):
        return False
    named = moment.request.failed.allocator or "GPU"
    of_gpu = named.startswith("GPU") and "host" not in named
    return of_gpu and 0 < limit.bytes < _LEAST_GPU and limit.low == limit.high and limit.bytes % MIB != 0


def without_room(moment: Moment) -> bool:
    """Whether a limit that somebody set leaves no room for any network."""
    limit = moment.balance.limit
    if moment.request is None or limit is None or left_by_others(moment):
        return False
    most = _TINY if on_host(moment) else _TINY_FOR_A_GPU
    return 0 < limit.high <= most and "bfc" in (moment.request.failed.allocator or "").lower()


_HARDLY = 0.1


def hardly_used(moment: Moment) -> bool:
    """Whether next to nothing of a GPU's pool was in use though the pool, as far as it is listed, is smaller
    than any GPU: others have the device, or most of the dump is not here.
    """
    books = moment.balance
    if moment.request is None or books.limit or attributed(moment) or on_host(moment):
        return False
    named = moment.request.failed.allocator or ""
    if not named.startswith("GPU") or "host" in named or not (books.in_use and books.free):
        return False
    used = max(books.in_use.bytes, moment.attribution.table.total_bytes)
    pool = used + books.free.bytes
    return 0 < pool < _LEAST_GPU and used <= _HARDLY * pool
