"""A log too long for one text: only the places that tell of failures are parsed, and several workers may
search parts of it.

The log is thought of in pieces of 16 KiB, counted from its first byte. A piece is *loud* if a failure's words
begin in it, or if it is mostly an allocator's dump; loud pieces with little between them are one *story*,
which is parsed as one text. A story belongs to the range in which its first words of failure stand, and is
followed beyond the end of that range: so it is found once and whole, and since nothing of this depends on
where a range begins, cut or uncut gives the same rows. A log that fails without end is cut into stories at
fixed places.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import BinaryIO, NamedTuple

from tfmemlens import readers
from tfmemlens.fleet import endings, schema, times
from tfmemlens.fleet.flow import Origin, Places, ReadResult, Row, explained, status_of
from tfmemlens.fleet.streams import Guarded, Readable, Recoded
from tfmemlens.model.incident import Incident
from tfmemlens.readers.bytes import regions
from tfmemlens.readers.bytes.texts import encoding_of
from tfmemlens.readers.gathering import inputs
from tfmemlens.readers.oom import words
from tfmemlens.values import dataclass


class Range(NamedTuple):
    """Bytes of a log; an `end` of None is the end of the log, wherever that is."""

    start: int
    end: int | None


@dataclass(frozen=True, slots=True)
class Sizes:
    """How far things reach, in bytes; other values than these are for tests."""

    piece: int = 16 << 10
    quiet: int = 4
    """So many pieces that are not loud end a story."""
    context: int = 2
    """Pieces around a story that are parsed with it: its traceback ends there."""
    longest: int = 4 << 20
    """A story that is as long before a multiple of this ends there."""
    head: int = 64 << 10
    """What the first lines say of devices and versions is parsed with every story."""
    tail: int = 2 << 20
    """Towards the end of a log every phrase of a failure counts: TensorFlow's own sentence may be missing."""
    end: int = 256 << 10
    """At its very end, where the last error stands, every word does."""
    block: int = 256 << 10
    """Bytes that are read and searched at once: they stay in the processor's cache."""


SIZES = Sizes()
LENGTH = 128 << 20
"""Bytes of a range."""
_END_OF_LINE = ord("\n")
CUT_FROM = 256 << 20
"""Logs of this size are worth more than one range."""


