"""A message as far as it can be read: protobuf itself gives all or nothing."""

from __future__ import annotations

from typing import Any

from tfmemlens.model.line import ReadNote
from tfmemlens.readers.bytes.wire import whole_prefix


def parse_prefix(name: str, raw: bytes, depth: int) -> tuple[Any, list[ReadNote]]:
    """The message, or as much of it as stands before the damage: messages are cut open to this depth."""
    from google.protobuf.message import DecodeError

    from tfmemlens.schema import parse

    try:
        return parse(name, raw), []
    except DecodeError:
        pass
    repaired = whole_prefix(raw, depth)
    try:
        message = parse(name, repaired)
    except DecodeError:
        return None, []
    return message, [
        ReadNote(
            f"the file is cut or damaged: only {len(repaired):,} of its {len(raw):,} bytes could be read"
        )
    ]
