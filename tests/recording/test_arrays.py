"""Arrays of NumPy's that show a tensor's memory: what a session returned, whole, by who keeps it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.recording.test_inside import AS_LONG_AS_IT_TAKES, EagerTensor
from tfmemlens.recording.inside import arrays, living


@pytest.fixture(autouse=True)
def _all_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(living, "MAX_OBJECTS", 10**9)


Releases = type("tensorflow_wrapper", (), {})
"""What gives the memory of a tensor back, in every TensorFlow from 1.10 to 2.21."""


class Array:
    """Looks like NumPy's: owned by what `base` is, by NumPy where that is None."""

    def __init__(self, *shape: int, base: Any = None) -> None:
        self.shape, self.dtype, self.base = shape, "float32", base

    @property
    def nbytes(self) -> int:
        size = 4
        for each in self.shape:
            size *= each
        return size


Array.__name__, Array.__module__ = "ndarray", "numpy"


def _returned(*shape: int) -> Array:
    return Array(*shape, base=Releases())


def _holders(*shape: int) -> dict[tuple[str, str | None], tuple[int, int, int | None]]:
    """Framework and name: how many, their bytes, and what of them is referred to."""
    told = living.living(seconds=AS_LONG_AS_IT_TAKES)
    return {
        (group["framework"], each["name"]): (each["count"], each["bytes"], each.get("shown_bytes"))
        for group in told["groups"]
        if group["shape"] == list(shape)
        for each in group["held_by"]
    }


def test_what_a_session_returned_is_of_the_list_that_keeps_it() -> None:
    bank = [_returned(7, 5, 13) for _ in range(3)]
    assert _holders(7, 5, 13) == {("numpy", "bank"): (3, 3 * 7 * 5 * 13 * 4, None)}
    assert bank


def test_an_array_of_numpys_own_is_no_tensor() -> None:
    kept = [Array(7, 6, 13), Array(7, 6, 13, base=Array(9, 9)), Array(7, 6, 13, base=b"file")]
    assert _holders(7, 6, 13) == {}
    assert kept


def test_a_part_keeps_the_whole_array() -> None:
    first = {number: Array(13, base=_returned(7, 7, 13)) for number in range(3)}
    assert _holders(7, 7, 13) == {("numpy", "first"): (3, 3 * 7 * 7 * 13 * 4, 3 * 13 * 4)}
    assert first


def test_all_parts_of_one_array_are_all_of_it() -> None:
    whole = _returned(7, 8, 13)
    rows = [Array(8, 13, base=whole) for _ in range(7)]
    del whole
    assert _holders(7, 8, 13) == {("numpy", "rows"): (1, 7 * 8 * 13 * 4, None)}
    assert rows


def test_an_array_that_an_eager_tensor_gave_is_that_tensor() -> None:
    tensor = EagerTensor(7, 9, 13)
    kept = [(number, Array(7, 9, 13, base=tensor)) for number in range(2)]
    del tensor
    assert _holders(7, 9, 13) == {("tensorflow", "kept[…]"): (1, 7 * 9 * 13 * 4, None)}
    assert kept


def test_what_has_the_memory_is_looked_for_through_views_of_views() -> None:
    whole = _returned(4, 4)
    assert arrays.behind(Array(2, base=Array(4, base=whole))) is whole
    view = memoryview(b"1234")
    assert arrays.behind(Array(4, base=view)) is view.obj
    assert arrays.behind(Array(4)) is None
