"""What is needed of protobuf's wire format outside protobuf: the lengths that say where a message ends."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from typing import NamedTuple

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
_MAX_HEAD = 20
"""Bytes of a tag and a length."""


class Field(NamedTuple):
    """A field of a message: its number and kind, where its length, its value and its end are."""

    number: int
    kind: int
    length_at: int
    start: int
    end: int
    whole: bool
    """Whether it ends within its message; one that does not is the last that can be told."""


def fields(read: Callable[[int, int], bytes], start: int, end: int) -> Iterator[Field]:
    """The fields of the message in a range; `read` gives the bytes at a place, so many of them."""
    at = start
    while at < end:
        head = read(at, _MAX_HEAD)
        tag, used = varint(head, 0)
        kind, length_at, closed = tag & 7, at + used, _closed(head, used)
        if kind == LENGTH:
            length, used = varint(head, used)
            closed = closed and _closed(head, used) and at + used > length_at
        elif kind == VARINT:
            length = varint(head, used)[1] - used
            closed = length > 0 and _closed(head, used + length)
        elif kind in (FIXED64, FIXED32):
            length = 8 if kind == FIXED64 else 4
        else:  # groups, which TensorFlow has none of, or damage
            yield Field(tag >> 3, kind, length_at, length_at, length_at, whole=False)
            return
        value = at + used
        at = value + length
        yield Field(tag >> 3, kind, length_at, value, at, whole=closed and at <= end)
        if not closed:
            return


def entries(raw: bytes, tag: int, base: int, starts: array[int], ends: array[int]) -> int:
    """Add where the fields at the start of a text begin and end, as long as all have this tag (of one byte)
    and lie in it whole; `base` is where the text itself begins. Returns the bytes that they take.

    The same as `fields` says, for a hundred thousand small messages in a row.
    """
    at, last = 0, len(raw) - _MAX_HEAD
    while at < last and raw[at] == tag:
        length, value = raw[at + 1], at + 2
        if length > 0x7F:
            length, value = length & 0x7F | raw[value] << 7, value + 1
            if length > 0x3FFF:  # three bytes and more
                length, value = varint(raw, at + 1)
        if value + length > len(raw):
            break
        starts.append(base + at)
        at = value + length
        ends.append(base + at)
    return at


def _closed(head: bytes, end: int) -> bool:
    """Whether the number that ends here is not cut."""
    return 0 < end <= len(head) and head[end - 1] < 0x80


def whole_prefix(raw: bytes, depth: int) -> bytes:
    """The whole nested messages at the start of a message that is cut or damaged; the first that is not whole
    is cut in turn, to this depth, and gets its new length.
    """
    kept = 0
    for field in fields(lambda at, length: raw[at : at + length], 0, len(raw)):
        if field.kind != LENGTH:
            break
        if field.whole:
            kept = field.end
        elif depth > 0:
            inner = whole_prefix(raw[field.start :], depth - 1)
            return raw[: field.length_at] + _encoded(len(inner)) + inner
    return raw[:kept]


def _encoded(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def varint(raw: bytes, at: int) -> tuple[int, int]:
    """A base-128 number of the wire format, and where the next byte is."""
    value = shift = 0
    while at < len(raw) and shift < 70:
        byte = raw[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            break
    return value, at
