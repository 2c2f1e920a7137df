"""Data sets of a few rows, written as a scan writes them."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tfmemlens.fleet import schema

DAY = datetime(2024, 11, 20)


def at(day: float, hour: float = 0.0) -> datetime:
    """A time so many days and hours after 2024-11-20."""
    from datetime import timedelta

    return DAY + timedelta(days=day, hours=hour)


def failure(source: str, **known: Any) -> dict[str, Any]:
    """A row of the table of incidents."""
    told = {"verdict": f"verdict of {source}", "occurrences": 1, "signature": "s", "report": "{}", "line": 1}
    return schema.empty(schema.INCIDENTS) | told | {"source": source} | known


def log(
    source: str, first: datetime | None = None, last: datetime | None = None, **known: Any
) -> dict[str, Any]:
    """A row of the table of inputs, with a failure unless told otherwise."""
    told = {"status": "read", "incidents": 1, "first_time": first, "last_time": last}
    return schema.empty(schema.INPUTS) | told | {"source": source} | known


def write(
    folder: Path, incidents: list[dict[str, Any]], inputs: list[dict[str, Any]] = (), files: int = 1
) -> str:
    """Both tables in so many files each; returns the folder's name."""
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    for name, rows in (("incidents", incidents), ("inputs", list(inputs))):
        (folder / name).mkdir(parents=True)
        for part in range(files):
            table = pa.Table.from_pylist(rows[part::files], schema.arrow_schema(schema.TABLES[name]))
            pq.write_table(table, folder / name / f"{part}.parquet", row_group_size=2)
    return str(folder)
