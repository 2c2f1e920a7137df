"""Processes that were ended from outside: by the kernel, a container, a batch system, a notebook's server."""

from __future__ import annotations

import re

from tfmemlens.knowledge.kill_words import SESSION_ENDED, SHELLS_LINE, names_memory, used_all_alone
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.incident import RequestKind
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

_KILLED = regex(
    r"(?i:\bkilled\b|\bkill\b|oom[-_]?kill|\bout_of_me|sigkill|sigterm|memlimit"
    r"|memory (?:limit|quota|budget)|max memory used)"
    r"|low on resource: memory|\b137\b|signal 9\b|(?:status|code) (?:-9|247)\b|exitcode *[:=] *-9\b"
    r"|task \d+: Out Of Memory"
    r"|DataLoader worker \(pid|than is available|all available RAM|0xC0000017|1073741801"
    r"|instance type with more memory|RayOutOfMemoryError"
    rf"|{SHELLS_LINE}|{SESSION_ENDED}",
    re.MULTILINE,
)


def driver_at_fault(moment: Moment) -> bool:
    """Whether the driver refused next to nothing of pinned host RAM, and named no lack of memory."""
    failed = moment.request.failed if moment.request else None
    size = failed.size.bytes if failed and failed.size else None
    said = failed.line.text if failed and failed.line else ""
    return size is not None and size < _NEXT_TO_NOTHING and bool(_NO_LACK.search(said))


_NEXT_TO_NOTHING = 1 << 20
_NO_LACK = regex(r"bytes on host: CUDA_ERROR_(?!OUT_OF_MEMORY)[A-Z_]+")
_NAMED = regex(r"\bKill(?:ed)? process (?P<pid>\d{1,9}),? (?:[^(\n]{0,40})?\((?P<name>[^)\n]{1,64})\)")
_OTHERS = regex(
    r"java|mysqld|postgres|redis-server|mongod|node|chrome|chromium|firefox|gnome-shell|Xorg|dockerd"
    r"|containerd"
    r"|slack|code|elasticsearch|clickhouse-serv|prometheus|grafana|nginx|filebeat|influxd"
)
"""Names of programs that train nothing, as the kernel writes them."""


_KERNELS_OWN = regex(r"(?<!group )(?i:out of memory): Kill(?:ed)? process \d|CONSTRAINT_NONE")
_OF_A_GROUP = (
    ("the executor's container", regex(r"\bkilled by YARN\b|\bmemoryOverhead\b")),
    ("the batch job", regex(r"(?i)slurm|srun:|StepId=|\bPBS\b|TERM_MEMLIMIT|\bLSF\b")),
    ("the container", regex(r"(?i)/docker/|/kubepods|OOMKilled|containerd")),
    ("the container or job", regex(r"CONSTRAINT_MEMCG|[Cc]group out of memory")),
)
"""Who has a limit of its own, by the words of those who enforce it, the most particular first."""


def own_limit(moment: Moment) -> str | None:
    """Whose own limit was met, where the message says that it was no lack of RAM in the machine."""
    said = _message(moment)
    if not surely_for_memory(moment) or "CONSTRAINT_NONE" in said:
        return None
    return next((who for who, words in _OF_A_GROUP if words.search(said)), None)


def by_the_machine(moment: Moment) -> bool:
    """Whether the kernel killed for want of RAM in the whole machine, and no limit of a group was met."""
    return bool(_KERNELS_OWN.search(_message(moment))) and own_limit(moment) is None


def another_program(moment: Moment) -> str | None:
    """Which program the kernel killed, `java (pid 1402)`, where it is surely not the training."""
    match = _NAMED.search(_message(moment))
    other = match is not None and _OTHERS.fullmatch(match["name"])
    return f"{match['name']} (pid {match['pid']})" if match and other else None


def was_killed(moment: Moment) -> bool:
    """Whether the message says that the process was ended from outside."""
    return bool(_KILLED.search(_message(moment)))


def used_all(moment: Moment) -> bool:
    """Whether all that is told is that a call of a cloud function used all of its memory."""
    return used_all_alone(_message(moment))


def surely_for_memory(moment: Moment) -> bool:
    """Whether the message names memory as the reason: an exit status alone does not."""
    return was_killed(moment) and names_memory(_message(moment)) and not used_all(moment)


def told_for_memory(case: Case) -> Line | None:
    """The line of the text around the message that says that RAM ran out."""
    told = case.capture.surroundings
    line = told.shows("running short")
    request = case.moments[0].request if case.moments else None
    failed = request.failed.line if request else None
    if line is None or told.shows("host RAM in words") is None or (failed and line.number == failed.number):
        return None
    return None if _ASKS.search(line.text) else line


_ASKS = regex(r"\bmemory[^.!\n]{0,40}[?\uff1f]\s*\Z|\bRAM[^.!\n]{0,20}[?\uff1f]\s*\Z")
"""A question whether memory runs out states nothing."""


def _message(moment: Moment) -> str:
    failed = moment.request.failed if moment.request else None
    if failed is None or failed.kind is not RequestKind.HOST or failed.line is None:
        return ""
    told = moment.incident.tellings if moment.incident else ()
    return "\n".join(line.text for line in told) or failed.line.text
