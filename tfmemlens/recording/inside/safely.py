"""Our work in the user's process: bounded in time, and its errors are noted, never raised."""

import functools
import threading
import time
from typing import Any, Callable, List

_MAX_PROBLEMS = 20


class Guard:
    """Runs our functions, adds up what they cost, and keeps what went wrong in them, each error once."""

    def __init__(self) -> None:
        self.problems: List[str] = []
        self.seconds = 0.0
        self._inside = threading.local()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, which returns None where it fails. What it calls of our own is not counted twice."""

        @functools.wraps(function)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            outermost = not getattr(self._inside, "now", False)
            self._inside.now = True
            start = time.perf_counter()
            try:
                return function(*args, **kwargs)
            except Exception as error:
                self.note("%s: %s: %s" % (function.__name__, type(error).__name__, str(error)[:200]))
                return None
            finally:
                if outermost:
                    self._inside.now = False
                    self.seconds += time.perf_counter() - start

        return guarded

    def note(self, problem: str) -> None:
        """Keep a sentence on what went wrong."""
        if problem not in self.problems and len(self.problems) < _MAX_PROBLEMS:
            self.problems.append(problem)
