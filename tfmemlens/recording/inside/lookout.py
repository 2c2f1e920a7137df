"""Who holds the memory, noted while an allocator still waits: it does so for ten seconds before it gives up,
and some programs end by a signal right after, with nobody left who could say anything.

From TensorFlow 2.1 on an allocator writes its state when it begins to wait. Before that a step that computes
nothing for a while is taken for one that waits. A process that has nearly all the RAM that it may have is
noted, too: the kernel asks nobody before it kills.
"""

import os
import sys
import threading
import time
from typing import Any, Callable, Mapping, Optional, Set

from . import fullness

SECONDS = 1.0
"""Between two looks."""
IDLE_LOOKS, MOST_NOTES = 2, 3
_IDLE_SHARE = 0.05
"""A process that waits uses less of a CPU."""
_RUNNING = ("client/session.py", "eager/execute.py")
"""The ends of TensorFlow's sources that are innermost while a graph runs."""


class Lookout:
    """A thread of its own, which looks now and then and tells `note`."""

    def __init__(self, environment: Mapping[str, str], note: Callable[[], Any]) -> None:
        self._folder, self._prefix = os.path.split(environment.get("TF_BFC_MEMORY_DUMP", ""))
        self._note = note
        self._pid = 0
        self._changed: Optional[float] = None
        self._seen: Set[str] = set()
        self._idle = self._notes = 0
        self._used = self._at = 0.0
        self._fullness = fullness.Fullness()

    def start(self) -> None:
        """Begin, once in a process; one that was forked has no thread but its own."""
        if self._pid == os.getpid():
            return
        self._pid, self._notes, self._seen = os.getpid(), 0, set()
        self._changed, self._seen = None, self._dumps()
        self._fullness = fullness.Fullness()
        thread = threading.Thread(target=self._run, name="tfmemlens")
        thread.daemon = True
        thread.start()

    def _run(self) -> None:
        self._used, self._at = time.process_time(), time.perf_counter()
        while self._notes < MOST_NOTES:
            time.sleep(SECONDS)
            if self.waits():
                self._notes += 1
                self._note()
            elif self._fullness.rises():
                self._note()

    def waits(self) -> bool:
        """Whether an allocator began to wait since the last look, as far as can be told."""
        dumps = self._dumps()
        fresh, self._seen = bool(dumps - self._seen), dumps | self._seen
        idle = self._is_idle() and runs_a_graph()
        self._idle = self._idle + 1 if idle else 0
        return fresh or self._idle == IDLE_LOOKS

    def _dumps(self) -> Set[str]:
        """The files of this run's allocators; the folder is listed only where it changed."""
        if not self._prefix:
            return set()
        try:
            changed = os.stat(self._folder or ".").st_mtime
            if changed == self._changed:
                return self._seen
            self._changed = changed
            return {name for name in os.listdir(self._folder or ".") if name.startswith(self._prefix)}
        except OSError:
            return self._seen

    def _is_idle(self) -> bool:
        """Whether the process has hardly computed since the last look."""
        used, at = time.process_time(), time.perf_counter()
        computed, passed = used - self._used, at - self._at
        self._used, self._at = used, at
        return computed < _IDLE_SHARE * passed


def runs_a_graph() -> bool:
    """Whether a thread is in TensorFlow's own code, which runs a graph."""
    files = (frame.f_code.co_filename.replace(os.sep, "/") for frame in sys._current_frames().values())
    return any(file.endswith(_RUNNING) for file in files)
