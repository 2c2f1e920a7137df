"""The shipped JSON schemas, as tests use them."""

from __future__ import annotations

import json
from typing import Any

from tfmemlens.cli.schema import schema_text

REPORT: dict[str, Any] = json.loads(schema_text("report"))
COPY = {"$defs": REPORT["$defs"], **REPORT["$defs"]["copy"]}
"""An entry of `copies` and `helpers`, which `tfmemlens layout` adds."""
FIT = {"$defs": REPORT["$defs"], **REPORT["properties"]["fit"]}


def closed(schema: Any) -> Any:
    """The same schema with no room for a field that it does not describe."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: closed(value) for key, value in schema.items()}
    return (
        {**inner, "additionalProperties": False} if "properties" in schema and "required" in schema else inner
    )
