"""The map of stars at a dump's end, where nothing else of the dump was pasted."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tests.findings.pages import explained
from tfmemlens.renderers.terminal import _balance

HEAD = "2019-05-06 07:08:09.100000: W tensorflow/core/common_runtime/bfc_allocator.cc:2"
TEXT = (
    HEAD
    + "71] Allocator (GPU_0_bfc) ran out of memory trying to allocate 64.00MiB.  Current allocation summary"
    " follows.\n" + HEAD + "75] {map}\n"
    "2019-05-06 07:08:09.100200: W tensorflow/core/framework/op_kernel.cc:1273] OP_REQUIRES failed at"
    " random_op.cc:202 : Resource exhausted: OOM when allocating tensor with shape[32,1024,512] and type"
    " float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n"
)
HOLES = "*" * 30 + "_" * 12 + "*" * 40 + "_" * 8 + "x" * 10


@pytest.mark.parametrize(
    ("cells", "shown", "full"),
    [
        ("*" * 100, "all of the pool, by the allocator's map", True),
        ("*" * 90 + "x" * 10, "all of the pool, by the allocator's map", True),
        (HOLES, "80 % of the pool, by its map; largest gap 12 %", False),
        ("*" * 98 + "__", "98 % of the pool, by its map; largest gap 2 %", False),
    ],
)
def test_a_map_tells_how_full_the_pool_was(cells: str, shown: str, full: bool) -> None:
    report = explained(TEXT.format(map=cells))
    assert _balance.by_the_map(report.case.moments[0]) == shown
    assert ("the pool was full (its map of stars" in report.verdict) is full
    assert ("not what was using the memory" in report.verdict) is not full


def test_figures_of_the_dump_say_more_than_its_map() -> None:
    figures = HEAD + "47] Stats: \nLimit:   4294967296\nInUse:   4290000000\n"
    report = explained(TEXT.format(map="*" * 100).replace(HEAD + "75", figures + HEAD + "75"))
    assert _balance.by_the_map(report.case.moments[0]) == ""


def test_a_title_that_quotes_the_head_leaves_the_map_to_the_dump() -> None:
    title = "# Allocator (GPU_0_bfc) ran out of memory trying to allocate 64.00MiB.\n\n"
    report = explained(title + TEXT.format(map=HOLES))
    assert _balance.by_the_map(report.case.moments[0]) != ""


@pytest.mark.parametrize(
    ("head", "stars", "full"),
    [
        ("2021-03-04 05:06:07.000001: W tensorflow/core/common_runtime/bfc_allocator.cc:424] ", 100, True),
        ("2021-03-04 05:06:07.000001: W tensorflow/core/common_runtime/bfc_allocator.cc:424] ", 70, False),
        ("", 100, False),
    ],
)
def test_a_map_tells_of_a_full_pool_without_the_dump_above_it(head: str, stars: int, full: bool) -> None:
    text = f"{head}{'*' * stars}\n{oom('1,88,88,192')}"
    assert ("the pool was full (its map of stars, line 1)" in explained(text).verdict) is full
