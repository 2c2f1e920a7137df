"""What lives at the peak as a flame graph of scopes for speedscope: the width of a frame is its bytes."""

from __future__ import annotations

import json
from typing import Any

from tfmemlens.escaping import in_json
from tfmemlens.model.report import Report
from tfmemlens.renderers.view import View


def render(report: Report, view: View = View()) -> str:
    """A profile for each moment: every row is a sample whose stack is its scopes, its kind and its node,
    weighted in bytes.
    """
    del view  # the viewer asks for itself
    frames: dict[str, int] = {}
    profiles: list[dict[str, Any]] = []
    for moment in report.case.moments:
        samples, weights = [], []
        for row, owner in zip(moment.attribution.table, moment.attribution.owners, strict=True):
            scopes = owner.layer.split("/") if owner.layer else ["(no layer in the name)"]
            stack = [
                *("/".join(scopes[: depth + 1]) for depth in range(len(scopes))),
                owner.kind.value,
                row.node or "(no name)",
            ]
            samples.append([frames.setdefault(frame, len(frames)) for frame in stack])
            weights.append(row.total_bytes)
        if samples:
            name = f"peak of {moment.timeline.allocator}" if moment.timeline else "at the failure"
            profiles.append(
                {
                    "type": "sampled",
                    "name": name,
                    "unit": "bytes",
                    "startValue": 0,
                    "endValue": moment.attribution.table.total_bytes,
                    "samples": samples,
                    "weights": weights,
                }
            )
    document = {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "shared": {"frames": [{"name": frame} for frame in frames]},
        "profiles": profiles,
        "name": report.case.capture.source.path,
        "exporter": "tfmemlens",
    }
    return in_json(json.dumps(document, ensure_ascii=False)) + "\n"
