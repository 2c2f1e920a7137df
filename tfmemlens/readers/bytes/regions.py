"""Which parts of a big log are worth parsing.

Big files are not read whole: the last pieces first, then the rest for two literals, and only the regions
around what is found are parsed (measured: an alternation of patterns costs 15 times as much as a literal).
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from tfmemlens.readers.bytes.literals import Literals
from tfmemlens.readers.gathering.inputs import TAIL, Opened

LITERALS = (b"OOM when allocating tensor ", b"ut of memory")
"""Between them they find nearly every failure: TensorFlow's sentence; BFC, XLA, TPU and driver messages."""
TAIL_LITERALS = (
    *LITERALS,
    b"OOM when",
    b"RESOURCE_EXHAUSTED",
    b"esource exhausted",
    b"Dst tensor",
    b"OUT_OF_MEMORY",
    b"That was not possible",
    b"Current usage from",
    b"bfc_allocator",
)
_ENDS = 64 << 10
"""Bytes at the start, where devices, versions and settings stand, and at the end, where the last error is."""
_PIECE = 16 << 10
"""Bytes that a region begins with on each side of a hit, and grows by: of what is parsed, a failure's own
lines are few, and each line of its neighbourhood costs as much as one of them.
"""
_BLOCK = 256 << 10
"""Bytes that are searched at once: they stay in the processor's cache."""
OVERLAP = max(map(len, LITERALS)) - 1
_SEARCHED = Literals(*LITERALS)
_MAX_REGIONS = 64
_MIN_FORKED_BYTES = 256 << 20


def numbered(opened: Opened, encoding: str) -> Iterator[tuple[int, str]]:
    """The lines of the head, of every region with a failure, and of the tail; their numbers are byte
    positions.
    """
    for start, end in _merge([(0, _ENDS), *_loud(opened), (max(opened.size - _ENDS, 0), opened.size)]):
        opened.file.seek(start)
        piece = opened.file.read(end - start)
        cut = piece.find(b"\n") + 1 or len(piece) if start else 0  # it begins in the middle of a line
        yield from lines_from(start + cut, piece[cut:], encoding)


def lines_from(position: int, piece: bytes, encoding: str) -> Iterator[tuple[int, str]]:
    """The lines of a piece of a log that begins at this position; their numbers are byte positions."""
    for line in piece.split(b"\n"):
        for part in line.removesuffix(b"\r").split(b"\r"):
            yield position, part.decode(encoding, "replace")
        position += len(line) + 1


def _loud(opened: Opened) -> list[tuple[int, int]]:
    """The ranges around failures, in order; of very many hits an even choice."""
    tail_start = max(opened.size - TAIL, 0)
    opened.file.seek(tail_start)
    tail = opened.file.read()
    hits = [tail_start + at for literal in TAIL_LITERALS for at in _all(tail, literal)]
    del tail
    if not hits:
        hits = _search(opened, tail_start)
    ranges: list[tuple[int, int]] = []
    for hit in sorted(hits)[:: max(len(hits) // _MAX_REGIONS, 1)]:
        if not ranges or hit >= ranges[-1][1]:
            ranges.append(_grow(opened, hit))
    return ranges


def _all(piece: bytes, literal: bytes, limit: int = 200) -> list[int]:
    """Where a literal stands, once in each stretch that one region covers."""
    places: list[int] = []
    at = piece.find(literal) if piece.rfind(literal) >= 0 else -1
    while at >= 0 and len(places) < limit:
        places.append(at)
        at = piece.find(literal, at + _PIECE)
    return places


def _search(opened: Opened, end: int) -> list[int]:
    """Where the literals stand before `end`; a second process takes half of a big file, since the search is
    all there is to do.
    """
    middle = end // 2 // _BLOCK * _BLOCK
    if end < _MIN_FORKED_BYTES or (os.cpu_count() or 1) < 2 or not hasattr(os, "fork"):
        return _search_range(opened, 0, end)
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:  # only system calls from here: whatever goes wrong, the parent notices and searches itself
        try:
            os.write(
                send, b"".join(hit.to_bytes(8, "big") for hit in _search_range(opened, middle, end)) + b"!"
            )
        finally:
            os._exit(0)
    os.close(send)
    hits = _search_range(opened, 0, middle)
    with open(receive, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    if not answer.endswith(b"!"):
        return hits + _search_range(opened, middle, end)
    return hits + [int.from_bytes(answer[at : at + 8], "big") for at in range(0, len(answer) - 1, 8)]


def speaks(block: bytes) -> bool:
    """Whether one of the literals stands in a block."""
    return _SEARCHED.stand_in(block)


def _search_range(opened: Opened, start: int, end: int) -> list[int]:
    """Where the literals stand in a range, once in each stretch that one region covers."""
    hits: list[int] = []
    after = dict.fromkeys(LITERALS, start)
    for offset in range(start, end, _BLOCK):
        block = _read_at(opened, offset, min(_BLOCK, end - offset) + OVERLAP)
        for literal in LITERALS:
            if not _SEARCHED.stands_in(block, literal):
                continue
            at = block.find(literal, max(after[literal] - offset, 0))
            while at >= 0 and len(hits) < 4 * _MAX_REGIONS:
                hits.append(offset + at)
                after[literal] = offset + at + _PIECE
                at = block.find(literal, at + _PIECE)
    return hits


def _read_at(opened: Opened, start: int, count: int) -> bytes:
    """A piece of the file; where there are forks, without moving the place that both processes share."""
    if hasattr(os, "pread"):
        return os.pread(opened.file.fileno(), count, start)
    opened.file.seek(start)
    return opened.file.read(count)


def _grow(opened: Opened, hit: int) -> tuple[int, int]:
    """Around a hit, as long as the neighbourhood still speaks the allocator's language, and one piece more: a
    dump may begin within it.
    """
    start, end = max(hit - _PIECE, 0), min(hit + _PIECE, opened.size)
    while start > 0 and _noisy(opened, max(start - _PIECE, 0), start):
        start = max(start - _PIECE, 0)
    while end < opened.size and _noisy(opened, end, min(end + _PIECE, opened.size)):
        end = min(end + _PIECE, opened.size)
    return max(start - _PIECE, 0), min(end + _PIECE, opened.size)


def _noisy(opened: Opened, start: int, end: int) -> bool:
    opened.file.seek(start)
    return noisy(opened.file.read(end - start))


def noisy(piece: bytes) -> bool:
    """Whether a piece of a log is for the most part what an allocator says at a failure."""
    lines = piece.count(b"\n") + 1
    return sum(piece.count(word) for word in (b"bfc_allocator", b"iB from ", b" of size ")) > 0.2 * lines


def _merge(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
