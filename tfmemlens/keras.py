"""A Keras callback that records one training step: `callbacks=[tfmemlens.keras.MemoryCallback()]`.

Keras is the program's own: it is looked for when a callback is made.
"""

from __future__ import annotations

import warnings
from os import PathLike
from typing import Any

from tfmemlens.errors import TfmemlensError
from tfmemlens.recording import in_program
from tfmemlens.units import human, parse_limit


def MemoryCallback(  # noqa: N802 - a class to its users
    trace_step: int = 5, out: str | PathLike[str] | None = None, limit: str | int | None = None
) -> Any:
    """A callback that records training step number `trace_step` (from 1) and the model's layers and variables
    into `out`, a bundle that `tfmemlens profile` reads. A `limit` ("8GiB", or bytes) warns when that step
    needs more. Its attribute `trace` is the step once it was recorded, as `tfmemlens.read` gives it.
    """
    most = parse_limit(limit) if isinstance(limit, str) else limit
    own = in_program.Callback(trace_step, out)

    class _MemoryCallback(in_program.callback_class()):  # type: ignore[misc]
        """Keras's, with our work in it."""

        folder = own.folder
        trace: Any = None

        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            del batch, logs
            own.batch_begins()

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            del batch, logs
            own.model = self.model
            if not own.batch_ended():
                return
            try:
                from tfmemlens.api import read

                self.trace = read(own.folder)
            except TfmemlensError as problem:
                warnings.warn(f"tfmemlens: {problem}", stacklevel=2)
                return
            if most is not None and self.trace.peak_bytes > most:
                over = f"step {own.batches} needs {human(self.trace.peak_bytes)}, more than {human(most)}"
                warnings.warn(f"tfmemlens: {over}; `tfmemlens profile {own.folder}`", stacklevel=2)

        def on_train_end(self, logs: Any = None) -> None:
            del logs
            if 0 < own.batches < own.trace_step:
                ended = f"training ended after {own.batches} steps, before step {own.trace_step}"
                warnings.warn(f"tfmemlens: nothing was recorded: {ended} (`trace_step`)", stacklevel=2)

    return _MemoryCallback()
