"""What a folder of failures answers: which causes hit most jobs, and which are new since a date.

`top` and `diff` give pandas frames; `rank` and `compare` the values behind them, which the pages show.
`docs/fleet.md` defines a job, the hours lost, the trend and the example.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

import numpy as np

from tfmemlens.errors import UsageError
from tfmemlens.fleet import columns, questions, tallies
from tfmemlens.fleet.columns import NEVER, Coded, Ints, as_datetime, as_seconds
from tfmemlens.fleet.extras import load
from tfmemlens.fleet.questions import BY, When
from tfmemlens.fleet.tallies import FailureRows
from tfmemlens.model.fleet import Example, FailureGroup, NewCauses, Ranking, Read, Side, Tally, Windows
from tfmemlens.values import dataclass, replace

if TYPE_CHECKING:
    from pandas import DataFrame

_NEEDED = {"version": ("framework", "version"), "job": ()}
_TREND = timedelta(days=7)
"""What the trend compares where no period was asked for: a week with the one before, or less."""
_SHOWN = ("source", "line", "time", "team", "job", "host", "verdict", "action")


def top(source: Any, by: str = "signature", since: When | None = None) -> DataFrame:
    """Failures by a column, the group that hits most jobs first: a row a group with `failures`, `jobs`,
    `hours_lost`, `jobs_now` and `jobs_before` (the trend), `first` and `last` time, and an example.

    `source` is a folder that a scan wrote, or a pandas or dask frame of incidents (which has no hours, since
    these stand in the other table); `since` a date, or a length of time such as "7d". Raises UnreadableInput,
    UsageError, MissingExtra.
    """
    return _frame(rank(source, by, since).groups, by)


def diff(source: Any, *, after: When, before: When | None = None) -> DataFrame:
    """Signatures that failures have since `after` and had not before `before` (the same date unless given),
    as `top` has them. `attrs["decided"]` says whether inputs of both sides were read at all,
    without which the frame means nothing.

    Raises UnreadableInput, UsageError, MissingExtra.
    """
    causes = compare(source, after, before)
    frame = _frame(causes.new, "signature")
    frame.attrs["decided"] = causes.decided
    return frame


def _frame(groups: Sequence[FailureGroup], by: str) -> DataFrame:
    import pandas

    rows = [
        {
            by: group.name,
            "failures": group.tally.failures,
            "jobs": group.tally.jobs,
            "hours_lost": group.tally.hours_lost,
            "jobs_now": group.jobs_now,
            "jobs_before": group.jobs_before,
            "first": group.first,
            "last": group.last,
            **{f"example_{name}": getattr(group.example, name) for name in _SHOWN},
        }
        for group in groups
    ]
    names = [by, "failures", "jobs", "hours_lost", "jobs_now", "jobs_before", "first", "last"]
    frame = pandas.DataFrame(rows, columns=[*names, *(f"example_{name}" for name in _SHOWN)])
    whole = ("failures", "jobs", "jobs_now", "jobs_before", "example_line")
    times = ("first", "last", "example_time")
    kinds = dict.fromkeys(whole, "Int64") | dict.fromkeys(times, "datetime64[us]") | {"hours_lost": "float64"}
    return frame.astype(kinds)


@dataclass(frozen=True, slots=True)
class Failures:
    """A data set as answers need it: its rows, and what they can be grouped by."""

    path: str
    table: columns.Table
    inputs: columns.Table | None
    rows: FailureRows
    """All failures, in group 0."""
    coded: dict[str, Coded]
    first: Ints
    """By code of a source, the first and the last time stamp of that log."""
    last: Ints
    read: Read
    start: datetime | None
    """The time that failures and inputs cover together."""
    end: datetime | None

    def keys(self, by: str) -> Coded:
        """Groups of all rows by one of BY."""
        if by == "version":
            return _joined(self.coded["framework"], self.coded["version"], " ")
        if by == "job":
            return self._jobs()
        return self.coded[by]

    def since(self, begin: datetime) -> Failures:
        """The failures from then on."""
        inside = self.rows.when >= as_seconds(begin)
        coded = {name: column.chosen(inside) for name, column in self.coded.items()}
        return replace(self, rows=self.rows.where(inside), coded=coded, start=begin)

    def _jobs(self) -> Coded:
        """`team/job` of each row; the source where the job is null."""
        team, job, source = (self.coded[name] for name in ("team", "job", "source"))
        jobs, at, codes = np.unique(self.rows.job, return_index=True, return_inverse=True)
        texts = []
        for row in at:
            names = [team.text(team.codes[row]), job.text(job.codes[row])]
            texts.append("/".join(filter(None, names)) if names[1] else source.text(source.codes[row]))
        del jobs
        return _recoded(codes.reshape(-1), texts)


def _joined(first: Coded, second: Coded, between: str) -> Coded:
    """Two columns as one, of what is known of both."""
    codes, at = np.unique(first.codes * second.size + second.codes, return_inverse=True)
    names = [(first.text(code // second.size), second.text(code % second.size)) for code in codes]
    return _recoded(at.reshape(-1), [between.join(filter(None, pair)) or None for pair in names])


def _recoded(codes: Ints, texts: Sequence[str | None]) -> Coded:
    """A column whose texts may be null or equal."""
    different = sorted({text for text in texts if text is not None})
    places = {text: at for at, text in enumerate(different, start=1)} | {None: 0}
    table = np.array([places[text] for text in texts], np.int64)
    arrow = load("pyarrow")
    return Coded(table[codes] if len(table) else codes, arrow.array(different, arrow.string()))


def failures(source: Any, *names: str) -> Failures:
    """The failures of a folder or frame with these columns to group by. Raises UnreadableInput."""
    wanted = {"source", "team", "job"}
    for name in names:
        wanted |= set(_NEEDED.get(name, (name,)))
    table, inputs = columns.incidents(source), columns.inputs(source)
    coded = table.coded(*sorted(wanted))
    numbers = table.numbers("time", "line")
    spans = columns.interval_of(coded["source"], inputs)
    codes, when = coded["source"].codes, numbers["time"]
    for name in ("last_time", "mtime"):  # what has no time stamp happened before its log ended
        when = np.where(when == NEVER, spans[name][codes], when)
    job = tallies.jobs_of(coded["team"], coded["job"], coded["source"])
    count = len(when)
    rows = FailureRows(
        np.arange(count), np.zeros(count, np.int64), job, coded["source"], numbers["line"], when
    )
    tomorrow = as_seconds(datetime.now(timezone.utc).replace(tzinfo=None) + timedelta(days=1))
    read = columns.what_was_read(inputs, tomorrow)
    known = when[(when != NEVER) & (when <= tomorrow)]
    own = [as_datetime(int(known.min())), as_datetime(int(known.max()))] if len(known) else [None, None]
    start = min(filter(None, (read.start, own[0])), default=None)
    end = max(filter(None, (read.end, own[1])), default=None)
    path = fspath(source) if isinstance(source, str | PathLike) else "the frame"
    return Failures(
        path, table, inputs, rows, coded, spans["first_time"], spans["last_time"], read, start, end
    )


def rank(source: Any, by: str = "signature", since: When | None = None, limit: int | None = None) -> Ranking:
    """The groups of a folder or frame by the jobs that they hit, the first `limit` of them with examples.

    Raises UnreadableInput, UsageError, MissingExtra.
    """
    if by not in BY:
        raise UsageError(f"failures are not grouped by {by}", f"one of {', '.join(BY)}")
    return ranking(failures(source, by), by, since, limit)


def ranking(
    data: Failures, by: str, since: When | None = None, limit: int | None = None, report: bool = False
) -> Ranking:
    """The same of what was read already; `report` adds the documents of the examples."""
    begin = None if since is None else questions.moment(since, data.end)
    keys = data.keys(by)
    rows = data.rows.grouped(keys.codes)
    undated = int((rows.when == NEVER).sum())
    windows = _windows(data, begin)
    if begin is not None:
        rows, everything = rows.where(rows.when >= as_seconds(begin)), rows
    else:
        everything = rows
    groups, others = _groups(data, rows, keys, windows, everything, limit, report)
    return Ranking(
        path=data.path,
        by=by,
        groups=tuple(groups),
        others=len(others),
        others_failures=int(sum(others)),
        whole=whole(data, rows),
        start=begin or data.start,
        end=data.end,
        windows=windows,
        read=data.read,
        undated=undated,
    )


def whole(data: Failures, rows: FailureRows) -> Tally:
    """All these failures together."""
    rows = rows.grouped(np.zeros(len(rows), np.int64))
    seconds = tallies.seconds_by_group(rows, data.first, data.last, 1)[0]
    return tally(len(rows), tallies.jobs_by_group(rows, 1)[0], seconds)


def tally(count: Any, jobs: Any, seconds: Any) -> Tally:
    """Figures of columns as a value; negative seconds are unknown."""
    return Tally(int(count), int(jobs), None if seconds < 0 else int(seconds))


def _windows(data: Failures, begin: datetime | None) -> Windows | None:
    """The period and the one before it; without a period the last week and the one before, or as many whole
    days as the data have twice.
    """
    if data.start is None or data.end is None:
        return None
    if begin is None:
        length = min(_TREND, timedelta(days=(data.end - data.start).days // 2))
        begin = data.end - length
    windows = Windows(begin, data.end)
    reaches = windows.length > timedelta() and data.start <= begin - windows.length
    return windows if reaches else None


def _groups(
    data: Failures,
    rows: FailureRows,
    keys: Coded,
    windows: Windows | None,
    everything: FailureRows,
    limit: int | None,
    report: bool,
) -> tuple[list[FailureGroup], list[int]]:
    """The first groups, and how many failures each of the others has."""
    size = keys.size
    counts = np.bincount(rows.group, minlength=size)
    jobs = tallies.jobs_by_group(rows, size)
    seconds = tallies.seconds_by_group(rows, data.first, data.last, size)
    first, last = tallies.extent(rows, size)
    now, before = _trend(everything, windows, size)
    names = [None, *keys.texts.to_pylist()]
    order = sorted(
        np.flatnonzero(counts).tolist(),
        key=lambda at: (-jobs[at], -seconds[at], -counts[at], names[at] is None, names[at] or ""),
    )
    shown = order if limit is None else order[:limit]
    chosen = tallies.latest(rows, size)[shown]
    examples = _examples(data, rows, chosen, report)
    groups = [
        FailureGroup(
            name=names[at],
            tally=tally(counts[at], jobs[at], seconds[at]),
            jobs_now=None if now is None else int(now[at]),
            jobs_before=None if before is None else int(before[at]),
            first=as_datetime(first[at]),
            last=as_datetime(last[at]),
            example=example,
        )
        for at, example in zip(shown, examples, strict=True)
    ]
    return groups, [int(counts[at]) for at in order[len(shown) :]]


def _trend(rows: FailureRows, windows: Windows | None, size: int) -> tuple[Ints | None, Ints | None]:
    """Jobs of each group in the two windows."""
    if windows is None:
        return None, None
    begin, middle = as_seconds(windows.start - windows.length), as_seconds(windows.start)
    end = as_seconds(windows.end) + 1
    return (
        tallies.jobs_by_group(rows.between(middle, end), size),
        tallies.jobs_by_group(rows.between(begin, middle), size),
    )


def _examples(data: Failures, rows: FailureRows, positions: Ints, report: bool) -> list[Example]:
    return examples(data, rows.number[positions], rows.when[positions], report)


def examples(data: Failures, numbers: Ints, when: Ints, report: bool) -> list[Example]:
    """Rows of the data set as examples."""
    names = [name for name in _SHOWN if name != "time"] + (["report"] if report else [])
    rows = data.table.rows(numbers.tolist(), *names)
    return [
        Example(time=as_datetime(moment), **each) for each, moment in zip(rows, when.tolist(), strict=True)
    ]


def compare(source: Any, after: When, before: When | None = None, limit: int | None = None) -> NewCauses:
    """Signatures since `after` against those before `before`, the first `limit` of the new ones with
    examples. Raises UnreadableInput, UsageError, MissingExtra.
    """
    data = failures(source, "signature")
    later = questions.moment(after, data.end, "after")
    earlier = later if before is None else questions.moment(before, data.end, "before")
    if earlier > later:
        raise UsageError(
            f"the time before {earlier} and the time after {later} overlap",
            "--before must not be later than --after",
        )
    keys = data.coded["signature"]
    rows = data.rows.grouped(keys.codes)
    since = rows.where(rows.when >= as_seconds(later))
    until = rows.where((rows.when < as_seconds(earlier)) & (rows.when != NEVER))
    new, old = set(np.unique(since.group).tolist()), set(np.unique(until.group).tolist())
    fresh = since.where(np.isin(since.group, sorted(new - old)))
    groups, others = _groups(data, fresh, keys, None, rows, limit, report=False)
    return NewCauses(
        path=data.path,
        before=earlier,
        after=later,
        earlier=_side(data, until, None, as_seconds(earlier)),
        later=_side(data, since, as_seconds(later), None),
        new=tuple(groups),
        others=len(others),
        known=len(new & old),
        gone=len(old - new),
        undated=int((rows.when == NEVER).sum()),
    )


def _side(data: Failures, rows: FailureRows, start: int | None, end: int | None) -> Side:
    """Of a frame, which has no inputs, those that failed are all that is known."""
    read = columns.covering(data.inputs, start, end)
    return Side(whole(data, rows), max(read, len(np.unique(rows.source.codes))))