def ranges(size: int, length: int = LENGTH, sizes: Sizes = SIZES) -> list[Range]:
    """The ranges of a log of this size, one for a log that is read as a whole; they begin where a story may
    be cut.
    """
    if size < 2 * length:
        return [Range(0, None)]
    step = max(length // sizes.longest, 1) * sizes.longest
    starts = range(0, size - step // 2, step)
    return [Range(start, start + step if start != starts[-1] else None) for start in starts]


def read_range(
    stream: BinaryIO,
    part: Range,
    *,
    source: str,
    labels: Mapping[str, str] | None = None,
    year: int | None = None,
    scan: str | None = None,
    sizes: Sizes = SIZES,
) -> ReadResult:
    """The rows of the incidents that begin in a range of a stream that can seek: text, not compressed.

    Their `line` counts from the start of the range: `joined` puts that right. Raises OSError where the
    storage fails.
    """
    origin = Origin(source, labels or {}, year, scan)
    stream.seek(0)
    head = Guarded(stream).read(sizes.head)
    encoding = encoding_of(head[:4096])
    if encoding.startswith("utf-16"):  # its bytes are not those of the words: one worker reads it all
        if part.start:
            return ReadResult([], schema.NO_FAILURE)
        stream.seek(0)
        return read_stream(Recoded(Guarded(stream), encoding), origin, sizes)
    begin = max(part.start - 2 * sizes.longest - sizes.piece * (sizes.quiet + sizes.context), 0)
    begin -= begin % sizes.piece
    stream.seek(begin)
    return _Search(_Window(Guarded(stream), begin, sizes.block), part, origin, sizes, head).result()


def read_stream(stream: Readable, origin: Origin, sizes: Sizes = SIZES) -> ReadResult:
    """All incidents of a text that can be read once, from its beginning."""
    window = _Window(Guarded(stream), 0, sizes.block)
    return _Search(window, Range(0, None), origin, sizes, window.bytes(0, sizes.head)).result()


def joined(results: list[ReadResult]) -> ReadResult:
    """What the ranges of a log, in their order, gave: lines are counted from the start of the log."""
    rows: list[Row] = []
    before = 0
    for result in results:
        rows += [row | {"line": row["line"] + before} for row in result.rows]
        before += result.lines
    status, reason = schema.together([(result.status, result.reason) for result in results])
    return ReadResult(
        rows,
        status,
        reason,
        next((result.first_time for result in results if result.first_time), None),
        next((result.last_time for result in reversed(results) if result.last_time), None),
        sum(result.size_read for result in results),
        before,
    )


class _Block(NamedTuple):
    """What was read at once, and what was looked for while it was in the processor's cache."""

    raw: bytes
    lines: int
    """Ends of lines in it."""
    speaks: bool
    """Whether a failure's words stand in it, or begin in the block before it."""


class _Window:
    """The bytes around the place that is read, of a stream that is read forwards: blocks that begin where a
    multiple of their size is.
    """

    def __init__(self, stream: Guarded, start: int, size: int) -> None:
        self.stream = stream
        self.start = self.end = start
        """What is held."""
        self.ended = False
        self._size = size
        self._blocks: deque[_Block] = deque()
        self._first = start // size
        """The number of the first block that is held."""

    def reach(self, end: int) -> None:
        """Read on, to this place or the end of the log."""
        while self.end < end and not self.ended:
            wanted = self._size - self.end % self._size
            raw = self.stream.read(wanted)
            self.ended = len(raw) < wanted
            if raw:
                before = self._blocks[-1].raw[-regions.OVERLAP :] if self._blocks else b""
                speaks = regions.speaks(raw) or regions.speaks(before + raw[: regions.OVERLAP])
                self._blocks.append(_Block(raw, _ends_of_lines(raw), speaks))
                self.end += len(raw)

    def bytes(self, start: int, end: int) -> bytes:
        """The bytes of a range, as far as they are there."""
        self.reach(end)
        return b"".join(block.raw[begin:stop] for block, begin, stop in self._parts(start, end))

    def count(self, start: int, end: int) -> int:
        """How many lines end in a range that was read."""
        return sum(
            block.lines if not begin and stop >= len(block.raw) else block.raw.count(b"\n", begin, stop)
            for block, begin, stop in self._parts(start, end)
        )

    def speaks(self, start: int, end: int) -> bool:
        """Whether a failure's words may begin in a range: yes in one beside words that do."""
        self.reach(end + regions.OVERLAP)
        return any(block.speaks for block, _, _ in self._parts(start, end + 1))

    def _parts(self, start: int, end: int) -> Iterator[tuple[_Block, int, int]]:
        """The blocks of a range, and where in each it begins and ends."""
        start, end = max(start, self.start), min(end, self.end)
        at = start
        while at < end:
            number = at // self._size
            origin = max(number * self._size, self.start)
            block = self._blocks[number - self._first]
            yield block, at - origin, end - origin
            at = origin + len(block.raw)

    def forget(self, before: int) -> None:
        """Bytes before this place are not needed any more."""
        while self._blocks and (self._first + 1) * self._size <= before:
            self._blocks.popleft()
            self._first += 1
            self.start = self._first * self._size


def _ends_of_lines(raw: bytes) -> int:
    import numpy as np  # six times as fast as `bytes.count`, which stops at each of them

    return int(np.count_nonzero(np.frombuffer(raw, np.uint8) == _END_OF_LINE))


class _Story(Places):
    """The lines of a story, by the byte where each begins in the log."""

    def __init__(self, start: int, text: bytes, line_of: Callable[[int], int]) -> None:
        self._start, self._text, self._line_of = start, text, line_of

    def place(self, number: int) -> tuple[int, int] | None:
        return number, self._line_of(number)

    def until(self, number: int) -> bytes:
        end = self._text.find(b"\n", number - self._start) + 1 or len(self._text)
        return self._text[max(end - times.REACH, 0) : end]

    def wants(self, incident: Incident) -> bool:
        return incident.first is not None and incident.first.number >= self._start


class _Search:
    """The stories of one range."""

    def __init__(self, window: _Window, part: Range, origin: Origin, sizes: Sizes, head: bytes) -> None:
        self.window, self.part, self.origin, self.sizes = window, part, origin, sizes
        self.head = head
        self.year = times.year_of(head) or origin.year
        self.lines = 0
        """Ends of lines between the start of the range and `counted`."""
        self.counted = part.start
        self.loud: dict[int, tuple[bool, bool]] = {}
        """By piece: whether words of a failure begin in it, and whether it is loud."""

    def result(self) -> ReadResult:
        """Search the range, and what stories of it lie beyond it."""
        sizes, window, part = self.sizes, self.window, self.part
        rows: list[Row] = []
        problem: str | None = None
        at = done = part.start
        while part.end is None or at < part.end:
            end = at + sizes.block if part.end is None else min(at + sizes.block, part.end)
            window.reach(end + sizes.tail)
            if at >= window.end:
                break
            for piece in self._pieces_with_words(at, min(end, window.end)):
                if piece * sizes.piece < done:
                    continue
                story = self._story(piece)
                if story is None:
                    continue
                first, last = story
                more, refused = self._rows(first, last)
                rows += more
                problem = problem or refused
                done = (last + 1) * sizes.piece
            self._count(min(end, window.end))
            at = end
            self._forget(at)
        return self._result(rows, problem or window.stream.problem)

    def _result(self, rows: list[Row], problem: str | None) -> ReadResult:
        first = times.first(self.head, self.year) if self.part.start == 0 else None
        tail = self.window.bytes(max(self.counted - times.REACH, self.part.start), self.counted)
        return ReadResult(
            rows,
            status_of(rows, problem),
            problem or self._ending(rows),
            first,
            times.last(tail, self.year),
            self.counted - self.part.start,
            self.lines,
        )

    def _ending(self, rows: list[Row]) -> str | None:
        """How the log ended, where this is its last range and tells of no failure."""
        if rows or not self.window.ended or self.counted < self.window.end:
            return None
        return endings.reason(self.window.bytes(self.counted - endings.TAIL, self.counted))

    def _count(self, end: int) -> None:
        self.lines += self.window.count(self.counted, end)
        self.counted = end

    def _forget(self, at: int) -> None:
        reach = 2 * self.sizes.longest + self.sizes.piece * (self.sizes.quiet + self.sizes.context + 1)
        start = max(at - reach, 0)
        self.window.forget(start - start % self.sizes.piece)

    def _line_of(self, offset: int) -> int:
        """The line of a byte, counted from the start of the range."""
        if offset < self.counted:
            return self.lines - self.window.count(offset, self.counted) + 1
        return self.lines + self.window.count(self.counted, offset) + 1

    def _pieces_with_words(self, start: int, end: int) -> Iterator[int]:
        """The pieces of a block in which words of a failure begin."""
        size = self.sizes.piece
        if self._in_last(self.sizes.tail, end - 1) or self.window.speaks(start, end):
            yield from (piece for piece in range(start // size, -(-end // size)) if self._words(piece))

    def _in_last(self, size: int, offset: int) -> bool:
        """Whether a place is in so many last bytes of the log."""
        self.window.reach(offset + size)
        return self.window.ended and offset >= self.window.end - size

    def _words(self, piece: int) -> bool:
        return self._kind(piece)[0]

    def _is_loud(self, piece: int) -> bool:
        return self._kind(piece)[1]

    def _kind(self, piece: int) -> tuple[bool, bool]:
        if piece not in self.loud:
            self.loud[piece] = self._listen(piece)
        return self.loud[piece]

    def _listen(self, piece: int) -> tuple[bool, bool]:
        """Whether words of a failure begin in a piece, and whether it is loud."""
        start = piece * self.sizes.piece
        end = start + self.sizes.piece
        if piece < 0 or start < self.window.start:
            return False, False
        text = self.window.bytes(start, end + regions.OVERLAP)
        own = text[: self.sizes.piece]
        if not own:
            return False, False
        told = regions.speaks(text) or (
            self._in_last(self.sizes.tail, start)
            and (self._in_last(self.sizes.end, start) or words.names_a_failure(text))
            and words.may_tell(self._whole_lines(start, end))
        )
        return told, told or regions.noisy(own)

    def _whole_lines(self, start: int, end: int) -> bytes:
        """The lines that begin in a range."""
        text = self.window.bytes(start, end + self.sizes.piece)
        first = 0
        if start and self.window.bytes(start - 1, start) != b"\n":
            first = text.find(b"\n") + 1 or len(text)
        last = text.find(b"\n", min(end - start - 1, len(text))) + 1 or len(text)
        return text[first:last] if first < end - start else b""

    def _story(self, piece: int) -> tuple[int, int] | None:
        """The first and the last piece of the story that a piece with words belongs to; None where words
        before the range tell that it is another range's.
        """
        first = piece
        while (before := self._previous(first)) is not None and not self._cut(before, first):
            first = before
        began = next(each for each in range(first, piece + 1) if self._words(each))
        if began * self.sizes.piece < self.part.start:
            return None
        last = piece
        while (after := self._next(last)) is not None and not self._cut(last, after):
            last = after
        return first, last

    def _previous(self, piece: int) -> int | None:
        """The loud piece before, None where there is none so near."""
        near = range(piece - 1, piece - 2 - self.sizes.quiet, -1)
        return next((each for each in near if self._is_loud(each)), None)

    def _next(self, piece: int) -> int | None:
        near = range(piece + 1, piece + 2 + self.sizes.quiet)
        return next((each for each in near if self._is_loud(each)), None)

    def _cut(self, before: int, after: int) -> bool:
        """Whether a place where long stories are cut lies between two loud pieces of one."""
        every = self.sizes.longest // self.sizes.piece
        border = after // every * every
        return before < border <= after and self._is_long(border, before)

    def _is_long(self, border: int, last: int) -> bool:
        """Whether what ends with this piece before a border began as long before it as a story may last."""
        start = border - self.sizes.longest // self.sizes.piece
        first: int | None = last
        while first is not None and first > start:
            first = self._previous(first)
        return first is not None

    def _rows(self, first: int, last: int) -> tuple[list[Row], str | None]:
        """The rows of a story."""
        start, end = self._bounds(first, last)
        text = self.window.bytes(start, end)
        head = self._quiet_head(start)
        parts = (inputs.LogPart(0, len(head)), inputs.LogPart(start, len(text)))
        given = [inputs.Input(self.origin.source, raw=head + text, parts=parts if head else parts[1:])]
        story = _Story(start, text, self._line_of)
        return explained(lambda: readers.read(given), self.origin, story, self.year)

    def _bounds(self, first: int, last: int) -> tuple[int, int]:
        """Where the text of a story begins and ends: with what stands around it, whole lines, but nothing of
        another story.
        """
        size, around, every = self.sizes.piece, self.sizes.context, self.sizes.longest
        start, end = (first - around) * size, (last + 1 + around) * size
        border = first * size // every * every
        if start < border and self._cut_before(first):
            start = border
        border = -(-(last + 1) * size // every) * every
        if end > border and self._cut_after(last):
            end = border
        return self._line_start(max(start, 0)), self._line_start(end)

    def _cut_before(self, first: int) -> bool:
        before = self._previous(first)
        return before is not None and self._cut(before, first)

    def _cut_after(self, last: int) -> bool:
        after = self._next(last)
        return after is not None and self._cut(last, after)

    def _line_start(self, offset: int) -> int:
        """The first start of a line from here on; the place itself where the next is far."""
        if not offset:
            return 0
        text = self.window.bytes(offset - 1, offset + self.sizes.piece)
        return min(offset + text.find(b"\n"), offset + len(text)) if b"\n" in text else offset

    def _quiet_head(self, start: int) -> bytes:
        """The first lines of the log, as far as they are no part of a story."""
        head = self.head[: min(self.sizes.head, start)]
        for at in range(0, len(head), self.sizes.piece):
            if words.may_tell(head[at : at + self.sizes.piece]):
                head = head[:at]
                break
        return head[: head.rfind(b"\n") + 1]
