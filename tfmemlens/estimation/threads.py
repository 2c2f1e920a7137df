"""The threads of TensorFlow's executor and what each of them takes next, for ops of any kind: one that is
ready stays with the thread that made it so, and idle threads take it from there after a while.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from tfmemlens.values import dataclass, field

Ready = TypeVar("Ready")


@dataclass
class Worker(Generic[Ready]):
    """A thread: what it keeps for itself, and the queue that others may take from."""

    inline: deque[Ready] = field(default_factory=deque)
    queue: deque[tuple[Ready, float]] = field(default_factory=deque)
    """Ops, and from when on other threads take them."""
    busy: bool = False


def next_for(worker: Worker[Ready], workers: Sequence[Worker[Ready]], now: float) -> Ready | None:
    """What a thread runs next: its own, else what another has had for long enough."""
    if worker.inline:
        return worker.inline.popleft()
    if worker.queue:
        return worker.queue.popleft()[0]
    for other in workers:
        if other.queue and other.queue[-1][1] <= now:
            return other.queue.pop()[0]
    return None


def stolen_at(workers: Sequence[Worker[Ready]]) -> float | None:
    """When an idle thread takes an op from another's queue, unless its owner is there before."""
    return min((worker.queue[-1][1] for worker in workers if worker.queue), default=None)


def hand_over(
    ready: Sequence[Ready],
    worker: Worker[Ready],
    stolen_micros: float,
    is_expensive: Callable[[Ready], bool] | None = None,
) -> None:
    """Give a thread what became ready when it ended an op: of what is expensive it keeps the last, if it has
    nothing else to do, and others may take the rest from `stolen_micros` on. Without `is_expensive` all are.
    """
    expensive = None
    for each in ready:
        if is_expensive is not None and not is_expensive(each):
            worker.inline.append(each)
            continue
        if expensive is not None:
            worker.queue.appendleft((expensive, stolen_micros))
        expensive = each
    if expensive is not None and worker.inline:
        worker.queue.appendleft((expensive, stolen_micros))
    elif expensive is not None:
        worker.inline.append(expensive)
