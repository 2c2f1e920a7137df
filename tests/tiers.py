"""Which tests run: the fast selection (`--fast`), the suite, or all that there is (`--slow`).

The fast selection leaves out the browser, TensorFlow and the tests marked `whole`, and takes a few cases of
each test that has many, spread evenly over them. The suite leaves out the cases marked `slow`, which repeat
for every sample what the suite asks of some.
"""

from __future__ import annotations

from collections import defaultdict

import pytest

FAST_CASES = 2
"""So many cases of a parametrised test are in the fast selection: the first and the last."""
_NOT_FAST = ("browser", "tensorflow", "whole")


def select(
    items: list[pytest.Item], *, fast: bool, slow: bool
) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """The tests to run and those to leave out, in the order of `items`."""
    kept = {item.nodeid for item in items if slow or not item.get_closest_marker("slow")}
    if fast:
        kept &= _spread([item for item in items if not any(map(item.get_closest_marker, _NOT_FAST))])
    return [item for item in items if item.nodeid in kept], [
        item for item in items if item.nodeid not in kept
    ]


def _spread(items: list[pytest.Item]) -> set[str]:
    cases = defaultdict(list)
    for item in items:
        cases[item.nodeid.partition("[")[0]].append(item.nodeid)
    return {name for names in cases.values() for name in evenly(names, FAST_CASES)}


def evenly(names: list[str], count: int) -> list[str]:
    """So many of the names, the first and the last among them; all when there are no more."""
    if len(names) <= count:
        return names
    return [names[index * (len(names) - 1) // (count - 1)] for index in range(count)]
