"""What the page about a folder of failures shows: causes with their jobs and samples, days, hosts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import timedelta
from itertools import islice
from typing import Any

import numpy as np

from tfmemlens.fleet import answers, tallies
from tfmemlens.fleet.answers import Failures
from tfmemlens.fleet.columns import NEVER, Coded, Ints, as_datetime, as_seconds
from tfmemlens.fleet.questions import When
from tfmemlens.fleet.tallies import FailureRows
from tfmemlens.model.fleet import (
    BAD_FAILURES,
    BAD_JOBS,
    BAD_SHARE,
    HELD_BY_OTHERS,
    Advice,
    Cause,
    Fleet,
    Host,
    Job,
    Proof,
    SampleIncident,
)
from tfmemlens.values import dataclass

CAUSES, JOBS, SAMPLES, ACTIONS = 60, 10, 3, 3
"""Signatures on the page, and behind each jobs, samples of different jobs, and advices of a sample."""
HOSTS, HOST_NAMES, ROWS = 30, 4, 8
COLUMNS = 92
"""A quarter by day; longer times have columns of several days."""
_LONGEST = timedelta(days=3 * 366)
_DAY = 86400
_TABLES = ("team", "rule", "layer", "version", "device")


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """Columns of the same number of days, the last of which holds the end of the data."""

    start: int
    """Midnight of the first day, in seconds since 1970."""
    days: int
    count: int

    def column(self, when: Ints) -> Ints:
        """The column of each time; -1 for what is unknown or beyond the axis."""
        at = (when - self.start) // (self.days * _DAY)
        return np.where((when != NEVER) & (when >= self.start) & (at < self.count), at, -1)

    @property
    def dates(self) -> tuple[str, ...]:
        """The first day of each column."""
        starts = (as_datetime(self.start + at * self.days * _DAY) for at in range(self.count))
        return tuple(f"{start:%Y-%m-%d}" for start in starts if start)


def overview(source: Any, since: When | None = None) -> Fleet:
    """The page's content, of a folder that a scan wrote or of a frame; with `since` (a date, or a length of
    time such as "7d") of failures from then on. Raises UnreadableInput, UsageError, MissingExtra.
    """
    data = answers.failures(source, "signature", "host", *_TABLES)
    ranking = answers.ranking(data, "signature", since, limit=CAUSES)
    tables = tuple(answers.ranking(data, by, since, limit=ROWS) for by in _TABLES)
    if since is not None and ranking.start is not None:
        data = data.since(ranking.start)
    axis = _axis(data)
    column = axis.column(data.rows.when)
    hosts, more_hosts, bad_hosts = _hosts(data, column, axis.count)
    return Fleet(
        ranking=ranking,
        causes=tuple(_causes(data, [group.name for group in ranking.groups], ranking.groups, column, axis)),
        columns=axis.dates,
        days=axis.days,
        totals=_counts(np.zeros(len(column), np.int64), column, 1, axis.count)[0],
        off_axis=int((column < 0).sum()),
        hosts=hosts,
        more_hosts=more_hosts,
        bad_hosts=bad_hosts,
        tables=tables,
    )


def _axis(data: Failures) -> TimeAxis:
    """From the first failure to the end of the data; a clock that is years behind does not stretch it."""
    if data.end is None:
        return TimeAxis(0, 1, 0)
    earliest = as_seconds(data.end - _LONGEST)
    dated = data.rows.when[data.rows.when >= earliest]
    end = as_seconds(data.end) // _DAY * _DAY
    start = min(int(dated.min()) // _DAY * _DAY, end) if len(dated) else end
    days = max(-(-((end - start) // _DAY + 1) // COLUMNS), 1)
    count = -(-((end - start) // _DAY + 1) // days)
    return TimeAxis(end - (count * days - 1) * _DAY, days, count)


def _counts(group: Ints, column: Ints, size: int, width: int) -> tuple[tuple[int, ...], ...]:
    """Failures of each group in each column; those of no group (-1) or no column are left out."""
    known = (group >= 0) & (column >= 0)
    flat = np.bincount(group[known] * width + column[known], minlength=size * width)
    return tuple(tuple(line) for line in flat.reshape(size, width).tolist())


def _causes(
    data: Failures, names: Iterable[str | None], groups: Iterable[Any], column: Ints, axis: TimeAxis
) -> Iterable[Cause]:
    """The signatures with their jobs and samples."""
    keys = data.coded["signature"]
    place = {name: at for at, name in enumerate([None, *keys.texts.to_pylist()])}
    number = np.full(keys.size, -1, np.int64)  # of a code its place on the page
    codes = [place[name] for name in names]
    number[codes] = np.arange(len(codes))
    at = number[keys.codes]
    counts = _counts(at, column, len(codes), axis.count)
    shown = at >= 0
    rows = data.rows.grouped(at).where(shown)
    pair_group, pair = tallies.pairs(rows)
    behind = _Pairs(data, rows, pair, pair_group)
    chosen = [behind.latest_of(at) for at in range(len(codes))]
    samples = iter(behind.samples(np.concatenate(chosen) if chosen else rows.number[:0]))
    for place_of, (group, line, picked) in enumerate(zip(groups, counts, chosen, strict=True)):
        jobs, more = behind.jobs(place_of)
        yield Cause(group, line, jobs, more, tuple(islice(samples, len(picked))))


class _Pairs:
    """The jobs behind signatures: each pair of them with what it weighs."""

    def __init__(self, data: Failures, rows: FailureRows, pair: Ints, group: Ints) -> None:
        self.data, self.rows, self.pair, self.group = data, rows, pair, group
        size = len(group)
        self.failures = np.bincount(pair, minlength=size)
        self.seconds = tallies.seconds_by_pair(pair, rows.source, data.first, data.last, size)
        self.last = tallies.latest(rows.grouped(pair), size)
        self.order = np.argsort(pair, kind="stable")
        self.begin = np.searchsorted(pair[self.order], np.arange(size + 1))

    def jobs(self, group: int) -> tuple[tuple[Job, ...], int]:
        """Those of a signature that lost most hours, then with most failures; and how many others."""
        pairs = np.flatnonzero(self.group == group)
        order = np.lexsort((-self.failures[pairs], -self.seconds[pairs]))[: 4 * JOBS]
        first = sorted(
            (self._job(int(at)) for at in pairs[order]),
            key=lambda job: (-(job.seconds_lost or 0), -job.failures, job.team or "", job.name or job.source),
        )
        return tuple(first[:JOBS]), max(len(pairs) - JOBS, 0)

    def _job(self, pair: int) -> Job:
        rows = self.order[self.begin[pair] : self.begin[pair + 1]]
        last = int(self.last[pair])
        row = int(self.rows.number[last])
        team, job, host = (self.data.coded[name] for name in ("team", "job", "host"))
        codes = [int(code) for code in np.unique(host.codes[self.rows.number[rows]])]
        hosts = sorted(filter(None, map(host.text, codes)))
        return Job(
            team=team.text(int(team.codes[row])),
            name=job.text(int(job.codes[row])),
            failures=int(self.failures[pair]),
            hosts=tuple(hosts[:HOST_NAMES]),
            more_hosts=max(len(hosts) - HOST_NAMES, 0),
            seconds_lost=None if self.seconds[pair] < 0 else int(self.seconds[pair]),
            last=as_datetime(int(self.rows.when[last])),
            source=self.rows.source.text(int(self.rows.source.codes[last])) or "",
        )

    def latest_of(self, group: int) -> Ints:
        """Positions of the latest failures of different jobs of a signature."""
        pairs = np.flatnonzero(self.group == group)
        last = self.last[pairs]
        when = np.sort(self.rows.when[last])[::-1]
        recent = last[self.rows.when[last] >= when[min(SAMPLES, len(when)) - 1]].tolist()
        source, codes = self.rows.source, self.rows.source.codes
        order = sorted(
            recent, key=lambda row: (-int(self.rows.when[row]), source.text(int(codes[row])) or "")
        )
        return np.array(order[:SAMPLES], np.int64)

    def samples(self, positions: Ints) -> list[SampleIncident]:
        """Those failures with what their documents say."""
        rows = self.rows
        told = answers.examples(self.data, rows.number[positions], rows.when[positions], report=True)
        return [SampleIncident(example, *_told(example.report)) for example in told]


def _told(report: str | None) -> tuple[tuple[Advice, ...], Proof | None]:
    """The advices of an incident's document and the line that proves its first finding; nothing of what is no
    such document.
    """
    try:
        document = json.loads(report or "{}")
    except (ValueError, RecursionError):
        return (), None
    actions = _listed(document, "actions")
    advices = [
        Advice(str(action.get("text") or ""), action.get("code"), _whole(action.get("saves_bytes")))
        for action in actions[:ACTIONS]
    ]
    proofs = [
        proof for finding in _listed(document, "findings")[:1] for proof in _listed(finding, "evidence")
    ]
    proof = next((each for each in proofs if each.get("text")), None)
    told = (
        Proof(str(proof.get("fact") or ""), str(proof["text"]), _whole(proof.get("line"))) if proof else None
    )
    return tuple(advices), told


def _listed(document: Any, name: str) -> list[Mapping[str, Any]]:
    entries = document.get(name) if isinstance(document, dict) else None
    return [each for each in entries if isinstance(each, dict)] if isinstance(entries, list) else []


def _whole(figure: Any) -> int | None:
    return figure if isinstance(figure, int) else None


def _hosts(data: Failures, column: Ints, width: int) -> tuple[tuple[Host, ...], int, int]:
    """The first hosts, the bad ones before all others; how many others there are, and how many bad ones."""
    keys, rule = data.coded["host"], data.coded["rule"]
    held = np.isin(rule.codes, [at for at, name in enumerate(_texts(rule)) if name in HELD_BY_OTHERS])
    rows = data.rows.grouped(keys.codes)
    failures, jobs = np.bincount(rows.group, minlength=keys.size), tallies.jobs_by_group(rows, keys.size)
    seconds = tallies.seconds_by_group(rows, data.first, data.last, keys.size)
    others = rows.where(held)
    of_others = np.bincount(others.group, minlength=keys.size)
    bad = (of_others >= BAD_FAILURES) & (of_others >= BAD_SHARE * failures)
    bad &= tallies.jobs_by_group(others, keys.size) >= BAD_JOBS
    bad[0] = False  # no host is no bad host
    names = _texts(keys)
    there = np.flatnonzero(failures)
    order = sorted(
        there.tolist(),
        key=lambda at: (
            not bad[at],
            -of_others[at] if bad[at] else 0,
            -jobs[at],
            -failures[at],
            names[at] or "",
        ),
    )
    shown = order[:HOSTS]
    place = np.full(keys.size, -1, np.int64)
    place[shown] = np.arange(len(shown))
    at = place[keys.codes]
    counts = _counts(at, column, len(shown), width)
    held_counts = _counts(np.where(held, at, -1), column, len(shown), width)
    hosts = [
        Host(
            name=names[code],
            tally=answers.tally(failures[code], jobs[code], seconds[code]),
            held_by_others=int(of_others[code]),
            counts=counts[number],
            held_counts=held_counts[number],
            bad=bool(bad[code]),
        )
        for number, code in enumerate(shown)
    ]
    return tuple(hosts), len(order) - len(shown), int(bad.sum())


def _texts(column: Coded) -> list[str | None]:
    return [None, *column.texts.to_pylist()]
