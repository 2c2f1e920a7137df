"""The page in a real browser, on every family of samples and on names that mean harm."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import tfmemlens
from tests.answers import explained
from tests.browser.conftest import Open, Tab, violations
from tests.conftest import SAMPLES
from tests.tiers import evenly
from tfmemlens import pipeline
from tfmemlens.attribution.moments.ledger import ledger_of
from tfmemlens.cli.main import main
from tfmemlens.model import page as model
from tfmemlens.readers.formats import xla_dump
from tfmemlens.renderers.html import page as html
from tfmemlens.renderers.kinds import slug
from tfmemlens.units import human
from tfmemlens.use_cases.difference import difference
from tfmemlens.use_cases.page import build_page
from tfmemlens.what_if.sliders import with_sliders

pytestmark = pytest.mark.browser

FAMILIES_OF_A_FOLDER = 3
FOLDERS = [
    folder.name for folder in sorted(SAMPLES.iterdir()) if folder.is_dir() and folder.name != "convolution"
]
LENET = SAMPLES / "run_metadata" / "1.15-lenet.pb"
UNET = SAMPLES / "run_metadata" / "2.11-unet.pb.gz"
FUNCTION = SAMPLES / "xspace" / "2.21-function.xplane.pb"
NO_CLOCK = SAMPLES / "log_memory" / "2.21-lenet.log.gz"
LOG = SAMPLES / "oom_log" / "2.11-unet-layout.txt"


def families() -> list[Path]:
    """The newest sample of each kind: names are `<version>-<what it shows>`."""
    found: dict[tuple[str, str], Path] = {}
    for path in sorted(
        path
        for folder in FOLDERS
        for path in (SAMPLES / folder).glob("*")
        if path.is_file() and not path.name.endswith((".truth.json", *xla_dump.COMPANIONS))
    ):
        found[path.parent.name, re.sub(r"^[\d.]+-", "", path.name)] = path
    return list(found.values())


def place(tab: Tab) -> dict[str, float]:
    """Where the curve is, in sight."""
    tab.page.locator("canvas.cursor").scroll_into_view_if_needed()
    found: dict[str, float] = tab.page.locator("canvas.cursor").bounding_box()
    return found


def opened() -> list[Any]:
    """A few families of each folder; the others with `--slow`, since every sample's page is checked in
    Python.
    """
    rows: dict[str, list[str]] = {}
    for path in families():
        rows.setdefault(path.parent.name, []).append(path.name)
    few = {(folder, name) for folder, names in rows.items() for name in evenly(names, FAMILIES_OF_A_FOLDER)}
    return [
        pytest.param(
            path,
            id=f"{path.parent.name}-{path.name}",
            marks=() if (path.parent.name, path.name) in few else (pytest.mark.slow,),
        )
        for path in families()
    ]


@pytest.mark.parametrize("sample", opened())
def test_every_family_opens(sample: Path, show: Open) -> None:
    tab = show(sample)
    report = explained(sample)
    heading = tab.page.locator("h1:visible")
    assert heading.count() == 1
    said = report.verdict.replace("`", "")  # names in backticks are shown as code
    assert " ".join(heading.inner_text().split()) == " ".join(said.split())
    assert heading.bounding_box()["y"] < 300
    for finding in (finding for finding in report.findings if finding.moment == 0):
        assert tab.page.locator(f'a.rule[href="#rule-{finding.rule}"]').count() >= 1
        assert tab.page.locator(f"#rule-{finding.rule}").count() == 1
    if report.case.moments:
        whole = report.case.moments[0].attribution.table.total_bytes
        assert tab.number(".balance-view") == whole
        if whole:
            assert tab.number(".table-said") == tab.number("canvas.icicle") == whole
    for link in tab.page.locator("a.term").all():
        assert tab.page.locator(link.get_attribute("href")).count() == 1
    assert tab.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    tab.quiet()


@pytest.mark.parametrize("trace", [LENET, UNET, FUNCTION, NO_CLOCK], ids=lambda path: path.name)
def test_a_click_on_the_curve_shows_that_moment_everywhere(trace: Path, show: Open) -> None:
    tab = show(trace)
    known = tfmemlens.read(trace)
    box = place(tab)
    for share in (0.0, 0.13, 0.37, 0.5, 0.71, 0.93, 0.999):
        tab.page.mouse.click(box["x"] + share * box["width"], box["y"] + 60)
        micros = tab.number(".moment-said", "micros")
        assert abs(
            micros - share * tab.page.evaluate("tfmemlens.states[0].ledger.span")
        ) <= 0.02 * tab.page.evaluate("tfmemlens.states[0].ledger.span")
        alive = known.at(micros + 0.0004)
        expected = int(alive["total_bytes"].sum())
        for selector in (".moment-said", ".balance-view", ".table-said", "canvas.icicle"):
            assert tab.number(selector) == expected, (share, selector)
        assert tab.number(".table-said", "rows") == len(alive)
        kinds = alive.groupby(alive["kind"].map(slug))["total_bytes"].sum()
        for button in tab.page.locator(".legend [data-kind]").all():
            assert (
                int(button.locator("[data-bytes]").get_attribute("data-bytes"))
                == kinds[button.get_attribute("data-kind")]
            )
        first = tab.page.locator("section.table tbody tr").first.locator("td").all_inner_texts()
        assert first[0] == human(alive["total_bytes"].max())
    tab.page.get_by_role("button", name="Go to the peak").click()
    assert tab.number(".table-said") == known.peak_bytes
    tab.quiet()


def test_dragging_and_keys_move_the_moment(show: Open) -> None:
    tab = show(LENET)
    box = place(tab)
    tab.page.mouse.move(box["x"] + 10, box["y"] + 50)
    tab.page.mouse.down()
    seen = set()
    for x in range(20, 600, 40):
        tab.page.mouse.move(box["x"] + x, box["y"] + 50)
        seen.add(tab.number(".moment-said", "micros"))
    tab.page.mouse.up()
    assert len(seen) > 4
    cursor = tab.page.locator("canvas.cursor")
    cursor.focus()
    tab.page.keyboard.press("Home")
    assert tab.number(".table-said") == tfmemlens.read(LENET).main.baseline_bytes
    tab.page.keyboard.press("ArrowRight")
    assert tab.number(".moment-said", "micros") == 0
    tab.page.keyboard.press("p")
    assert tab.number(".table-said") == tfmemlens.read(LENET).peak_bytes
    assert "peak" in cursor.get_attribute("aria-valuetext")
    tab.quiet()


def select(tab: Tab, start: float, end: float) -> None:
    """Drag over a part of the curve with Shift held; shares of its width."""
    box = place(tab)
    tab.page.keyboard.down("Shift")
    tab.page.mouse.move(box["x"] + start * box["width"], box["y"] + 60)
    tab.page.mouse.down()
    tab.page.mouse.move(box["x"] + end * box["width"], box["y"] + 70, steps=4)
    tab.page.mouse.up()
    tab.page.keyboard.up("Shift")


@pytest.mark.parametrize("trace", [LENET, UNET, FUNCTION], ids=lambda path: path.name)
def test_a_part_of_the_step_fills_the_picture_and_the_tables(trace: Path, show: Open) -> None:
    tab = show(trace)
    known = tfmemlens.read(trace)
    span = tab.page.evaluate("tfmemlens.states[0].ledger.span")
    select(tab, 0.3, 0.45)
    start, end = tab.number(".span-said", "from"), tab.number(".span-said", "to")
    assert abs(start - 0.3 * span) < 0.01 * span and abs(end - 0.45 * span) < 0.01 * span
    timeline = known.main
    times, held = timeline.events[0], timeline.curve
    within = [at for at, time in enumerate(times) if start <= time - times[0] <= end]
    assert (
        tab.number(".moment-said")
        == tab.number(".table-said")
        == max(held[at] for at in (*within, max(within[0] - 1, 0)) if within)
    )
    tab.page.get_by_role("button", name="All tensors of this part of the step").click()
    rows = tab.number(".table-said", "rows")
    box = place(tab)
    tab.page.mouse.click(box["x"] + 0.5 * box["width"], box["y"] + 60)
    assert start <= tab.number(".moment-said", "micros") <= end
    assert tab.number(".table-said", "rows") == rows, "what lived in the part does not follow the moment"
    tab.page.get_by_role("button", name="Whole step").click()
    assert tab.page.locator(".span-said").is_hidden()
    assert tab.page.locator("[data-throughout]").is_hidden()
    tab.quiet()


def test_the_keyboard_zooms_and_the_part_follows_the_moment(show: Open) -> None:
    tab = show(LENET)
    span = tab.page.evaluate("tfmemlens.states[0].ledger.span")
    assert tab.page.get_by_role("button", name="Zoom out").is_disabled()
    tab.page.locator("canvas.cursor").focus()
    for part in (0.5, 0.25, 0.125):
        tab.page.keyboard.press("+")
        start, end = tab.number(".span-said", "from"), tab.number(".span-said", "to")
        assert abs((end - start) / span - part) < 1e-6
        assert start <= tab.number(".moment-said", "micros") <= end
    assert tab.number(".table-said") == tfmemlens.read(LENET).peak_bytes
    tab.page.keyboard.press("End")
    assert tab.number(".span-said", "to") == span
    tab.page.keyboard.press("Home")
    assert tab.number(".span-said", "from") == 0
    tab.page.keyboard.press("-")
    assert abs(tab.number(".span-said", "to") - 0.25 * span) < 1e-6 * span
    tab.page.keyboard.press("0")
    assert tab.page.locator(".span-said").is_hidden()
    tab.quiet()


def test_columns_of_nothing_are_not_shown(show: Open) -> None:
    heads = (
        show(SAMPLES / "oom_log" / "2.11-unet-hint.txt")
        .page.locator("section.table th:visible")
        .all_inner_texts()
    )
    assert [head.strip().lower() for head in heads] == ["bytes", "share", "count", "kind"]
    heads = show(LENET).page.locator("section.table th:visible").all_inner_texts()
    assert "node" in [head.strip().lower() for head in heads]


def test_a_prediction_has_an_order_and_no_clock(show: Open) -> None:
    tab = show("sample_models/files-2.21/small.keras")
    assert re.match(r"(?:<?\d+ %|100 %) of the step: ", tab.page.locator(".moment-said").inner_text())


def test_hovering_tells_what_was_born_and_freed(show: Open) -> None:
    tab = show(LENET)
    box = place(tab)
    told = set()
    for x in range(0, int(box["width"]), 12):
        tab.page.mouse.move(box["x"] + x, box["y"] + 40)
        told |= set(re.findall(r"born|freed", tab.page.locator(".tip").inner_text()))
    assert told == {"born", "freed"}


def test_search_narrows_all_views(show: Open) -> None:
    tab = show(LENET)
    frame = tfmemlens.read(LENET).peak.to_frame()
    tab.page.get_by_label("Search", exact=True).fill("fc1")
    expected = frame[
        frame["node"].fillna("").str.contains("fc1") | frame["layer"].fillna("").str.contains("fc1")
    ]["total_bytes"].sum()
    tab.page.wait_for_selector(f'.table-said[data-bytes="{expected}"]')
    assert {"fc1" in text for text in tab.page.locator("section.table tbody tr").all_inner_texts()} == {True}
    tab.page.get_by_label("Search", exact=True).fill("no such thing")
    tab.page.wait_for_selector('.table-said[data-rows="0"]')
    tab.page.get_by_label("Search", exact=True).fill("")
    tab.page.wait_for_selector(f'.table-said[data-rows="{len(frame)}"]')
    tab.page.locator('.legend [data-kind="optimizer-slot"]').click()
    assert tab.number(".table-said") == frame[frame["kind"] == "optimizer-slot"]["total_bytes"].sum()
    tab.quiet()


def test_the_table_sorts(show: Open) -> None:
    tab = show(LENET)

    def column(number: int) -> list[str]:
        return tab.page.locator(f"section.table tbody td:nth-child({number})").all_inner_texts()

    sizes = [int(cell.get_attribute("data-bytes")) for cell in tab.page.locator("td[data-bytes]").all()]
    assert sizes == sorted(sizes, reverse=True)
    tab.page.locator('[data-key="node"]').click()
    names = [name for name in column(5) if name]
    assert names[:10] == sorted(names)[:10]
    assert tab.page.locator('th[aria-sort="ascending"]').inner_text().startswith("node")
    tab.page.locator('[data-key="node"]').click()
    assert column(5)[-3:] == column(5)[-3:]
    assert tab.page.locator('th[aria-sort="descending"]').inner_text().startswith("node")
    tab.page.locator('[data-key="bytes"]').click()
    again = [int(cell.get_attribute("data-bytes")) for cell in tab.page.locator("td[data-bytes]").all()]
    assert again == sizes


def test_the_icicle_zooms_by_pointer_and_keys(show: Open) -> None:
    tab = show(LENET)
    layers = tfmemlens.read(LENET).by("layer")["bytes"]
    canvas = tab.page.locator("canvas.icicle")
    box = canvas.bounding_box()
    canvas.click(position={"x": 20, "y": 36})
    assert tab.number(".table-said") == layers.iloc[0] == tab.number("canvas.icicle")
    assert (
        tab.page.locator(".crumbs").inner_text().split() == ["all", "fc1"]
        or "fc1" in tab.page.locator(".crumbs").inner_text()
    )
    tab.page.get_by_role("button", name="all", exact=True).click()
    assert tab.number(".table-said") == layers.sum()
    canvas.focus()
    tab.page.keyboard.press("ArrowDown")
    tab.page.keyboard.press("ArrowRight")
    assert "conv2" in tab.page.locator(".icicle-said").inner_text()
    tab.page.keyboard.press("Enter")
    assert tab.number(".table-said") == layers["conv2"]
    tab.page.keyboard.press("Escape")
    assert tab.number(".table-said") == layers.sum()
    for mode in ("layer", "kind", "device", "scope"):
        tab.page.locator(f'[data-mode="{mode}"]').click()
        assert tab.number("canvas.icicle") == layers.sum()
    assert box["width"] > 500
    tab.quiet()


def test_what_if_moves_the_bar(show: Open) -> None:
    """Each control shows what the engine says of it, and what the findings print."""
    tab = show(LOG)
    case = pipeline.explain(LOG).case
    ledger = with_sliders(case, 0, ledger_of(case.moments[0]))
    outside = case.moments[0].balance.outside_report
    sizes = zip(ledger.table.size_bytes, ledger.table.count, strict=True)
    now = sum(size * count for size, count in sizes) + (outside.bytes if outside else 0)
    half, recompute = (case.what_if(0, slug).best_bytes for slug in ("smaller-batch", "recompute"))
    assert half and recompute and ledger.scaling.batch == 2
    slider = tab.page.locator('[data-lever="batch"]')
    slider.fill("1")
    assert tab.number(".whatif-said") == now - half
    assert "about" in tab.page.locator(".whatif-said").inner_text()
    slider.fill("2")
    tab.page.locator('[data-lever="recompute"]').check()
    assert tab.number(".whatif-said") == now - recompute
    assert "about" in tab.page.locator(".whatif-said").inner_text()
    assert not tab.page.locator('[data-lever="no-layout-copies"]').count()  # nothing honest is known of it
    tab.quiet()


def test_without_figures_no_empty_bar_is_drawn(show: Open) -> None:
    tab = show(SAMPLES / "oom_log" / "1.10-unet-hint.txt")
    memory = tab.page.locator(".balance-view")
    assert memory.locator(".bar").count() == 0
    assert "This input does not say what was in use." in memory.inner_text()
    assert "0 B" not in memory.inner_text()
    assert "`" not in tab.page.locator("main").inner_text()


def test_remedies_are_copied(show: Open) -> None:
    tab = show(LOG)
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    button = tab.page.locator("button.copy").first
    code = button.locator("xpath=..").locator("code").inner_text()
    button.click()
    tab.page.locator("button.copy", has_text="Copied").first.wait_for()
    assert tab.page.evaluate("navigator.clipboard.readText()") == code
    tab.quiet()


def test_dark_and_light(show: Open) -> None:
    dark, light = show(LENET, color_scheme="dark"), show(LENET, color_scheme="light")
    back = "getComputedStyle(document.body).backgroundColor"
    shades = {name: tab.page.evaluate(back) for name, tab in (("dark", dark), ("light", light))}
    assert shades["dark"] != shades["light"]
    pixel = (
        "Array.from(document.querySelector('canvas.curve').getContext('2d').getImageData(600, 180, 1,"
        " 1).data).join()"
    )
    before = light.page.evaluate(pixel)
    light.page.locator("#theme").click()
    assert light.page.evaluate(back) == shades["dark"]
    assert light.page.evaluate(pixel) != before
    light.page.locator("#theme").click()
    assert light.page.evaluate(back) == shades["light"]
    light.quiet()


@pytest.mark.parametrize(
    "sample", [LENET, LOG, SAMPLES / "oom_log" / "2.21-fragmentation.txt"], ids=lambda path: path.name
)
def test_a_telephone_is_wide_enough(sample: Path, show: Open) -> None:
    tab = show(sample, viewport={"width": 360, "height": 740})
    assert tab.page.evaluate("document.documentElement.scrollWidth") == 360
    tab.quiet()


def test_tabs_and_the_comparison(show: Open) -> None:
    tab = show(LENET, LOG, UNET)
    tabs = tab.page.get_by_role("tab")
    assert tabs.count() == 4
    tabs.nth(1).click()
    tab.page.wait_for_selector("#tab-1 .moment[data-ready]")
    assert tab.page.locator("#tab-0").is_hidden()
    assert tab.page.locator("h1:visible").inner_text() == pipeline.explain(LOG).verdict.replace("`", "")
    tab.page.keyboard.press("ArrowRight")
    tab.page.keyboard.press("ArrowRight")
    assert tab.page.locator("#tab-3").is_visible()
    assert "Memory" in tab.page.locator("#tab-3").inner_text()
    tab.quiet()


def test_several_failures_can_be_chosen(show: Open) -> None:
    sample = SAMPLES / "oom_log" / "1.15-caught-and-again.txt"
    report = pipeline.explain(sample)
    assert len(report.case.moments) > 1
    tab = show(sample)
    tab.page.locator("select.moments").select_option("1")
    tab.page.wait_for_selector("#moment-0-1[data-ready]")
    assert tab.number("#moment-0-1 .balance-view") == report.case.moments[1].attribution.table.total_bytes
    tab.quiet()


def until(tab: Tab, hash_part: str) -> None:
    """The address says it: a place is written once it stands still."""
    tab.page.wait_for_url(lambda url: hash_part in url)


def test_a_link_shows_what_its_sender_saw_and_back_goes_back(show: Open, tmp_path: Path) -> None:
    tab = show(UNET, LENET)
    tab.page.get_by_role("tab").nth(1).click()
    until(tab, "tab=1")
    room = tab.page.locator("#moment-1-0")
    room.locator('[data-kind="parameter"]').click()
    until(tab, "kind=parameter")
    room.locator('[data-stack="allocation"]').click()
    until(tab, "stack=allocation")
    seen = room.locator(".table-said").inner_text()
    assert "kind: parameter" in room.locator(".chips:visible").first.inner_text()
    link = tab.page.url
    tab.page.go_back()
    until(tab, "tab=1&kind=parameter")
    assert room.locator('[data-stack="kind"][aria-pressed="true"]').count() == 1
    tab.page.go_back()
    tab.page.wait_for_url(lambda url: "kind" not in url)
    assert room.locator(".chips:visible").count() == 0
    tab.page.go_back()
    tab.page.wait_for_selector("#moment-0-0:visible")
    tab.page.goto("about:blank")
    tab.page.goto(link)
    tab.page.wait_for_selector("#moment-1-0[data-ready]:visible")
    assert room.locator(".table-said").inner_text() == seen
    room.locator(".chip:visible").first.click()
    assert room.locator('[data-kind="parameter"][aria-pressed="true"]').count() == 0
    assert tab.complaints == []


def test_a_link_keeps_an_instant_between_two_events(show: Open) -> None:
    tab = show(UNET)
    box = place(tab)
    tab.page.mouse.click(box["x"] + 0.7 * box["width"], box["y"] + 60)
    until(tab, "time=")
    said = tab.page.locator(".moment-said").inner_text()
    link = tab.page.url
    tab.page.goto("about:blank")
    tab.page.goto(link)
    tab.page.wait_for_selector("#moment-0-0[data-ready]")
    assert tab.page.locator(".moment-said").inner_text() == said


def test_the_legend_hides_kinds_and_tells_the_moment(show: Open) -> None:
    tab = show(UNET)
    known = tfmemlens.read(UNET).peak.to_frame().groupby("kind")["total_bytes"].sum()
    values = tab.page.locator(".curve-legend [data-value]")
    assert sum(float(value.get_attribute("data-bytes")) for value in values.all()) == known.sum()
    before = tab.page.locator("canvas.curve").screenshot()
    button = tab.page.locator(".curve-legend button", has_text="temporary buffer")
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert tab.page.locator("canvas.curve").screenshot() != before
    tab.page.locator('[data-stack="allocation"]').click()
    bands = tab.page.locator("canvas.curve").screenshot()
    tab.page.locator("[data-detail]").fill("0")
    assert "the 10 largest" in tab.page.locator(".detail-said").inner_text()
    assert tab.page.locator("canvas.curve").screenshot() != bands
    tab.page.locator("[data-detail]").fill("7")
    box = place(tab)
    tab.page.mouse.move(box["x"] + 0.25 * box["width"], box["y"] + 190)
    assert "held to the end" in tab.page.locator(".tip").inner_text()
    tab.quiet()


def test_the_table_filters_by_column_and_is_saved(show: Open) -> None:
    tab = show(LENET)
    frame = tfmemlens.read(LENET).peak.to_frame()
    tab.page.get_by_label("Filter by kind").fill("param")
    expected = frame[frame["kind"] == "parameter"]
    tab.page.wait_for_selector(f'.table-said[data-rows="{len(expected)}"]')
    with tab.page.expect_download() as waiting:
        tab.page.get_by_role("button", name="Save as CSV").click()
    lines = Path(waiting.value.path()).read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(expected) + 1
    assert lines[0].startswith("bytes,count,layer,node,op,shape,dtype,kind,start_micros")
    assert sum(int(line.split(",")[0]) for line in lines[1:]) == expected["total_bytes"].sum()
    tab.quiet()


def test_what_a_part_of_the_step_leaves_behind(show: Open) -> None:
    tab = show(LENET)
    select(tab, 0.3, 0.45)
    tab.page.get_by_role("button", name="Allocated in this part and still held at its end").click()
    start, end = tab.number(".span-said", "from"), tab.number(".span-said", "to")
    frame = tfmemlens.read(LENET).allocations
    born, died = frame["start_micros"], frame["end_micros"].fillna(float("inf"))
    left = frame[(born >= start) & (born <= end) & (died > end)]
    assert tab.number(".table-said", "rows") == len(left)
    assert "still held at its end" in tab.page.locator(".chips:visible").last.inner_text()


def test_the_pool_is_replayed_by_address(show: Open) -> None:
    tab = show(FUNCTION)
    known = tfmemlens.read(FUNCTION)
    box = place(tab)
    for share in (0.1, 0.4, 0.8):
        tab.page.mouse.click(box["x"] + share * box["width"], box["y"] + 60)
        alive = known.at(tab.number(".moment-said", "micros") + 0.0004)
        told = alive[alive["kind"] != "unattributed"]["total_bytes"].sum()
        assert told <= tab.number("canvas.pool") <= alive["total_bytes"].sum()
        assert 0 <= tab.number("canvas.scatter", "share") <= 1
    tab.quiet()
    assert show(LENET).page.locator("canvas.pool").count() == 0, "RunMetadata tells no addresses"


def test_a_word_is_explained_where_it_stands(show: Open) -> None:
    tab = show(LENET)
    tab.page.locator("a.term", has_text="before the step").first.click()
    note = tab.page.locator(".explained")
    assert "What was in use when the traced step began" in note.inner_text()
    assert note.bounding_box()["y"] < 900 and tab.page.evaluate("scrollY") == 0
    tab.page.keyboard.press("Escape")
    assert note.is_hidden()
    assert tab.page.locator("#term-loop-stack").count() == 0, "this step has none"
    tab.quiet()


def test_a_report_dropped_on_another_is_compared(show: Open) -> None:
    tab, other = show(UNET), show(LENET)
    assert other.page.url.startswith("file://")
    file = Path(other.page.url.removeprefix("file://"))
    drop = """([text, name]) => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([text], name));
      document.body.dispatchEvent(new DragEvent('drop', {dataTransfer, bubbles: true}));
    }"""
    tab.page.evaluate(drop, [file.read_text(encoding="utf-8"), "other.html"])
    section = tab.page.locator("section.dropped")
    section.wait_for()
    grew = tfmemlens.read(LENET).peak_bytes - tfmemlens.read(UNET).peak_bytes
    assert human(abs(grew)) in section.locator("h2").inner_text()
    assert section.locator("canvas").count() == 2
    assert tab.number("section.dropped canvas.difference") == grew
    section.get_by_role("button", name="change").click()
    tab.page.evaluate(drop, ["<script>alert(1)</script>", "<b>.html"])
    tab.page.wait_for_selector("p.dropped")
    assert "<b>.html is not a report" in tab.page.locator("p.dropped").inner_text()
    tab.quiet()


def test_the_page_of_a_comparison_draws_both(show: Open, tmp_path: Path) -> None:
    assert main(["diff", str(UNET), str(LENET), "--html", "-o", str(tmp_path / "diff.html")]) == 0
    tab = show(text=(tmp_path / "diff.html").read_text(encoding="utf-8"))
    assert tab.page.locator("h1:visible").inner_text().startswith("Memory shrank by")
    assert tab.page.locator("section.comparison canvas").count() == 2
    table = tab.page.get_by_role("region", name="By layer")
    table.get_by_role("button", name="after").click()
    sizes = [float(cell.get_attribute("data-bytes")) for cell in table.locator("tbody td:nth-child(3)").all()]
    assert sizes == sorted(sizes, reverse=True)
    tab.page.get_by_role("tab").nth(1).click()
    tab.page.wait_for_selector("#moment-1-0[data-ready]")
    tab.quiet()


@pytest.mark.parametrize("sample", [UNET, LOG], ids=lambda path: path.name)
def test_on_paper_it_is_two_pages(sample: Path, show: Open) -> None:
    tab = show(sample)
    pages = tab.page.pdf(format="A4").count(b"/Type /Page\n")
    assert 1 <= pages <= 2


def test_the_comparison_alone(show: Open) -> None:
    found = difference(LOG, SAMPLES / "oom_log" / "2.11-unet-layout-training.txt")
    tab = show(text=html.render(model.Page((), (found,))))
    assert tab.page.locator("h1").inner_text() == found.verdict
    tab.quiet()


def test_without_scripts_the_text_is_there(show: Open, tmp_path: Path, browser: object) -> None:
    file = tmp_path / "plain.html"
    file.write_text(html.render(build_page([[LOG]])), encoding="utf-8")
    page = browser.new_context(java_script_enabled=False).new_page()  # type: ignore[attr-defined]
    page.goto(file.as_uri())
    assert page.locator("h1").inner_text() == pipeline.explain(LOG).verdict.replace("`", "")
    assert page.locator(".card").count() >= 2
    assert page.locator("section.table tbody tr").count() >= 5


HARM = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"'`${alert(1)}",
    "{{7*7}}{%x%}",
    "\N{PILE OF POO}\N{FAMILY}\N{ZERO WIDTH JOINER}",
    "\N{RIGHT-TO-LEFT OVERRIDE}desrever\N{HEBREW LETTER ALEF}\N{HEBREW LETTER BET}",
    "]]><!--",
    "x" * 10_000,
    "&lt;b&gt;\\u003cscript\\u003e",
]


@pytest.mark.parametrize("name", HARM, ids=lambda name: repr(name[:16]))
def test_hostile_names_neither_run_nor_break_anything(name: str, show: Open, tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    plain = (SAMPLES / "oom_log" / "1.15-im2col.txt").read_text(encoding="utf-8")
    place = re.search(r" from (\S+)$", plain, re.MULTILINE)
    assert place
    scope = name.replace(" ", "\N{NO-BREAK SPACE}")
    log.write_text(plain.replace(place[1], f"{scope}/{place[1]}"), encoding="utf-8")
    tab = show(log)
    tab.page.get_by_label("Search", exact=True).fill(name[:30])
    tab.page.locator('[data-mode="kind"]').click()
    canvas = tab.page.locator("canvas.icicle")
    canvas.hover(position={"x": 30, "y": 60})
    canvas.click(position={"x": 30, "y": 60})
    assert tab.page.locator("body > script").count() == 1
    assert tab.page.locator("img").count() == 0
    assert tab.page.evaluate("document.documentElement.scrollWidth") == 1280
    assert tab.page.locator("section.glossary").is_visible()
    tab.quiet()


def test_hostile_rows_reach_the_table(show: Open) -> None:
    """The same names as nodes of a trace: they are shown as they are."""
    from tests.builders import capture, row, timeline

    found = capture(
        timeline(
            *(row(f"scope{number}/{name}/Relu", 8 + number, number, 90) for number, name in enumerate(HARM))
        )
    )
    report = pipeline.report(found)
    tab = show(
        text=html.render(
            model.Page((model.Tab(report, tuple(ledger_of(moment) for moment in report.case.moments)),))
        )
    )
    texts = "\n".join(tab.page.locator("section.table tbody td.name").all_inner_texts())
    assert "<img src=x onerror=alert(1)>" in texts
    assert "</script>" in texts
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in texts
    for x in range(10, 1200, 90):
        tab.page.locator("canvas.lives").hover(position={"x": x, "y": 20})
    tab.quiet()


def test_axe_finds_nothing(show: Open) -> None:
    for sample in (LENET, LOG, SAMPLES / "oom_log" / "2.21-fragmentation.txt"):
        for scheme in ("light", "dark"):
            tab = show(sample, LENET, color_scheme=scheme, bypass_csp=True)
            if sample is LOG:
                tab.page.get_by_role("tab", name="Comparison").click()
            assert violations(tab) == [], (sample, scheme)
