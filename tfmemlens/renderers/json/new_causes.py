"""Which signatures are new since a date as JSON: the contract `tfmemlens.fleet-diff/1`."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from tfmemlens.model.fleet import NewCauses, Side
from tfmemlens.renderers.json._text import written
from tfmemlens.renderers.json.causes import group, tally, time
from tfmemlens.renderers.view import View

SCHEMA = "tfmemlens.fleet-diff/1"


def render(causes: NewCauses, view: View = View()) -> str:
    """The document, indented, with a final newline."""
    del view  # a document has all figures
    document = {
        "schema": SCHEMA,
        "path": causes.path,
        "decided": causes.decided,
        "before": _side(causes.before, causes.earlier),
        "after": _side(causes.after, causes.later),
        "known": causes.known,
        "gone": causes.gone,
        "undated_failures": causes.undated,
        "new": [group(each) for each in causes.new],
        "others": causes.others,
    }
    return written(document)


def _side(when: datetime, side: Side) -> dict[str, Any]:
    return {"time": time(when), "inputs": side.inputs, **tally(side.tally)}
