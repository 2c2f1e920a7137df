"""What an allocator may have served before a step's weights: nobody knows it, and it decides which regions
the pool takes, and so how much larger than asked its chunks are.
"""

from __future__ import annotations

from random import Random

_PASTS = ((2_000, 4), (20_000, 2))
"""How many pasts beside none are thought through, for steps of fewer ops; else none."""
_OLD_BLOCKS = 6
"""What a program allocates before its weights and frees after them, up to half of the step's largest tensor
each.
"""


def pasts_to_try(ops: int) -> int:
    """How many pasts beside none there is time for, in a step of so many ops."""
    return next((count for most, count in _PASTS if ops < most), 0)


def old_blocks(number: int, largest_bytes: int) -> list[int]:
    """The blocks of a past by its number; without a past (0) there are none."""
    past = Random(2 + 3 * number)
    return [past.randint(0, largest_bytes // 2) for _ in range(_OLD_BLOCKS if number else 0)]
