"""The events of a Chrome trace one by one, from a file of any size: a cut or damaged file gives what stands
before the damage.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tfmemlens import progress
from tfmemlens.patterns import regex
from tfmemlens.readers.gathering.inputs import Opened

PIECE = 4 << 20
_LARGEST_EVENT = 64 << 20
_VALUE = rb'(?:"(?:[^"\\]|\\.)*"|-?[\d.eE+-]+|true|false|null|\{[^{}]*\}|\[[^\[\]]*\])'
_OBJECT = regex(
    rb'\A(?:\xef\xbb\xbf)?\s*\{(?:\s*"[^"]*"\s*:\s*' + _VALUE + rb'\s*,)*\s*"traceEvents"\s*:\s*\['
)
_ARRAY = regex(rb'\A(?:\xef\xbb\xbf)?\s*\[\s*\{[^{}\[\]]*"ph"\s*:')
_BETWEEN = regex(r"[\s,]*")


def start_of(head: bytes) -> int:
    """Where the list of events begins, -1 if this is no Chrome trace: `{"traceEvents": [...]}` or a bare
    `[{"ph": …`.
    """
    if match := _OBJECT.match(head):
        return match.end()
    return head.index(b"[") + 1 if _ARRAY.match(head) else -1


def events(opened: Opened) -> Iterator[dict[str, Any] | str]:
    """Each event, and at last a text that says what is wrong, if something is. A file that holds no trace
    gives nothing.
    """
    import codecs
    import json

    start = start_of(opened.head())
    if start < 0:
        return
    opened.file.seek(start)
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    parse = json.JSONDecoder(strict=False).raw_decode
    text, at, ended = "", 0, False
    while True:
        between = _BETWEEN.match(text, at)
        at = between.end() if between else at
        if text.startswith("]", at):
            return
        try:
            event, at = parse(text, at)
            if isinstance(event, dict):
                yield event
            continue
        except (ValueError, RecursionError):
            if ended:
                yield "it is cut in the middle of an event" if at < len(text) else "its end is missing"
                return
            if len(text) - at > _LARGEST_EVENT:
                yield "one of its events is damaged"
                return
        progress.at(opened.name, opened.file.tell(), opened.size)
        piece = opened.file.read(PIECE)
        ended = not piece
        text, at = text[at:] + decode(piece, final=ended), 0
