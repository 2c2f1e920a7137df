"""The two tables that a scan writes: one row an incident, one row an input. A contract with its version:
additions are fine, renames are not.

`docs/fleet.md` has these tables as `markdown` writes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfmemlens.fleet.extras import load
from tfmemlens.values import dataclass

VERSION = 1
"""Stands in the column `schema` of every row."""

TEXT, NUMBER, SMALL, DECIMAL, TIME = "string", "int64", "int32", "float64", "timestamp[us]"
TEXTS, NUMBERS = "map<string, string>", "map<string, int64>"


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its Arrow type, the unit of its figures (empty for none) and what it says in a sentence. All
    columns may be null but those that are `always` there.
    """

    name: str
    type: str
    unit: str
    meaning: str
    always: bool = False


_JOB = (
    Column("team", TEXT, "", "group `team` of `--job-pattern`"),
    Column("job", TEXT, "", "group `job` of `--job-pattern`; without one the folder of the source"),
    Column("rank", TEXT, "", "group `rank` of `--job-pattern`, otherwise the rank that the log states"),
    Column(
        "host", TEXT, "", "group `host` of `--job-pattern`, otherwise the host or pod that the log states"
    ),
    Column("labels", TEXTS, "", "all other named groups of `--job-pattern`"),
)
_SCAN = (
    Column("scan", TEXT, "", "the scan that wrote the row"),
    Column("schema", SMALL, "", f"version of this table: {VERSION}", always=True),
)

INCIDENTS: tuple[Column, ...] = (
    Column("source", TEXT, "", "path or URL of the input; of a member `archive!/member`", always=True),
    Column("offset", NUMBER, "bytes", "where the first line of the incident begins; null in binary inputs"),
    Column("line", NUMBER, "", "the same as a line, from 1; null in binary inputs"),
    Column("time", TIME, "as logged", "time stamp of that line, or of the last line before it that has one"),
    *_JOB,
    Column("framework", TEXT, "", "`tensorflow`, `jax`, …: who wrote the message"),
    Column("version", TEXT, "", "version that writes this way: `2.4`, or `1.14 to 2.1`"),
    Column("device", TEXT, "", "device of the failed request, as the log names it"),
    Column("allocator", TEXT, "", "allocator of the failed request"),
    Column("limit_bytes", NUMBER, "bytes", "limit of the allocator"),
    Column("in_use_bytes", NUMBER, "bytes", "in use at the failure"),
    Column("free_bytes", NUMBER, "bytes", "free at the failure"),
    Column("largest_free_bytes", NUMBER, "bytes", "largest free block at the failure"),
    Column("requested_bytes", NUMBER, "bytes", "what the failed request asked for"),
    Column("shape", TEXT, "", "shape of the tensor, `[32,64,720,1280]`; `?` where unknown"),
    Column("dtype", TEXT, "", "NumPy's name of its type"),
    Column("node", TEXT, "", "node that failed"),
    Column("op", TEXT, "", "its op"),
    Column("layer", TEXT, "", "its layer, a scope path of the user's own model"),
    Column("rule", TEXT, "", "slug of the first finding; `tfmemlens rules` explains it"),
    Column("severity", TEXT, "", "of that finding: `cause`, `factor` or `note`"),
    Column("verdict", TEXT, "", "what happened, in a sentence", always=True),
    Column("action", TEXT, "", "the first thing to try"),
    Column("saves_bytes", NUMBER, "bytes", "what it saves, where that can be computed"),
    Column("kinds", NUMBERS, "bytes", "memory by kind: parameter, gradient, activation, …"),
    Column("occurrences", NUMBER, "", "how often the log reports this failure", always=True),
    Column("signature", TEXT, "", "the same for failures that are one to a person", always=True),
    Column("report", TEXT, "", "the incident's JSON document, `tfmemlens.report/1`", always=True),
    *_SCAN,
)

INPUTS: tuple[Column, ...] = (
    Column("source", TEXT, "", "path or URL of the input; of a member `archive!/member`", always=True),
    Column("size", NUMBER, "bytes", "size in storage"),
    Column("mtime", TIME, "UTC", "when it was last changed, as the storage says"),
    Column("etag", TEXT, "", "the storage's own mark of this content"),
    Column("status", TEXT, "", "`read`, `no failure` or `unreadable`", always=True),
    Column("reason", TEXT, "", "why it is unreadable, what was left out, or how it `ended otherwise: `"),
    Column("incidents", NUMBER, "", "how many incidents it has", always=True),
    *_JOB,
    Column("first_time", TIME, "as logged", "first time stamp of the log"),
    Column("last_time", TIME, "as logged", "last time stamp of the log"),
    Column("bytes_read", NUMBER, "bytes", "bytes that were read, after decompression"),
    Column("seconds", DECIMAL, "seconds", "time that reading took"),
    *_SCAN,
)

TABLES = {"incidents": INCIDENTS, "inputs": INPUTS}
READ, NO_FAILURE, UNREADABLE = "read", "no failure", "unreadable"
"""What the column `status` of an input says."""


ENDED = "ended otherwise: "
"""How the reason begins of an input without a failure that is read, whose end tells of another; what follows
is the same for all that ended so.
"""


def ending(reason: str | None) -> str | None:
    """How a row's reason says that its input ended; None where it says something else."""
    return reason[len(ENDED) :] if reason and reason.startswith(ENDED) else None


def together(parts: Sequence[tuple[str, str | None]]) -> tuple[str, str | None]:
    """The status and the reason of an input, of those of its parts. How it ended matters where it has no
    failure.
    """
    statuses = [status for status, _ in parts]
    status = next(each for each in (READ, UNREADABLE, NO_FAILURE) if each in statuses)
    reasons = [reason for _, reason in parts if reason and (status == NO_FAILURE or not ending(reason))]
    return status, "; ".join(dict.fromkeys(reasons)) or None


def empty(table: tuple[Column, ...]) -> dict[str, Any]:
    """A row of which nothing is known but the version of the table."""
    return {column.name: None for column in table} | {"schema": VERSION}


def arrow_schema(table: tuple[Column, ...]) -> Any:
    """The table's `pyarrow.Schema`; units and meanings are the fields' metadata. Raises MissingExtra."""
    pa = load("pyarrow")
    types = {
        TEXT: pa.string(),
        NUMBER: pa.int64(),
        SMALL: pa.int32(),
        DECIMAL: pa.float64(),
        TIME: pa.timestamp("us"),
        TEXTS: pa.map_(pa.string(), pa.string()),
        NUMBERS: pa.map_(pa.string(), pa.int64()),
    }
    return pa.schema(
        [
            pa.field(
                column.name,
                types[column.type],
                nullable=not column.always,
                metadata={"unit": column.unit, "meaning": column.meaning},
            )
            for column in table
        ],
        metadata={"tfmemlens.fleet": str(VERSION)},
    )


def markdown(table: tuple[Column, ...]) -> str:
    """The table's columns as the documentation shows them, one a row."""
    rows = [f"| `{column.name}` | {column.type} | {column.unit} | {column.meaning} |" for column in table]
    return "\n".join(["| column | type | unit | meaning |", "|---|---|---|---|", *rows]) + "\n"
