"""Make the pictures that README shows: the report on a real sample, in chromium.

    python scripts/make_pictures.py

Needs chromium and playwright. Writes docs/report.png (below 200 kB).
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
TRACE = "sample_traces/run_metadata/2.11-unet.pb.gz"
TARGET = ROOT / "docs/report.png"
LEFT_OUT = (
    "section:has(.cards), canvas.lives, .when h3, .when .dim, .balance-view + .dim, .term { display: none }"
    " h2 { margin-top: 16px !important }"
)
"""What would not fit: findings, and the lives of tensors."""


def main() -> None:
    sys.path.insert(0, str(ROOT))
    from playwright.sync_api import sync_playwright

    from tests.browser.conftest import chromium
    from tfmemlens.renderers.html import page as html
    from tfmemlens.use_cases.page import build_page

    TARGET.parent.mkdir(exist_ok=True)
    os.chdir(ROOT)
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
        tab.screenshot(path=str(TARGET))
        browser.close()
    print(TARGET.relative_to(ROOT), TARGET.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
