"""Several logs as one story: the ranks of one job, or what one process wrote to two files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from tfmemlens.knowledge.releases import numbers_of
from tfmemlens.model.capture import Capture, Holds, Source, Surroundings
from tfmemlens.model.graph import Graph
from tfmemlens.model.incident import Incident
from tfmemlens.model.line import ReadNote
from tfmemlens.model.live_model import LEAST_BYTES, LiveModel
from tfmemlens.model.program import Program
from tfmemlens.model.timeline import Timeline
from tfmemlens.units import Size
from tfmemlens.values import fields, replace

_MAX_NAMES = 4


def merge(captures: list[Capture]) -> Capture:
    """Several captures as one: the failures of all, the first graph, all notes."""
    if len(captures) == 1:
        return captures[0]
    first, ordered = captures[0], [failing(captures), *captures]
    source = Source(
        ", ".join(capture.source.path for capture in captures),
        tuple(dict.fromkeys(name for capture in captures for name in capture.source.formats)),
        next((capture.source.framework for capture in ordered if capture.source.framework), None),
        _version(ordered),
        holds=max(capture.source.holds for capture in captures),
    )
    timelines = tuple(timeline for capture in captures for timeline in capture.timelines)
    return replace(
        first,
        source=source,
        incidents=tuple(_limited(each, timelines) for each in incidents(captures)),
        timelines=timelines,
        graph=_graph(captures),
        with_types=next((capture.with_types for capture in captures if capture.with_types), None),
        surroundings=surroundings(captures),
        live_model=_live_model(captures),
        living=tuple(group for capture in captures for group in capture.living),
        arrays=tuple(group for capture in captures for group in capture.arrays),
        resident_bytes=max((each.resident_bytes or 0 for each in captures), default=0) or None,
        held_by_python=_held_by_python(captures),
        notes=(*silent(captures), *(note for capture in captures for note in capture.notes)),
    )


def _limited(incident: Incident, timelines: Sequence[Timeline]) -> Incident:
    """A failure that states no limit has that of the steps that its allocator served, where it is one."""
    allocator, state = incident.request.allocator, incident.state
    limits = {each.limit_bytes for each in timelines if each.allocator == allocator and each.limit_bytes}
    if state.limit is not None or allocator is None or len(limits) != 1:
        return incident
    return replace(incident, state=replace(state, limit=Size.exactly(limits.pop())))


def _version(ordered: Sequence[Capture]) -> tuple[str, str] | None:
    """The first that is told, or what another file of the same process states: that lies within it."""
    told = [capture.source.version for capture in ordered if capture.source.version]
    if not told:
        return None
    low, high = map(numbers_of, told[0])
    stated = (each for each in told if each[0] == each[1] and low <= numbers_of(each[0]) <= high)
    return next(stated, told[0])


def _held_by_python(captures: Sequence[Capture]) -> int | None:
    """The most of all processes that told, where each looked at all."""
    told = [capture.held_by_python for capture in captures if capture.living or capture.held_by_python]
    known = [size for size in told if size is not None]
    return max(known) if known and len(known) == len(told) else None


def _graph(captures: Sequence[Capture]) -> Graph | None:
    """The one that lies beside the model of the process that failed, else the first."""
    chosen = _with_model(captures)
    of_run = chosen is not None and chosen.live_model is not None and bool(chosen.live_model.fetches)
    folder = Path(chosen.source.path).parent if chosen is not None and of_run else None
    there = [capture for capture in captures if capture.graph]
    beside = (capture.graph for capture in there if Path(capture.source.path).parent == folder)
    return next(beside, there[0].graph if there else None)


def _live_model(captures: Sequence[Capture]) -> LiveModel | None:
    """The one of the process that failed, with the chunks of the first dump that says what each was asked
    for.
    """
    chosen = _with_model(captures)
    model = chosen.live_model if chosen else None
    listings = (chunks for capture in captures for each in capture.incidents if (chunks := _chunks(each)))
    return replace(model, chunks=next(listings, ())) if model is not None else None


def _with_model(captures: Sequence[Capture]) -> Capture | None:
    """The model of the process that failed, else the first. A program whose processes follow one another
    leaves one of each.
    """
    models = [capture for capture in captures if capture.live_model]
    ended = {Path(capture.source.path).parent for capture in captures if capture.living}
    named = (capture for capture in models if capture.live_model and capture.live_model.failed)
    beside = (capture for capture in models if Path(capture.source.path).parent in ended)
    return next(chain(named, beside, models), None)


def _chunks(incident: Incident) -> tuple[tuple[str, int, int], ...]:
    told = incident.chunks
    if told is None or not incident.request.allocator or len(told.requested_bytes) != len(told):
        return ()
    rows = zip(told.in_use, told.requested_bytes, told.size_bytes, strict=True)
    return tuple(
        (incident.request.allocator, asked, size)
        for used, asked, size in rows
        if used and asked is not None and asked >= LEAST_BYTES
    )


def incidents(captures: Sequence[Capture]) -> tuple[Incident, ...]:
    """The failures of all files, fatal ones first; the same request in several files is one failure, told by
    each.
    """
    merged: dict[tuple[object, ...], Incident] = {}
    for file, capture in enumerate(captures):
        for at, incident in enumerate(capture.incidents):
            request = incident.request
            same = capture.incidents[:at].count(incident) if request.node else (file, at)
            key = (request.node, request.shape, request.dtype, request.kind, request.allocator, same)
            known = merged.setdefault(key, incident)
            if known is not incident:
                ranks = tuple(
                    dict.fromkeys((*(known.ranks or _file(known)), *(incident.ranks or _file(incident))))
                )
                merged[key] = replace(
                    known,
                    occurrences=known.occurrences + incident.occurrences,
                    ranks=ranks if len(ranks) > 1 else (),
                )
    return tuple(sorted(merged.values(), key=lambda incident: not incident.fatal))


def _file(incident: Incident) -> tuple[str, ...]:
    line = incident.request.line
    return (line.source,) if line and line.source else ()


def failing(captures: Sequence[Capture]) -> Capture:
    """The first that tells of a failure, else the first."""
    return next((capture for capture in captures if capture.incidents), captures[0])


def surroundings(captures: Sequence[Capture]) -> Surroundings:
    """What the failing process says of itself; what it does not say may stand in the one other file that
    does, such as its standard output.
    """
    own = failing(captures)
    told: dict[str, Any] = {}
    for field in fields(Surroundings):
        said = getattr(own.surroundings, field.name)
        others = [
            known
            for capture in captures
            if capture is not own and (known := getattr(capture.surroundings, field.name))
        ]
        told[field.name] = said or (others[0] if len(others) == 1 else said)
    told["program"] = partial(_joined, own.surroundings.program, _programs(captures, own))
    return Surroundings(**told)


def _programs(captures: Sequence[Capture], own: Capture) -> tuple[Callable[[], Program], ...]:
    """What reads the programs that are no log of their own: what another log quotes is its own process's."""
    return tuple(
        capture.surroundings.program
        for capture in captures
        if capture is not own and capture.source.holds is Holds.SURROUNDINGS
    )


def _joined(own: Callable[[], Program], others: Iterable[Callable[[], Program]]) -> Program:
    return own().joined(read() for read in others)


def silent(captures: Sequence[Capture]) -> tuple[ReadNote, ...]:
    """Which of several logs tell of a failure, when others do not."""
    logs = [
        capture
        for capture in captures
        if not capture.timelines
        and capture.graph is None
        and not capture.layers
        and capture.source.holds > Holds.SURROUNDINGS
    ]
    told = [Path(capture.source.path).name for capture in logs if capture.incidents]
    if not told or len(told) == len(logs):
        return ()
    names = ", ".join(told[:_MAX_NAMES]) + (
        f" and {len(told) - _MAX_NAMES} more" if len(told) > _MAX_NAMES else ""
    )
    return (
        ReadNote(f"of {len(logs)} logs only {names} {'tells' if len(told) == 1 else 'tell'} of a failure"),
    )
