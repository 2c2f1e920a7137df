"""One block of two fifths counts where next to nothing of it failed."""

from __future__ import annotations

from types import SimpleNamespace as Made
from typing import Any

import pytest

from tfmemlens.findings import one_chunk_dominates
from tfmemlens.model.allocation import Allocation
from tfmemlens.units import MIB


@pytest.mark.parametrize(
    ("block", "need", "found"),
    [
        (240, 30, True),
        (240, 31, False),  # more than an eighth of the block
        (239, 20, False),  # less than two fifths of all
        (300, 100, True),
        (240, None, False),
    ],
)
def test_so_large_a_block(monkeypatch: pytest.MonkeyPatch, block: int, need: int | None, found: bool):
    monkeypatch.setattr(one_chunk_dominates, "attributed", lambda _: False)
    monkeypatch.setattr(one_chunk_dominates, "all_in_use", lambda _: 600 * MIB)
    asked = Made(needed_bytes=need and need * MIB)
    table = [Allocation(None, block * MIB), Allocation(None, 8 * MIB)]
    moment: Any = Made(attribution=Made(table=table), request=asked)
    assert (one_chunk_dominates._largest(moment) is not None) == found
