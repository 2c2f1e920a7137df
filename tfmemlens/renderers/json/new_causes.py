"""Which signatures are new since a date as JSON: the contract `tfmemlens.fleet-diff/1`."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from tfmemlens.model.fleet import NewCauses, Side
from tfmemlens.renderers.json._text import written
from tfmemlens.renderers.json.causes import group, tally, time
from tfmemlens.renderers.view import View

SCHEMA = "tfmemlens.fleet-diff/1"


def render(found: NewCauses, view: View = View()) -> str:
    """The document, indented, with a final newline."""
    del view  # a document has all figures
    document = {
        "schema": SCHEMA,
        "path": found.path,
        "decided": found.decided,
        "before": _side(found.before, found.earlier),
        "after": _side(found.after, found.later),
        "known": found.known,
        "gone": found.gone,
        "undated_failures": found.undated,
        "new": [group(each) for each in found.new],
        "others": found.others,
    }
    return written(document)


def _side(when: datetime, side: Side) -> dict[str, Any]:
    return {"time": time(when), "inputs": side.inputs, **tally(side.tally)}
