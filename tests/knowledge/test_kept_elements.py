"""Calls of an input pipeline that keep elements, as a program has them."""

from __future__ import annotations

import pytest

from tfmemlens.knowledge.kept_elements import call_that_keeps


@pytest.mark.parametrize(
    ("line", "call"),
    [
        ("    .shuffle(buffer_size=len(ids))", "shuffle(len(ids))"),
        ("ds.shuffle(MANY, seed=3)", "shuffle(MANY)"),
        ("ds.shuffle(2000)", "shuffle(2000)"),
        ("ds.map(f).cache()", "cache()"),
        ("np.random.shuffle(order)", None),
        ("rng.shuffle(order)", None),
        ("ds.batch(4)", None),
    ],
)
def test_what_keeps_elements(line: str, call: str | None) -> None:
    assert call_that_keeps(line) == call
