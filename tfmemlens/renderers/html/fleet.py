"""The page about many jobs' failures: causes, days, hosts, and behind each cause its jobs and what their logs
say. One file, offline; everything on it is text, which the script only sorts and filters.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence

from tfmemlens.model.fleet import (
    BAD_FAILURES,
    BAD_JOBS,
    BAD_SHARE,
    Cause,
    Example,
    Fleet,
    Host,
    Job,
    SampleIncident,
    Tally,
)
from tfmemlens.renderers.html.page import asset, environment, joined, style
from tfmemlens.renderers.terminal import _fleet as words
from tfmemlens.renderers.view import View
from tfmemlens.units import percent
from tfmemlens.values import dataclass, replace

SCRIPTS = ("theme", "fleet")
"""Our modules in the order in which they need each other."""
MOST_BYTES = 4 << 20
"""Of the page; names and sentences of hostile length go with the samples and jobs that they stand in."""
_SHARES = (1.0, 0.5, 0.25, 0.1, 0.0)
_SERIES = 5
_SHADES = (0.0, 0.25, 0.5, 0.75)
"""Shares of the largest cell above which a cell is darker."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A piece of the chart of days, in parts of 100 of its height and in columns of its width."""

    series: str
    x: float
    y: float
    width: float
    height: float
    title: str


@dataclass(frozen=True, slots=True)
class Cell:
    """A host on a day."""

    count: int
    look: str
    title: str


def render(fleet: Fleet, view: View = View()) -> str:
    """The whole page as one text of at most MOST_BYTES, unless three causes are more than that."""
    del view  # a browser asks for itself
    for share in _SHARES:
        page = _page(_cut(fleet, share))
        if len(page.encode("utf-8", "replace")) <= MOST_BYTES:
            break
    return page


def _cut(fleet: Fleet, share: float) -> Fleet:
    """A part of the causes, each with a part of its jobs and samples."""
    if share == 1.0:
        return fleet
    kept = max(int(len(fleet.causes) * share), 3)
    causes = tuple(
        replace(
            cause,
            jobs=cause.jobs[: max(int(len(cause.jobs) * share), 1)],
            more_jobs=cause.more_jobs + len(cause.jobs) - max(int(len(cause.jobs) * share), 1),
            samples=cause.samples[:1],
        )
        for cause in fleet.causes[:kept]
    )
    ranking, left = fleet.ranking, fleet.ranking.groups[kept:]
    ranking = replace(
        ranking,
        groups=ranking.groups[:kept],
        others=ranking.others + len(left),
        others_failures=ranking.others_failures + sum(group.tally.failures for group in left),
    )
    return replace(fleet, ranking=ranking, causes=causes)


def _page(fleet: Fleet) -> str:
    ranking, code = fleet.ranking, joined(SCRIPTS)
    own = {
        "alike": _alike,
        "counted": words.counted,
        "hours": words.hours,
        "hours_of": lambda seconds: words.hours(Tally(0, 0, seconds)),
        "hosts_of": _hosts_of,
        "job_name": _job_name,
        "moment": words.moment,
        "place": words.place,
        "trend": words.trend,
    }
    highest = max(fleet.totals, default=0)
    at = fleet.totals.index(highest) if highest else 0
    unit = "day" if fleet.days == 1 else f"{fleet.days} days"
    whole = words.whole(ranking.whole)
    largest = max((count for host in fleet.hosts for count in host.counts), default=0)
    page: str = (
        environment()
        .get_template("fleet.html.j2", globals=own)
        .render(
            fleet=fleet,
            ranking=ranking,
            whole=whole,
            period=words.period(ranking.start, ranking.end),
            verdict=_verdict(fleet),
            figures=_figures(fleet),
            notes=_notes(fleet),
            unit=unit,
            width=max(len(fleet.columns), 1),
            bars=_bars(fleet, highest) if highest else (),
            legend=_legend(fleet),
            highest=f"{words.counted(highest, 'failure')} on {fleet.columns[at]}" if highest else "",
            days=list(zip(fleet.columns, fleet.totals, strict=True)),
            days_said=f"{whole}; most, {highest:,}, on {fleet.columns[at]}" if highest else "",
            trend_explained=words.trend_explained(ranking.windows),
            spark=_spark,
            weeks=_weeks(fleet.columns),
            cells=lambda host: _cells(host, fleet.columns, largest),
            bad_said=_bad_said(fleet),
            bad_rule=(
                f"A host with {BAD_FAILURES} failures or more, in {BAD_JOBS} jobs or more, for which another"
                f" process held the memory, when these are {percent(BAD_SHARE, 1)} or more of all its"
                " failures."
                " Whether it is the host, or jobs that share it, its process list tells."
            ),
            style=style() + asset("fleet.css"),
            script=code,
            script_hash=base64.b64encode(hashlib.sha256(code.encode()).digest()).decode(),
        )
    )
    return page


