"""What is said of many jobs' failures: groups of them, ranked, compared, and drawn."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from tfmemlens.values import dataclass, field

HELD_BY_OTHERS = ("device-held-by-others", "no-room-for-context")
"""Rules whose failures are memory that another process holds: of the host, not of the job."""
BAD_FAILURES, BAD_JOBS, BAD_SHARE = 3, 2, 0.5
"""A host is called bad from so many such failures on, in so many jobs, which are such a share of all its
failures: one job alone may have held the memory itself.
"""


@dataclass(frozen=True, slots=True)
class Example:
    """One failure of a group, the latest; of several at that time the first by source and line."""

    source: str
    line: int | None
    time: datetime | None
    """Its own time stamp, else when its log ended; as the log has it, without a zone."""
    team: str | None
    job: str | None
    host: str | None
    verdict: str
    action: str | None
    report: str | None = None
    """Its JSON document, where that was asked for."""


@dataclass(frozen=True, slots=True)
class Tally:
    """How much a set of failures weighs."""

    failures: int
    """Incidents: a failure that a log reports again is one, the same in another rank's log is another."""
    jobs: int
    """Jobs with at least one of them: a job's retries and ranks count once."""
    seconds_lost: int | None
    """Time that the logs of those runs cover; None where no log has time stamps."""

    @property
    def hours_lost(self) -> float | None:
        """The same in hours."""
        return None if self.seconds_lost is None else self.seconds_lost / 3600


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """Failures that agree in a column."""

    name: str | None
    """What they agree in; None where the column is null."""
    tally: Tally
    jobs_now: int | None
    """Jobs in the last of the two windows that are compared; None where they cannot be."""
    jobs_before: int | None
    first: datetime | None
    last: datetime | None
    example: Example


@dataclass(frozen=True, slots=True)
class Windows:
    """Two stretches of time of one length, one after the other: [start - length, start) and [start, end]."""

    start: datetime
    end: datetime

    @property
    def length(self) -> timedelta:
        """Of each of the two."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Read:
    """What was read: inputs by status, and the time that they cover."""

    statuses: Mapping[str, int]
    start: datetime | None
    end: datetime | None
    ended: Mapping[str, int] = field(default_factory=dict)
    """Inputs without a failure that is read, by how they ended otherwise, most first."""

    @property
    def inputs(self) -> int:
        """All of them."""
        return sum(self.statuses.values())


@dataclass(frozen=True, slots=True)
class Ranking:
    """Groups of failures, those that hit most jobs first."""

    path: str
    by: str
    groups: tuple[FailureGroup, ...]
    others: int
    """Groups beyond those."""
    others_failures: int
    whole: Tally
    start: datetime | None
    """Where the period begins: what was asked for, else the first failure."""
    end: datetime | None
    windows: Windows | None
    """What the trend compares; None where the data do not reach back that far."""
    read: Read
    undated: int
    """Failures without any time; left out where a period was asked for."""


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison in time."""

    tally: Tally
    inputs: int
    """Inputs that cover some of its time; with none nothing is known of it."""


@dataclass(frozen=True, slots=True)
class NewCauses:
    """Signatures that failures have after a date, and had not before another."""

    path: str
    before: datetime
    after: datetime
    earlier: Side
    later: Side
    new: tuple[FailureGroup, ...]
    others: int
    """New signatures beyond those."""
    known: int
    """Signatures on both sides."""
    gone: int
    """Signatures of the earlier side alone."""
    undated: int

    @property
    def decided(self) -> bool:
        """Whether both sides were read at all: without inputs on one of them nothing can be called new, and
        nothing can be called calm.
        """
        return self.earlier.inputs > 0 and self.later.inputs > 0


@dataclass(frozen=True, slots=True)
class Job:
    """A job's share in a signature."""

    team: str | None
    name: str | None
    failures: int
    hosts: tuple[str, ...]
    more_hosts: int
    seconds_lost: int | None
    last: datetime | None
    source: str
    """The log of its latest failure."""


@dataclass(frozen=True, slots=True)
class Advice:
    """What an incident's own page advises."""

    text: str
    code: str | None
    saves_bytes: int | None


@dataclass(frozen=True, slots=True)
class Proof:
    """The line of a log that an incident's first finding stands on."""

    fact: str
    text: str
    line: int | None


@dataclass(frozen=True, slots=True)
class SampleIncident:
    """An incident with what its own page says first."""

    example: Example
    actions: tuple[Advice, ...]
    proof: Proof | None


@dataclass(frozen=True, slots=True)
class Cause:
    """A signature with what the page shows behind it."""

    group: FailureGroup
    counts: tuple[int, ...]
    """Failures by column of the page's time axis."""
    jobs: tuple[Job, ...]
    more_jobs: int
    samples: tuple[SampleIncident, ...]
    """The latest failures of different jobs."""


@dataclass(frozen=True, slots=True)
class Host:
    """A host over time."""

    name: str | None
    tally: Tally
    held_by_others: int
    """Failures because another process held the memory (`HELD_BY_OTHERS`)."""
    counts: tuple[int, ...]
    held_counts: tuple[int, ...]
    bad: bool
    """Failures for what other processes hold, in several jobs: most likely the host."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """All that the page about a folder of failures shows."""

    ranking: Ranking
    """By signature."""
    causes: tuple[Cause, ...]
    columns: tuple[str, ...]
    """Dates at which the columns of the time axis begin."""
    days: int
    """Days that a column is."""
    totals: tuple[int, ...]
    """Failures by column."""
    off_axis: int
    """Failures without a time, or with one beyond the axis."""
    hosts: tuple[Host, ...]
    more_hosts: int
    bad_hosts: int
    """Of all hosts."""
    tables: tuple[Ranking, ...]
    """The same failures by other columns, each with its first rows."""
