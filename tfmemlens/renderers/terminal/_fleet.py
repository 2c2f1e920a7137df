"""Words that the pages about many jobs share: counts, times, a group's name, its trend, its example."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import islice

from tfmemlens.model.fleet import Example, FailureGroup, Ranking, Read, Tally, Windows
from tfmemlens.renderers.terminal._blocks import display_width, shorten, styled
from tfmemlens.renderers.terminal._screen import shorten_end
from tfmemlens.renderers.view import View

NOTHING = "-"
_ENDINGS = 3
"""Of the ways in which inputs ended otherwise, so many are named."""


def counted(number: int, noun: str) -> str:
    """`1 job`, `1,204 failures`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def hours(tally: Tally) -> str:
    """`12.5`, or a dash where no log has time stamps."""
    lost = tally.hours_lost
    if lost is None:
        return NOTHING
    if 0 < lost < 0.05:
        return "<0.1"
    return f"{lost:,.0f}" if lost >= 100 else f"{lost:,.1f}"


def name(group: FailureGroup, by: str) -> str:
    """What a group is called; a column without a value is said to have none."""
    return group.name or f"(no {by})"


def trend(group: FailureGroup) -> str:
    """Jobs in the earlier and in the later window: `12 → 31`, `new`."""
    if group.jobs_now is None or group.jobs_before is None:
        return NOTHING
    if not group.jobs_before:
        return f"new, {group.jobs_now:,}" if group.jobs_now else NOTHING
    return f"{group.jobs_before:,} → {group.jobs_now:,}"


def length(span: timedelta) -> str:
    """`7 days`, `36 hours`."""
    seconds = int(span.total_seconds())
    for unit, size in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds % size == 0 or seconds > 2 * size:
            return counted(round(seconds / size), unit)
    return counted(seconds, "second")


def trend_explained(windows: Windows | None) -> str:
    """What the column of trends compares."""
    if windows is None:
        return "no trend: the data do not reach back far enough"
    return f"trend: jobs in the last {length(windows.length)}, and in as long before"


def moment(when: datetime | None) -> str:
    """`2026-11-20 08:15`, without a zone, as logs have it."""
    return f"{when:%Y-%m-%d %H:%M}" if when else "time unknown"


def period(start: datetime | None, end: datetime | None) -> str:
    """`2026-10-01 to 2026-11-22`."""
    if not start or not end:
        return "no time stamps"
    return f"{start:%Y-%m-%d} to {end:%Y-%m-%d}" if start.date() < end.date() else f"{start:%Y-%m-%d}"


def place(example: Example) -> str:
    """Where to look: `path:line`, as editors and grep write it."""
    return f"{example.source}:{example.line}" if example.line else example.source


def whole(tally: Tally) -> str:
    """`1,204 failures in 403 jobs, 1,890 hours lost`."""
    lost = f", {hours(tally)} hours lost" if tally.seconds_lost is not None else ""
    return f"{counted(tally.failures, 'failure')} in {counted(tally.jobs, 'job')}{lost}"


def unread(read: Read) -> str:
    """What could not be read, or nothing."""
    broken = read.statuses.get("unreadable", 0)
    return f"{counted(broken, 'input')} of {read.inputs:,} could not be read" if broken else ""


def ended(read: Read) -> str:
    """How inputs ended whose failure is of another kind, or nothing."""
    if not read.ended:
        return ""
    others = ", ".join(f"{ending} ({count:,})" for ending, count in islice(read.ended.items(), _ENDINGS))
    left = sum(read.ended.values()) - sum(islice(read.ended.values(), _ENDINGS))
    more = f", others ({left:,})" if left else ""
    return f"{counted(sum(read.ended.values()), 'input')} ended otherwise: {others}{more}"


def undated(ranking: Ranking, limited: bool) -> str:
    """What has no time, or nothing."""
    if not ranking.undated:
        return ""
    has = "has" if ranking.undated == 1 else "have"
    left = " and left out" if limited else ""
    return f"{counted(ranking.undated, 'failure')} {has} no time{left}"


def title(path: str, beside: str, view: View) -> str:
    """The page's first line: the folder, and what it is about."""
    end = f" · {beside}" if beside else ""
    room = max(view.width - display_width(f"tfmemlens fleet  {end}"), 12)
    return styled(shorten_end(f"tfmemlens fleet  {shorten(path, room)}{end}", view.width), "bold", view.color)
