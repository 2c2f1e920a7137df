"""The one thing of protobuf's wire format that is needed outside protobuf: the lengths that say where a
message ends.
"""

from __future__ import annotations


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
