"""Make the pictures that README and docs show, of a real sample: the report in chromium, and the plot.

    python scripts/make_pictures.py

Needs chromium and playwright. Writes docs/report.png and docs/plot.png (below 200 kB each).
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
TRACE = "sample_traces/run_metadata/2.11-unet.pb.gz"
REPORT, PLOT = ROOT / "docs/report.png", ROOT / "docs/plot.png"
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
