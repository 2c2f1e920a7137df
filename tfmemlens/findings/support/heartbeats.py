"""A process that sent no heartbeat in time: the coordination service ends the others for it."""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

OF_A_HEARTBEAT = "sent no heartbeat"
_TASK = regex(r"Task /job:\S{1,60}/task:(?P<task>\d{1,6}) heartbeat timeout\b")
_OF_THE_SERVICE = "0"
"""The first process runs the service that counts the heartbeats of all."""


def _task(line: Line) -> str | None:
    match = _TASK.search(line.text)
    return match["task"] if match else None


def who_was_silent(line: Line) -> str:
    """Which process it was: what the first one reports of itself, it lived to report."""
    task = _task(line)
    if task == _OF_THE_SERVICE:
        return (
            "; task 0 as a rule runs the very service that reports this, so most likely it was alive and too"
            " busy (a long allocation, pinning, a load, a compilation)"
        )
    return f": task {task}" if task else ""


def after_a_silence(line: Line) -> Iterator[Remedy]:
    """What tells whether it ended, and what helps where it was only slow."""
    task = _task(line)
    whose = f"task {task}" if task else "the task that is named"
    find = Remedy(
        f"look at {whose} first: the last lines of its own log, its exit status, and the kernel's log of its"
        " host say whether it was killed (137: as a rule for host RAM), preempted or failed",
        "dmesg -T | grep -i -E 'killed process|xid'",
        slug="the-silent-process",
    )
    wait = Remedy(
        "where it was alive and only busy, let the service wait longer, and do less in one go (parts of the"
        " state one after another); a job of one process needs no jax.distributed.initialize at all",
        "jax.distributed.initialize(heartbeat_timeout_seconds=600)   # newer JAX",
        slug="longer-heartbeat",
    )
    yield from (wait, find) if task == _OF_THE_SERVICE else (find, wait)
