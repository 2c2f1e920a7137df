"""Sums over failures in columns of numbers: how many, in how many jobs, how much time they cost.

A failure is a row: the group that it is in, its job, its source and its time, each a number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tfmemlens.fleet.columns import NEVER, Coded, Ints
from tfmemlens.values import dataclass


@dataclass(frozen=True, slots=True)
class FailureRows:
    """Failures by column."""

    number: Ints
    """Which row of the data set each is."""
    group: Ints
    job: Ints
    source: Coded
    line: Ints
    when: Ints
    """Seconds since 1970, NEVER where unknown."""

    def where(self, mask: npt.NDArray[Any]) -> FailureRows:
        """Those failures alone."""
        return FailureRows(
            self.number[mask],
            self.group[mask],
            self.job[mask],
            self.source.chosen(mask),
            self.line[mask],
            self.when[mask],
        )

    def grouped(self, group: Ints) -> FailureRows:
        """The same in other groups."""
        return FailureRows(self.number, group, self.job, self.source, self.line, self.when)

    def between(self, start: int, end: int) -> FailureRows:
        """Those of [start, end)."""
        return self.where((self.when >= start) & (self.when < end))

    def __len__(self) -> int:
        return len(self.number)


def jobs_of(team: Coded, job: Coded, source: Coded) -> Ints:
    """A number for each row's job: its team and job together; its source where the job is null."""
    named = team.codes * job.size + job.codes
    return np.where(job.codes > 0, named, team.size * job.size + source.codes)


def pairs(rows: FailureRows) -> tuple[Ints, Ints]:
    """The different pairs of group and job, as the group of each; and of each row its pair."""
    jobs, job = np.unique(rows.job, return_inverse=True)
    width = max(len(jobs), 1)
    distinct, pair = np.unique(rows.group * width + job.reshape(-1), return_inverse=True)
    return distinct // width, pair.reshape(-1)


def jobs_by_group(rows: FailureRows, size: int) -> Ints:
    """Jobs in each of so many groups."""
    groups, _ = pairs(rows)
    return np.bincount(groups, minlength=size)


def seconds_by_pair(pair: Ints, source: Coded, first: Ints, last: Ints, size: int) -> Ints:
    """The time that a pair's logs cover together, of which some may run side by side; -1 where none has time
    stamps. `first` and `last` are by code of the source.
    """
    known = (first != NEVER) & (last != NEVER) & (last >= first)
    keys = _different(pair * source.size + source.codes)
    pair_of, source_of = keys // source.size, keys % source.size
    timed = known[source_of]
    pair_of, source_of = pair_of[timed], source_of[timed]
    covered = np.full(size, -1, np.int64)
    if not len(pair_of):
        return covered
    start, end = first[source_of], last[source_of]
    order = np.lexsort((start, pair_of))
    pair_of, start, end = pair_of[order], start[order], end[order]
    origin = start.min()
    span = end.max() - origin + 1
    shift = pair_of * span - origin  # the pairs one after another on one axis, so that none reaches the next
    start, end = start + shift, end + shift
    reached = np.concatenate([[-1], np.maximum.accumulate(end)[:-1]])
    new = np.maximum(end - np.maximum(start, reached), 0)
    covered[pair_of] = 0
    np.add.at(covered, pair_of, new)
    return covered


def _different(keys: Ints) -> Ints:
    """The different keys in their order; sorting a million is several times as fast as `np.unique`."""
    ordered = np.sort(keys)
    return ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])] if len(ordered) else ordered


def seconds_by_group(rows: FailureRows, first: Ints, last: Ints, size: int) -> Ints:
    """The same, summed over the jobs of each of so many groups; -1 where none has time stamps."""
    groups, pair = pairs(rows)
    seconds = seconds_by_pair(pair, rows.source, first, last, len(groups))
    total = np.full(size, -1, np.int64)
    total[groups[seconds >= 0]] = 0
    np.add.at(total, groups[seconds >= 0], seconds[seconds >= 0])
    return total


def extent(rows: FailureRows, size: int) -> tuple[Ints, Ints]:
    """The first and the last time of each group; NEVER where no failure of it has one."""
    dated = rows.where(rows.when != NEVER)
    first, last = np.full(size, np.iinfo(np.int64).max), np.full(size, NEVER)
    np.minimum.at(first, dated.group, dated.when)
    np.maximum.at(last, dated.group, dated.when)
    return np.where(last == NEVER, NEVER, first), last


def latest(rows: FailureRows, size: int) -> Ints:
    """Of each group the position of its latest failure; of several at that time the first by source and line,
    so that the order of the data set plays no part. -1 for a group without one.
    """
    last = np.full(size, NEVER)
    np.maximum.at(last, rows.group, rows.when)
    candidates = np.flatnonzero(rows.when == last[rows.group])
    group, codes = rows.group[candidates], rows.source.codes[candidates]
    order = np.lexsort((rows.line[candidates], _ranks(rows.source, codes), group))
    firsts = np.unique(group[order], return_index=True)[1] if len(order) else order
    chosen = np.full(size, -1, np.int64)
    chosen[group[order][firsts]] = candidates[order][firsts]
    return chosen


def _ranks(source: Coded, codes: Ints) -> Ints:
    """Numbers in the order of the texts, of those that are asked for alone: to sort all would cost more than
    everything else.
    """
    used, at = np.unique(codes, return_inverse=True)
    texts = [source.text(code) or "" for code in used]
    rank = np.empty(len(used), np.int64)
    rank[sorted(range(len(texts)), key=texts.__getitem__)] = np.arange(len(texts))
    return rank[at.reshape(-1)]
