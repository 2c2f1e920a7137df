"""A real browser for the tests of the page: Debian's chromium, driven by Playwright; without one the tests
are skipped and say so.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tfmemlens.renderers.html import page as html
from tfmemlens.use_cases.page import build_page

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def chromium() -> str | None:
    """The browser's path: the one in TFMEMLENS_CHROMIUM, or the first that is installed."""
    return os.environ.get("TFMEMLENS_CHROMIUM") or next(
        (found for name in NAMES if (found := shutil.which(name))), None
    )


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="the page is tested with playwright: pip install playwright"
    )
    if chromium() is None:
        pytest.skip("no chromium is installed (apt-get install chromium), and TFMEMLENS_CHROMIUM names none")
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=chromium())
        yield found
        found.close()


class Tab:
    """A page in the browser with all that it complained about or asked the network for."""

    def __init__(self, browser: Any, file: Path, **context: Any) -> None:
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **context})
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on(
            "console",
            lambda message: self.complaints.extend(
                [] if "willReadFrequently" in message.text else [message.text]
            ),
        )
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", self._dismiss)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(file.as_uri())
        self.page.wait_for_selector("html[data-ready]", timeout=30_000)

    def _dismiss(self, dialog: Any) -> None:
        self.complaints.append(f"dialog {dialog.message}")
        dialog.dismiss()

    def quiet(self) -> None:
        """Nothing went wrong, and nothing but the file itself was asked for."""
        assert self.complaints == []
        assert [url for url in self.requests if not url.startswith("data:")] == self.requests[:1]

    def number(self, selector: str, name: str = "bytes") -> float:
        """A figure that an element carries for scripts."""
        return float(self.page.locator(selector).first.get_attribute(f"data-{name}"))


Open = Callable[..., Tab]


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Open]:
    """Write a report on inputs (each a tab) and open it."""
    opened: list[Tab] = []

    def made(*inputs: str | Path, text: str | None = None, **context: Any) -> Tab:
        file = tmp_path / f"report-{len(opened)}.html"
        file.write_text(
            text if text is not None else html.render(build_page([[each] for each in inputs])),
            encoding="utf-8",
        )
        opened.append(Tab(browser, file, **context))
        return opened[-1]

    yield made
    for tab in opened:
        tab.context.close()


def violations(tab: Tab) -> list[Any]:
    """What axe finds wrong with a page that was opened with `bypass_csp`; skips where there is no axe."""
    places = [ROOT / "node_modules", ROOT / "tests" / "browser" / "node_modules"]
    axe = next((file for place in places if (file := place / "axe-core" / "axe.min.js").exists()), None)
    if axe is None:
        pytest.skip("axe-core is not installed: npm install --prefix tests/browser")
    tab.page.add_script_tag(path=str(axe))
    found: list[Any] = tab.page.evaluate(
        "axe.run(document, {resultTypes: ['violations']}).then(found => found.violations.map(each =>"
        " [each.id, each.help, each.nodes.slice(0, 3).map(node => node.html)]))"
    )
    return found
