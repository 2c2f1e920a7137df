"""What an allocator may have served before a step's weights: nobody knows it, and it decides which regions
the pool takes, and so how much larger than asked its chunks are.
"""

from __future__ import annotations

from random import Random

_PASTS = ((2_000, 9), (20_000, 2))
"""How many pasts beside none are thought through, for steps of fewer ops; else none."""
FEW_PASTS = 4
"""As many where each takes as long as the step itself, and of a limit."""
_OLD_BLOCKS = (*FEW_PASTS * ((6, 0.5),), (3, 1.0), (2, 2.0), (1, 2.0), (6, 1.0), (3, 2.0))
"""What a program allocates before its weights and frees after them, by the number of the past: how many
blocks, and up to how many times as large as the step's largest tensor each. After large ones a buffer of
26 MiB may stand in a chunk of 47, as in five of eight real processes of one net (TensorFlow 2.11).
"""


def pasts_to_try(ops: int) -> int:
    """How many pasts beside none there is time for, in a step of so many ops."""
    return next((count for most, count in _PASTS if ops < most), 0)


def old_blocks(number: int, largest_bytes: int) -> list[int]:
    """The blocks of a past by its number; without a past (0) there are none."""
    if not number:
        return []
    past = Random(2 + 3 * number)
    count, times = _OLD_BLOCKS[(number - 1) % len(_OLD_BLOCKS)]
    return [past.randint(0, int(times * largest_bytes)) for _ in range(count)]
