"""A TPU program whose values on the host found no room, by the head of its listing."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline

LISTING = """E0110 18:36:27.9 compiler.cc:2121] Program {space} requirement {size}:
E0110 18:36:27.9 compiler.cc:2121]    HLO temp  {size} (100.0% utilization: Unpadded ({size}) Padded ({size}))
E0110 18:36:27.9 compiler.cc:2121]   Largest program allocations in {space}:
E0110 18:36:27.9 compiler.cc:2121]   1. Size: 40.00G
E0110 18:36:27.9 compiler.cc:2121]      Shape: bf16[80,2,8192,16384]
"""


def test_what_is_offloaded_to_the_host_is_told_as_its_ram() -> None:
    report = pipeline.explain(LISTING.format(space="host", size="96.50G"))
    assert report.verdict.startswith("The TPU program needs about 96.50 GiB: it is the host's RAM")
    (found,) = (each for each in report.findings if each.rule == "xla-arena-too-large")
    assert found.headline == "the compiled program needs about 96.50 GiB of the host's RAM"
    assert [each.slug for each in found.remedies] == ["offload-less", "smaller-batch"]


def test_the_devices_own_memory_is_not() -> None:
    report = pipeline.explain(LISTING.format(space="hbm", size="96.50G"))
    assert "host" not in report.verdict
    slugs = [each.slug for finding in report.findings for each in finding.remedies]
    assert "offload-less" not in slugs and "smaller-batch" in slugs


@pytest.mark.parametrize(("total", "needed"), [("98.00G", 98.0), ("", 96.5)])
def test_the_head_of_the_program_tells_its_need_where_no_total_stands_above(
    total: str, needed: float
) -> None:
    above = f"Total hbm usage >= {total}:\n" if total else ""
    report = pipeline.explain(above + LISTING.format(space="hbm", size="96.50G"))
    (incident,) = report.case.capture.incidents
    assert incident.compiler and incident.compiler.needed
    assert round(incident.compiler.needed.bytes / 2**30, 2) == needed
