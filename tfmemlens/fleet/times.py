"""The time stamps that loggers put before a line: glog and absl, ISO 8601 (kubectl, Docker, Python's
logging), syslog. A stamp with a zone becomes UTC, one without is taken as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from tfmemlens.patterns import regex

_CLOCK = r"(?P<{0}hour>\d\d):(?P<{0}minute>\d\d):(?P<{0}second>\d\d)(?:[.,](?P<{0}fraction>\d{{1,9}}))?"
_STAMP = regex(
    r"(?P<year>(?:19|20)\d\d)-(?P<month>\d\d)-(?P<day>\d\d)[T ]"
    + _CLOCK.format("")
    + r"(?P<zone>Z|[+-]\d\d:?\d\d)?"
    r"|(?:\A|[\s>:])[IWEF](?P<g_month>\d\d)(?P<g_day>\d\d) " + _CLOCK.format("g_") + r"|(?:\A|[\s|>])"
    r"(?P<s_month>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +(?P<s_day>\d{1,2}) " + _CLOCK.format("s_")
)
_YEAR = regex(rb"\b((?:19|20)\d\d)-[01]\d-[0-3]\d[T ]\d\d:")
_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
_WITHIN = 160
"""Letters of a line in which a stamp begins: behind them it is part of what was logged."""
_LINES = 200
"""Lines at an end of a log in which a stamp is looked for."""
REACH = 64 << 10
"""Bytes at an end of a log that hold them."""


def stamp(line: str, year: int | None = None) -> datetime | None:
    """When a line was logged; None where it does not say, or says it without a year and none is known."""
    if '"time":"' in line:  # Docker's own file has it behind the message
        line = line[line.rindex('"time":"') + 8 :]
    match = _STAMP.search(line[:_WITHIN])
    if match is None:
        return None
    told = match.groupdict()
    if told["year"]:
        return _datetime(told, "", int(told["year"]), int(told["month"]))
    if year is None:
        return None
    if told["g_month"]:
        return _datetime(told, "g_", year, int(told["g_month"]))
    return _datetime(told, "s_", year, _MONTHS.index(told["s_month"]) + 1)


def year_of(raw: bytes) -> int | None:
    """The year of the first full date in a text: what glog and syslog leave out."""
    match = _YEAR.search(raw, 0, REACH)
    return int(match[1]) if match else None


def first(raw: bytes, year: int | None = None) -> datetime | None:
    """The first stamp near the beginning of a text."""
    return _of(raw[:REACH].split(b"\n", _LINES)[:_LINES], year)


def last(raw: bytes, year: int | None = None) -> datetime | None:
    """The last stamp near the end of a text."""
    return _of(reversed(raw[-REACH:].rsplit(b"\n", _LINES)[-_LINES:]), year)


def _of(lines: Iterable[bytes], year: int | None) -> datetime | None:
    return next(_stamps(lines, year), None)


def _stamps(lines: Iterable[bytes], year: int | None) -> Iterator[datetime]:
    for line in lines:
        if moment := stamp(line[: 4 * _WITHIN].decode("utf-8", "replace"), year):
            yield moment


def _datetime(told: dict[str, str | None], kind: str, year: int, month: int) -> datetime | None:
    """The parts as a time, without a zone."""
    hour, minute, second = (int(told[kind + name] or 0) for name in ("hour", "minute", "second"))
    micros = int((told[kind + "fraction"] or "").ljust(6, "0")[:6])
    try:
        when = datetime(year, month, int(told[kind + "day"] or 0), hour, minute, second, micros)
        return when - _zone(told["zone"]) if not kind and told["zone"] else when
    except (ValueError, OverflowError):
        return None


def _zone(text: str) -> timedelta:
    """`Z`, `+0200` or `-05:30`."""
    if text == "Z":
        return timedelta()
    hours, minutes = re.findall(r"\d\d", text)
    size = timedelta(hours=int(hours), minutes=int(minutes))
    return -size if text[0] == "-" else size
