"""Make the pictures that README and docs show, of a real sample: the report in chromium, and the plot.

    python scripts/make_pictures.py

Needs chromium and playwright. Writes docs/report.png and docs/plot.png (below 200 kB each), and what each was
drawn from to docs/pictures.json: tests/test_pictures.py notices when that has changed.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
TRACE = "sample_traces/run_metadata/2.11-unet.pb.gz"
REPORT, PLOT = ROOT / "docs/report.png", ROOT / "docs/plot.png"
DRAWN_FROM = ROOT / "docs/pictures.json"
PLOT_DPI = 80
LEFT_OUT = (
    "section:has(.cards), canvas.lives, .when h3, .when .dim, .balance-view + .dim, .term { display: none }"
    " h2 { margin-top: 16px !important }"
)
"""What would not fit: findings, and the lives of tensors."""


def main() -> None:
    sys.path.insert(0, str(ROOT))
    os.chdir(ROOT)
    draw_plot()
    photograph_report()
    for picture in (REPORT, PLOT):
        print(picture.relative_to(ROOT), picture.stat().st_size, "bytes")
    DRAWN_FROM.write_text(json.dumps(digests(), indent=1) + "\n", encoding="utf-8")


def digests() -> dict[str, str]:
    """For each picture the digest of what it shows and of what it is drawn with, the picture's own bytes
    included: they differ from machine to machine, and so are not drawn again to compare.
    """
    return {
        picture.name: _digest([*shown, hashlib.sha256(picture.read_bytes()).hexdigest()])
        for picture, shown in ((PLOT, _on_the_plot()), (REPORT, _on_the_page()))
    }


def _digest(shown: list[Any]) -> str:
    return hashlib.sha256(json.dumps(shown, default=str).encode()).hexdigest()


def _on_the_plot() -> list[Any]:
    """The figures of the three panels, the words and the colours."""
    from tfmemlens import pipeline
    from tfmemlens.renderers import palette
    from tfmemlens.use_cases import plot

    curve = plot._curve(pipeline.timelines(ROOT / TRACE), "kind", None)
    moment = curve.report.case.moments[0]
    layers = [(group.name, group.total_bytes) for group in moment.attribution.by("layer")]
    colours = [palette.LIGHT, palette.LAYERS, palette.OTHER]
    return [PLOT_DPI, curve.report.verdict, curve.series.bytes_by_group, layers, colours]


def _on_the_page() -> list[Any]:
    """The first screen's words, the books, the style with its colours, and the frame of the page."""
    from tfmemlens import pipeline
    from tfmemlens.renderers import savings
    from tfmemlens.renderers.html import page as html

    report = pipeline.explain(ROOT / TRACE)
    moment = report.case.moments[0]
    kinds = [(group.name, group.total_bytes) for group in moment.attribution.by("kind")]
    return [
        LEFT_OUT,
        report.verdict,
        savings.advice(report, 3),
        kinds,
        moment.balance.peak,
        html.style(),
        html.asset("parts.html.j2"),
    ]


def draw_plot() -> None:
    """The sheet of `tfmemlens plot`."""
    from tfmemlens import pipeline
    from tfmemlens.use_cases.plot import plot

    plot(pipeline.timelines(TRACE)).savefig(PLOT, dpi=PLOT_DPI, metadata={"Software": None})


def photograph_report() -> None:
    """The page of `tfmemlens report`, as far as it fits."""
    from playwright.sync_api import sync_playwright

    from tests.browser.conftest import chromium
    from tfmemlens.renderers.html import page as html
    from tfmemlens.use_cases.page import build_page

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        page = Path(folder) / "report.html"
        page.write_text(html.render(build_page([[TRACE]])), encoding="utf-8")
        browser = driver.chromium.launch(executable_path=chromium())
        tab = browser.new_page(viewport={"width": 1080, "height": 1230}, color_scheme="light")
        tab.goto(page.as_uri())
        tab.wait_for_selector("html[data-ready]")
        tab.add_style_tag(content=LEFT_OUT)
        box = tab.locator("canvas.cursor").bounding_box()
        assert box, "the curve is not shown"
        tab.mouse.click(box["x"] + 0.46 * box["width"], box["y"] + 90)
        tab.mouse.move(1079, 5)
        tab.screenshot(path=str(REPORT))
        browser.close()


if __name__ == "__main__":
    main()
