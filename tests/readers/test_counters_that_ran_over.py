"""Sizes that no memory has: they are told and never used."""

from __future__ import annotations

import pytest

from tests.findings.logs import MIB, dump, oom, report
from tfmemlens import pipeline
from tfmemlens.renderers.terminal import report as report_page
from tfmemlens.renderers.view import View
from tfmemlens.units import parse_size

WRAPPED = (1 << 64) - 256
TOLD = "with a size that cannot be true (a 64-bit counter that ran over) not used"
TEXT = dump(64, 300, 256, (16,)) + oom("64,512,512")


def notes(text: str) -> list[str]:
    return [note.text for note in pipeline.explain(text).case.capture.notes]


@pytest.mark.parametrize(
    ("figure", "wrong"),
    [
        (f"InUse:                     {256 * MIB}", f"InUse:                     {WRAPPED}"),
        (f"MaxInUse:                  {256 * MIB}", f"MaxInUse:                  {601 * MIB}"),
        (f"MaxAllocSize:              {256 * MIB}", "MaxAllocSize:              16384.00EiB"),
    ],
)
def test_a_figure_beyond_the_limit_is_told_and_not_used(figure: str, wrong: str) -> None:
    assert figure in TEXT and notes(TEXT) == []
    text = TEXT.replace(figure, wrong)
    assert notes(text) == [f"1 row {TOLD}"]
    state, right = (pipeline.explain(each).case.moments[0].balance for each in (text, TEXT))
    assert state.in_use == right.in_use and state.limit == right.limit


def test_without_a_believable_limit_there_is_none() -> None:
    text = TEXT.replace(f"memory_limit_: {300 * MIB}", f"memory_limit_: {WRAPPED}")
    text = text.replace(f"Limit:                     {300 * MIB}", f"Limit:                     {WRAPPED}")
    case = pipeline.explain(text).case
    assert case.moments[0].balance.limit is None and "EiB" not in report_page.render(
        pipeline.explain(text), View()
    )


@pytest.mark.parametrize(
    "row", ["16384.00PiB from net/b/Relu", "-1.00MiB from net/b/Relu", "16384.00EiB from net/b/Relu"]
)
def test_a_row_of_the_list_that_no_memory_holds(row: str) -> None:
    text = oom("64,512,512") + report("3.50MiB from net/a/Relu", row)
    told = pipeline.explain(text)
    assert [note.text for note in told.case.capture.notes] == [f"1 row {TOLD}"]
    assert told.case.moments[0].attribution.table.total_bytes == parse_size("3.50MiB").bytes


def test_what_remains_of_the_list_is_no_exbibyte() -> None:
    text = oom("64,512,512") + report("3.50MiB from net/a/Relu", rest="12 nodes with 16384.00PiB")
    moment = pipeline.explain(text).case.moments[0]
    assert moment.balance.unlisted.bytes == 0 and moment.balance.unlisted_nodes == 0


def test_a_request_that_ran_over_is_a_wrong_shape() -> None:
    line = (
        "Allocator (GPU_0_bfc) ran out of memory trying to allocate 16.00EiB"
        f" (rounded to {WRAPPED})requested by op Tile\n"
    )
    told = pipeline.explain(line)
    assert "the size itself is wrong" in told.verdict and "numbers" not in told.actions[0].remedy.text
    large = pipeline.explain(line.replace(str(WRAPPED), str(1 << 50)).replace("16.00EiB", "1.00PiB"))
    assert (
        "larger than any single device's memory" in large.verdict
        and "numbers" in large.actions[0].remedy.text
    )
