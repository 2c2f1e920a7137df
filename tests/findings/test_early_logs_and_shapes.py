"""Logs and shapes of early releases: cut warnings, matrices of a vocabulary, maps of one sample."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report

WARNING = (
    "2020-11-05 08:14:09.101: W tensorflow/core/common_runtime/bfc_allocator.cc:239] Allocator (GPU_0_bfc)"
    " ran out of memory trying to allocate {size}"
)
WHOLE = (
    " with freed_by_count=0. The caller indicates that this is not a failure, but may mean that there could"
    " be performance gains if more memory were available."
)


def explained(*lines: str) -> Report:
    return pipeline.explain("\n".join((*lines, "")))


def advice(report: Report) -> list[str]:
    return [remedy.text for finding in report.findings for remedy in finding.remedies]


@pytest.mark.parametrize("end", ["", ".5", ".5MiB", ".5MiB with", ".5MiB with freed_b"])
def test_the_cut_last_line_of_a_row_of_warnings_is_no_failure(end: str) -> None:
    report = explained(WARNING.format(size="1.20GiB") + WHOLE, WARNING.format(size="310" + end))
    assert "no failure" in report.verdict
    assert not any("smaller batch" in text for text in advice(report))


@pytest.mark.parametrize("before", [(), (WARNING.format(size="1.20GiB") + WHOLE,)])
def test_a_failure_whose_dump_is_cut_stays_one(before: tuple[str, ...]) -> None:
    head = WARNING.format(size="310.5MiB") + ".  Current allocation summary follows."
    assert "Out of memory while allocating about 310.50 MiB" in explained(*before, head).verdict


def test_a_heading_over_warnings_alone_asks_how_it_went_on() -> None:
    first = advice(explained("# GPU out of memory", "", WARNING.format(size="1.20GiB") + WHOLE))[0]
    assert first.startswith("if the program goes on after these warnings, let them be")


def test_words_that_a_program_crashed_are_more_than_a_heading() -> None:
    crashed = "It crashes, since the GPU is out of memory at the first epoch."
    first = advice(explained(crashed, "", WARNING.format(size="1.20GiB") + WHOLE))[0]
    assert "let them be" not in first
