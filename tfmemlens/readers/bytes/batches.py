"""Neighbours of a repeated field together: their fields are read faster column by column than one message
after the other, while the messages are still parsed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

_TOGETHER = 512


def batches(messages: Iterable[Any]) -> Iterator[list[Any]]:
    """The messages in lists of a few hundred, in their order."""
    rest = iter(messages)
    while batch := [*islice(rest, _TOGETHER)]:
        yield batch
