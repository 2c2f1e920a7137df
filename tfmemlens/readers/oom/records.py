"""Lines that a log shipper wrapped in JSON, one record a line, as Docker, Fluentd and the clouds do."""

from __future__ import annotations

from tfmemlens.patterns import regex

_START = regex(r'\{"(?!"?\w+":\s*\d+\.?\d*\})')
_TEXTS = (
    "log", "message", "msg", "MESSAGE", "textPayload", "text", "line", "@message", "content", "body", "event",
    "exc_info", "exception",
)  # fmt: skip
_CUT = regex(r'\{"log": ?("(?:[^"\\]|\\.)*")')
"""A record whose end is missing, but not that of the text."""
_TAGS_AROUND = regex(r"\A\s*(?:</?\w+>)+|(?:</?\w+ ?/?>)+\s*\Z")
_BEFORE = 120
"""No stamp before a record is longer."""


def text_of(line: str) -> str | None:
    """What a record's program wrote, None where the line is no record; it may hold several lines."""
    if "<" in line:
        line = _TAGS_AROUND.sub("", line)
    match = _START.search(line, 0, _BEFORE)
    if not match:
        return None
    import json

    line = line.replace("\xa0", " ")

    cut = _CUT.match(line, match.start())
    try:
        if not line.rstrip().endswith(("}", "},")):
            return str(json.loads(cut[1])).rstrip("\r\n") if cut else None
        record, _ = json.JSONDecoder().raw_decode(line[match.start() :])
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    nested = record.get("jsonPayload")
    fields = nested if isinstance(nested, dict) else record
    texts = [fields[name] for name in _TEXTS if isinstance(fields.get(name), str)]
    return "\n".join(text.rstrip("\r\n") for text in texts) if texts else None
