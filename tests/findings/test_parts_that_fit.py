"""A first try that fits: in how many parts the rows of a vmap go, by the text's own figures."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained
from tfmemlens.findings.support.parts_that_fit import parts_that_fit

PROGRAM = "import jax\n\n\ny = jax.vmap(render)(rays)\n\n"
GOAL = (
    "W hlo_rematerialization.cc:3000] Can't reduce memory use below {goal}GiB by rematerialization; only"
    " reduced to {need}GiB\nRESOURCE_EXHAUSTED: Out of memory while trying to allocate {bytes} bytes.\n"
)


@pytest.mark.parametrize(
    "need, room, parts", [(0, 1, 8), (4, 1, 8), (5, 1, 16), (1000, 1, 2048), (1 << 60, 1, 1 << 20)]
)
def test_so_many_parts_fit_twice(need: int, room: int, parts: int) -> None:
    assert parts_that_fit(need, room) == parts


@pytest.mark.parametrize("goal, need, part", [(4, 1000, "max(len(xs) // 512, 1)"), (4, 14, "len(xs) // 8")])
def test_a_first_try_fits_what_the_text_says_is_there(goal: int, need: int, part: str) -> None:
    log = PROGRAM + GOAL.format(goal=f"{goal}.00", need=f"{need}.00", bytes=need << 30)
    code = [each.remedy.code or "" for each in explained(log).actions if each.remedy.slug == "in-blocks"]
    assert code and all(f"batch_size={part})" in each for each in code)


def test_a_first_try_says_by_which_figures() -> None:
    log = PROGRAM + GOAL.format(goal="4.00", need="1000.00", bytes=1000 << 30)
    told = next(each.remedy.text for each in explained(log).actions if each.remedy.slug == "in-blocks")
    assert told.endswith("in about 512 parts: 1000.00 GiB for 4.00 GiB are 250 at least")
