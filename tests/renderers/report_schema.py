"""The shipped JSON schemas, as tests use them."""

from __future__ import annotations

import json
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from tfmemlens.cli.schema import schema_text

REPORT: dict[str, Any] = json.loads(schema_text("report"))
COPY = {"$defs": REPORT["$defs"], **REPORT["$defs"]["copy"]}
"""An entry of `copies` and `helpers`, which `tfmemlens layout` adds."""
FIT = {"$defs": REPORT["$defs"], **REPORT["properties"]["fit"]}

_VALIDATORS: dict[int, Draft202012Validator] = {}


def validate(document: Any, schema: Any) -> None:
    """As `jsonschema.validate`, which each time checks the schema, too: that takes three times as long as the
    document, and is done once here. Raises its ValidationError.
    """
    if id(schema) not in _VALIDATORS:
        Draft202012Validator.check_schema(schema)
        _VALIDATORS[id(schema)] = Draft202012Validator(schema)
    if error := best_match(_VALIDATORS[id(schema)].iter_errors(document)):
        raise error


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
