"""What torch_xla prints of each program that it compiled: an account of the largest, and no failure."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline

ANALYSIS = """Post Compilation Analysis: Graph input size: {input} GB
Post Compilation Analysis: Graph output size: 7.900000 GB
Post Compilation Analysis: Aliased Input size: 1.500000 GB
Post Compilation Analysis: Intermediate tensor size: 12.000000 GB
Post Compilation Analysis: Compiled program size: 0.100000 GB
"""


def test_aliased_inputs_count_once() -> None:
    report = pipeline.explain("torch_xla\n" + ANALYSIS.format(input="1.500000"))
    incident = report.case.moments[0].incident
    assert incident and incident.compiler and incident.compiler.needed
    assert incident.compiler.needed.bytes == 20_000_000_000  # 1.5 + 7.9 + 12 + 0.1 - 1.5
    assert not incident.fatal
    assert report.verdict.startswith("The compiled program needs 18.63 GiB: about 11.18 GiB of temporaries")


def test_of_several_programs_the_largest_is_told() -> None:
    text = ANALYSIS.format(input="1.500000") + ANALYSIS.format(input="3.500000")
    report = pipeline.explain("torch_xla\n" + text)
    assert len(report.case.moments) == 1
    request = report.case.moments[0].request
    assert request and request.failed.size and request.failed.size.bytes == 22_000_000_000


def test_a_failure_in_the_same_log_is_told_instead() -> None:
    failed = (
        "RuntimeError: Resource exhausted: Ran out of memory in memory space hbm. Used 17.20G of 15.48G hbm."
        " Exceeded hbm capacity by 1.72G.\n"
    )
    report = pipeline.explain("torch_xla\n" + ANALYSIS.format(input="1.500000") + failed)
    assert len(report.case.moments) == 1 and "17.20 GiB" in report.verdict


FULL = (
    "RuntimeError: Bad StatusOr access: RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to"
    " allocate {asked}. That was not possible. There are {free} free.; (0x0x0_HBM0)\n"
)
RESULTS = ANALYSIS.replace("7.900000", "41.000000")


@pytest.mark.parametrize(("asked", "free"), [("180.00M", "90.00M"), ("5.00G", "3.00G")])
def test_a_buffer_that_found_no_room_is_told_of_what_the_program_returns(asked: str, free: str) -> None:
    text = "torch_xla\n" + FULL.format(asked=asked, free=free) + RESULTS.format(input="1.500000")
    report = pipeline.explain(text)
    assert "accounts for returns about 38.18 GiB, all but about 1.40 GiB of it" in report.verdict
    assert report.actions[0].remedy.slug == "return-less"


def test_results_in_the_arguments_place_are_nothing_new() -> None:
    failed = FULL.format(asked="180.00M", free="90.00M")
    state = ANALYSIS.replace("Input size: 1.500000", "Input size: 7.900000")
    report = pipeline.explain("torch_xla\n" + failed + state.format(input="8.000000"))
    assert "accounts for returns" not in report.verdict
    assert "return-less" not in [each.remedy.slug for each in report.actions]
