"""What to read of the places that a user names: of a log directory the newest traced step, or the one that
`--step` and `--tag` ask for.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from tfmemlens import readers
from tfmemlens.errors import TfmemlensError, UsageError
from tfmemlens.garbage import without_gc
from tfmemlens.model.capture import Capture, Hints, Holds
from tfmemlens.model.line import ReadNote
from tfmemlens.model.step import TracedStep
from tfmemlens.readers import catalogue
from tfmemlens.readers.gathering import inputs, traced_steps
from tfmemlens.values import replace

_ATTEMPTS = 8
"""How many steps of a directory are read in search of one that tells of memory."""


@without_gc
def read(source: inputs.Source, hints: Hints = Hints(), logs: bool = False) -> Capture:
    """What the readers find, where a log directory stands for one of its steps, with `logs` also for all that
    is no step.

    Raises UnreadableInput, UsageError.
    """
    places = inputs.places(source)
    chosen: list[inputs.Input] = []
    notes: list[ReadNote] = []
    for place in places:
        files, said = _of_place(place, hints, logs)
        chosen += files
        notes += said
    capture = readers.read(chosen, hints)
    if not capture.timelines and hints.step is None and hints.tag is None:
        capture = _another(places, hints, chosen) or capture
    if (
        not logs
        and capture.graph
        and not capture.timelines
        and not capture.incidents
        and capture.source.holds is Holds.GRAPH
    ):
        from tfmemlens.readers.formats.run_metadata import HOW_TO_TRACE

        notes.append(
            ReadNote(
                f"{capture.source.path} is a graph, not a trace: give it with --graph beside one;"
                f" {HOW_TO_TRACE}"
            )
        )
    return replace(capture, notes=(*notes, *capture.notes))


def _another(places: tuple[inputs.Place, ...], hints: Hints, chosen: list[inputs.Input]) -> Capture | None:
    """Where the newest step of a directory tells nothing of memory (it is cut, or held none), the newest that
    does.
    """
    tried = {file.path for file in chosen}
    for place in filter(os.path.isdir, places):
        for step in _best_first(traced_steps.find(place))[:_ATTEMPTS]:
            if tried & set(step.paths):
                continue
            try:
                capture = readers.read(_files(step), hints)
            except TfmemlensError:
                continue
            if capture.timelines:
                inside = sorted(path for path in tried if path.startswith(os.fspath(place)))
                names = ", ".join(sorted(os.path.relpath(path, place) for path in inside))
                this = os.path.relpath(step.paths[0], place)
                note = ReadNote(f"{names} tells nothing of memory; this is {this}")
                return replace(capture, notes=(note, *capture.notes))
    return None


def _best_first(steps: list[TracedStep]) -> list[TracedStep]:
    """Steps that are listed oldest first: what holds most of a step before the newest."""
    ordered = sorted(enumerate(steps), key=lambda pair: (catalogue.holds(pair[1].format), pair[0]))
    return [step for _, step in reversed(ordered)]


def _files(step: TracedStep) -> list[inputs.Input]:
    """What to read for a step; a file that holds several is told which."""
    tag, number = (step.tag, step.step) if step.inside else (None, None)
    return [inputs.Input(path, tag=tag, step=number) for path in step.paths]


def _of_place(place: inputs.Place, hints: Hints, logs: bool) -> tuple[list[inputs.Input], list[ReadNote]]:
    if not os.path.isdir(place):
        return inputs.resolve(place), []
    steps = traced_steps.find(place)
    files, notes = choose(os.fspath(place), hints, steps)
    if not files:
        return inputs.resolve(place), []
    return (_beside(place, steps) if logs else _described(place)) + files, notes


def _described(place: inputs.Place) -> list[inputs.Input]:
    """What describes the program in a directory itself: a bundle has its model there."""
    chosen = []
    for name in sorted(catalogue.beside_steps()):
        paths = Path(place).glob(name)
        newest = max((path for path in paths if path.is_file() and path.stat().st_size), default=None)
        chosen += [] if newest is None else [inputs.Input(os.fspath(newest))]
    return chosen


def _beside(place: inputs.Place, steps: list[TracedStep]) -> list[inputs.Input]:
    """What lies in a directory besides its traced steps, without what a profiler made of a run."""
    traces = {path for step in steps for path in step.paths}
    runs = traced_steps.run_folders(steps)
    return [
        file
        for file in inputs.resolve(place)
        if file.path not in traces and Path(file.path).parent not in runs
    ]


def choose(place: str, hints: Hints, steps: list[TracedStep]) -> tuple[list[inputs.Input], list[ReadNote]]:
    """The files to read for a directory: those of the newest step, or of the one asked for; none where there
    is no step. Raises UsageError.
    """
    wanted = [step for step in steps if hints.step in (None, step.step) and hints.tag in (None, step.tag)]
    if not wanted:
        if hints.step is None and hints.tag is None:
            return [], []
        asked = " and ".join(
            [f"step {hints.step}"] * (hints.step is not None)
            + [f"tag {hints.tag!r}"] * (hints.tag is not None)
        )
        raise UsageError(f"{place} holds no traced step with {asked}", f"it holds: {_names(steps) or 'none'}")
    chosen = _best_first(wanted)[0]
    files = _files(chosen)
    if len(steps) == 1:
        return files, []
    where = os.path.relpath(chosen.paths[0], place)
    name = "" if chosen.tag is None else f" {chosen.tag}"
    note = (
        f"{place} holds {len(steps)} traced steps; this is{name} of {where}, the"
        f" {'newest' if len(wanted) > 1 else 'one asked for'}"
    )
    return files, [ReadNote(f"{note} (--step or --tag for another, --list shows them)")]


def _names(steps: Iterable[TracedStep]) -> str:
    names = [f"{step.tag} (step {step.step})" if step.step is not None else str(step.tag) for step in steps]
    return ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
