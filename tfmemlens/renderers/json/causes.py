"""The groups of many jobs' failures as JSON: the contract `tfmemlens.fleet-top/1` (times as logs have them,
without a zone; absent is null).
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from tfmemlens.model.fleet import FailureGroup, Ranking, Tally
from tfmemlens.renderers.json._text import written
from tfmemlens.renderers.view import View

SCHEMA = "tfmemlens.fleet-top/1"


def render(ranking: Ranking, view: View = View()) -> str:
    """The document, indented, with a final newline."""
    del view  # a document has all figures
    windows = ranking.windows
    document = {
        "schema": SCHEMA,
        "path": ranking.path,
        "by": ranking.by,
        "start": time(ranking.start),
        "end": time(ranking.end),
        "trend": {"start": time(windows.start), "end": time(windows.end)} if windows else None,
        "inputs": dict(ranking.read.statuses),
        "ended_otherwise": dict(ranking.read.ended),
        "undated_failures": ranking.undated,
        **tally(ranking.whole),
        "groups": [group(each) for each in ranking.groups],
        "others": {"groups": ranking.others, "failures": ranking.others_failures},
    }
    return written(document)


def group(group: FailureGroup) -> dict[str, Any]:
    """One group; `jobs_now` and `jobs_before` are those of the trend's two windows."""
    example = group.example
    return {
        "name": group.name,
        **tally(group.tally),
        "jobs_now": group.jobs_now,
        "jobs_before": group.jobs_before,
        "first": time(group.first),
        "last": time(group.last),
        "example": {
            "source": example.source,
            "line": example.line,
            "time": time(example.time),
            "team": example.team,
            "job": example.job,
            "host": example.host,
            "verdict": example.verdict,
            "action": example.action,
        },
    }


def tally(tally: Tally) -> dict[str, Any]:
    """What a set of failures weighs."""
    hours = tally.hours_lost
    return {
        "failures": tally.failures,
        "jobs": tally.jobs,
        "hours_lost": None if hours is None else round(hours, 3),
    }


def time(when: datetime | None) -> str | None:
    """`2026-11-20T08:15:00`."""
    return when.isoformat(timespec="seconds") if when else None
