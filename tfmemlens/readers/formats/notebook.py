"""The saved outputs of a Jupyter notebook: a text in which other formats stand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tfmemlens.model.capture import Capture, Hints, Holds
from tfmemlens.readers import dispatch
from tfmemlens.readers.contract import Confidence, Sample
from tfmemlens.readers.gathering import opening
from tfmemlens.readers.gathering.inputs import Opened

HOLDS = Holds.FAILURES
SUFFIXES = (".ipynb",)
_LARGEST = 256 << 20
_LISTS = (b'"cells"', b'"worksheets"')


def sniff(sample: Sample) -> Confidence:
    """A JSON document with cells, or with the worksheets of the first notebooks."""
    if sample.text.lstrip()[:1] != b"{" or sample.opened.size >= _LARGEST:
        return Confidence.NO
    start = sample.opened.head(1 << 20)
    return Confidence.LIKELY if any(word in start for word in _LISTS) else Confidence.NO


def read(opened: Opened, hints: Hints = Hints()) -> Capture:
    """What its cells and their outputs say, as one text; a damaged notebook is read as the text it is."""
    import json

    try:
        notebook = json.loads(opened.all())
    except (ValueError, RecursionError):
        return dispatch.read_text(opened, hints)
    text = _text(notebook)
    if not text.strip():
        return dispatch.read_text(opened, hints)
    with (inner := opening.opened_text(text, opened.path, opened.name, opened.label)).file:
        return dispatch.read_text(inner, hints)


def _text(notebook: object) -> str:
    sheets = [notebook, *_objects(notebook, "worksheets")]
    cells = [cell for sheet in sheets for cell in _objects(sheet, "cells")]
    return "\n".join(_joined(piece) for cell in cells for piece in _cell(cell))


def _objects(holder: object, key: str) -> list[dict[str, Any]]:
    """The objects in a list; none where there is no such list."""
    values = holder.get(key) if isinstance(holder, dict) else None
    return [each for each in values if isinstance(each, dict)] if isinstance(values, list) else []


def _cell(cell: dict[str, Any]) -> Iterator[object]:
    yield cell.get("source") or cell.get("input") or ""
    for output in _objects(cell, "outputs"):
        data = output.get("data")
        yield output.get("text") or (data.get("text/plain") if isinstance(data, dict) else "") or ""
        traceback = output.get("traceback")
        yield "\n".join(map(str, traceback)) if isinstance(traceback, list) else ""


def _joined(piece: object) -> str:
    return "".join(map(str, piece)) if isinstance(piece, list) else str(piece)
