"""How large a batch can fit, as far as a failure tells.

At the failure `in use + request` exceeded the limit. If all of it shrank with the batch but what is known
not to, and nothing more were asked for afterwards, the share `(limit - fixed) / (in use + request - fixed)`
of the batch would fit: no larger one can. What is fixed beyond the known, and what was still to come, make it
less; how much less no log of a failure tells, so the batch to begin with is a guess and worded as one. Where
it would have fitted but for scattered free memory, it counts as what just fits if the program recorded that a
tape keeps one forward pass, which was not at its end, or counted no slots of an optimizer yet.

A compiled program's account is of all that it will ever need: its temporaries shrink with the batch, its
arguments and results are taken not to, and nothing comes afterwards.
"""

from __future__ import annotations

import math

from tfmemlens.findings.support.kept import records_gradients
from tfmemlens.findings.support.own_constant import batch_parts
from tfmemlens.findings.support.phase import runs_a_graph
from tfmemlens.findings.support.rows import (
    after_rematerialisation,
    device_limit,
    has_backward,
    held,
    index_of,
    of_a_program,
)
from tfmemlens.findings.support.situation import situation
from tfmemlens.findings.support.taped import keeps_one_pass
from tfmemlens.knowledge.convolution import col_buffer_of
from tfmemlens.model.attribution import Kind, Phase
from tfmemlens.model.case import Case, FrontEnd, Moment, Request
from tfmemlens.model.incident import CompilerMemory, RequestKind
from tfmemlens.model.what_if import TracedFit
from tfmemlens.units import GIB, human
from tfmemlens.values import dataclass, replace

_FIXED = (Kind.PARAMETER, Kind.OPTIMIZER_SLOT, Kind.CONSTANT)
_BEFORE_BACKWARD, _AFTERWARDS, _ALL_OF_A_PROGRAM, _OF_A_PROGRAM = 4, 2, 1.5, 1
"""By what the share that can fit is divided to begin with. Where the backward pass is still to come, some of
the forward pass and as many gradients are; in the backward pass, or without any, little is. Of all that a
program needs some is weights, which a batch does not change: half of a batch is enough for an excess of a
third.
"""
_OF_ONE_TENSOR = 8
"""The same where one tensor exceeds the limit: the net had hardly begun, its copies and next outputs come on
top, even without a backward pass."""
_MOST_PARTS = 64
"""Into more parts nobody cuts a batch whose size is not known."""
_TOLD = 0.8
"""A bound above it says no more than that the batch failed."""
PARTS = {2: "half", 4: "a quarter", 8: "an eighth", 16: "a sixteenth"}


