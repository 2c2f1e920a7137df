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
    asked_bytes: int = 0
    """What it asks for, where its type is not known."""

    @property
    def bytes(self) -> int:
        """What it asks for."""
        return self.asked_bytes or self.tensor.bytes or 0


Taken = dict[int, list[tuple[Claim, int]]]
"""For each size of a block whose they are, and how many."""


@dataclass(slots=True)
class Blocks:
    """The blocks that nobody has yet."""

    free: Counter[int]
    """How many there are of each size."""
    asked: dict[int, Counter[int]]
    """For what blocks were asked for how many of each size got it, where a dump says so: it decides, whatever
    the size.
    """
    told: frozenset[int]
    """The sizes of which it says so."""

    def of(self, size: int, wanted: int) -> int:
        """How many of this size may be one that was asked for so much."""
        free = self.free[size]
        return min(free, self.asked.get(wanted, _NONE)[size]) if size in self.told else free

    def asked_for(self, wanted: int) -> list[int]:
        """The sizes of which a dump says that this was asked for, the smallest first."""
        return sorted(size for size, count in self.asked.get(wanted, _NONE).items() if count > 0)

    def remove(self, size: int, wanted: int, count: int) -> None:
        """They are somebody's."""
        self.free[size] -= count
        if wanted in self.asked:
            self.asked[wanted][size] -= count


_NONE = Counter[int]()


def take(taken: Taken, blocks: Blocks, claims: Iterable[Claim]) -> None:
    """Give the claims their blocks: such as have their size or were asked for it, else the smallest that are
    left of larger ones. What they take is free no more.
    """
    waiting: list[Claim] = []
    for claim in claims:
        left, size = claim.count, claim.block_bytes or round_up(claim.bytes)
        if size < LEAST_BYTES:
            continue
        for each in [size, *blocks.asked_for(claim.bytes)] if not claim.block_bytes else [size]:
            left -= _take(taken, blocks, each, claim, left)
        if left and not claim.exact:
            waiting.append(replace(claim, count=left))
    for claim in sorted(waiting, key=lambda each: -each.bytes):
        asked, left = round_up(claim.bytes), claim.count
        above = min(2 * asked, asked + _MAX_SLACK)
        for size in sorted(size for size, count in blocks.free.items() if count and asked < size < above):
            left -= _take(taken, blocks, size, claim, left)


def _take(taken: Taken, blocks: Blocks, size: int, claim: Claim, most: int) -> int:
    count = min(most, blocks.free[size] if claim.block_bytes else blocks.of(size, claim.bytes))
    if count > 0:
        blocks.remove(size, claim.bytes, count)
        taken.setdefault(size, []).append((claim, count))
    return max(count, 0)
