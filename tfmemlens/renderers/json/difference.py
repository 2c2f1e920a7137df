"""What changed between two inputs as JSON: the contract `tfmemlens.diff/1` (units are bytes, absent is
null).
"""

from __future__ import annotations

from typing import Any

from tfmemlens.model.difference import ComparedInput, ComparedItem, Difference
from tfmemlens.renderers.json._text import written
from tfmemlens.renderers.view import View

SCHEMA = "tfmemlens.diff/1"


def render(difference: Difference, view: View = View()) -> str:
    """The document, indented, with a final newline."""
    del view  # a document has all figures
    return written(document(difference))


def document(difference: Difference) -> dict[str, Any]:
    """The document as plain values; `layers`, `kinds` and `allocations` each add up to `change_bytes`."""
    return {
        "schema": SCHEMA,
        "verdict": difference.verdict,
        "before": _side(difference.before),
        "after": _side(difference.after),
        "change_bytes": difference.change_bytes,
        "change_share": difference.change_share,
        "layers": [
            {
                "layer": _layer(change),
                "layer_before": change.before or None,
                "layer_after": change.after or None,
                **_bytes(change),
            }
            for change in difference.layers
        ],
        "kinds": [{"kind": change.kind, **_bytes(change)} for change in difference.kinds],
        "allocations": [
            {
                "node": change.name or None,
                "node_before": change.before or None,
                "node_after": change.after or None,
                "layer": change.layer,
                "kind": change.kind,
                **_bytes(change),
            }
            for change in difference.allocations
        ],
        "notes": list(difference.notes),
    }


def _layer(change: ComparedItem) -> str | None:
    return change.name or None


def _side(side: ComparedInput) -> dict[str, Any]:
    return {
        "path": side.path,
        "what": side.what,
        "bytes": side.total_bytes,
        "error_bytes": side.error_bytes,
        "limit_bytes": side.limit_bytes,
        "kinds": {kind.value: size for kind, size in side.kinds.items()},
    }


def _bytes(change: ComparedItem) -> dict[str, Any]:
    return {
        "before_bytes": change.before_bytes,
        "after_bytes": change.after_bytes,
        "change_bytes": change.change_bytes,
        "state": change.state,
    }
