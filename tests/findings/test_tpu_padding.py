"""Padding to TPU tiles where a listing states it only of all temporaries together."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.finding import Finding

LISTING = """Total hbm usage >= 11.47G:
    reserved        530.00M
    program          {size}
    arguments            0B

Output size 0B; shares 0B with arguments.

Program hbm requirement {size}:
    global             4.0K
    HLO temp         {size} (1.2% utilization: Unpadded ({data}) Padded ({size}), 0.0% fragmentation (0B))

  Largest program allocations in hbm:

  1. Size: 8.77G
"""


def found(data: str, size: str = "10.96G") -> list[Finding]:
    report = pipeline.explain(LISTING.format(data=data, size=size))
    return [finding for finding in report.findings if finding.rule == "tpu-padding"]


def test_all_temporaries_are_told_where_no_buffer_is() -> None:
    told = found("140.25M")[0]
    assert told.explains == round(10.96 * 2**30) - round(140.25 * 2**20)
    assert told.because and "all temporaries together grow 80.0 times" in told.because
    assert told.remedies[0].slug == "aligned-shapes"


@pytest.mark.parametrize("data", ["10.96G", "10.50G"])
def test_temporaries_that_hardly_grow_are_no_cause(data: str) -> None:
    assert found(data) == []


@pytest.mark.parametrize(("size", "told"), [("64.0K", False), ("64.0M", True)])
def test_next_to_nothing_of_a_cut_list_is_no_cause(size: str, told: bool) -> None:
    entry = f"  4. Size: {size}\n     Shape: f32[128,6]{{1,0}}\n     Unpadded size: 3.0K\n"
    report = pipeline.explain(f"import torch_xla\n{entry}     Allocation type: scoped\n")
    assert any(each.rule == "tpu-padding" for each in report.findings) is told
