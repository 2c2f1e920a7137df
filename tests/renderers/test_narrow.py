"""In a terminal of 60 columns tables leave out what matters least, and texts wrap."""

from __future__ import annotations

import pytest

from tests.conftest import ROOT, SAMPLES
from tfmemlens import pipeline, renderers
from tfmemlens.model.capture import Hints
from tfmemlens.renderers.terminal._blocks import fitting, with_texts
from tfmemlens.renderers.view import View
from tfmemlens.use_cases.fit import fit_report
from tfmemlens.use_cases.layout import graph_capture, layout_report

LENET = SAMPLES / "run_metadata" / "1.10-lenet.pb"
UNET = SAMPLES / "run_metadata" / "1.15-unet.pb.gz"
COPIES = SAMPLES / "layout_traces" / "2.11-unet-layout.pb.gz"
MODEL = ROOT / "sample_models" / "files-2.21" / "small.keras"


def page(report: object, width: int) -> list[str]:
    return renderers.render(report, "report", view=View(width=width, full=True)).splitlines()


def section(lines: list[str], title: str) -> list[str]:
    """The lines below a heading."""
    first = lines.index(title) + 1
    return lines[first : lines.index("", first)]


@pytest.mark.parametrize("width", [60, 80])
@pytest.mark.parametrize("trace", [LENET, UNET], ids=lambda path: path.name)
def test_a_traced_step(trace: object, width: int) -> None:
    lines = page(pipeline.explain(str(trace)), width)
    when, model = section(lines, "OVER TIME"), section(lines, "THE MODEL")
    assert max(map(len, (*when, *model))) <= width
    assert "layer" in model[0] and "parameters" in model[0] and "largest output" in model[0]
    assert any(" = " in line for line in model) is (width == 80)
    assert any("before the step, peak" in line for line in when)
    assert max(map(len, lines[:4])) <= width


def test_a_predicted_step() -> None:
    report = pipeline.explain(str(MODEL), Hints(batch=64))
    wide, narrow = (section(page(report, width), "THE MODEL") for width in (80, 60))
    assert wide[0].split()[:3] == ["layer", "class", "output"]
    assert max(map(len, narrow)) <= 60 and max(map(len, wide)) <= 80


@pytest.mark.parametrize("width", [60, 64, 80])
def test_copies_by_cause(width: int) -> None:
    found = section(page(layout_report(graph_capture(str(COPIES))), width), "COPIES BY CAUSE")
    causes = [line for line in found if " kept" in line and "iB" in line.split(" kept")[0]]
    assert len(causes) == 3 and max(map(len, causes)) <= width
    assert all(("%" in line) is (width > 60) for line in causes)
    assert causes[0].split()[1:3] == ["59", "82.65"]


@pytest.mark.parametrize("width", [60, 80])
def test_what_grows_wraps(width: int) -> None:
    lines = page(fit_report([str(UNET)], Hints(limit_bytes=1 << 30)), width)
    grows = section([*lines, ""], next(line for line in lines if line.startswith("WHAT GROWS")))
    assert max(map(len, grows)) <= width
    assert "height x width; most of it is in the batch, too" in " ".join(" ".join(grows).split())


def test_the_first_table_that_fits_is_shown() -> None:
    long, short = [["name", "size"], ["conv", "1"]], [["name"], ["conv"]]
    assert fitting((long, short), 12, ["size"]) == ["  name  size", "  conv     1"]
    assert fitting((long, short), 11, ["size"]) == ["  name", "  conv"]
    assert fitting((long, short), 5, ["size"]) == ["  name", "  conv"]
    assert fitting((long,), 12) == ["  name  size", "  conv  1"]


def test_texts_beside_figures_wrap_under_themselves() -> None:
    rows = [("FFT", "2 MiB", "half spectra of all"), ("GEMM", "0 B", "")]
    assert with_texts(rows, 40) == ["  FFT   2 MiB  half spectra of all", "  GEMM  0 B"]
    assert with_texts(rows, 33) == ["  FFT   2 MiB  half spectra of", "               all", "  GEMM  0 B"]
    assert with_texts(rows, 32) == ["  FFT   2 MiB", "      half spectra of all", "  GEMM  0 B"]
    assert with_texts(rows, 40, frozenset({1}))[1] == "  GEMM    0 B"
