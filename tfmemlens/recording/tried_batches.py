"""Real steps of a model under a limit, in a process that has TensorFlow: which batches run."""

from __future__ import annotations

import json
from pathlib import Path

from tfmemlens import child_python
from tfmemlens.errors import UnreadableInput, UsageError
from tfmemlens.model.fit import TriedBatch, TriedBatches
from tfmemlens.model.settings import StepSettings
from tfmemlens.recording.beside import cgroups
from tfmemlens.units import MIB, human

SCRIPT = Path(__file__).with_name("try_batches.py")
_STARTING_SECONDS = 120
"""TensorFlow takes so long to be read at most, beside what the search takes."""
_FOUND, _LATE, _OFTEN = "found", "time", "trials"
_TOO_OLD = "trying batches needs"
_ROOM = 0.9
"""Of the memory that this machine has free, so much may be filled: the program itself takes some, too."""


def record(
    model: str,
    settings: StepSettings,
    start: int,
    python: str | None,
    seconds: int,
    likely: tuple[int, int] = (0, 0),
) -> TriedBatches:
    """Try batches from `start` on under `settings.limit_bytes`, for so many seconds; the largest likely lies
    between the `likely` ones. Raises UsageError for a limit that this machine cannot give, MissingExtra
    without TensorFlow, UnreadableInput where no batch ran or failed for memory.
    """
    limit = settings.limit_bytes or 0
    _check_there_is_room(limit, free_bytes())
    answer = child_python.run(
        [str(SCRIPT), *_arguments(model, settings, start, seconds, likely)],
        python,
        "to run the model with",
        max_seconds=seconds + _STARTING_SECONDS,
    )
    trials = [json.loads(line) for line in _lines(answer.out, "TRIED ")]
    tried = tuple(
        TriedBatch(told["batch"], told["ran"], told.get("peak")) for told in trials if told["ran"] is not None
    )
    said = answer.line("MEASURED ")
    ending = json.loads(said) if said else {}
    why = ending.get("ended", answer.last_words)
    otherwise = why not in (_FOUND, _LATE, _OFTEN)
    if not tried or not ending or (otherwise and not any(each.ran for each in tried)):
        raise _not_run(model, why, seconds, answer.python)
    stopped = f"batch {trials[-1]['batch']} failed, but not for memory: {why}" if otherwise else None
    return TriedBatches(
        ending["tensorflow"], limit // MIB * MIB, ending["steps"], tried, why == _FOUND, stopped
    )


def _not_run(model: str, why: str, seconds: int, python: str) -> UnreadableInput:
    """No batch ran, and not for memory: the child's reason, and what to do."""
    if why == _LATE:
        return UnreadableInput(
            f"no step of {model} ended within {seconds} seconds",
            "--seconds N gives it longer, --batch N says where to begin",
        )
    if why.startswith(_TOO_OLD):
        return UnreadableInput(
            f"{python} cannot try batches: {why}",
            "give the Python of a newer TensorFlow with --python, or leave out --measure for a prediction",
        )
    return UnreadableInput(
        f"TensorFlow could not run steps of {model}: {why}", "does the model train in that TensorFlow?"
    )


def _lines(text: str, start: str) -> list[str]:
    return [line.removeprefix(start) for line in text.splitlines() if line.startswith(start)]


def _check_there_is_room(limit: int, free: int | None) -> None:
    if limit < MIB:
        raise UsageError(f"{human(limit)} is no limit to try", "TensorFlow's allocator takes whole mebibytes")
    if free is not None and limit > _ROOM * free:
        raise UsageError(
            f"{human(limit)} cannot be tried here: this machine has {human(free)} of memory free",
            "give a smaller --limit, leave out --measure for a prediction, or run it where there is more",
        )


def free_bytes(meminfo: str = "/proc/meminfo") -> int | None:
    """What this machine, or the control group of this process, has free; None where it does not say."""
    free = []
    try:
        with open(meminfo, encoding="ascii") as file:
            told = [line.split() for line in file if line.startswith("MemAvailable:")]
        free = [int(words[1]) * 1024 for words in told]
    except (OSError, ValueError):
        pass  # no Linux
    group = cgroups.read()
    if group is not None and group.limit_bytes is not None:
        free.append(group.limit_bytes)
    return min(free, default=None)


def _arguments(
    model: str, settings: StepSettings, start: int, seconds: int, likely: tuple[int, int]
) -> list[str]:
    """The child's words for these settings."""
    told = {
        "limit-mib": (settings.limit_bytes or 0) // MIB,
        "start": start,
        "low": likely[0] or None,
        "high": likely[1] or None,
        "seconds": seconds,
        "samples": settings.samples,
        "sequence": settings.sequence,
        "optimizer": settings.optimizer,
        "threads": settings.workers,
        "onednn": None if settings.onednn is None else int(settings.onednn),
        "jit": None if settings.jit is None else int(settings.jit),
    }
    words = [word for name, value in told.items() if value is not None for word in (f"--{name}", str(value))]
    for sizes in settings.inputs.values():
        words += ["--shape", "x".join(str(size) for size in sizes)]
    return [model, *words]
