"""The chunks that tensors of known sizes lay in, where just these explain all that was in use.

BFC gives a tensor a chunk of up to twice its size, and a step's record does not say of which size one was
that stood before it. A dump of the same process does, for as many bytes asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from tfmemlens.model.allocation import Allocation
from tfmemlens.model.attribution import Owner
from tfmemlens.values import replace

_NEAR = 0.02
"""What may be left of the rest."""
_LEAST_REST = 256 << 10
_MOST_STATES = 20_000
Row = tuple[Allocation, Owner]
Picks = tuple[tuple[int, int], ...]
"""(bytes asked for, bytes of the chunk) of each tensor in a chunk larger than it needs."""


def exact_chunks(rows: Sequence[Row], sizes: Mapping[int, Sequence[int]], rest: int) -> list[Row] | None:
    """The rows in chunks of `sizes` (by bytes asked for) that together take all of the rest but small change;
    None where no choice does.
    """
    if rest < _LEAST_REST:
        return None
    reached: dict[int, Picks] = {0: ()}
    waiting = Counter(row.requested_bytes or 0 for row, _ in rows)
    least = {row.requested_bytes or 0: row.size_bytes for row, _ in rows}
    for asked, count in waiting.items():
        larger = [size for size in sizes.get(asked, ()) if size > least[asked]]
        further = _with_class(reached, asked, least[asked], larger, count, rest)
        if further is None:
            return None
        reached = further
    best = max(reached)
    return _placed(rows, reached[best]) if rest - best <= _NEAR * rest else None


def _with_class(
    reached: dict[int, Picks], asked: int, least: int, larger: Sequence[int], count: int, rest: int
) -> dict[int, Picks] | None:
    """The sums beyond what is asked for, with up to `count` tensors of one size in larger chunks."""
    states = {(0, total): picks for total, picks in reached.items()}
    for size in larger:
        for (used, total), picks in list(states.items()):
            if used < count and total + size - least <= rest:
                states.setdefault((used + 1, total + size - least), (*picks, (asked, size)))
        if len(states) > _MOST_STATES:
            return None
    sums: dict[int, Picks] = {}
    for (_, total), picks in states.items():
        sums.setdefault(total, picks)
    return sums


def _placed(rows: Sequence[Row], picks: Picks) -> list[Row]:
    chunks: dict[int, list[int]] = {}
    for asked, size in picks:
        chunks.setdefault(asked, []).append(size)
    placed = []
    for row, owner in rows:
        mine = chunks.get(row.requested_bytes or 0)
        placed.append((replace(row, size_bytes=mine.pop()) if mine else row, owner))
    return placed
