"""Blocks of ever other sizes: what results of ever other lengths leave in a dump without names."""

from __future__ import annotations

import pytest

from tests.findings.logs import dump_by_size
from tfmemlens import pipeline
from tfmemlens.findings.support.unlike_blocks import unlike_blocks
from tfmemlens.model.allocation import Allocation
from tfmemlens.model.finding import Finding, Severity
from tfmemlens.units import MIB

KEEPS = """
states = []
for ids in documents(200, rng):
    states.append(net(ids))
index = tf.concat([tf.reduce_mean(s, 1) for s in states], 0)
"""
RETRACED = (
    "WARNING:tensorflow:{calls} out of the last {calls} calls to <function Trainer.step at 0x7f00> triggered"
    " tf.function retracing. Tracing is expensive and the excessive number of tracings could be due to (1)"
    " creating @tf.function repeatedly in a loop, (2) passing tensors with different shapes\n"
)


def lengths(many: int, count: int = 1, first: int = 8 * MIB) -> list[tuple[int, int]]:
    """As many sizes, each of a length that is a little larger."""
    return [(count, first + each * 65536) for each in range(many)]


def table(*sizes: tuple[int, int]) -> list[Allocation]:
    return [Allocation(node="", count=count, size_bytes=size) for count, size in sizes]


@pytest.mark.parametrize(
    ("sizes", "in_use", "blocks"),
    [
        (lengths(12), 120 * MIB, 12),
        (lengths(12, 2), 240 * MIB, 24),
        (lengths(11), 100 * MIB, None),  # too few sizes
        (lengths(12, 3), 360 * MIB, None),  # as a net makes them: several of a size
        (lengths(12), 300 * MIB, None),  # not most of what is in use
        ([*lengths(12), (1, 60 * MIB)], 160 * MIB, 12),  # a weight beside them is no part of the band
        ([*lengths(12), (40, 9 * MIB + 256)], 470 * MIB, None),  # the band has a size of which there are many
        ([(1, 4096 << each) for each in range(14)], 64 * MIB, None),  # sizes of all kinds
    ],
)
def test_one_or_two_of_each_size(sizes: list[tuple[int, int]], in_use: int, blocks: int | None):
    found = unlike_blocks(table(*sizes), in_use)
    assert (found.blocks if found else None) == blocks


def test_it_says_how_many_of_which_sizes():
    found = unlike_blocks(table(*lengths(16, 2)), 280 * MIB)
    assert found and found.text() == "32 blocks of 16 sizes between 8.00 MiB and 8.94 MiB"
    assert found.bytes == sum(count * size for count, size in lengths(16, 2))


def finding(text: str, rule: str) -> Finding | None:
    return next((each for each in pipeline.explain(text).findings if each.rule == rule), None)


@pytest.mark.parametrize(("many", "told"), [(14, True), (8, False)])
def test_a_list_of_results_of_other_lengths(many: int, told: bool):
    kept = finding(KEEPS + dump_by_size(9 * MIB, 8 * many + 14, *lengths(many)), "kept-by-a-loop")
    assert (kept is not None and "blocks of 14 sizes" in kept.headline) is told


@pytest.mark.parametrize(("count", "told"), [(2, True), (3, False)])
def test_traces_of_other_shapes(count: int, told: bool):
    warnings = RETRACED.format(calls=5) + RETRACED.format(calls=6)
    dumped = dump_by_size(9 * MIB, 10 * count * 14, *lengths(14, count))
    retraced = finding(warnings + dumped, "retraced-functions")
    assert retraced is not None
    assert (retraced.severity is Severity.CAUSE) is told
    assert ("28 blocks of 14 sizes" in retraced.headline) is told
    assert ("bucket-sequences" in [each.slug for each in retraced.remedies]) is told


def test_fewer_blocks_than_traces_are_not_what_each_left():
    warnings = "".join(RETRACED.format(calls=5 + each) for each in range(20))
    retraced = finding(warnings + dump_by_size(9 * MIB, 130, *lengths(14)), "retraced-functions")
    assert retraced is not None and "sizes" not in retraced.headline
