"""What a queue of TensorFlow 1, or a prefetch of tf.data, holds at a failure: as the recorded graph or the
owners that the program counted tell, else as the program and the sizes of the blocks do.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfmemlens.findings.support.program_lines import code_lines, numbers_by_name
from tfmemlens.findings.support.rows import all_in_use, on_host
from tfmemlens.knowledge.input_queues import (
    LEAST,
    OF_A_QUEUE,
    QUEUE_CALL,
    Bound,
    QueueOfProgram,
    called_queues,
    queue_named,
    queues_of,
)
from tfmemlens.knowledge.kept_elements import Ahead, prefetched
from tfmemlens.model.allocation import Allocation
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.line import Line
from tfmemlens.model.tensor import format_shape
from tfmemlens.units import round_up
from tfmemlens.values import dataclass

_LEAST_SHARE, _LEAST_RECORDED = 0.5, 0.3
_LEAST_COUNT, _LEAST_OF_ITSELF = 100, 16
"""So many blocks, and where an op of the queue itself failed."""
_ROOM = 0.9
"""A queue that holds fewer than so much of the blocks cannot have them."""


@dataclass(frozen=True, slots=True)
class HeldInQueue:
    """Elements that wait in a queue."""

    name: str
    """`shuffle_batch`, or what the graph calls it."""
    line: Line | None
    count: int
    bytes: int
    element_bytes: int
    element: str
    """`[112,112,3]`, empty where it is not known."""
    capacity: Bound | None
    least: Bound | None
    batch: int | None
    call: str
    measured: bool
    ahead: bool = False
    """Whether its elements are whole batches that `prefetch` of tf.data makes ready."""


def held_in_queue(case: Case, moment: Moment) -> HeldInQueue | None:
    """The queue that holds much of what is in use; None where nothing shows one with room for it."""
    if moment.request is None or not on_host(moment):
        return None
    told = case.capture.surroundings
    program = told.program()
    known = list(called_queues(program, numbers_by_name(code_lines(told)))) if program else []
    return (
        _recorded(case, moment, known)
        or _of_prefetch(case, moment, moment.request)
        or _of_blocks(case, moment, moment.request, known)
    )


_LEAST_AHEAD, _LEAST_UNSEEN, _BEING_MADE = 8, 32, 8
"""So many blocks in the size of an input that the program recorded, and so many where only sizes speak; so
many more than there is room for may be there, as they are made and used.
"""


def _of_prefetch(case: Case, moment: Moment, request: Request) -> HeldInQueue | None:
    """A prefetch of the program with room for the batches, or the equal blocks, that are half of what is in
    use; equal blocks in the size of the request may as well be outputs of as many layers.
    """
    ahead = prefetched(code_lines(case.capture.surroundings))
    if ahead is None:
        return None
    room = (ahead.room.value or 0) + _BEING_MADE
    if moment.counted is not None:
        pairs = zip(moment.counted.table, moment.counted.owners, strict=True)
        mine = [row for row, owner in pairs if owner.layer == ahead.call]
        if mine:
            largest = max(mine, key=lambda row: row.total_bytes)
            count, held = sum(row.count for row in mine), sum(row.total_bytes for row in mine)
            if count >= _LEAST_AHEAD and held >= _LEAST_RECORDED * all_in_use(moment):
                return _waiting(ahead, largest, count, held, True)
            return None
    table = [row for row in moment.attribution.table if row.node is None]
    most = max(table, key=lambda row: row.total_bytes, default=None)
    need = request.needed_bytes
    if (
        most is None
        or not _LEAST_UNSEEN <= most.count <= room
        or (need and round_up(need) == most.size_bytes)
    ):
        return None
    return (
        _waiting(ahead, most, most.count, most.total_bytes, False)
        if most.total_bytes >= _LEAST_SHARE * all_in_use(moment)
        else None
    )


def _waiting(ahead: Ahead, row: Allocation, count: int, held: int, measured: bool) -> HeldInQueue:
    return HeldInQueue(
        ahead.call,
        ahead.line,
        count,
        held,
        row.requested_bytes or row.size_bytes,
        format_shape(row.shape) if row.shape else "",
        ahead.room,
        None,
        None,
        "prefetch",
        measured,
        ahead=True,
    )


def _recorded(case: Case, moment: Moment, known: Sequence[QueueOfProgram]) -> HeldInQueue | None:
    """The queue of the recorded graph that has most of the blocks."""
    if moment.counted is None or case.capture.graph is None:
        return None
    queues = {each.label: each for each in queues_of(case.capture.graph)}
    rows = [
        (row, queues[owner.layer])
        for row, owner in zip(moment.counted.table, moment.counted.owners, strict=True)
        if owner.layer in queues
    ]
    if not rows:
        return None
    sums = {queue.name: sum(row.total_bytes for row, each in rows if each is queue) for _, queue in rows}
    name = max(sums, key=lambda each: sums[each])
    if sums[name] < _LEAST_RECORDED * all_in_use(moment):
        return None
    mine = [(row, queue) for row, queue in rows if queue.name == name]
    largest, queue = max(mine, key=lambda pair: pair[0].total_bytes)
    made = queue_named(queue.scope, known)
    return HeldInQueue(
        queue.scope,
        made.line if made else None,
        sum(row.count for row, _ in mine if row.shape == largest.shape),
        sums[name],
        largest.requested_bytes or largest.size_bytes,
        format_shape(largest.shape) if largest.shape else "",
        made.capacity if made and made.capacity else Bound(queue.capacity),
        made.least if made and made.least else Bound(queue.least),
        made.batch if made else None,
        made.call if made else "",
        True,
    )


def _of_blocks(
    case: Case, moment: Moment, request: Request, known: Sequence[QueueOfProgram]
) -> HeldInQueue | None:
    """A queue that the program makes, or whose own op failed, with room for most of the blocks."""
    failed, told = request.failed, case.capture.surroundings
    itself = bool(OF_A_QUEUE.search(failed.op or "") or OF_A_QUEUE.search(failed.node or ""))
    itself = (
        itself or bool(QUEUE_CALL.search(failed.source_text or "")) or LEAST in (failed.source_text or "")
    )
    least = _LEAST_OF_ITSELF if itself else _LEAST_COUNT
    table = [row for row in moment.attribution.table if row.node is None]
    most = max(table, key=lambda row: row.total_bytes, default=None)
    if most is None or most.count < least:
        return None
    size, element = most.size_bytes, ""
    need, shape = failed.tensor_bytes, failed.shape or ()
    sample = round_up(need // shape[0]) if need and shape and shape[0] else 0
    if sample and (sample == size or (itself and sample < size < 2 * sample)):
        size, element = sample, format_shape(shape[1:])
    elif need and round_up(need) == size:
        element = format_shape(shape)
    alike = [row for row in table if size <= row.size_bytes < 2 * size]
    count, held = sum(row.count for row in alike), sum(row.total_bytes for row in alike)
    if held < _LEAST_SHARE * all_in_use(moment):
        return None
    room = [
        each
        for each in known
        if each.capacity is None or each.capacity.value is None or each.capacity.value >= _ROOM * count
    ]
    sure = [each for each in room if each.capacity and each.capacity.value]
    made = next(iter(room if itself else sure), None)
    if made is not None:
        bounds = made.capacity, made.least, made.batch
        return HeldInQueue(made.call, made.line, count, held, size, element, *bounds, made.call, False)
    if known or not (itself or told.shows("queueing samples")):
        return None
    text = failed.source_text or ""
    quoted = next((line for line in code_lines(told) if QUEUE_CALL.search(line.text)), None)
    line = quoted or told.shows("queueing samples")
    call = QUEUE_CALL.search(text) or (QUEUE_CALL.search(line.text) if line else None)
    shuffles = LEAST in text or (line is not None and LEAST in line.text)
    name = "shuffle_batch" if shuffles else ""
    name = call["call"] if call else name
    batch = shape[0] if itself and element and shape else None
    return HeldInQueue(name, line, count, held, size, element, None, None, batch, name, False)
