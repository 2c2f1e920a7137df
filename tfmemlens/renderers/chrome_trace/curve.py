"""A traced step as Chrome's trace format, for Perfetto and chrome://tracing: counters of what was in use, a
slice for each tensor's life.
"""

from __future__ import annotations

import json
from typing import Any

from tfmemlens.model.series import LiveCurve
from tfmemlens.renderers.view import View


def render(curve: LiveCurve, view: View = View()) -> str:
    """The document: `in use` as a counter by kind, the step's 500 largest tensors as async slices. Times are
    microseconds.
    """
    del view  # the viewer asks for itself
    report, series = curve.report, curve.series
    events: list[dict[str, Any]] = []
    for number, moment in enumerate(moment for moment in report.case.moments if moment.timeline):
        timeline = moment.timeline
        assert timeline
        name = f"{timeline.device} {timeline.allocator}"
        events.append({"ph": "M", "pid": number, "name": "process_name", "args": {"name": name}})
        if number == 0:
            for column, micros in enumerate(series.micros):
                values = {group: sizes[column] for group, sizes in series.bytes_by_group.items()}
                events.append(
                    {"ph": "C", "pid": number, "ts": micros, "name": "bytes in use", "args": values}
                )
        times = timeline.events[0]
        if not times:
            continue
        origin, last, table = times[0], times[-1], timeline.table
        for row in sorted(range(len(table)), key=lambda row: -table.size_bytes[row])[:500]:
            start, end = table.start_micros[row], table.end_micros[row]
            common = {
                "cat": "tensor",
                "id": row,
                "pid": number,
                "tid": 0,
                "name": table.node[row] or "(no name)",
            }
            facts = {
                "bytes": table.size_bytes[row],
                "shape": str(table.shape[row]),
                "dtype": table.dtype[row],
            }
            events.append(
                {**common, "ph": "b", "ts": (start if start is not None else origin) - origin, "args": facts}
            )
            events.append({**common, "ph": "e", "ts": (end if end is not None else last) - origin})
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}) + "\n"
