"""Which TensorFlow a path betrays: the folders that its sources and packages lay in, and the Pythons that
each version was made for.
"""

from __future__ import annotations

import re
from functools import lru_cache

from tfmemlens.patterns import regex
from tfmemlens.readers.oom.rules import FIRST, LAST, Era, narrow

_PATHS: tuple[tuple[re.Pattern[str], Era], ...] = tuple(
    (regex(pattern), era)
    for pattern, era in (
        (r"tensorflow_core[/\\]", ((1, 15), (2, 1))),
        (r"tensorflow[/\\]contrib[/\\]", (FIRST, (1, 15))),
        (r"keras[/\\]src[/\\]", ((2, 13), LAST)),
        (r"keras[/\\]utils[/\\]traceback_utils", ((2, 7), LAST)),
        (r"\Atensorflow/tsl/", ((2, 11), (2, 13))),
        (r"\Aexternal/local_(?:tsl|xla)/", ((2, 14), LAST)),
        (r"[Pp]ython-?(?:2\.?7|3\.?[34])\b", (FIRST, (2, 1))),
        (r"[Pp]ython-?3\.?5\b", (FIRST, (2, 3))),
        (r"[Pp]ython-?3\.?6\b", (FIRST, (2, 6))),
        (r"[Pp]ython-?3\.?7\b", ((1, 13), (2, 11))),
        (r"[Pp]ython-?3\.?8\b", ((1, 15), (2, 13))),
        (r"[Pp]ython-?3\.?9\b", ((2, 5), LAST)),
        (r"[Pp]ython-?3\.?10\b", ((2, 8), LAST)),
        (r"[Pp]ython-?3\.?11\b", ((2, 12), LAST)),
        (r"[Pp]ython-?3\.?1[2-9]\b", ((2, 16), LAST)),
    )
)
SESSION = regex(r"python[/\\]client[/\\]session\.py")


@lru_cache(maxsize=4096)
def era_of(path: str) -> Era:
    """Oldest and newest TensorFlow that such a path can belong to."""
    era: Era = (FIRST, LAST)
    for pattern, seen in _PATHS:
        if pattern.search(path):
            era = narrow(era, seen)
    return era
