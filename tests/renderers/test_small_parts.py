"""Parts of pages that show only what they are given: each figure and each edge."""

from __future__ import annotations

import json
from types import SimpleNamespace as Made
from typing import Any

import pytest

from tests.builders import MIB, row, timeline
from tfmemlens.model.attribution import Kind
from tfmemlens.model.line import Line
from tfmemlens.renderers import kinds, run_facts
from tfmemlens.renderers.chrome_trace import curve
from tfmemlens.renderers.html import _glossary, fleet, page
from tfmemlens.renderers.kinds import in_words
from tfmemlens.renderers.memory_viz._placing import Placing
from tfmemlens.renderers.terminal import fleet_scan
from tfmemlens.units import GIB, Size, human
from tfmemlens.values import replace


def trace(*timelines: Any) -> list[dict[str, Any]]:
    moments = [Made(timeline=each) for each in timelines]
    series = Made(micros=(0, 5), bytes_by_group={"activation": (1, 2)})
    shown: Any = Made(report=Made(case=Made(moments=moments)), series=series)
    found: list[dict[str, Any]] = json.loads(curve.render(shown))["traceEvents"]
    return found


def test_a_tensor_lives_from_its_start_to_its_end_or_as_long_as_the_step() -> None:
    unborn = replace(row("c", 1, 0, None), start_micros=None)
    events = trace(timeline(row("a", 3, 1, 4), row("b", 2, 2, None), unborn, row("d", 0.5, 2, 3)))
    lives = {each["name"]: [] for each in events if each["ph"] == "b"}
    for each in events:
        if each["ph"] in "be":
            lives[each["name"]].append(each["ts"])
    assert lives == {"a": [0, 3000], "b": [1000, 3000], "c": [0, 3000], "d": [1000, 2000]}
    assert list(lives) == ["a", "b", "c", "d"]  # the largest first


def test_only_the_first_step_has_counters_and_each_step_500_slices() -> None:
    step = timeline(*(row(f"n{at}", 1, at, at + 1) for at in range(501)))
    events = trace(None, step, timeline(row("a", 1, 0, 1)))
    assert [each["pid"] for each in events if each["ph"] == "M"] == [0, 1]
    counters = [each for each in events if each["ph"] == "C"]
    assert [(each["pid"], each["ts"], each["args"]["activation"]) for each in counters] == [
        (0, 0, 1),
        (0, 5, 2),
    ]
    slices = [each for each in events if each["ph"] == "b"]
    assert [each["pid"] for each in slices].count(0) == 500
    assert slices[0]["args"]["bytes"] == MIB and slices[0]["tid"] == 0


def test_a_gap_that_fits_exactly_leaves_no_gap() -> None:
    pool = Placing(100)
    first, second = pool.take(10), pool.take(20)
    assert (first, second, pool.end) == (100, 110, 130)
    pool.give(first, 10)
    assert pool.take(10) == 100 and not pool._gaps
    pool.give(first, 10)
    assert pool.take(4) == 100 and pool._gaps == [(6, 104)]


