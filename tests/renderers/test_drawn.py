"""What pictures and the HTML page are given: the drawn values in words, in golden pages."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.builders import capture, row, timeline
from tests.conftest import SAMPLES
from tests.findings.logs import dump, oom, report
from tfmemlens import pipeline
from tfmemlens.cli.conv import sized
from tfmemlens.cli.main import parser
from tfmemlens.renderers.html import _pack
from tfmemlens.renderers.html._pack import packed
from tfmemlens.renderers.json import convolution as convolution_document
from tfmemlens.renderers.json import difference as difference_document
from tfmemlens.renderers.json import report as report_document
from tfmemlens.renderers.pictures.convolution import figure
from tfmemlens.use_cases.difference import difference
from tfmemlens.use_cases.page import tab_of
from tfmemlens.use_cases.plot import plot
from tfmemlens.values import replace

LENET = SAMPLES / "run_metadata" / "1.15-lenet.pb"
CONVOLUTIONS = {
    "plane": "--input 8x64x64x16 --kernel 5x5x3 --tf 2.4 --threads 2",
    "volume on a GPU": "--input 2x8x16x16x4 --kernel 3x3x3x8 --tf 1.15 --threads 2 --device gpu",
}


def numbers(values: Any) -> str:
    return " ".join(f"{float(value):.6g}" for value in values)


def drawn(figure: Any) -> str:
    """Each line, area, bar and word of a matplotlib figure, axes by axes."""
    lines = [f"size {numbers(figure.get_size_inches())}"]
    for axes in figure.axes:
        lines += [
            f"axes {axes.get_title()!r}",
            f"  x {axes.get_xlabel()!r} {axes.get_xscale()}, y {axes.get_ylabel()!r}",
            f"  y from {numbers(axes.get_ylim())}",
        ]
        if axes.get_xscale() == "log":
            lines += [
                f"  ticks {[label.get_text() for label in labels]}"
                for labels in (axes.get_xticklabels(), axes.get_yticklabels())
            ]
        for line in axes.lines:
            points = zip(line.get_xdata(), line.get_ydata(), strict=True)
            label = line.get_label() if not str(line.get_label()).startswith("_") else ""
            lines.append(f"  line {label!r} {line.get_color()}: {'; '.join(map(numbers, points))}")
        for area in axes.collections:
            corners = [path.vertices for path in area.get_paths()]
            ends = [numbers([*each.min(axis=0), *each.max(axis=0)]) for each in corners if len(each)][:40]
            lines.append(f"  area {area.get_label() or ''!r} of {len(corners)}: {'; '.join(ends)}")
        lines += [
            f"  bar {numbers([bar.get_x(), bar.get_y(), bar.get_width(), bar.get_height()])}"
            for bar in axes.patches
        ]
        lines += [
            f"  {text.get_text()!r} at {numbers(text.xy)}" for text in axes.texts if hasattr(text, "xy")
        ]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_the_picture_of_a_convolution(name: str, golden: Callable[[str, str], None]) -> None:
    args = parser("conv").parse_args(["conv", *CONVOLUTIONS[name].split()])
    found = sized(args)
    golden(f"drawn/{name}.txt", drawn(figure(found)))


@pytest.mark.parametrize("by", ["kind", "layer"])
def test_the_picture_of_a_step(by: str, golden: Callable[[str, str], None]) -> None:
    captured = pipeline.timelines(LENET)
    limited = replace(captured, timelines=(replace(captured.timelines[0], limit_bytes=1 << 30),))
    golden(f"drawn/lenet by {by}.txt", drawn(plot(limited, by=by)))


def tabs() -> dict[str, Any]:
    """A step in whole microseconds and one in parts of them, a log with a list, one with chunks."""
    step = capture(
        timeline(row("net/a/Relu", 4, 1, 3), row("net/b/Relu", 2, 2, 4), row("c", 5, 3, None), baseline_mib=9)
    )
    fine = capture(timeline(row("net/a/Relu", 4, 1, 3.0000005), row("net/b/Relu", 2, 2, 4)))
    listed = oom("64,256,256,2") + report(
        "100.00MiB from net/a/Relu", "60.00MiB from gradients/b", rest="5 nodes with 1.0GiB"
    )
    return {
        "step": pipeline.report(step),
        "fine step": pipeline.report(fine),
        "listed": pipeline.explain(listed),
        "chunks": pipeline.explain(dump(900, 2000, 1500, (300, 200))),
    }


@pytest.mark.parametrize("name", ["step", "fine step", "listed", "chunks"])
def test_what_the_page_unpacks(name: str, golden: Callable[[str, str], None]) -> None:
    found = json.loads(gzip.decompress(base64.b64decode(packed(tab_of(tabs()[name])))))
    lines = [
        f"{key}: {json.dumps(value)}" for moment in found.pop("moments") for key, value in moment.items()
    ]
    golden(f"drawn/page of {name}.txt", "\n".join([*lines, json.dumps(found)]) + "\n")


@pytest.mark.parametrize("most, left_out", [(2, 1), (3, 0), (4, 0)])
def test_chunks_beyond_what_a_browser_holds_are_left_out(
    most: int, left_out: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_pack, "MAX_CHUNKS", most)
    found = json.loads(gzip.decompress(base64.b64decode(packed(tab_of(tabs()["chunks"])))))
    assert found["moments"][0]["chunks"]["left_out"] == left_out


def test_documents_are_indented_by_two_and_end_in_a_line() -> None:
    args = parser("conv").parse_args(["conv", *CONVOLUTIONS["plane"].split()])
    texts = (
        convolution_document.render(sized(args)),
        difference_document.render(difference(str(LENET), str(LENET))),
        report_document.render(tabs()["listed"]),
    )
    for text in texts:
        assert text == json.dumps(json.loads(text), indent=2, ensure_ascii=False) + "\n"
