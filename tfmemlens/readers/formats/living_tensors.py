"""`living.json` of a bundle: the tensors that Python held when the program failed, by their containers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tfmemlens.model.capture import Capture, Hints, Holds, Source
from tfmemlens.model.line import Line, ReadNote
from tfmemlens.model.live_model import HeldTensors, Holder
from tfmemlens.model.tensor import TensorType
from tfmemlens.patterns import regex
from tfmemlens.readers.bytes import own_json, texts
from tfmemlens.readers.contract import Confidence, Sample
from tfmemlens.readers.gathering.inputs import Opened
from tfmemlens.values import replace

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
    groups = tuple(_group(row, named) for row in own_json.rows(document, "groups"))
    arrays = tuple(replace(_group(row, named), own=True) for row in own_json.rows(document, "arrays"))
    whole = bool(document.get("complete"))
    return Capture(
        Source(opened.path, ("living-tensors",)),
        living=groups,
        arrays=arrays,
        resident_bytes=own_json.number(document, "resident_bytes"),
        held_by_python=own_json.number(document, "bytes") if whole else None,
        notes=() if whole else (ReadNote("not all tensors that Python held were looked at"),),
    )


def _group(row: dict[str, Any], named: Iterator[Line]) -> HeldTensors:
    holders = tuple(_holder(each, next(named, None)) for each in own_json.rows(row, "held_by"))
    count, size = own_json.number(row, "count") or 0, own_json.number(row, "bytes") or 0
    tensor = TensorType(own_json.shape(row), str(row.get("dtype")))
    return HeldTensors(tensor, count, size, _of_one_line(holders), _are_arrays(row))


def _are_arrays(group: dict[str, Any]) -> bool:
    return group.get("framework") == "numpy"


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
        scope if isinstance(scope := row.get("scope"), str) else None,
        own_json.number(row, "calls") or 0,
        own_json.number(row, "shown_bytes"),
        str(row["call"]) if row.get("call") else None,
    )


_OF_A_KEY = regex(r"(?P<root>.+)\['[^']{0,40}'\]\Z")
_KEYS = 3


def _of_one_line(holders: Sequence[Holder]) -> tuple[Holder, ...]:
    """The same, with the parts of one dictionary that one line fills as one, `by_site[\u2026]` of
    `by_site['a']` and others: each alone may be too small to tell of.
    """
    alike: dict[tuple[object, ...], list[Holder]] = {}
    for each in holders:
        match = _OF_A_KEY.match(each.name or "") if each.code_line else None
        key = (match["root"], each.kind, each.file, each.code_line) if match else (len(alike), id(each))
        alike.setdefault(key, []).append(each)
    merged = (_joined(str(key[0]), those) for key, those in alike.items())
    return tuple(sorted((each for some in merged for each in some), key=lambda each: -each.bytes))


def _joined(root: str, those: Sequence[Holder]) -> Sequence[Holder]:
    if len(those) < _KEYS:
        return those
    count, size = sum(each.count for each in those), sum(each.bytes for each in those)
    return [replace(those[0], name=f"{root}[\u2026]", count=count, bytes=size)]
