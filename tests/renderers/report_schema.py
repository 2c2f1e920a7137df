"""The contract of `--json` (schema tfmemlens.report/1) as a JSON schema: additions are fine, renames are
not.
"""

from __future__ import annotations

from typing import Any

BYTES = {"type": ["integer", "null"], "minimum": 0}
TEXT = {"type": ["string", "null"]}
SHAPE = {"type": ["array", "null"], "items": {"type": ["integer", "null"]}}
KIND = {
    "enum": [
        "parameter",
        "optimizer-slot",
        "gradient",
        "activation",
        "layout-transpose",
        "workspace",
        "loop-stack",
        "constant",
        "input",
        "transfer",
        "unattributed",
    ]
}
KINDS = {"type": "object", "propertyNames": KIND, "additionalProperties": {"type": "integer", "minimum": 0}}


def exactly(**fields: Any) -> dict[str, Any]:
    """An object that has all these fields."""
    return {"type": "object", "required": list(fields), "properties": fields}


def listed(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item}


REQUEST = exactly(
    node=TEXT,
    op=TEXT,
    layer=TEXT,
    shape=SHAPE,
    dtype=TEXT,
    tensor_bytes=BYTES,
    rounded_bytes=BYTES,
    device=TEXT,
    allocator=TEXT,
    line={"type": ["integer", "null"]},
)
ALLOCATOR = exactly(
    limit_bytes=BYTES,
    in_use_bytes=BYTES,
    peak_bytes=BYTES,
    pool_bytes=BYTES,
    free_bytes=BYTES,
    largest_free_chunk_bytes=BYTES,
)
HOLDERS = exactly(
    total_bytes=BYTES,
    listed_bytes=BYTES,
    unlisted_bytes=BYTES,
    unlisted_nodes=BYTES,
    outside_report_bytes=BYTES,
)
REPORT = exactly(
    schema={"const": "tfmemlens.report/1"},
    source=exactly(path={"type": "string"}, formats=listed({"type": "string"}), framework=TEXT),
    incidents=listed(
        exactly(
            occurrences={"type": "integer", "minimum": 1},
            request=REQUEST,
            allocator=ALLOCATOR,
            holders=HOLDERS,
        )
    ),
    peaks=listed(
        exactly(
            device=TEXT,
            allocator=TEXT,
            bytes=BYTES,
            baseline_bytes=BYTES,
            baseline_confidence={"type": ["number", "null"]},
            time_micros={"type": ["number", "null"]},
            limit_bytes=BYTES,
        )
    ),
    layers=listed(exactly(layer=TEXT, total_bytes=BYTES, kinds=KINDS)),
    kinds=KINDS,
    allocations=listed(
        exactly(
            node=TEXT,
            op=TEXT,
            layer=TEXT,
            kind=KIND,
            phase={"type": "string"},
            bytes=BYTES,
            count={"type": "integer", "minimum": 1},
            shape=SHAPE,
            dtype=TEXT,
            precision={},
        )
    ),
    findings=listed(
        exactly(
            rule={"type": "string"},
            severity={"enum": ["cause", "factor", "note"]},
            headline={"type": "string"},
            bytes=BYTES,
            evidence=listed(exactly(fact={"type": "string"}, line={"type": ["integer", "null"]}, text=TEXT)),
            remedies=listed(
                exactly(
                    text={"type": "string"},
                    code=TEXT,
                    saves_bytes=BYTES,
                    certainty={"enum": ["exact", "bound", "estimate", None]},
                )
            ),
        )
    ),
    notes=listed(exactly(text={"type": "string"}, line={"type": ["integer", "null"]})),
)
COPY = exactly(
    node={"type": "string"},
    op={"type": "string"},
    direction={"type": "string"},
    source_layer=TEXT,
    shape=SHAPE,
    dtype=TEXT,
    bytes=BYTES,
    producer=TEXT,
    consumers=listed({"type": "string"}),
    forced_by=TEXT,
    forced_op=TEXT,
    cause={"type": "string"},
    remedy={"type": "string"},
    retained={"type": "boolean"},
    source_line=TEXT,
)
"""An entry of `copies` and `helpers`, which `tfmemlens layout` adds."""

PREDICTION = exactly(
    batch={"type": "integer", "minimum": 1},
    bytes=BYTES,
    low_bytes=BYTES,
    high_bytes=BYTES,
    measured_bytes=BYTES,
)
FIT = exactly(
    batch={"type": "integer", "minimum": 1},
    limit_bytes=BYTES,
    largest_batch=BYTES,
    fixed_bytes=BYTES,
    per_sample_bytes=BYTES,
    certainty={"enum": ["exact", "bound", "estimate"]},
    remedies=listed(
        exactly(
            text={"type": "string"},
            saves_bytes={"type": "integer"},
            largest_batch=BYTES,
            certainty={"enum": ["exact", "bound", "estimate"]},
        )
    ),
    predictions=listed(PREDICTION),
    checks=listed(PREDICTION),
)
