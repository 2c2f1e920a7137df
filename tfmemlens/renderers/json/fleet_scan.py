"""What a scan of many logs did as JSON: the contract `tfmemlens.fleet-scan/1`."""

from __future__ import annotations

from tfmemlens.model.scan_summary import ScanSummary
from tfmemlens.renderers.json._text import written
from tfmemlens.renderers.view import View

SCHEMA = "tfmemlens.fleet-scan/1"


def render(summary: ScanSummary, view: View = View()) -> str:
    """The document, indented, with a final newline."""
    del view
    document = {
        "schema": SCHEMA,
        "out": summary.out,
        "scan": summary.scan,
        "listed": summary.listed,
        "unchanged": summary.unchanged,
        "too_old": summary.too_old,
        "files": summary.files,
        "files_left": summary.to_read - summary.files,
        "bytes": summary.bytes,
        "inputs": dict(sorted(summary.inputs.items())),
        "incidents": summary.incidents,
        "ended_otherwise": dict(summary.ended.most_common()),
        "saved_inputs": summary.saved_inputs,
        "saved_incidents": summary.saved_incidents,
        "retries": summary.retries,
        "repeated_tasks": summary.repeated_tasks,
        "unreadable": [{"source": source, "reason": reason} for source, reason in summary.unreadable],
        "problems": summary.problems,
        "seconds": round(summary.seconds, 3),
        "stopped": summary.stopped or None,
    }
    return written(document)
