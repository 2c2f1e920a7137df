"""Many logs at once, on an engine the user already has (Dask, Spark, Ray): a storey above the one flow.

    tfmemlens.fleet.scan("s3://logs/jobs/**/*.log", "failures")   # writes two Parquet tables, with Dask
    tfmemlens.fleet.read("failures")                              # the incidents as a dask frame
    tfmemlens.fleet.top("failures", by="host", since="7d")        # pandas: failures, jobs, hours lost, trend
    tfmemlens.fleet.diff("failures", after="2026-11-20")          # signatures that are new since then

One log's rows need no Dask, so that Spark and Ray can ask for them:

    >>> rows = tfmemlens.fleet.incidents("OOM when allocating tensor with shape[64,1000,1000] and type float")
    >>> [(row["rule"], row["shape"], row["requested_bytes"]) for row in rows]
    [('request-alone', '[64,1000,1000]', 256000000)]

`pip install tfmemlens[fleet]` brings what all but `incidents` need. docs/fleet.md defines columns and words.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tfmemlens.fleet.answers import diff, top

_HOMES = {
    "scan": "scanning",
    "read": "store",
    "incidents": "rows",
    "table": "stages",
    "top": "answers",
    "diff": "answers",
}
__all__ = ["diff", "incidents", "read", "scan", "table", "top"]


def __getattr__(name: str) -> object:
    """The API, imported when first used."""
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
