"""A queue of the input pipeline keeps decoded elements.

What it means: the queue runners of TensorFlow 1 fill a queue with single elements while the training waits:
`shuffle_batch` gives none before `min_after_dequeue` of them are there, and goes on up to `capacity`. Decoded
pictures in it take what all of them take together; no batch and no layer changes that. `prefetch(400)` of
tf.data keeps so many whole batches ready, which a smaller batch does not empty.
When it fires: on the host, where the recorded graph has a queue whose elements have the size of three tenths
of what is in use; or where the program makes one with room for so many blocks as hold half of it, a hundred
and more; or, of sixteen and more, where an op of the queue itself failed. So too where a prefetch of the
program has room for blocks in the size of its batch, or for 32 and more of another size than the request's.
What to do: a shorter queue; or names, bytes or uint8 in it, decoded behind it.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.input_queues import HeldInQueue, held_in_queue
from tfmemlens.findings.support.rows import all_in_use, requests
from tfmemlens.knowledge.input_queues import Bound
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.units import human, percent

BASIS = Basis.MEASURED
EXPLAINS = "the elements that wait in the queue"

_PART = 0.25
"""Of the limit, for a queue beside a step."""
_OF_A_STEP = (
    "smaller-batch", "smaller-input", "shorter-sequences", "recompute", "gradient-accumulation",
    "look-for-lists", "keep-numbers", "truncate", "in-blocks",
    "constant-shapes", "large-tensors-first", "one-op-at-a-time", "lower-constant", "lower-setting",
)  # fmt: skip
"""What makes a step smaller, or looks for what Python keeps."""


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in list(requests(case))[:1]:
        queue = held_in_queue(case, moment)
        if queue is None:
            continue
        told = _in_words(queue, moment)
        line = queue.line
        yield Finding(
            severity=Severity.CAUSE,
            headline=told,
            because=told,
            explains=queue.bytes,
            basis=None if queue.measured else Basis.SHAPE,
            evidence=(
                *((Evidence("the queue", line),) if line else ()),
                *(Evidence(f"`{each.name}`", each.line) for each in _bounds(queue) if each.line),
                Evidence("the request", request.failed.line),
            ),
            remedies=_fewer_ahead(queue) if queue.ahead else (_shorter(queue, moment), _DECODED_LATER),
            moment=index,
            rules_out=_OF_A_STEP,
        )


def _in_words(queue: HeldInQueue, moment: Moment) -> str:
    place = f" ({queue.line.place})" if queue.line else ""
    name = f"the queue{' of' if queue.call == queue.name else ''} `{queue.name}`{place}"
    if not queue.name:
        name = f"a queue of the input pipeline{place}"
    if queue.ahead:
        name = f"`{queue.name}`{place}"
    kind = "ready batches" if queue.ahead else "elements"
    element = f"{kind} {queue.element}" if queue.element else kind
    share = percent(queue.bytes, all_in_use(moment))
    likely = "" if queue.measured else "most likely "
    told = (
        f"{name} {likely}keeps {queue.count:,} {element} of {human(queue.element_bytes)}:"
        f" {human(queue.bytes)}, {share} of what is in use"
    )
    least, capacity = queue.least, queue.capacity
    if least and least.value:
        return f"{told}; it gives no batch before it has {_bound(least, queue)}"
    return f"{told}; it may take {_bound(capacity, queue)}" if capacity and capacity.value else told


def _bound(bound: Bound, queue: HeldInQueue) -> str:
    value = bound.value or 0
    named = f"`{bound.name}` = " if bound.name else ""
    return f"{named}{value:,}, {human(value * queue.element_bytes)}"


def _bounds(queue: HeldInQueue) -> list[Bound]:
    return [each for each in (queue.least, queue.capacity) if each is not None and each.name]


def _shorter(queue: HeldInQueue, moment: Moment) -> Remedy:
    """Fewer elements: as many as a quarter of the limit has room for, where that is known."""
    limit = moment.balance.limit
    whole = limit.bytes if limit else all_in_use(moment)
    fits = _round(int(_PART * whole) // max(queue.element_bytes, 1))
    least, capacity = queue.least, queue.capacity
    batch = queue.batch or 1
    values: dict[str, tuple[Bound, int]] = {}
    if least and least.value and 2 * batch <= fits < least.value:
        values["min_after_dequeue"] = least, fits
    longest = fits + (4 * batch if values else 0)
    if capacity and capacity.value and 2 * batch <= longest < capacity.value:
        values["capacity"] = capacity, longest
    told = " and ".join(
        f"`{bound.name or argument}`{_place(bound)} {bound.value:,} -> {value:,}"
        for argument, (bound, value) in values.items()
    )
    arguments = ", ".join(f"{argument}={value}" for argument, (_, value) in reversed(values.items()))
    call = queue.call or "shuffle_batch"
    return Remedy(
        f"let the queue keep fewer elements: {told}"
        if told
        else "let the queue keep fewer elements: a smaller `capacity`, and with it `min_after_dequeue`",
        f"{call}(..., {arguments})" if arguments else None,
        slug="smaller-queues",
    )


def _fewer_ahead(queue: HeldInQueue) -> tuple[Remedy, ...]:
    """One or two batches are as fast where the step takes longer than the making of one."""
    room = queue.capacity
    name = room.name if room else ""
    told = f"`{name}`{_place(room)}" if room and name else "the number"
    now = f" {room.value:,} -> 2" if room and room.value else " to 2"
    return (
        Remedy(
            f"prefetch fewer batches: {told}{now}; more that wait do not make a step faster",
            "ds = ds.prefetch(2)",
            slug="smaller-queues",
        ),
        Remedy(
            "or let what waits be small: uint8 up to the prefetch, and made float32 in the model",
            "ds.map(decode_uint8).batch(n).prefetch(2)   # layers.Rescaling(1 / 255) as the first layer",
            slug="narrow-array",
        ),
    )


def _round(number: int) -> int:
    """The number with its first digit alone: 862 as 800."""
    unit = int("1" + "0" * (len(str(number)) - 1))
    return number // unit * unit


def _place(bound: Bound) -> str:
    return f" ({bound.line.place})" if bound.line else ""


_DECODED_LATER = Remedy(
    "or put what is small into the queue (file names, encoded bytes, uint8 instead of float32), and decode"
    " behind it",
    "pictures = tf.map_fn(decode, names_of_a_batch, dtype=tf.float32)",
    slug="shuffle-files",
)
