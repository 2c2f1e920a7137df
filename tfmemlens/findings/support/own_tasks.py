"""Tasks of one job that use one GPU: then the others that hold it are the writer's own."""

from __future__ import annotations

from tfmemlens.findings.support.own_gpu import actors, started_as_ranks
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.line import Line


def share_one(case: Case) -> Line | None:
    """The line that says that several processes use one GPU, or that starts several tasks of a job that has
    one.
    """
    told = case.capture.surroundings
    if sharing := told.shows("sharing the device"):
        return sharing
    return told.shows("several tasks") if told.shows("one GPU for all") else None


def own_tasks(case: Case, moment: Moment) -> Line | None:
    """The same, or the line that starts several tasks where several of them tell of the failure; or that
    tells of an agent's processes.
    """
    ranks = moment.incident.ranks if moment.incident else ()
    several = case.capture.surroundings.shows("several tasks") if len(ranks) > 1 else None
    return share_one(case) or several or (started_as_ranks(case) if actors(case) else None)