@pytest.mark.parametrize("share, full", [(0.0, 0), (0.5, fleet_scan._WIDTH // 2), (1.0, fleet_scan._WIDTH)])
def test_how_far_a_scan_is(share: float, full: int) -> None:
    told: Any = Made(share=share, seconds_left=None, files=1, to_read=2, bytes=3 * MIB, found=1)
    bar = f"[{'#' * full}{'-' * (fleet_scan._WIDTH - full)}] {share:4.0%}"
    assert fleet_scan.progress_line(told) == f"{bar}  1 of 2 files, {human(3 * MIB)}, 1 incident"
    told.seconds_left = 120
    assert fleet_scan.progress_line(told).endswith(", 1 incident, 2 min left")


@pytest.mark.parametrize(
    "seconds, words",
    [(0, "0 s"), (99.4, "99 s"), (100, "2 min"), (5999, "100 min"), (6000, "1.7 h"), (12_600, "3.5 h")],
)
def test_a_duration(seconds: float, words: str) -> None:
    assert fleet_scan.duration(seconds) == words


def test_where_a_line_stands() -> None:
    line: Any = Made(number=1234, source="train.log")
    assert page._place(line, False) == "train.log, line 1,234"
    assert page._place(line, True) == "train.log, byte 1,234"
    line.source = None
    assert page._place(line, False) == "line 1,234"


def test_weeks_begin_with_their_first_date() -> None:
    dates = [f"2026-11-{day:02}" for day in range(1, 16)]
    assert fleet._weeks(dates) == [("11-01", 7), ("11-08", 7), ("11-15", 1)]


def test_a_small_chart_shows_even_the_smallest_count() -> None:
    cause: Any = Made(counts=(0, 1, 2, 20))
    assert fleet._spark(cause) == "M1.1 20v-1.5h.8V20zM2.1 20v-1.9h.8V20zM3.1 20v-19.0h.8V20z"
    cause.counts = ()
    assert fleet._spark(cause) == ""


def test_a_host_whose_failures_are_half_others_doing_looks_so() -> None:
    host: Any = Made(counts=(0, 4, 4, 1), held_counts=(0, 2, 1, 0))
    cells = list(fleet._cells(host, ["d0", "d1", "d2", "d3"], 4))
    most, least = len(fleet._SHADES), sum(share < 0.25 for share in fleet._SHADES)
    assert [cell.look for cell in cells] == ["", "held", f"heat-{most}", f"heat-{least}"]
    assert [cell.title for cell in cells] == [
        "", "d1: 4 failures, 2 for memory held by another process",
        "d2: 4 failures, 1 for memory held by another process", "d3: 1 failure",
    ]  # fmt: skip


def told_of(limit: object = None, devices: object = (), **uses: Any) -> list[str]:
    use = Made(used=Size.exactly(GIB), total=Size.exactly(2 * GIB), device="0", model="T4", line=Line(3, ""))
    named = Made(total=Size.exactly(16 * GIB + 5), model=None, line=Line(4, ""))
    shown = Made(device_uses=[Made(**{**vars(use), **uses})], devices=devices, named_devices=[named])
    report: Any = Made(case=Made(capture=Made(surroundings=shown)))
    moment: Any = Made(balance=Made(limit=limit))
    return run_facts._devices(report, moment)


def test_a_card_that_the_text_names_stands_where_nothing_shows_its_memory() -> None:
    used = f"GPU 0 (T4): {human(GIB)} of {human(2 * GIB)} used (line 3)"
    assert told_of() == [used]
    assert told_of(device=None, model=None)[0].startswith("GPU ?: ")
    named = ["the text says: a GPU of 16 GB (line 4)"]
    assert told_of(used=None) == named == told_of(total=None)
    assert told_of(used=None, limit=Size.exactly(GIB)) == []
    assert told_of(used=None, devices=(1,)) == []


def test_kinds_in_words() -> None:
    assert in_words(Kind.LOOP_STACK) == "kept by a loop"
    assert in_words(Kind.ACTIVATION) == "activation"
    assert not any("-" in in_words(kind) for kind in Kind)


@pytest.mark.parametrize(
    ("kind", "said", "slug"),
    [
        (Kind.WORKSPACE, "temporary buffer", "temporary-buffer"),
        (Kind.LOOP_STACK, "kept by a loop", "kept-by-a-loop"),
        (Kind.UNATTRIBUTED, "unknown", "unknown"),
        (Kind.ACTIVATION, "activation", "activation"),
    ],
)
def test_a_kind_is_called_the_same_in_every_form(kind: Kind, said: str, slug: str) -> None:
    assert (kinds.in_words(kind), kinds.slug(kind), kinds.slug(kind.value)) == (said, slug, slug)


def test_every_kind_of_a_page_is_explained() -> None:
    assert set(_glossary.KINDS) == {kinds.slug(kind) for kind in Kind}
