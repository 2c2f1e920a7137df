"""Failures that never reach Python's top level: those that the program catches and prints, a thread's, and
those of a process that `multiprocessing` started, which prints them itself and ends without `atexit`.
"""

import threading
import traceback
from typing import Any, Callable, Dict

from .after_import import stands_for
from .recorder import Recorder


def attach(recorder: Recorder) -> Dict[str, Callable[[Any], None]]:
    """Be told of each error that is printed or formatted, and of a thread's; what is to be patched when it is
    imported.
    """
    failed = recorder.guard(recorder.failed)
    _patch_tracebacks(failed)
    _patch_threads(failed)
    return {"multiprocessing.process": lambda module: _patch_processes(module, recorder)}


def _patch_tracebacks(failed: Callable[[Any, Any], Any]) -> None:
    """All that prints an error makes one of these: `traceback`, `logging`, pools of `concurrent.futures`."""
    printed: Any = traceback.TracebackException
    original = printed.__init__

    def init(self: Any, *args: Any, **named: Any) -> None:
        error, trace = (args + (None,) * 3)[1:3]
        error, trace = named.get("exc_value", error), named.get("exc_traceback", trace)
        if isinstance(error, Exception) and trace is not None:
            failed(error, trace)
        original(self, *args, **named)  # makes others, of the errors that it was raised from

    printed.__init__ = stands_for(init, original)


def _patch_threads(failed: Callable[[Any, Any], Any]) -> None:
    threads: Any = threading
    original = getattr(threads, "excepthook", None)  # Python 3.8 has it, and prints without `traceback`
    if original is None:
        return

    def hook(told: Any) -> None:
        failed(told.exc_value, told.exc_traceback)
        original(told)

    threads.excepthook = stands_for(hook, original)


def _patch_processes(module: Any, recorder: Recorder) -> None:
    original = module.BaseProcess._bootstrap

    def bootstrap(self: Any, *args: Any, **named: Any) -> Any:
        recorder.guard(recorder.lookout.start)()
        try:
            return original(self, *args, **named)
        finally:
            if recorder.told:
                recorder.guard(recorder.write_record)()

    module.BaseProcess._bootstrap = stands_for(bootstrap, original)
