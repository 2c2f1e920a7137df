"""Pages about many jobs: each figure, and what is left out where there is none."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime
from types import SimpleNamespace as Made
from typing import Any

import pytest

from tfmemlens.model.fleet import Example, FailureGroup, Ranking, Read, Tally, Windows
from tfmemlens.model.scan_summary import ScanSummary
from tfmemlens.renderers.html import fleet as html
from tfmemlens.renderers.json import causes as document
from tfmemlens.renderers.json import fleet_scan as scan_document
from tfmemlens.renderers.terminal import _fleet, causes, fleet_scan, new_causes
from tfmemlens.renderers.view import View
from tfmemlens.values import replace

DAY, NIGHT = datetime(2026, 11, 1, 8), datetime(2026, 11, 8, 8)
EXAMPLE = Example("a.log", 7, NIGHT, "vision", "train", "h1", "It was full.", None)
GROUP = FailureGroup("cause", Tally(3, 2, 7200), 2, 1, DAY, NIGHT, EXAMPLE)
RANKING = Ranking(
    "out", "signature", (GROUP,), 0, 0, Tally(3, 2, 7200), None, None, None, Read({"read": 4}, DAY, NIGHT), 0
)
VIEW = View(width=60)
SINCE = "since 2026-11-08 08:00 (1,204 seen before, 3 not seen again)"
OPEN = SINCE[:-1]


def page(view: View = VIEW, **changed: Any) -> list[str]:
    return causes.render(replace(RANKING, **changed), view).splitlines()


def test_groups_on_one_screen() -> None:
    assert page() == [
        "tfmemlens fleet  out · no time stamps",
        "3 failures in 2 jobs, 2.0 hours lost, of 4 inputs",
        "",
        "BY SIGNATURE  no trend: the data do not reach back far…",
        "      jobs  failures  hours lost  trend  latest",
        "   1. cause",
        "         2         3         2.0  1 → 2  a.log:7",
        "",
        "--full shows what each says; `tfmemlens fleet report` draws",
        "the page.",
    ]
    assert page(read=Read({}, None, None))[1] == "3 failures in 2 jobs, 2.0 hours lost"


def test_without_trends_there_is_no_column_of_them() -> None:
    lines = page(groups=(replace(GROUP, jobs_now=None), replace(GROUP, jobs_now=None, name=None)))
    assert lines[4:8] == [
        "      jobs  failures  hours lost  latest",
        "   1. cause",
        "         2         3         2.0  a.log:7",
        "   2. (no signature)",
    ]
    either = page(groups=(replace(GROUP, jobs_now=None), GROUP))
    assert "trend" in either[4] and " -  " in either[6] + "  "


def test_a_place_is_as_long_as_there_is_room() -> None:
    far = replace(GROUP, example=replace(EXAMPLE, source="a" * 80))
    assert {len(line) for line in page(groups=(far,)) if "…aaa" in line} == {60}
    name = replace(GROUP, name="n" * 54)
    assert page(groups=(name,))[5] == f"   1. {'n' * 54}"
    assert len(page(groups=(replace(GROUP, name="n" * 55),))[5]) == 60


def test_the_full_page_says_what_each_says() -> None:
    lines = page(replace(VIEW, full=True))
    assert lines[6:] == [
        "         2         3         2.0  1 → 2  2026-11-08 08:00",
        "      a.log:7",
        "      It was full.",
    ]
    advised = replace(GROUP, example=replace(EXAMPLE, action="halve it"))
    assert page(replace(VIEW, full=True), groups=(advised,))[9] == "      try: halve it"


def test_what_is_not_shown() -> None:
    lines = page(others=2, others_failures=1, undated=1)
    assert lines[8:10] == ["2 more signatures with 1 failure (--top N); 1 failure has no", "time."]
    windows = Windows(DAY, NIGHT)
    assert "left out" not in " ".join(page(undated=1, windows=windows))
    assert "left out" in " ".join(page(undated=1, windows=windows, start=DAY))
    assert "left out" not in " ".join(page(undated=1, windows=windows, start=NIGHT))


def test_nothing_was_found() -> None:
    assert page(groups=())[1:] == ["No memory failure was found in 4 inputs."]
    assert page(groups=(), read=Read({}, None, None))[1:] == ["No memory failure was found."]
    since = page(View(width=99), groups=(), start=DAY, undated=2)[1]
    assert since == "No memory failure was found in 4 inputs since 2026-11-01 08:00; 2 failures have no time."


def test_a_title_keeps_twelve_letters_of_the_path() -> None:
    assert (
        _fleet.title("p" * 20, "beside", View(width=45)) == f"tfmemlens fleet  {'p' * 6}…{'p' * 12} · beside"
    )
    assert _fleet.title("p" * 11, "", View(width=28)) == f"tfmemlens fleet  {'p' * 11}"
    assert _fleet.title("p" * 20, "b" * 30, View(width=99)).endswith("b" * 30)
    assert _fleet.title("p" * 20, "b" * 60, View(width=40)).startswith("tfmemlens fleet  pppp…ppppppp")
    assert _fleet.trend_explained(None).startswith("no trend")
    assert _fleet.trend_explained(Windows(DAY, NIGHT)).startswith("trend: jobs in the last 7 days,")


@pytest.mark.parametrize(
    "changed, said",
    [
        ({}, f"2 signatures are new {SINCE}."),
        ({"others": 0}, f"1 signature is new {SINCE}."),
        (
            {"others": 0, "new": (), "undated": 1},
            f"No signature is new {OPEN}; 1 failure without a time left out).",
        ),
        (
            {"later": Made(inputs=0)},
            "Undecided: no input was read that covers the time since 2026-11-08 08:00.",
        ),
    ],
)  # fmt: skip
def test_what_is_new(changed: dict[str, Any], said: str) -> None:
    side = Made(inputs=1, tally=Tally(1, 1, None))
    given = {"before": DAY, "after": NIGHT, "earlier": side, "later": side, "new": (GROUP,), "others": 1,
             "known": 1204, "gone": 3, "undated": 0, "path": "out"}  # fmt: skip
    found: Any = Made(**{**given, **changed})
    assert new_causes.verdict(found) == said
    found.earlier = Made(inputs=0)
    assert new_causes.verdict(found).startswith("Undecided: no input was read that covers the time before")


def test_both_sides_and_what_is_new() -> None:
    side = Made(inputs=1, tally=Tally(1, 1, None))
    found: Any = Made(
        before=DAY, after=NIGHT, earlier=side, later=side, new=(), others=0, known=0, gone=0, undated=0,
        path="o",
    )  # fmt: skip
    lines = new_causes.render(found, View(width=99)).splitlines()
    assert lines[-2:] == [
        "  before 2026-11-01 08:00: 1 failure in 1 job, of 1 input",
        "  since  2026-11-08 08:00: 1 failure in 1 job, of 1 input",
    ]
    found.new, found.others = (GROUP,), 1
    assert new_causes.render(found, View(width=99)).splitlines()[-1] == "1 more new signature (--top N)."


def test_the_account_of_a_scan() -> None:
    summary = ScanSummary(
        "out", listed=9, unchanged=2, to_read=7, files=1204, bytes=2048, incidents=1, seconds=120.0,
        inputs=Counter({"read": 3, "no failure": 2, "unreadable": 2}), unreadable=[("a.log", "odd")],
    )  # fmt: skip
    assert fleet_scan.render(summary).splitlines() == [
        "9 files listed, 2 unchanged since they were read",
        "1,204 of 7 files read (2.0 KiB) in 2 min",
        "1 incident in 3 inputs; 2 without a failure, 2 unreadable",
        "  unreadable: a.log: odd",
        "  and 1 more: the table inputs has them all",
        "tables: out/incidents, out/inputs",
    ]
    short = ScanSummary("out", listed=1, inputs=Counter(unreadable=1), unreadable=[("a", "b")], to_read=1)
    assert fleet_scan.render(short).splitlines()[:2] == ["1 file listed", "0 of 1 file read (0 B)"]
    assert "more" not in fleet_scan.render(short)
    written = json.loads(scan_document.render(replace_seconds(summary, 1.23456)))
    assert (written["files_left"], written["seconds"], written["stopped"]) == (7 - 1204, 1.235, None)


def replace_seconds(summary: ScanSummary, seconds: float) -> ScanSummary:
    summary.seconds = seconds
    return summary


def test_the_document_of_groups() -> None:
    made = json.loads(document.render(replace(RANKING, windows=Windows(DAY, NIGHT))))
    assert made["trend"] == {"start": "2026-11-01T08:00:00", "end": "2026-11-08T08:00:00"}
    assert made["hours_lost"] == 2.0 and made["start"] is None
    assert json.loads(document.render(RANKING))["trend"] is None
    assert document.tally(Tally(1, 1, 1))["hours_lost"] == 0.0
    assert document.tally(Tally(1, 1, 2))["hours_lost"] == 0.001
    assert document.tally(Tally(1, 1, None))["hours_lost"] is None


# ------------------------------------------------------------------ the page in a browser


def fleet(**changed: Any) -> Any:
    given = {
        "ranking": RANKING, "causes": (), "columns": ("2026-11-01", "2026-11-02"), "totals": (10, 4),
        "off_axis": 0, "hosts": (), "bad_hosts": 0,
    }  # fmt: skip
    return Made(**{**given, **changed})


def test_the_verdict_and_the_figures_of_the_page() -> None:
    assert html._verdict(fleet()) == (
        "The most frequent cause hit 2 of 2 jobs. The latest of its logs says: It was full."
    )
    assert html._verdict(fleet(ranking=replace(RANKING, groups=()))) == (
        "No memory failure was found in 4 inputs."
    )
    assert dict(html._figures(fleet())) == {
        "failures": "3", "jobs": "2", "hours lost": "2.0", "causes": "1", "inputs read": "4",
    }  # fmt: skip
    read = Read({"read": 4, "unreadable": 1}, None, None)
    more = dict(html._figures(fleet(ranking=replace(RANKING, read=read, others=2), bad_hosts=3)))
    assert (more["causes"], more["inputs read"], more["unreadable"], more["bad hosts"]) == (
        "3",
        "4",
        "1",
        "3",
    )
    assert "inputs read" not in dict(
        html._figures(fleet(ranking=replace(RANKING, read=Read({}, None, None))))
    )


@pytest.mark.parametrize("undated, off_axis, notes", [(0, 0, 0), (1, 1, 1), (1, 2, 2), (0, 1, 1), (2, 1, 1)])
def test_failures_that_no_day_has(undated: int, off_axis: int, notes: int) -> None:
    told = list(html._notes(fleet(ranking=replace(RANKING, undated=undated), off_axis=off_axis)))
    assert len(told) == notes
    if off_axis > undated:
        assert told[-1].startswith("1 failure with a time far from the others")


def cause(*counts: int, name: str = "c") -> Any:
    return Made(counts=counts, group=Made(name=name))


def test_bars_stand_on_each_other_up_to_the_highest() -> None:
    ranking = replace(RANKING, others=3)
    shown = fleet(causes=(cause(2, 4, name="a"), cause(3, 0, name="b")), ranking=ranking)
    bars = list(html._bars(shown, 10))
    assert [(bar.series, bar.x, bar.y, bar.width, bar.height) for bar in bars] == [
        ("0", 0.08, 80.8, 0.84, 19.2),
        ("1", 0.08, 52.0, 0.84, 28.8),
        ("others", 0.08, 4.0, 0.84, 48.0),
        ("0", 1.08, 61.6, 0.84, 38.4),
    ]
    assert bars[0].title == "2026-11-01: 2 of 10, a"


def test_others_are_named_where_there_are_more_causes() -> None:
    shown = fleet(causes=(cause(1, 1, name="a"),))
    assert html._legend(shown) == [("0", "a")]
    shown.ranking = replace(RANKING, others=1)
    assert html._legend(shown) == [("0", "a"), ("others", "all others")]
    shown.ranking = replace(RANKING, groups=(GROUP, GROUP))
    assert html._legend(shown)[-1] == ("others", "all others")


def test_hosts_that_stand_out() -> None:
    def bad(count: int, bad_hosts: int) -> str:
        hosts = [Made(name=f"h{at}", bad=at != 1) for at in range(count)]
        return html._bad_said(fleet(hosts=hosts, bad_hosts=bad_hosts))

    assert bad(0, 0).startswith("No host stands out")
    assert bad(3, 2).startswith("Look at h0, h2 first")
    assert bad(9, 8).startswith("Look at h0, h2, h3, h4, h5 and 3 more first")
    assert bad(6, 5).startswith("Look at h0, h2, h3, h4, h5 first")


def test_jobs_and_samples() -> None:
    job: Any = Made(team="t", name="n", source="a.log", hosts=("h1", "h2"), more_hosts=0)
    assert (html._job_name(job), html._hosts_of(job)) == ("t/n", "h1, h2")
    job.team, job.more_hosts = None, 1204
    assert (html._job_name(job), html._hosts_of(job)) == ("n", "h1, h2 and 1,204 more")
    job.team, job.name = "t", None
    assert html._job_name(job) == "a.log"
    samples: Any = [Made(example=Made(verdict=said, line=at), actions=()) for at, said in enumerate("aba")]
    assert [(first.example.line, [each.line for each in more]) for first, more in html._alike(samples)] == [
        (0, [2]), (1, []),
    ]  # fmt: skip
