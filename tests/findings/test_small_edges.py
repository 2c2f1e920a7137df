"""Edges of what rules and their remedies take from a text."""

from __future__ import annotations

from types import SimpleNamespace as Made
from typing import Any

import pytest

from tests.findings.test_outputs_by_size import told
from tfmemlens.findings import report_not_enabled
from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.rows import enumerated
from tfmemlens.model.line import Line


def stating(batch: str | None, /, **hints: Any) -> Any:
    setting = None if batch is None else (batch, Line(3, ""))
    surroundings = Made(setting=lambda name: setting if name == "batch_size" else None)
    given = Made(**{"batch": None, "input_shape": None, **hints})
    return Made(capture=Made(surroundings=surroundings, hints=given))


@pytest.mark.parametrize(
    "batch, most, said",
    [(None, 4, False), ("x", 4, False), ("0", 4, False), ("1", 4, False), ("2", 1, True), ("7", 1, True),
     ("8", 2, True), ("64", 16, True)],
)  # fmt: skip
def test_a_server_is_told_a_quarter_of_its_examples(batch: str | None, most: int, said: bool) -> None:
    found = remedies.smaller_requests(stating(batch))
    assert f"value: {most} }}" in (found.code or "")
    assert (f"(here {batch}, line 3)" in found.text) is said


@pytest.mark.parametrize(
    "stated, hints, batch",
    [
        ("8", {}, 8),
        ("0", {}, None),
        (None, {}, None),
        ("8", {"batch": 4}, 4),
        ("8", {"input_shape": (2, 5)}, 2),
        ("8", {"batch": 4, "input_shape": (2, 5)}, 4),
        ("8", {"input_shape": (None, 5)}, 8),
    ],
)
def test_the_batch_as_it_is_stated(stated: str | None, hints: dict[str, Any], batch: int | None) -> None:
    assert remedies._stated_batch(stating(stated, **hints)) == batch


@pytest.mark.parametrize(
    "allocator, by_bfc", [(None, True), ("GPU_0_bfc", True), ("BFC", True), ("cuda_malloc_async", False)]
)
def test_who_may_write_a_dump(allocator: str | None, by_bfc: bool) -> None:
    moment: Any = Made(request=Made(failed=Made(allocator=allocator)))
    assert report_not_enabled._by_bfc(moment) is by_bfc
    assert report_not_enabled._by_bfc(Made(request=None))  # type: ignore[arg-type]


@pytest.mark.parametrize("side, fires", [(64, False), (96, False), (160, False), (224, False), (288, True)])
def test_odd_parts_of_kernels_show_no_outputs(side: int, fires: bool) -> None:
    """1, 9, 25 and 49: weights of square kernels have these, too. 81 is no such part."""
    need = 2 * side * side * 128 * 4
    found = told((5, 2 * need), (5, need), shape=f"2,{side},{side},128", need=need)
    assert (found is not None) is fires


def test_words_in_a_row() -> None:
    assert [enumerated(words) for words in (["a"], ["a", "b"], ["a", "b", "c"])] == [
        "a",
        "a and b",
        "a, b and c",
    ]
