"""What moments are called and counted: only failures are failures."""

from __future__ import annotations

from types import SimpleNamespace as Made
from typing import Any

import pytest

from tfmemlens.model.incident import RequestKind
from tfmemlens.model.line import Line
from tfmemlens.renderers import moments

STEP: Any = Made(request=None)


def failed(kind: RequestKind, line: Line | None = None) -> Any:
    return Made(request=Made(failed=Made(kind=kind, line=line)))


FAILURE = failed(RequestKind.TENSOR)
DUMP = failed(RequestKind.DUMP)


@pytest.mark.parametrize(
    "moment, told",
    [
        (STEP, "allocator"),
        (FAILURE, "failure"),
        (DUMP, "memory dump"),
        (failed(RequestKind.DUMP, Line(3, "Bin (256): Total Chunks: 1")), "failure"),
        (failed(RequestKind.PROFILE), "device memory profile"),
        (failed(RequestKind.PROGRAM), "compiled program"),
    ],
)
def test_what_a_moment_is_called(moment: Any, told: str) -> None:
    assert moments.noun(moment) == told


@pytest.mark.parametrize(
    "shown, told",
    [
        ((), []),
        ((FAILURE, STEP), ["1 failure", "1 allocator"]),
        ((FAILURE, DUMP, FAILURE), ["2 failures", "1 memory dump"]),
        ((STEP, STEP), ["2 allocators"]),
    ],
)
def test_each_kind_is_counted_by_itself(shown: tuple[Any, ...], told: list[str]) -> None:
    assert moments.counted(shown) == told


@pytest.mark.parametrize("index, told", [(0, "failure 1 of 2"), (1, "memory dump"), (2, "failure 2 of 2")])
def test_a_place_is_among_its_own_kind(index: int, told: str) -> None:
    assert moments.place((FAILURE, DUMP, FAILURE), index) == told
