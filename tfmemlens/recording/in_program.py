"""Recording that a program asks for itself, in a script or a notebook: light to import, TensorFlow is the
program's own.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tfmemlens.errors import MissingExtra, UsageError
from tfmemlens.patterns import regex
from tfmemlens.recording.beside import recorded
from tfmemlens.recording.inside import bundle, graphs, recorded_steps, recorder, start

LOG, PAGE, DUMPS = "log.txt", "report.html", "bfc"
_BUSY = (
    "the step could not be recorded",
    "import TensorFlow 2.2 or newer first, and end a profiler that runs already",
)
_CELL = regex(r'File "(?:[^"\n]*[/\\]ipykernel_\d+[/\\]\d+\.py|<ipython-input-[^"\n]*>)"')
_recorder: recorder.Recorder | None = None


def into(folder: str | os.PathLike[str] | None, every: int | None = None) -> recorder.Recorder:
    """The process's recorder, which writes into this folder, or a new one, from now on. Raises UsageError."""
    global _recorder
    place = Path(folder or time.strftime("tfmemlens-%Y%m%d-%H%M%S")).resolve()
    try:
        place.mkdir(parents=True, exist_ok=True)
        if place != Path.cwd():
            _clear(place)
    except OSError as error:
        raise UsageError(
            f"{place} cannot be used: {error.strerror or error}", "name another folder"
        ) from None
    if _recorder is None:
        _recorder = recorder.Recorder(str(place), os.environ, every)
        start.attach(_recorder, lambda: None)
    else:
        _recorder.restart(str(place), every)
    return _recorder


def _clear(place: Path) -> None:
    """Take away what a process that has ended recorded here: a program that runs again replaces it. Raises
    OSError.
    """
    if not _has_ended(place / bundle.RECORDER):
        return
    for file in place.iterdir():
        if recorded.is_file(file.name) or file.name in (LOG, PAGE) or file.name.startswith(f"{DUMPS}_"):
            file.unlink()
        elif recorded.is_folder(file):
            shutil.rmtree(file)


def _has_ended(record: Path) -> bool:
    """Whether the process that wrote a record is no more; of what is no record nobody knows."""
    try:
        told = json.loads(record.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return False
    pid = told.get("pid") if isinstance(told, dict) else None
    if not isinstance(pid, int):
        return False
    with suppress(PermissionError):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
    return False


def failed(own: recorder.Recorder, error: BaseException, printed: str = "") -> None:
    """Write what explains a failure for memory: what was printed and the error as a log, the model, who holds
    tensors.
    """
    own.bundle.write(LOG, f"{printed}{text_of(error)}".encode("utf-8", "backslashreplace"))
    own.guard(own.failed)(error, error.__traceback__)


def text_of(error: BaseException) -> str:
    """A traceback, its cells as `cell`: the kernel's own names for them are files that nobody can open."""
    told = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    return _CELL.sub('File "cell"', told)


@contextmanager
def one_step(own: recorder.Recorder) -> Iterator[None]:
    """Record what the block runs as one step. Raises UsageError where that cannot be."""
    windows = recorded_steps.windows_of(own)
    own.active = False  # what is called inside is no step of its own
    if not windows.open():
        raise UsageError(*_BUSY)
    try:
        yield
    finally:
        own.steps["one step"] = 1
        own.guard(windows.close)()
        own.guard(own.describe_models)()
        own.guard(own.write_record)()


def session_hook(out: str | os.PathLike[str] | None = None, every: int | None = None) -> Any:
    """A SessionRunHook: the list of tensors at a failure, and now and then, or each `every`-th run, a traced
    step in `out`. Raises MissingExtra where no TensorFlow is loaded.
    """
    tensorflow = _loaded("tensorflow")
    own = into(out, every)
    own.active = True
    runs = graphs.Runs(own, tensorflow.compat.v1.RunOptions)
    base: Any = tensorflow.compat.v1.train.SessionRunHook

    class MemoryHook(graphs.Hook, base):  # type: ignore[misc]
        """Ours as TensorFlow wants it."""

        def end(self, session: Any) -> None:
            del session
            own.guard(own.write_record)()

    return MemoryHook(runs, tensorflow.compat.v1.train.SessionRunArgs)


class Callback:
    """What a Keras callback does: trace one step, describe the model."""

    def __init__(self, trace_step: int, out: str | os.PathLike[str] | None) -> None:
        self.recorder = into(out)
        self.recorder.active = False
        self.trace_step = max(trace_step, 1)
        self.batches = 0
        self.model: Any = None
        self._windows = recorded_steps.windows_of(self.recorder)

    @property
    def folder(self) -> str:
        """Where the bundle is."""
        return self.recorder.bundle.folder

    def batch_begins(self) -> None:
        """Record the step if it is its turn."""
        self.batches += 1
        if self.batches == self.trace_step:
            self.recorder.guard(self._windows.open)()

    def batch_ended(self) -> bool:
        """Keep what was recorded; whether it was this step's turn."""
        if self.batches != self.trace_step:
            return False
        self.recorder.steps["train step"] = self.batches
        self.recorder.guard(self._windows.close)()
        self.recorder.guard(self._describe)()
        return True

    def _describe(self) -> None:
        self.recorder.describe_models([self.model] if self.model is not None else None)
        self.recorder.write_record()


def callback_class() -> type:
    """Keras's own `Callback`, of whichever Keras is loaded. Raises MissingExtra."""
    for name in ("keras", "tensorflow", "tf_keras"):
        module = sys.modules.get(name)
        keras = getattr(module, "keras", module) if name == "tensorflow" else module
        callbacks = getattr(keras, "callbacks", None)
        if callbacks is not None:
            base: type = callbacks.Callback
            return base
    raise MissingExtra("no Keras is loaded in this process", "import tensorflow or keras first")


def _loaded(name: str) -> Any:
    module = sys.modules.get(name)
    if module is None:
        raise MissingExtra(f"{name} is not loaded in this process", f"import {name} first")
    return module
