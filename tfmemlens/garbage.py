"""Python's cycle collector, kept still while millions of small values are made that all stay alive.

Each of its full passes visits everything that was read so far: on a trace of 300,000 node executions they
took a third of the time.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def without_gc(work: Callable[P, R]) -> Callable[P, R]:
    """The function with the collector off while it runs, and as it was before afterwards."""

    @wraps(work)
    def still(*args: P.args, **kwargs: P.kwargs) -> R:
        was_on = gc.isenabled()
        gc.disable()
        try:
            return work(*args, **kwargs)
        finally:
            if was_on:
                gc.enable()

    return still
