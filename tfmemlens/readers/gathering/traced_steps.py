"""The traced steps of a log directory, found and listed."""

from __future__ import annotations

import os
import re
from collections import Counter
from io import BytesIO
from pathlib import Path
from types import ModuleType

from tfmemlens.errors import TfmemlensError
from tfmemlens.model.capture import Capture
from tfmemlens.model.step import TracedStep
from tfmemlens.patterns import regex
from tfmemlens.readers import catalogue, dispatch
from tfmemlens.readers.contract import ListedStep
from tfmemlens.readers.gathering import inputs, opening
from tfmemlens.values import replace

_NUMBER = regex(r"(?:\A|[-_.]|step|iter)(\d+)\Z", re.IGNORECASE)


def find(source: str | os.PathLike[str]) -> list[TracedStep]:
    """All steps of a directory (recursively) or of one file, oldest first. What cannot be read, or is
    something else, is passed over.
    """
    place = os.fspath(source)
    files = inputs.files_in(place) if os.path.isdir(place) else [place]
    steps = [step for file in files for step in _of_file(file)]
    return sorted(_together(steps), key=lambda step: (_time(step, steps), step.step or 0))


def _time(step: TracedStep, among: list[TracedStep]) -> float:
    """Numbered files that lie side by side are in the order of their numbers, whatever copying did to their
    dates.
    """
    if step.step is None or step.inside or step.time is None:
        return step.time or 0.0
    folder = Path(step.paths[0]).parent
    beside = (
        other
        for other in among
        if other.format == step.format and Path(other.paths[0]).parent == folder and not other.inside
    )
    return max(other.time or 0.0 for other in beside)


def _of_file(path: str) -> list[TracedStep]:
    try:
        match, stated = _stated(path)
    except (TfmemlensError, OSError):
        return []
    if match is None or not match.holds.is_step:
        return []
    return [_step(path, match, each, several=len(stated) > 1) for each in stated]


def _step(path: str, match: dispatch.Match, stated: ListedStep, several: bool) -> TracedStep:
    """A step of a file; what the file does not tell of it, its name or its run tells."""
    inside = several or stated.seconds is not None
    name, when = _run(path, match.module) or (catalogue.stem(os.path.basename(path)), None)
    number = _NUMBER.search(name)
    return TracedStep(
        (path,),
        match.slug,
        stated.tag or name,
        int(number[1])
        if stated.number is None and number and not _run(path, match.module)
        else stated.number,
        stated.seconds or when or Path(path).stat().st_mtime,
        inside,
    )


def _run(path: str, module: ModuleType) -> tuple[str, float | None] | None:
    """The run that a file is one host's part of."""
    run: tuple[str, float | None] | None = module.run_of(path) if hasattr(module, "run_of") else None
    return run


def _stated(path: str) -> tuple[dispatch.Match | None, list[ListedStep]]:
    """The format of a file's content, and the steps that it states; of a format that states none the file is
    one step. Of an archive only the start is unzipped to know it: a folder may hold data sets.
    """
    start = opening.unzipped_start(path)
    if start:
        match = next(iter(dispatch.recognise(inputs.Opened(path, path, BytesIO(start), len(start)))), None)
        if match is None or not match.holds.is_step or not hasattr(match.module, "steps"):
            return match, [ListedStep()]
    with (opened := opening.open_input(inputs.Input(path))).file:
        if not start:
            match = next(iter(dispatch.recognise(opened)), None)
        stated = (
            list(match.module.steps(opened)) if match and hasattr(match.module, "steps") else [ListedStep()]
        )
    return match, stated


def _together(steps: list[TracedStep]) -> list[TracedStep]:
    """The hosts of one profiler run as one step, without the files that the profiler made of the same events
    and that hold less.
    """
    modules = catalogue.formats()
    runs: dict[str, TracedStep] = {}
    others = []
    for step in steps:
        folder = _folder(step)
        if _run(step.paths[0], modules[step.format]) is None:
            others.append(step)
        elif folder in runs:
            runs[folder] = replace(runs[folder], paths=(*runs[folder].paths, *step.paths))
        else:
            runs[folder] = step
    kept = (
        step
        for step in others
        if _folder(step) not in runs
        or modules[step.format].HOLDS >= modules[runs[_folder(step)].format].HOLDS
    )
    return [*kept, *runs.values()]


def run_folders(steps: list[TracedStep]) -> set[Path]:
    """The folders of the profiler's runs among these steps."""
    modules = catalogue.formats()
    return {
        Path(path).parent
        for step in steps
        for path in step.paths
        if _run(path, modules[step.format]) is not None
    }


def _folder(step: TracedStep) -> str:
    return str(Path(step.paths[0]).resolve().parent)


def find_all(source: inputs.Source) -> list[TracedStep]:
    """All steps of several places, globs among them. Raises UnreadableInput for a place that is not there."""
    return [step for place in inputs.places(source) for name in inputs.expand(place) for step in find(name)]


def told_apart(captures: list[Capture]) -> list[Capture]:
    """The files of several hosts: where two have an allocator of the same name on a device of the same name,
    the host's name comes first.
    """
    names = Counter(
        (timeline.device, timeline.allocator) for capture in captures for timeline in capture.timelines
    )
    return [
        replace(
            capture,
            timelines=tuple(
                (
                    replace(timeline, device=f"{_name(capture)} {timeline.device}")
                    if names[timeline.device, timeline.allocator] > 1
                    else timeline
                )
                for timeline in capture.timelines
            ),
        )
        for capture in captures
    ]


def _name(capture: Capture) -> str:
    return catalogue.stem(os.path.basename(capture.source.path))
