"""The page about many jobs in a real browser: it fits, sorts, filters, opens by keyboard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Open, Tab, violations
from tests.fleet.made import at, failure, log, write
from tests.fleet.test_overview import EVIL, held
from tfmemlens.fleet.overview import overview
from tfmemlens.renderers.html import fleet as html

pytestmark = pytest.mark.browser


@pytest.fixture
def fleet(show: Open, tmp_path: Path) -> Any:
    """Open a page on three causes, one of hostile names."""
    pytest.importorskip("pyarrow")
    long = "s3://logs/jobs/a-team-with-a-long-name/a-model-with-a-longer-name/attempt-1"
    rows = [
        failure(
            f"{long}/{n}.log",
            job=f"job{n % 7}",
            host=f"h{n % 5}",
            signature=f"cause {n % 2}",
            time=at(-n % 70),
        )
        for n in range(60)
    ]
    rows += [
        *held("gpu-7", ["a", "b", "c"]),
        failure(EVIL, signature=EVIL, host=EVIL, verdict=EVIL, time=at(0)),
    ]
    inputs = [log(row["source"], at(-90), at(-90, number + 1)) for number, row in enumerate(rows)]
    text = html.render(overview(write(tmp_path / "d", rows, inputs)))

    def opened(**context: Any) -> Tab:
        return show(text=text, **context)

    return opened


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_it_fits_the_window(fleet: Any, width: int, scheme: str) -> None:
    tab = fleet(viewport={"width": width, "height": 900}, color_scheme=scheme)
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
    tab.page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
    tab.quiet()


def test_causes_are_sorted_and_filtered(fleet: Any) -> None:
    tab = fleet()
    names = tab.page.locator("ol.causes > li:not([hidden]) .name")
    assert names.first.inner_text() == "cause 1"
    before = names.all_inner_texts()
    tab.page.select_option("select", "seconds")
    seconds = [
        int(value)
        for value in tab.page.eval_on_selector_all("ol.causes > li", "all => all.map(e => e.dataset.seconds)")
    ]
    assert seconds == sorted(seconds, reverse=True)
    tab.page.select_option("select", "jobs")
    assert names.all_inner_texts() == before
    tab.page.fill("input[type=search]", "gpu-7")
    assert names.all_inner_texts() == ["s"]
    assert (
        tab.page.locator(".causes-said").inner_text() == f"1 of {len(before)} causes on this page mention it"
    )
    tab.page.fill("input[type=search]", "")
    assert names.count() == len(before)
    tab.quiet()


def test_the_keyboard_opens_a_cause_and_the_address_names_one(fleet: Any) -> None:
    tab = fleet()
    tab.page.locator("#cause-2 summary").focus()
    tab.page.keyboard.press("Enter")
    assert tab.page.locator("#cause-2 .behind").is_visible()
    tab.page.evaluate("window.location.hash = '#cause-1'")
    tab.page.locator("#cause-1 .behind").wait_for(state="visible")
    tab.quiet()


def test_the_theme_changes(fleet: Any) -> None:
    tab = fleet(color_scheme="light")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = tab.page.evaluate(ground)
    tab.page.click("#theme")
    assert tab.page.evaluate(ground) != light and tab.page.inner_text("#theme") == "Light"
    tab.quiet()


def test_a_bad_host_is_marked(fleet: Any) -> None:
    tab = fleet()
    assert tab.page.locator("tr:has(.badge.cause) th").inner_text().split() == ["gpu-7", "bad", "host"]
    assert tab.page.locator("td.held").get_attribute("title") == (
        "2024-11-20: 3 failures, 3 for memory held by another process"
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(fleet: Any, scheme: str) -> None:
    tab = fleet(color_scheme=scheme, bypass_csp=True)
    tab.page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert violations(tab) == []
