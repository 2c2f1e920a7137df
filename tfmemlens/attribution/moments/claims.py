"""Blocks of a dump without names, given to owners that are known otherwise: by the size that BFC gives to
what an owner asks for, or of up to twice of that. A block goes to one owner alone, so the sum is what is in
use, whatever was counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tfmemlens.model.attribution import Owner
from tfmemlens.model.live_model import LEAST_BYTES
from tfmemlens.model.tensor import TensorType
from tfmemlens.units import MIB, round_up
from tfmemlens.values import dataclass, replace

_MAX_SLACK = 128 * MIB
"""BFC cuts a block off where that or more would be left of it (`BFCAllocator::FindChunkPtr`)."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Tensors of one type that an owner holds."""

    name: str
    owner: Owner
    tensor: TensorType
    count: int = 1
    exact: bool = False
    """Whether a larger block proves nothing: what is counted may be gone, or of another step."""
    block_bytes: int = 0
    """Of its block, where a record of the step that failed has it; 0 where the tensor alone tells."""


Taken = dict[int, list[tuple[Claim, int]]]
"""For each size of a block whose they are, and how many."""


def take(taken: Taken, free: Counter[int], claims: Iterable[Claim]) -> None:
    """Give the claims their blocks: such as have their size, else the smallest that are left of larger ones.
    What they take is free no more.
    """
    waiting: list[Claim] = []
    for claim in claims:
        asked = claim.block_bytes or round_up(claim.tensor.bytes or 0)
        count = min(claim.count, free[asked]) if asked >= LEAST_BYTES else 0
        _take(taken, free, asked, claim, count)
        if asked >= LEAST_BYTES and count < claim.count and not claim.exact:
            waiting.append(replace(claim, count=claim.count - count))
    for claim in sorted(waiting, key=lambda each: -(each.tensor.bytes or 0)):
        asked, left = round_up(claim.tensor.bytes or 0), claim.count
        above = min(2 * asked, asked + _MAX_SLACK)
        for size in sorted(size for size, count in free.items() if count and asked < size < above):
            count = min(left, free[size])
            _take(taken, free, size, claim, count)
            left -= count


def _take(taken: Taken, free: Counter[int], size: int, claim: Claim, count: int) -> None:
    if count > 0:
        free[size] -= count
        taken.setdefault(size, []).append((claim, count))
