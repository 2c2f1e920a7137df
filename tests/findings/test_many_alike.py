"""Blocks of one size of which many are held, and what a sentence says of them."""

from tests.findings.logs import dump_by_size
from tfmemlens import pipeline
from tfmemlens.findings.support.many_alike import many_alike, size_classes

MIB = 1 << 20


def test_the_largest_are_named_first_and_all_are_counted() -> None:
    text = dump_by_size(MIB, 600, (9, MIB), (5, 8 * MIB), (30, 4 * MIB), (4, 90 * MIB))
    moment = pipeline.explain(text).case.moments[0]
    assert len(size_classes(moment)) == 4
    assert many_alike(moment, 5) == (169 * MIB, "30 blocks of 4.00 MiB and 5 blocks of 8.00 MiB are held")
    assert many_alike(moment, 5, 20 * MIB)[0] == 160 * MIB
    assert many_alike(moment, 31) == (0, "")


def test_without_a_dump_there_are_none() -> None:
    moment = pipeline.explain("OOM when allocating tensor with shape[3,4]").case.moments[0]
    assert not size_classes(moment) and many_alike(moment, 1) == (0, "")