@dataclass(frozen=True, slots=True)
class BatchBound:
    """What part of a batch can fit, and with which to begin."""

    share: float
    """No more than this part of the batch, between 0 and 1; negative where what is fixed exceeds the
    limit."""
    taken: int
    """Bytes in use and asked for at this batch, without what is known to be fixed."""
    room: int
    """Bytes that the limit leaves for them."""
    fixed: int
    """Bytes that are known not to depend on the batch."""
    backward_to_come: bool
    """Whether the run trains and nothing of its backward pass was alive."""
    divisor: float
    """By what the share that can fit is divided to begin with."""
    of_program: bool = False
    """Whether `taken` are a compiled program's temporaries, or all of it, by the compiler's own figures."""
    multiple: int = 1
    """Of what the program needs a multiple: it splits the batch into so many parts."""

    @property
    def taken_whole(self) -> bool:
        """Whether `taken` is all that a program needs, of which some may be fixed."""
        return self.of_program and self.divisor > _OF_A_PROGRAM

    @property
    def none_fits(self) -> bool:
        """Whether not even an empty batch has room."""
        return self.room <= 0

    def most(self, batch: int) -> int:
        """No batch above this one fits; 0 where not even one sample does, or one for each part."""
        most = min(max(int(batch * self.share), 0), batch - 1)
        return most // self.parts_of(batch) * self.parts_of(batch)

    def parts_of(self, batch: int) -> int:
        """Into how many parts the program splits a batch, as far as this one can be split and lowered."""
        return self.multiple if 1 < self.multiple < batch and batch % self.multiple == 0 else 1

    def start(self, batch: int) -> int:
        """The batch to begin with: a power of two, or a multiple of the parts, at most half of the one that
        failed where that is one.
        """
        first = max(1, min(int(_power_of_two(batch * self.share / self.divisor)), batch // 2))
        parts = self.parts_of(batch)
        return max(first // parts, 1) * parts

    def leaves_none(self, batch: int) -> bool:
        """Whether by the guess not even one sample fits: the least batch is too large, most likely."""
        return self.backward_to_come and 1.1 * batch * self.share / self.divisor < 1

    @property
    def part(self) -> int:
        """One in how many samples to begin with, where the batch is not known."""
        return max(2, round(1 / _power_of_two(self.share / self.divisor)))


def _power_of_two(wanted: float) -> float:
    """The power of two below a number, or just above it."""
    return 2.0 ** math.floor(math.log2(1.1 * wanted)) if wanted > 0 else 0.0


def batch_bound(case: Case, moment: Moment) -> BatchBound | None:
    """What the figures of a failure tell; None without a limit, and where request and use would fit it."""
    bound = _bound(case, moment)
    return replace(bound, multiple=batch_parts(case)) if bound else None


def _bound(case: Case, moment: Moment) -> BatchBound | None:
    compiler = moment.incident.compiler if moment.incident else None
    if moment.request and compiler is not None:
        known = _of_program(moment, compiler) or _of_what_was_free(moment, compiler)
        return known or _of_arena(case, moment) or _above_the_device(case, moment)
    if moment.request and moment.request.failed.compiled:
        return _beside_what_is_in_use(case, moment)
    request, limit = moment.request, device_limit(case, moment)
    need = request.needed_bytes if request else None
    if request is None or need is None or limit is None or request.failed.kind is not RequestKind.TENSOR:
        return None
    in_use = moment.balance.in_use.bytes if moment.balance.in_use else 0
    fixed = _fixed(case, moment)
    taken, room = max(in_use, held(moment)) + need - fixed, limit.bytes - fixed
    training, backward = situation(case, moment).training, has_backward(moment)
    if taken <= max(room, 0):  # it would fit, or weights and slots take all
        one_pass = keeps_one_pass(case, moment) or _is_in_its_first_step(case, moment)
        one_pass = one_pass or (training is True and _is_one_step(case, request))
        to_come = not backward and request.owner.phase is Phase.FORWARD and one_pass
        if not to_come or taken < _TOLD * room:
            return None
        return BatchBound(1.0, taken, room, fixed, True, _BEFORE_BACKWARD)
    divisor = _AFTERWARDS if backward or training is False else _BEFORE_BACKWARD
    if need > limit.bytes:
        divisor = _OF_ONE_TENSOR
    return BatchBound(room / taken, taken, room, fixed, training is True and not backward, divisor)


def _is_one_step(case: Case, request: Request) -> bool:
    """Whether a session or a traced function ran: what layers give is gone with the step, so that what is in
    use beside weights is this one's.
    """
    return case.api.front_end is FrontEnd.SESSION or runs_a_graph(case, request)


def _is_in_its_first_step(case: Case, moment: Moment) -> bool:
    """Whether a program that opens a tape counted no optimizer's slot yet: then what it holds is one forward
    pass, whose backward pass was still to come.
    """
    if not moment.is_counted or moment.counted is None:
        return False
    slots = any(group.name == Kind.OPTIMIZER_SLOT for group in moment.counted.by("kind"))
    return not slots and records_gradients(case.capture.surroundings.program())


def _of_program(moment: Moment, compiler: CompilerMemory) -> BatchBound | None:
    """Where the compiler says what the program needs and what there is."""
    needed, limit = compiler.needed, compiler.capacity
    reduced = after_rematerialisation(moment)
    if needed is None and reduced and compiler.goal and compiler.goal.bytes > 0:
        needed, limit = reduced, compiler.goal
    if needed is None or limit is None or not limit.bytes or needed.bytes <= limit.bytes:
        return None
    temporaries = compiler.temporaries
    known = bool(temporaries and 0 < temporaries.bytes <= needed.bytes)
    taken = temporaries.bytes if temporaries and known else needed.bytes
    fixed = needed.bytes - taken
    divisor = _OF_A_PROGRAM if known else _ALL_OF_A_PROGRAM
    return BatchBound((limit.bytes - fixed) / taken, taken, limit.bytes - fixed, fixed, False, divisor, True)


_LARGE_BYTES, _TIMES_WHAT_WAS_FREE = GIB, 16


def _of_what_was_free(moment: Moment, compiler: CompilerMemory) -> BatchBound | None:
    """Where a TPU says what was asked for at once, and what was free: so much goes with the batch."""
    asked, free = moment.request.needed_bytes if moment.request else None, compiler.free
    if asked is None or free is None or not free.bytes or asked <= max(free.bytes, _LARGE_BYTES):
        return None
    if asked > _TIMES_WHAT_WAS_FREE * free.bytes:
        return None  # the rest of the device is held by others, which this program is no part of
    return BatchBound(free.bytes / asked, asked, free.bytes, 0, False, _OF_A_PROGRAM, True)


def _of_arena(case: Case, moment: Moment) -> BatchBound | None:
    """Where a program's temporaries did not fit beside what was in use."""
    return _beside_what_is_in_use(case, moment) if of_a_program(moment) else None


def _above_the_device(case: Case, moment: Moment) -> BatchBound | None:
    """Where XLA asked for more at once than the device has."""
    need = moment.request.needed_bytes if moment.request else None
    limit = device_limit(case, moment)
    if need is None or limit is None or need <= limit.bytes:
        return None
    return BatchBound(limit.bytes / need, need, limit.bytes, 0, False, _ALL_OF_A_PROGRAM, True)


def _beside_what_is_in_use(case: Case, moment: Moment) -> BatchBound | None:
    """What part of all that a compiled function asked for at once has room."""
    asked = moment.request.needed_bytes if moment.request else None
    limit = device_limit(case, moment)
    if asked is None or limit is None:
        return None
    in_use = moment.balance.in_use.bytes if moment.balance.in_use else 0
    room = limit.bytes - in_use
    if asked <= max(room, 0):
        return None
    return BatchBound(room / asked, asked, room, in_use, False, _OF_A_PROGRAM, True)


def _fixed(case: Case, moment: Moment) -> int:
    """Bytes of weights and slots by name, or what the weights of a summary take at the least; and of a patch
    matrix, which takes as many samples at once as its kernel chooses.
    """
    request = moment.request
    buffer = 0
    if request and request.owner.kind is Kind.WORKSPACE and col_buffer_of(request.failed.shape):
        buffer = request.needed_bytes or 0
    table, owners = moment.attribution.table, moment.attribution.owners
    named = sum(row.total_bytes for row, owner in zip(table, owners, strict=True) if owner.kind in _FIXED)
    told = case.capture.surroundings.parameters
    return buffer + max(named, 4 * told[0] if told else 0)


def traced_below(case: Case, moment: Moment, batch: int | None) -> TracedFit | None:
    """What a step that was traced beside the failure says to fit, where that is less than the batch that
    failed; at a batch that fits by it, something else holds the memory.
    """
    if batch is None or moment.request is None:
        return None
    traced = case.traced_fit(index_of(case, moment))
    return traced if traced and traced.largest_batch < batch else None


def of_traced(traced: TracedFit, batch: int) -> str:
    """Which batch to begin with, and which step tells so."""
    step = f"the step traced at batch {traced.batch} needs {human(traced.peak_bytes)}"
    more = (
        f"; by it about {traced.largest_batch} fit, {traced.sure_batch} for sure"
        if traced.sure_batch < traced.largest_batch
        else f"; by it about {traced.largest_batch} fit"
    )
    return f"lower the batch: {batch} -> {traced.sure_batch} ({step}{more})"


def in_words(bound: BatchBound, batch: int | None) -> str:
    """Which batch to begin with, and why."""
    if bound.of_program:
        return _of_program_in_words(bound, batch)
    why = " (a guess: the backward pass comes on top)" if bound.backward_to_come else " (a guess)"
    if batch is None:
        part = PARTS.get(bound.part, f"1/{bound.part}")
        return f"lower the batch to {part} of what it is now{why}; if that runs, double it"
    if bound.start(batch) == batch // 2 and bound.parts_of(batch) == 1:
        return f"lower the batch: {batch} -> {batch // 2}"
    told = f"; more than {bound.most(batch)} cannot fit" if bound.share < _TOLD else ""
    first = bound.start(batch)
    then = ", ".join(
        f"{first * factor}" for factor in (2, 4) if first * factor < min(batch, bound.most(batch) + 1)
    )
    more = f"; if that runs, try {then}" if then else ""
    parts = bound.parts_of(batch)
    kept = f"; the program splits it, so keep a multiple of {parts}" if parts > 1 else ""
    return f"lower the batch: {batch} -> {first}{why}{more}{told}{kept}"


def _of_program_in_words(bound: BatchBound, batch: int | None) -> str:
    if batch is None and bound.part > _MOST_PARTS:
        return (
            f"lower the batch to {part_of(bound)} of it or, as few batches have so many samples, make the"
            f" samples themselves smaller (shorter sequences, smaller images): {why(bound)}"
        )
    to = f"{batch} -> {bound.start(batch)}" if batch else f"{part_of(bound)} of it"
    return f"lower the batch: {to} ({why(bound)})"


def part_of(bound: BatchBound) -> str:
    """`a quarter`: with which part to begin."""
    return PARTS.get(bound.part, f"1/{bound.part}")


def why(bound: BatchBound) -> str:
    """What a program needs, and what there is room for."""
    what = "all it needs is" if bound.divisor > _OF_A_PROGRAM else "its temporaries are"
    return f"{what} {human(bound.taken)} now, and there is room for {human(bound.room)}"
