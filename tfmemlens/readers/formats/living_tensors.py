"""`living.json` of a bundle: the tensors that Python held when the program failed, by their containers."""

from __future__ import annotations

from typing import Any

from tfmemlens.model.capture import Capture, Hints, Holds, Source
from tfmemlens.model.line import Line, ReadNote
from tfmemlens.model.live_model import HeldTensors, Holder
from tfmemlens.model.tensor import TensorType
from tfmemlens.readers.bytes import own_json, texts
from tfmemlens.readers.contract import Confidence, Sample
from tfmemlens.readers.gathering.inputs import Opened

HOLDS = Holds.SURROUNDINGS
KEY = "tfmemlens_living"
BESIDE_STEPS = ("living.json",)


def sniff(sample: Sample) -> Confidence:
    """A JSON object that begins with our key."""
    return own_json.sniff(sample, KEY)


def read(opened: Opened, hints: Hints = Hints()) -> Capture:
    """The tensors by shape and dtype. Raises UnreadableInput."""
    del hints
    document = own_json.read(opened)
    numbered, _ = texts.text_lines(opened)
    named = iter([Line(number, text.strip(), opened.label) for number, text in numbered if '"name":' in text])
    groups = []
    for group in own_json.rows(document, "groups"):
        holders = tuple(_holder(row, next(named, None)) for row in own_json.rows(group, "held_by"))
        count, size = own_json.number(group, "count") or 0, own_json.number(group, "bytes") or 0
        tensor = TensorType(own_json.shape(group), str(group.get("dtype")))
        groups.append(HeldTensors(tensor, count, size, holders))
    whole = bool(document.get("complete"))
    return Capture(
        Source(opened.path, ("living-tensors",)),
        living=tuple(groups),
        held_by_python=own_json.number(document, "bytes") if whole else None,
        notes=() if whole else (ReadNote("not all tensors that Python held were looked at"),),
    )


def _holder(row: dict[str, Any], line: Line | None) -> Holder:
    name, file = row.get("name"), row.get("file")
    return Holder(
        None if name is None else str(name),
        str(row.get("kind")),
        own_json.number(row, "count") or 0,
        own_json.number(row, "bytes") or 0,
        str(file) if file else None,
        own_json.number(row, "line"),
        line,
    )