def _verdict(fleet: Fleet) -> str:
    ranking = fleet.ranking
    if not ranking.groups:
        return f"No memory failure was found in {words.counted(ranking.read.inputs, 'input')}."
    first = ranking.groups[0]
    share = f"{first.tally.jobs:,} of {words.counted(ranking.whole.jobs, 'job')}"
    return f"The most frequent cause hit {share}. The latest of its logs says: {first.example.verdict}"


def _figures(fleet: Fleet) -> Iterable[tuple[str, str]]:
    ranking, read = fleet.ranking, fleet.ranking.read
    yield "failures", f"{ranking.whole.failures:,}"
    yield "jobs", f"{ranking.whole.jobs:,}"
    yield "hours lost", words.hours(ranking.whole)
    yield "causes", f"{len(ranking.groups) + ranking.others:,}"
    if read.inputs:
        yield "inputs read", f"{read.inputs - read.statuses.get('unreadable', 0):,}"
    if read.statuses.get("unreadable"):
        yield "unreadable", f"{read.statuses['unreadable']:,}"
    if fleet.bad_hosts:
        yield "bad hosts", f"{fleet.bad_hosts:,}"


def _notes(fleet: Fleet) -> Iterable[str]:
    undated, beyond = fleet.ranking.undated, fleet.off_axis - fleet.ranking.undated
    if told := words.ended(fleet.ranking.read):
        yield f"{told}."
    if undated:
        yield f"{words.undated(fleet.ranking, False)}: they are in all figures but those by day."
    if beyond > 0:
        yield f"{words.counted(beyond, 'failure')} with a time far from the others: not drawn by day."


def _legend(fleet: Fleet) -> list[tuple[str, str]]:
    names = [words.name(cause.group, "signature") for cause in fleet.causes[:_SERIES]]
    more = len(fleet.ranking.groups) + fleet.ranking.others > len(names)
    return [(str(at), name) for at, name in enumerate(names)] + ([("others", "all others")] if more else [])


def _bars(fleet: Fleet, highest: int) -> Iterable[Bar]:
    """The columns as stacks, the first causes at the bottom."""
    names = dict(_legend(fleet))
    for at, (date, total) in enumerate(zip(fleet.columns, fleet.totals, strict=True)):
        pieces = [(str(number), cause.counts[at]) for number, cause in enumerate(fleet.causes[:_SERIES])]
        pieces.append(("others", total - sum(count for _, count in pieces)))
        below = 0
        for series, count in pieces:
            if not count:
                continue
            below += count
            top, height = 100 - 96 * below / highest, 96 * count / highest
            title = f"{date}: {count:,} of {total:,}, {names[series]}"
            yield Bar(series, at + 0.08, round(top, 2), 0.84, round(height, 2), title)


def _spark(cause: Cause) -> str:
    """The path of a small chart: bars of its counts, the largest of which is as high as the chart."""
    highest = max(cause.counts, default=0)
    bars = (
        f"M{at + 0.1:.1f} 20v{-max(19 * count / highest, 1.5):.1f}h.8V20z"
        for at, count in enumerate(cause.counts)
        if count
    )
    return "".join(bars)


def _cells(host: Host, dates: Sequence[str], largest: int) -> Iterable[Cell]:
    for date, count, held in zip(dates, host.counts, host.held_counts, strict=True):
        if not count:
            yield Cell(0, "", "")
            continue
        shade = sum(count > share * largest for share in _SHADES)
        others = f", {held:,} for memory held by another process" if held else ""
        look = "held" if 2 * held >= count else f"heat-{shade}"
        yield Cell(count, look, f"{date}: {words.counted(count, 'failure')}{others}")


def _weeks(dates: Sequence[str]) -> list[tuple[str, int]]:
    """Heads of seven columns each: the date of the first, and how many there are."""
    return [(dates[at][5:], len(dates[at : at + 7])) for at in range(0, len(dates), 7)]


def _alike(samples: Sequence[SampleIncident]) -> list[tuple[SampleIncident, list[Example]]]:
    """Samples that say something of their own, each with those that say the same."""
    told: dict[tuple[object, ...], tuple[SampleIncident, list[Example]]] = {}
    for sample in samples:
        key = (sample.example.verdict, sample.actions)
        if key in told:
            told[key][1].append(sample.example)
        else:
            told[key] = (sample, [])
    return list(told.values())


def _bad_said(fleet: Fleet) -> str:
    if not fleet.bad_hosts:
        return "No host stands out: failures for memory that another process held are not of one host's jobs."
    names = [host.name or "" for host in fleet.hosts if host.bad][:5]
    rest = f" and {fleet.bad_hosts - len(names):,} more" if fleet.bad_hosts > len(names) else ""
    return (
        f"Look at {', '.join(names)}{rest} first: jobs fail there because another process holds the memory."
    )


def _job_name(job: Job) -> str:
    return "/".join(filter(None, (job.team, job.name))) if job.name else job.source


def _hosts_of(job: Job) -> str:
    return ", ".join(job.hosts) + (f" and {job.more_hosts:,} more" if job.more_hosts else "")
