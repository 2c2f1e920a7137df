"""Where recording begins in a process that `tfmemlens run --trace` started, or a child of such."""

import atexit
from typing import Any, Callable, Dict, List, Mapping

from . import after_import, bundle, graphs, recorded_steps, told_failures
from .recorder import Recorder

FOLDER, EVERY, RANK = "TFMEMLENS_RUN_DIR", "TFMEMLENS_RUN_EVERY", bundle.RANK


def start(environment: Mapping[str, str]) -> Recorder:
    """Wait for the frameworks; until one is imported nothing happens."""
    every = environment.get(EVERY, "")
    recorder = Recorder(environment[FOLDER], environment, int(every) if every.isdigit() else None)

    def first() -> None:
        recorder.guard(recorder.lookout.start)()
        atexit.register(recorder.finish)
        after_import.watch(recorder.guard(told_failures.attach)(recorder) or {})

    attach(recorder, _once(first))
    return recorder


def attach(recorder: Recorder, at_first: Callable[[], None]) -> None:
    """Patch the frameworks, those that are loaded now and the others when they are; `at_first` is called
    before the first.
    """

    def noticed(patch: Callable[..., Any]) -> Callable[[Any], None]:
        def apply(module: Any) -> None:
            at_first()
            recorder.guard(patch)(module, recorder)

        return apply

    patches: Dict[str, Callable[..., Any]] = {}
    for root in ("tensorflow.python.", "tensorflow_core.python."):
        patches.update(
            {
                root + name: noticed(patch)
                for name, patch in {**graphs.PATCHES, **recorded_steps.PATCHES}.items()
            }
        )
    patches["keras.backend.tensorflow_backend"] = noticed(graphs.PATCHES["keras.backend"])
    patches["jax"] = noticed(_nothing)
    after_import.watch(patches)


def _nothing(module: Any, recorder: Recorder) -> None:
    """JAX is asked when a program fails, and not before."""


def _once(function: Callable[[], Any]) -> Callable[[], None]:
    done: List[Any] = []

    def once() -> None:
        if not done:
            done.append(function())

    return once
