"""Very many rows that are fetched or joined are edges, points or a whole set, and no batch to lower."""

from __future__ import annotations

import math

import pytest

from tests.findings.logs import CPU, dump_by_size, oom
from tfmemlens import pipeline
from tfmemlens.model.report import Report


def report(shape: str, node: str, before: str = "") -> Report:
    need = 4 * math.prod(map(int, shape.split(",")))
    held = dump_by_size(need, 600, (1, 500 << 20), allocator="cpu").replace("net/dense/MatMul", node)
    return pipeline.explain(before + held + oom(shape, node, on=CPU, by="cpu"))


@pytest.mark.parametrize(
    ("shape", "node", "before", "moved"),
    [
        ("400000,192", "road_conv_a_1/concat", "", True),
        ("400000,192", "lidar/gather_1", "", True),
        ("400000,192", "lidar/GatherV2", "", True),
        ("400000,192", "net/dense/MatMul", "", False),  # a batch of sequences, folded
        ("99999,768", "lidar/concat", "", False),
        ("400000,8,24", "lidar/concat", "", False),
        ("400000,192", "lidar/concat", "model.fit(x, y, batch_size=400000)\n", False),
    ],
)
def test_rows_of_a_gather_or_a_concat(shape: str, node: str, before: str, moved: bool) -> None:
    told = report(shape, node, before)
    slugs = [action.remedy.slug for action in told.actions]
    assert ("are hardly a batch" in told.verdict) is moved
    assert (slugs[0] == "in-blocks") is moved and ("smaller-batch" in slugs) is not moved
