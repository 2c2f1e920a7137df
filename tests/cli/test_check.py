"""`tfmemlens check`: budgets of measured and predicted steps."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import tfmemlens
from tests.conftest import SAMPLES
from tests.test_api_estimate import KERAS
from tfmemlens import pipeline, renderers
from tfmemlens.cli.main import main
from tfmemlens.model.budget import Budget
from tfmemlens.model.case import Fits
from tfmemlens.units import Size
from tfmemlens.use_cases import check
from tfmemlens.values import replace

TRACE = str(SAMPLES / "fit" / "1.15-lenet-b32.pb.gz")
LARGER = str(SAMPLES / "fit" / "1.15-lenet-b256.pb.gz")
LOG = str(SAMPLES / "oom_log" / "1.10-founding-question-unet.txt")


@pytest.fixture(scope="module")
def peak() -> int:
    return pipeline.timelines(TRACE).timelines[0].peak_bytes


@pytest.mark.parametrize(
    ("low", "high", "fits"),
    [
        (90, 100, Fits.YES),
        (90, 101, Fits.UNDECIDED),
        (100, None, Fits.UNDECIDED),
        (101, 200, Fits.NO),
        (101, None, Fits.NO),
    ],
)
def test_within_needs_the_upper_end_and_over_the_lower(low: int, high: int | None, fits: Fits) -> None:
    assert Budget("peak", 100, low, high).fits is fits


def test_a_measured_peak_is_within_to_the_byte(peak: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", TRACE, "--max-peak", str(peak)]) == 0
    assert capsys.readouterr().out.split()[0] == "within"
    assert main(["check", TRACE, "--max-peak", str(peak - 1)]) == 1
    told = capsys.readouterr()
    assert told.out.split()[0] == "OVER" and f"`tfmemlens profile {TRACE}`" in told.err


def test_layers_are_asked_together_by_a_pattern(capsys: pytest.CaptureFixture[str]) -> None:
    (moment, *_) = pipeline.case(pipeline.timelines(TRACE)).moments
    name, size = next(
        (group.name, group.total_bytes) for group in moment.attribution.by("layer") if group.name
    )
    assert main(["check", TRACE, "--max-layer", f"{name}={size}"]) == 0
    assert main(["check", TRACE, "--max-layer", f"{name}={size - 1}"]) == 1
    assert main(["check", TRACE, "--max-layer", "*=1KiB"]) == 1
    capsys.readouterr()
    assert main(["check", TRACE, "--max-layer", "no_such/*=1GiB"]) == 2
    assert "no layer is called" in capsys.readouterr().err


def test_growth_is_over_an_earlier_step() -> None:
    assert main(["check", TRACE, "--baseline", TRACE]) == 0
    assert main(["check", LARGER, "--baseline", TRACE, "--max-growth", "3%"]) == 1
    assert main(["check", LARGER, "--baseline", TRACE, "--max-growth", "9.0"]) == 0


def test_a_prediction_is_undecided_inside_its_bar() -> None:
    report = tfmemlens.estimate(KERAS, batch=4)
    assert report.error_bar
    low, high = report.error_bar
    for allowed, fits in ((high, Fits.YES), (high - 1, Fits.UNDECIDED), (low - 1, Fits.NO)):
        (budget,) = check.budgets(report, max_peak=allowed)
        assert budget.fits is fits


def test_ci_gets_xml_and_annotations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "memory.xml"
    assert main(["check", TRACE, "--max-peak", "1MiB", "--junit", str(file), "--github"]) == 1
    suite = ET.parse(file).getroot()
    assert (suite.tag, suite.get("tests"), suite.get("failures"), suite.get("errors")) == (
        "testsuite", "1", "1", "0",
    )  # fmt: skip
    assert "::error title=tfmemlens::peak needs" in capsys.readouterr().out


def test_names_cannot_leave_their_place() -> None:
    budgets = [Budget('a"/><x>\x1b[2J\n::error::%0A', 1, 2, 2)]
    xml = renderers.render(budgets, "budgets", "junit")
    assert ET.fromstring(xml.encode()).find("testcase") is not None
    assert "\x1b" not in xml
    assert renderers.render(budgets, "budgets", "github").count("\n") == 1
    assert "%250A" in renderers.render(budgets, "budgets", "github")


@pytest.mark.parametrize(
    "words",
    [
        [TRACE],
        [TRACE, "--max-growth", "3%"],
        [TRACE, "--max-peak", "much"],
        [TRACE, "--max-layer", "encoder"],
        [TRACE, "--baseline", TRACE, "--max-growth", "-1"],
        [LOG, "--max-peak", "1GiB"],
        ["nothing.pb", "--max-peak", "1GiB"],
    ],
)
def test_what_cannot_be_checked_is_refused(words: list[str]) -> None:
    assert main(["check", *words]) == 2


def test_a_run_that_failed_is_not_within_by_a_step_that_fitted(peak: int) -> None:
    """A bundle holds steps from before the failure; what failed needs more."""
    report = pipeline.report(pipeline.capture(TRACE))
    failed = pipeline.report(pipeline.capture(LOG)).case.moments[0]
    case = replace(report.case, moments=(*report.case.moments, failed))
    (budget,) = check.budgets(replace(report, case=case), max_peak=1 << 50)
    assert budget.fits is Fits.UNDECIDED and "failed for memory" in budget.note
    assert failed.balance.in_use is None and budget.low_bytes == peak  # a list without statistics
    failed = replace(failed, balance=replace(failed.balance, in_use=Size.exactly(peak + 5)))
    case = replace(report.case, moments=(*report.case.moments, failed))
    (budget,) = check.budgets(replace(report, case=case), max_peak=peak + 5)
    assert (budget.low_bytes, budget.fits) == (peak + 5, Fits.UNDECIDED)
    (budget,) = check.budgets(replace(report, case=case), max_peak=peak + 4)
    assert budget.fits is Fits.NO


def test_a_prediction_says_for_which_batch(capsys: pytest.CaptureFixture[str]) -> None:
    main(["check", str(KERAS), "--max-peak", "1TiB"])
    assert "batch 32" in capsys.readouterr().out
    main(["check", TRACE, "--max-peak", "1TiB"])
    assert "batch" not in capsys.readouterr().out
