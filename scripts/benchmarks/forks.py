"""Work in processes of its own, started by a fork: what the parent has imported costs them nothing."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

Job = TypeVar("Job")
MEMORY_BYTES = 8 << 30
"""An error may well ask for more memory than there is: a process that does dies of it alone."""
_WALL_PER_SECOND = 30
"""A process that waits uses no processor time: so many seconds by the clock for each of them."""
_POLL_SECONDS = 0.05


def each(
    jobs: Iterable[Job],
    work: Callable[[Job], Any],
    processes: int,
    seconds: Callable[[Job], float],
    log: Path,
) -> Iterator[tuple[Job, Any]]:
    """What `work` makes of each job (a value that JSON holds), as they end; None where a process died or took
    more than so many seconds of the processor. What they print goes to `log`.
    """
    running: dict[int, tuple[Job, Path, float]] = {}
    with tempfile.TemporaryDirectory(prefix="forks-") as folder:
        for number, job in enumerate(jobs):
            while len(running) >= processes:
                yield from _ended(running)
            result = Path(folder, str(number))
            limit = seconds(job)
            pid = os.fork()
            if not pid:
                _in_child(work, job, result, limit, log)
            running[pid] = (job, result, time.monotonic() + _WALL_PER_SECOND * limit)
        while running:
            yield from _ended(running)


def _ended(running: dict[int, tuple[Job, Path, float]]) -> Iterator[tuple[Job, Any]]:
    for pid, (job, result, deadline) in list(running.items()):
        if time.monotonic() > deadline:
            os.killpg(pid, signal.SIGKILL)
        if os.waitpid(pid, os.WNOHANG)[0]:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)  # what a test may have left running
            del running[pid]
            yield job, json.loads(result.read_text()) if result.exists() else None
    time.sleep(_POLL_SECONDS)


def _in_child(work: Callable[[Job], Any], job: Job, result: Path, limit: float, log: Path) -> None:
    os.setsid()
    resource.setrlimit(resource.RLIMIT_CPU, (int(limit) + 1, int(limit) + 2))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    try:
        with log.open("ab") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        value = json.dumps(work(job))
        part = result.with_suffix(".part")
        part.write_text(value)
        part.rename(result)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(0)
