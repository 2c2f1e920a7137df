"""A log that is small enough to be read as one text."""

from __future__ import annotations

from functools import cached_property

from tfmemlens import readers
from tfmemlens.fleet import endings, times
from tfmemlens.fleet.flow import Origin, Places, ReadResult, Row, explained, status_of
from tfmemlens.readers.bytes.texts import encoding_of
from tfmemlens.readers.gathering import inputs
from tfmemlens.readers.oom import words

_NOTEBOOK = (b'"cells"', b'"worksheets"')


def read(raw: bytes, origin: Origin, problem: str | None = None) -> ReadResult:
    """The incidents of a text; `problem` is what made its end missing. What is no UTF-8 is taken as if it
    were: offsets are those in UTF-8.
    """
    size = len(raw)
    encoding = encoding_of(raw[:4096])
    if encoding.startswith("utf-16"):
        raw = raw.decode(encoding, "replace").encode("utf-8", "replace")
    year = times.year_of(raw) or origin.year
    rows: list[Row] = []
    if words.may_tell(raw):
        rows, refused = _explained(raw, origin, year)
        problem = problem or refused
    return ReadResult(
        rows,
        status_of(rows, problem),
        problem or (None if rows else endings.reason(raw)),
        times.first(raw, year),
        times.last(raw, year),
        size,
        raw.count(b"\n"),
    )


def _explained(raw: bytes, origin: Origin, year: int | None) -> tuple[list[Row], str | None]:
    notebook = raw.lstrip()[:1] == b"{" and any(word in raw for word in _NOTEBOOK)
    given = [inputs.Input(origin.source, raw=raw)]
    return explained(lambda: readers.read(given), origin, Places() if notebook else _Lines(raw), year)


class _Lines(Places):
    """The lines of a text, by their number."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw

    @cached_property
    def _starts(self) -> list[int]:
        starts = [0]
        while at := self._raw.find(b"\n", starts[-1]) + 1:
            starts.append(at)
        return starts

    def place(self, number: int) -> tuple[int, int] | None:
        return (self._starts[number - 1], number) if number <= len(self._starts) else None

    def until(self, number: int) -> bytes:
        end = self._starts[number] if number < len(self._starts) else len(self._raw)
        return self._raw[max(end - times.REACH, 0) : end]
