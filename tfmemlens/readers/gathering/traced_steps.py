"""The traced steps of a log directory: find them, list them, take the newest or the one that `--step` and
`--tag` ask for.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timezone
from io import BytesIO
from pathlib import Path
from types import ModuleType

from tfmemlens import discovery
from tfmemlens.errors import TfmemlensError, UsageError
from tfmemlens.garbage import without_gc
from tfmemlens.model.capture import Capture, Hints
from tfmemlens.model.line import ReadNote
from tfmemlens.model.step import TracedStep
from tfmemlens.readers.formats import log_memory
from tfmemlens.readers.gathering import inputs

RANK = {
    "run-metadata": 3,
    "tfevents": 3,
    "xspace": 3,
    "log-memory": 3,
    "memory-profile": 2,
    "tfprof": 1,
    "chrome-trace": 1,
}
"""Formats that hold steps. A directory may tell one step in several of them: what has allocations goes before
what has only ops.
"""
_ATTEMPTS = 8
"""How many steps of a directory are read in search of one that tells of memory."""
_GRAPHS = {"graph-def", "meta-graph", "saved-model"}
_DATE = re.compile(r"(\d{4})_(\d\d)_(\d\d)_(\d\d)_(\d\d)_(\d\d)")
_NUMBER = re.compile(r"(?:\A|[-_.]|step|iter)(\d+)\Z", re.IGNORECASE)
_SUFFIXES = re.compile(
    r"(?:\.(?:gz|json|pb|pbtxt|txt|log|bin|meta|profile|timeline|xplane|trace|memory_profile|tfevents))+\Z"
)


def find(source: str | os.PathLike[str]) -> list[TracedStep]:
    """All steps of a directory (recursively) or of one file, oldest first. What cannot be read, or is
    something else, is passed over.
    """
    place = os.fspath(source)
    files = (
        [os.path.join(folder, name) for folder, _, names in os.walk(place) for name in names]
        if os.path.isdir(place)
        else [place]
    )
    found = [
        step
        for file in sorted(files)
        if not os.path.basename(file).startswith(".")
        for step in _of_file(file)
    ]
    return sorted(_together(found), key=lambda step: (_time(step, found), step.step or 0))


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
        module, slug = _kind(path)
        marks = getattr(module, "marks", None)
        if module is None:
            return []
        several = []
        if marks is not None:
            with (opened := inputs.open_input(inputs.Input(path))).file:
                several = list(marks(opened))
    except (TfmemlensError, OSError):
        return []
    if several:
        inside = len(several) > 1 or slug == "tfevents"
        return [
            TracedStep((path,), slug, tag or _stem(path), step, time or _written(path), inside)
            for tag, step, time in several
        ]
    if marks is not None and slug != "log-memory":
        return []
    run = Path(path).resolve().parent
    if slug == "xspace" and _is_run(run):
        return [TracedStep((path,), slug, run.name, None, _dated(run.name) or _written(path))]
    number = _NUMBER.search(_stem(path))
    return [TracedStep((path,), slug, _stem(path), int(number[1]) if number else None, _written(path))]


def _kind(path: str) -> tuple[ModuleType | None, str]:
    """The reader of a file's content. Of an archive only the start is unzipped: a folder may hold data
    sets.
    """
    start = inputs.unzipped_start(path)
    if start:
        return _reader(start, inputs.Opened(path, path, BytesIO(start), len(start)))
    with (opened := inputs.open_input(inputs.Input(path))).file:
        return _reader(opened.head(), opened)


def _reader(head: bytes, opened: inputs.Opened) -> tuple[ModuleType | None, str]:
    from tfmemlens.readers import formats

    for slug, module in discovery.plugins(formats, "sniff_bytes", "read_file").items():
        if module.sniff_bytes(head, opened):
            return (module, slug) if slug in RANK else (None, slug)
    for slug, module in discovery.plugins(formats, "sniff_text", "read_text").items():
        if module.sniff_text(head):
            return (module, slug) if slug in RANK else (None, slug)
    return (log_memory, "log-memory") if log_memory.sniff_text(opened.samples()) else (None, "")


def _together(steps: list[TracedStep]) -> list[TracedStep]:
    """The hosts of one profiler run as one step, without the files that the profiler made of the same
    events.
    """
    runs: dict[str, TracedStep] = {}
    others = []
    for step in steps:
        folder = str(Path(step.paths[0]).resolve().parent)
        if step.format != "xspace" or not _is_run(Path(folder)):
            others.append(step)
        elif folder in runs:
            runs[folder] = replace(runs[folder], paths=(*runs[folder].paths, *step.paths))
        else:
            runs[folder] = step
    made = ("chrome-trace", "memory-profile")
    return [
        *(
            step
            for step in others
            if step.format not in made or str(Path(step.paths[0]).resolve().parent) not in runs
        ),
        *runs.values(),
    ]


Source = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def find_all(source: Source) -> list[TracedStep]:
    """All steps of several places, globs among them. Raises UnreadableInput for a place that is not there."""
    return [step for place in _places(source) for name in inputs.expand(place) for step in find(name)]


@without_gc
def read(source: Source, hints: Hints = Hints(), logs: bool = False) -> Capture:
    """What the readers find, where a log directory stands for one of its steps, with `logs` also for all that
    is no step.

    Raises UnreadableInput, UsageError.
    """
    from tfmemlens import readers

    chosen: list[inputs.Input] = []
    notes: list[ReadNote] = []
    for place in _places(source):
        files, said = _of_place(place, hints, logs)
        chosen += files
        notes += said
    found = readers.read(chosen, hints)
    if not found.timelines and hints.step is None and hints.tag is None:
        found = _another(source, hints, chosen) or found
    if (
        not logs
        and found.graph
        and not found.timelines
        and not found.incidents
        and set(found.source.formats) <= _GRAPHS
    ):
        from tfmemlens.readers.formats.run_metadata import HOW_TO_TRACE

        notes.append(
            ReadNote(
                f"{found.source.path} is a graph and no traced step: give it with --graph beside one;"
                f" {HOW_TO_TRACE}"
            )
        )
    return replace(found, notes=(*notes, *found.notes))


def _another(source: Source, hints: Hints, chosen: list[inputs.Input]) -> Capture | None:
    """Where the newest step of a directory tells nothing of memory (it is cut, or held none), the newest that
    does.
    """
    from tfmemlens import readers

    tried = {file.path for file in chosen}
    for place in _places(source):
        found = find(place) if os.path.isdir(place) else []
        for _, step in sorted(enumerate(found), key=lambda pair: (-RANK[pair[1].format], -pair[0]))[
            :_ATTEMPTS
        ]:
            if not tried & set(step.paths):
                try:
                    read = readers.read(_files(step), hints)
                except TfmemlensError:
                    continue
                if read.timelines:
                    names = ", ".join(
                        sorted(
                            os.path.relpath(path, place)
                            for path in tried
                            if path.startswith(os.fspath(place))
                        )
                    )
                    return replace(
                        read,
                        notes=(
                            ReadNote(
                                f"{names} tells nothing of memory; this is"
                                f" {os.path.relpath(step.paths[0], place)}"
                            ),
                            *read.notes,
                        ),
                    )
    return None


def _files(step: TracedStep) -> list[inputs.Input]:
    tag, number = (step.tag, step.step) if step.inside else (None, None)
    return [
        inputs.Input(path, tag=tag if step.format == "tfevents" else None, step=number) for path in step.paths
    ]


def _of_place(
    place: str | os.PathLike[str], hints: Hints, logs: bool
) -> tuple[list[inputs.Input], list[ReadNote]]:
    if not os.path.isdir(place):
        return inputs.resolve(place), []
    steps = find(place)
    files, notes = choose(os.fspath(place), hints, steps)
    if not files:
        return inputs.resolve(place), []
    traces = {path for step in steps for path in step.paths}
    runs = {
        Path(path).parent
        for step in steps
        if step.format == "xspace"
        for path in step.paths
        if _is_run(Path(path).resolve().parent)
    }
    beside = (
        [
            file
            for file in inputs.resolve(place)
            if file.path not in traces and Path(file.path).parent not in runs
        ]
        if logs
        else []
    )
    return beside + files, notes


def _places(source: Source) -> list[str | os.PathLike[str]]:
    return [source] if isinstance(source, str | os.PathLike) else list(source)


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
    chosen = max(enumerate(wanted), key=lambda pair: (RANK[pair[1].format], pair[0]))[1]
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


def _stem(path: str) -> str:
    return _SUFFIXES.sub("", os.path.basename(path)) or os.path.basename(path)


def _is_run(folder: Path) -> bool:
    """Whether a folder is one run of the profiler: `plugins/profile/<date>`, or dated wherever it was
    copied.
    """
    return bool(_DATE.search(folder.name)) or folder.parent.name == "profile"


def _dated(folder: str) -> float | None:
    found = _DATE.search(folder)
    if found is None:
        return None
    try:
        return datetime(*map(int, found.groups()), tzinfo=timezone.utc).timestamp()  # type: ignore[misc, arg-type]
    except ValueError:
        return None


def _written(path: str) -> float:
    return Path(path).stat().st_mtime


def told_apart(captures: list[Capture]) -> list[Capture]:
    """The files of several hosts: where two have an allocator of the same name on a device of the same name,
    the host's name comes first.
    """
    names = Counter(
        (timeline.device, timeline.allocator) for found in captures for timeline in found.timelines
    )
    return [
        replace(
            found,
            timelines=tuple(
                (
                    replace(timeline, device=f"{_stem(found.source.path)} {timeline.device}")
                    if names[timeline.device, timeline.allocator] > 1
                    else timeline
                )
                for timeline in found.timelines
            ),
        )
        for found in captures
    ]
