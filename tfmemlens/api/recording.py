"""Recording from a program or a notebook."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from os import PathLike
from typing import Any

from tfmemlens import pipeline, renderers
from tfmemlens.api import cells
from tfmemlens.api.answers import Explanation
from tfmemlens.api.trace import Trace
from tfmemlens.errors import TfmemlensError
from tfmemlens.recording import in_program
from tfmemlens.recording.beside.kept_log import KeptLog
from tfmemlens.recording.in_program import session_hook
from tfmemlens.recording.inside import recorder
from tfmemlens.recording.printed import Printed
from tfmemlens.renderers.view import View

__all__ = ["OneCall", "session_hook", "trace_step", "watch"]

_DUMP = "TF_BFC_MEMORY_DUMP"


@contextmanager
def watch(out: str | PathLike[str] | None = None, every: int | None = None) -> Iterator[str]:
    """Record the steps that run in this block, and explain it where it fails for memory.

    Each `every`-th step is traced, by default as many as cost little. The bundle (`explain`, `profile` and
    `report` read it) is in `out`, or in a new folder of the current one, whose path is the block's value. A
    failure is raised as ever; before that the short page is printed to standard error. In a notebook it is
    a card, and the bundle has what the block printed, too, also what TensorFlow wrote past `sys.stderr`.
    While the block runs `TF_BFC_MEMORY_DUMP` is set, if it is not, so that TensorFlow 2.1 and later writes
    the allocator's state where an allocation fails.
    """
    own = in_program.into(out, every)
    with tempfile.TemporaryDirectory(prefix="tfmemlens-") as folder:
        log = KeptLog(os.path.join(folder, "printed.txt"))
        try:
            with _dumping(own.bundle.folder), Printed(log) if cells.in_notebook() else nullcontext():
                yield own.bundle.folder
        except BaseException as error:
            if recorder.is_for_memory(error):
                log.close()
                in_program.failed(own, error, log.text())
                verdict = _explain(own.bundle.folder)
                if verdict and hasattr(error, "add_note"):  # a traceback ends with it
                    error.add_note(f"tfmemlens: {verdict}")
            raise
        finally:
            own.guard(own.write_record)()
            own.active = False


@contextmanager
def _dumping(folder: str) -> Iterator[None]:
    """TensorFlow asks for the variable when an allocation fails, and not before."""
    if os.environ.get(_DUMP):
        yield
        return
    os.environ[_DUMP] = os.path.join(folder, in_program.DUMPS)
    try:
        yield
    finally:
        os.environ.pop(_DUMP, None)


def _explain(folder: str) -> str:
    """Show what explains it, and return the verdict; empty where there is none."""
    verdict = ""
    try:
        report = Explanation.of(pipeline.explain(folder))
    except TfmemlensError as problem:
        sys.stderr.write(f"{problem.sentence}\n")
    else:
        verdict = report.verdict
        if cells.in_notebook():
            cells.show(report)
        else:
            sys.stderr.write(f"{renderers.render(report, 'report', view=View(width=80))}\n")
    sys.stderr.write(f"tfmemlens: this is kept: `tfmemlens explain {folder}`\n")
    return verdict


class OneCall(Trace):
    """The profile of one call: `peak_bytes`, `by("layer")`, `timeline()`…, and what the call returned."""

    result: Any = None


def trace_step(function: Callable[..., Any], *args: Any, **kwargs: Any) -> OneCall:
    """Call a step or a `tf.function` once and return its profile; `.result` is what it returned.

    The call is real: a training step trains. A function that was never called is built within it, so call it
    once before. Raises UsageError where nothing can record, UnreadableInput where the allocator tells nothing
    (a CPU does so with TF_CPU_ALLOCATOR_USE_BFC=1, set before TensorFlow is imported).
    """
    with tempfile.TemporaryDirectory(prefix="tfmemlens-") as folder:
        own = in_program.into(folder)
        with in_program.one_step(own):
            result = function(*args, **kwargs)
        profile = OneCall(pipeline.timelines(folder))
    profile.result = result
    return profile
