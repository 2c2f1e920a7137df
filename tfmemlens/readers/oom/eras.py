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
        (r"[/\\]tf_jenkins[/\\]", (FIRST, (1, 8))),
        (r"(?<![\w-])keras[/\\]src[/\\]", ((2, 13), LAST)),
        (r"keras[/\\]src[/\\](?:backend|ops|trainers)[/\\]", ((2, 16), LAST)),
        (r"keras[/\\]utils[/\\]traceback_utils", ((2, 7), LAST)),
        (r"-packages[/\\]keras[/\\]backend\.py", ((2, 6), (2, 12))),
        (r"stream_executor/platform/default/dso_loader", ((1, 14), LAST)),
        (r"mlir/mlir_graph_optimization_pass", ((2, 3), LAST)),
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
_RELEASED = (
    ((1, 0), 2017, 2), ((1, 1), 2017, 4), ((1, 2), 2017, 6), ((1, 3), 2017, 8), ((1, 4), 2017, 11),
    ((1, 5), 2018, 1), ((1, 6), 2018, 2), ((1, 7), 2018, 3), ((1, 8), 2018, 4), ((1, 9), 2018, 7),
    ((1, 10), 2018, 8), ((1, 11), 2018, 9), ((1, 12), 2018, 11), ((1, 13), 2019, 2), ((1, 14), 2019, 6),
    ((2, 0), 2019, 9), ((2, 1), 2020, 1), ((2, 2), 2020, 5), ((2, 3), 2020, 7), ((2, 4), 2020, 12),
    ((2, 5), 2021, 5), ((2, 6), 2021, 8), ((2, 7), 2021, 11), ((2, 8), 2022, 2), ((2, 9), 2022, 5),
    ((2, 10), 2022, 9), ((2, 11), 2022, 11), ((2, 12), 2023, 3), ((2, 13), 2023, 7), ((2, 14), 2023, 9),
    ((2, 15), 2023, 11), ((2, 16), 2024, 3), ((2, 17), 2024, 7), ((2, 18), 2024, 10), ((2, 19), 2025, 3),
    ((2, 20), 2025, 8),
)  # fmt: skip
"""A version and the month of its release."""
_EARLY_MONTHS = 2
"""How long before a release its candidates run."""
_FUNCTIONS: tuple[tuple[str, Era], ...] = (
    ("step_on_iterator", ((2, 16), LAST)),  # Keras 3
    ("train_function", ((2, 2), LAST)),
    ("test_function", ((2, 2), LAST)),
    ("predict_function", ((2, 2), LAST)),
    ("distributed_function", ((2, 0), (2, 1))),
)
SESSION = regex(r"python[/\\]client[/\\]session\.py")


_LAST_OF_1 = (1370, 1384)
"""Lines of `_do_call` in session.py: where the error is raised in 1.14 and in 1.15 (2.0 to 2.3), which moved
down from release to release; in 2.4 it is 1394, what it calls before 1375.
"""


def era_of_session(line: int) -> Era:
    """What a line of `_do_call` in TensorFlow's session.py tells: those of TensorFlow 1 end sooner."""
    of_1 = line <= _LAST_OF_1[0] or line == _LAST_OF_1[1]
    return (FIRST, LAST) if of_1 else ((2, 0), LAST)


@lru_cache(maxsize=4096)
def era_of(path: str) -> Era:
    """Oldest and newest TensorFlow that such a path can belong to."""
    era: Era = (FIRST, LAST)
    for pattern, seen in _PATHS:
        if pattern.search(path):
            era = narrow(era, seen)
    return era


def logged_in(month: str) -> Era:
    """What could log in a month, `2018-09`: no version that was released later."""
    year, number = (int(part) for part in month.split("-"))
    limit = 12 * year + number + _EARLY_MONTHS
    known = [version for version, of_year, of_month in _RELEASED if 12 * of_year + of_month <= limit]
    if not known or known[-1] == _RELEASED[-1][0]:
        return (FIRST, LAST)
    return (FIRST, known[-1])


def era_of_function(name: str) -> Era | None:
    """What the name of a traced function says: Keras calls its own by names that changed."""
    if not name.startswith("__inference_"):
        return None
    return next((era for words, era in _FUNCTIONS if words in name), ((1, 15), LAST))
