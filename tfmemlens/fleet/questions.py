"""What may be asked for: groups of failures, dates, stretches of time."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta, timezone
from typing import TypeAlias

from tfmemlens.errors import UsageError
from tfmemlens.patterns import regex

BY = ("signature", "team", "job", "host", "rule", "layer", "version", "device")
"""The columns by which failures are grouped; `version` is framework and version together."""
When: TypeAlias = "str | date | datetime | timedelta"
"""`2026-11-20`, `2026-11-20T08:00`, `7d`, or the same as Python's values."""
_LENGTH = regex(r"(\d{1,6}) ?([mhdw])\Z")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_LONGEST = timedelta(days=36525)


def moment(when: When, end: datetime | None, option: str = "since") -> datetime:
    """The moment that is meant, without a zone, as logs have it; a length of time counts back from `end`, how
    far the data reach. Raises UsageError.
    """
    if isinstance(when, str):
        when = _parsed(when.strip(), option)
    if isinstance(when, timedelta):
        if end is None:
            raise UsageError(
                f"no failure has a time, so nothing lies {option} {when}", f"leave --{option} out"
            )
        if not timedelta() <= when <= _LONGEST:
            raise UsageError(f"{when} is no length of time to go back", "write 7d")
        return end - when
    if isinstance(when, datetime):
        return when.astimezone(timezone.utc).replace(tzinfo=None) if when.tzinfo else when
    return datetime.combine(when, time())


def _parsed(text: str, option: str) -> datetime | timedelta:
    if match := _LENGTH.match(text):
        return timedelta(**{_UNITS[match[2]]: int(match[1])})
    try:
        return datetime.fromisoformat(text.removesuffix("Z"))
    except ValueError:
        raise UsageError(
            f"{text!r} is neither a date nor a length of time",
            f"--{option} 2026-11-20, --{option} 2026-11-20T08:00 or --{option} 7d",
        ) from None
