"""The process that reads inputs, seen from its parent: asked, watched, and killed when a file takes too long
or too much memory.
"""

from __future__ import annotations

import os
import pickle
import queue
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tfmemlens.fleet import schema
from tfmemlens.fleet.extras import load
from tfmemlens.fleet.reading import (
    MEMORY_VARIABLE,
    STORAGE,
    TOO_MUCH_MEMORY,
    Began,
    Done,
    End,
    Reading,
    row_of,
)
from tfmemlens.units import human
from tfmemlens.values import dataclass, replace

_LOOK_SECONDS = 0.2
_START_SECONDS = 60.0
"""More time for the first question: a process has to start."""
_LONGEST_PAUSE = 30.0


@dataclass(frozen=True)
class Limits:
    """What one file may take, and how often a storage is asked again."""

    seconds: float = 300.0
    memory_bytes: int = 1 << 30
    retries: int = 4
    pause_seconds: float = 0.5
    """Before the first retry; twice as long before each one after it."""


class GaveUpError(Exception):
    """The process died: how. What it was about to tell is lost."""


class KilledError(GaveUpError):
    """The process was killed over the file that it had begun: the reason."""


class Reader:
    """A process that answers; after it was killed the next question starts another."""

    def __init__(self, memory_bytes: int) -> None:
        self._memory_bytes = memory_bytes
        self._process: subprocess.Popen[bytes] | None = None
        self._answers: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def ask(self, readings: Sequence[Reading], seconds: float) -> Iterator[Began | Done | End]:
        """The messages on files, one after the other, each with its end. Raises KilledError when one takes
        longer, or more memory, than it may, and GaveUpError.
        """
        process, extra = self._running()
        assert process.stdin is not None
        try:
            pickle.dump(readings, process.stdin, pickle.HIGHEST_PROTOCOL)
            process.stdin.flush()
        except OSError:
            raise self._dead(process) from None
        left = len(readings)
        while left:
            message = self._next(process, seconds + extra, seconds)
            extra = 0.0
            left -= isinstance(message, End)
            yield message

    def _next(self, process: subprocess.Popen[bytes], seconds: float, told: float) -> Began | Done | End:
        until = time.monotonic() + seconds
        while True:
            try:
                message: Began | Done | End | None = self._answers.get(timeout=_LOOK_SECONDS)
            except queue.Empty:
                if time.monotonic() > until:
                    self.stop()
                    raise KilledError(f"it took longer than {told:g} s (--time-limit)") from None
                if _resident_bytes(process.pid) > self._memory_bytes:
                    self.stop()
                    raise KilledError(f"{TOO_MUCH_MEMORY}: {human(self._memory_bytes)}") from None
                continue
            if message is None:
                raise self._dead(process)
            return message

    def _running(self) -> tuple[subprocess.Popen[bytes], float]:
        """The process, and the seconds that it needs to start."""
        if self._process is not None and self._process.poll() is None:
            return self._process, 0.0
        self.stop()
        root = str(Path(__file__).parents[2])
        paths = [root, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        variables = {"PYTHONPATH": os.pathsep.join(paths), MEMORY_VARIABLE: str(self._memory_bytes)}
        threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self._process = process = subprocess.Popen(
            [sys.executable, "-c", "from tfmemlens.fleet.reading import serve; serve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the client
            env={**os.environ, **threads, **variables},
        )
        self._answers = queue.SimpleQueue()
        threading.Thread(target=_receive, args=(process.stdout, self._answers), daemon=True).start()
        return process, _START_SECONDS

    def _dead(self, process: subprocess.Popen[bytes]) -> GaveUpError:
        self.stop()
        status = process.returncode
        how = f"signal {-status}" if status < 0 else f"exit status {status}"
        return GaveUpError(f"the process that read it died ({how})")

    def limit(self, memory_bytes: int) -> None:
        """From now on a file may take so much."""
        if memory_bytes != self._memory_bytes:
            self.stop()
            self._memory_bytes = memory_bytes

    def stop(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):  # a question that it did not take
                    pipe.close()


def _receive(pipe: Any, answers: queue.SimpleQueue[Any]) -> None:
    """Hand on what the process answers, None when it has ended."""
    try:
        while True:
            answers.put(pickle.load(pipe))
    except (
        EOFError,
        OSError,
        ValueError,
        pickle.UnpicklingError,
    ):  # it ended, perhaps half-way
        answers.put(None)


def _resident_bytes(pid: int) -> int:
    psutil = load("psutil")
    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return 0


def inputs(reader: Reader, readings: Sequence[Reading], limits: Limits) -> Iterator[tuple[Done, int]]:
    """Every input that files hold, read or given up, with how often its storage was asked again.

    They are asked for at once, since a question for each costs a tenth of the time. What a storage did not
    give is asked for again afterwards, and after the process died what it had not told of, one by one.
    """
    if len(readings) == 1:
        yield from _alone(reader, readings[0], limits)
        return
    left, again = deque(readings), list[tuple[Reading, int]]()
    source, is_open = "", False
    try:
        for message in reader.ask(readings, limits.seconds):
            if isinstance(message, Began):
                source, is_open = message.source, True
            elif isinstance(message, Done):
                left[0], is_open = _after(left[0]), False
                yield message, 0
            else:
                reading = left.popleft()
                if message.is_final:
                    yield _unread(reading, source if is_open else reading.listed.source, message.problem), 0
                elif message.problem:
                    again.append((reading, 1))
                is_open = False
    except KilledError as reason:
        reading = left.popleft()
        yield _unread(reading, source if is_open else reading.listed.source, f"{reason}"), 0
        if is_open and source != reading.listed.source:
            again.append((_after(reading), 0))
    except GaveUpError:
        pass
    for reading, attempts in (*again, *((each, 0) for each in left)):
        yield from _alone(reader, reading, limits, attempts)


def _alone(reader: Reader, reading: Reading, limits: Limits, attempts: int = 0) -> Iterator[tuple[Done, int]]:
    """The inputs of one file, whose storage was asked again so many times before."""
    while True:
        source, is_open = reading.listed.source, False
        try:
            for message in reader.ask([reading], limits.seconds):
                if isinstance(message, Began):
                    source, is_open = message.source, True
                elif isinstance(message, Done):
                    reading, is_open = _after(reading), False
                    yield message, attempts
                    attempts = 0
        except GaveUpError as gave_up:
            yield _unread(reading, source, f"{gave_up}"), attempts
            if not is_open or source == reading.listed.source:
                return
            reading, attempts = _after(reading), 0
            continue
        assert isinstance(message, End)
        if not message.problem:
            return
        if message.is_final or attempts >= limits.retries:
            gone = message.problem if message.is_final else f"{STORAGE}{message.problem}"
            yield _unread(reading, source if is_open else reading.listed.source, gone), attempts
            return
        time.sleep(min(limits.pause_seconds * 2**attempts, _LONGEST_PAUSE))
        attempts += 1


def _after(reading: Reading) -> Reading:
    """What is left of a file after one of its inputs."""
    return replace(reading, skip=reading.skip + 1)


def _unread(reading: Reading, source: str, reason: str) -> Done:
    return Done(row_of(reading, source, schema.UNREADABLE, reason), [])
