"""Sums that Grappler makes in a temporary variable.

Its memory optimizer (`SchedulingPass` in memory_optimizer.cc) takes a CPU for 256 MiB large. It walks the
graph without running it, and where more than four fifths of that are in use at the highest point, each sum
of three or more tensors of which one is there at that point becomes a variable: zeros are assigned to it when
one of the tensors is made, each tensor is added when it is there, and what was a sum takes the variable over.
The zeros are a constant from then on, as large as the tensor.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence

from tfmemlens.estimation.keras_step.tape import Tape, TapeBuffer, TapeOp, TapeValue, dependencies
from tfmemlens.model.attribution import Kind
from tfmemlens.units import MIB
from tfmemlens.values import replace

_IN_USE_BYTES = round(0.8 * 256 * MIB)
"""More than this at the highest point (a ThreadPoolDevice states 256 MiB)."""
_FEWEST = 3
_SUMMED = frozenset(("bfloat16", "float16", "float32", "float64"))


def sum_in_variables(tape: Tape) -> None:
    """Rewrite the sums. Nothing where sizes of the batch are not known to Grappler."""
    if tape.open_batch or not tape.training:
        return
    for index in sums_at_the_top(tape.ops, tape.buffers):
        _rewrite(tape, index)


def sums_at_the_top(ops: Sequence[TapeOp], buffers: Sequence[TapeBuffer]) -> list[int]:
    """The sums of which something is alive at the highest point of the walk, if that is high enough."""
    candidates = {
        index
        for index, op in enumerate(ops)
        if op.op == "AddN" and len(set(op.reads)) >= _FEWEST and buffers[op.writes[0]].dtype in _SUMMED
    }
    if not candidates:
        return []
    readers = Counter(read for op in ops for read in set(op.reads))
    alive = {index for index, buffer in enumerate(buffers) if buffer.standing and readers[index]}
    in_use = sum(buffers[index].bytes for index in alive)
    highest, there = in_use, frozenset(alive)
    for index in _in_turn(ops):
        op = ops[index]
        alive.update(op.writes)
        in_use += sum(buffers[made].bytes for made in op.writes)
        if in_use > highest:
            highest, there = in_use, frozenset(alive)
        for buffer in {*op.reads, *op.writes}:
            if buffer in op.reads:
                readers[buffer] -= 1
            if not readers[buffer] and buffer in alive:
                alive.discard(buffer)
                in_use -= buffers[buffer].bytes
    if highest <= _IN_USE_BYTES:
        return []
    return sorted(index for index in candidates if there.intersection(ops[index].reads))


def _in_turn(ops: Sequence[TapeOp]) -> Iterator[int]:
    """One op after the other, as each is ready (`FirstReadyManager` in virtual_scheduler.cc)."""
    waiting, followers = dependencies(ops)
    ready = deque(index for index, count in enumerate(waiting) if not count)
    while ready:
        index = ready.popleft()
        yield index
        for follower in followers[index]:
            waiting[follower] -= 1
            if not waiting[follower]:
                ready.append(follower)


def _rewrite(tape: Tape, index: int) -> None:
    op = tape.ops[index]
    total = tape.buffers[op.writes[0]]
    parts = tuple(dict.fromkeys(op.reads))
    maker = {made: at for at, each in enumerate(tape.ops) for made in each.writes}
    makers = [maker[part] for part in parts if part in maker]
    outer, tape.layer = tape.layer, total.owner.layer or ""
    tape.constant("zeros of a sum", total.shape, total.dtype)
    variable = _variable(tape, total, makers[-1:])
    added = []
    for part in parts:
        tape.consume("AssignAdd", [variable, _value(tape, part)])
        added.append(len(tape.ops) - 1)
    tape.layer = outer
    tape.ops[index] = replace(
        op,
        op="DestroyTemporaryVariable",
        reads=(variable.buffer,),
        over=(variable.buffer,),
        work=0.0,
        after=tuple(added),
    )


def _variable(tape: Tape, total: TapeBuffer, first: Sequence[int]) -> TapeValue:
    """Made once the op has run that makes the part named last, the first to be reached from the sum."""
    made = tape.op("TemporaryVariable", [], total.shape, total.dtype, kind=Kind.GRADIENT)
    tape.ops[-1] = replace(tape.ops[-1], after=tuple(first))
    return made


def _value(tape: Tape, buffer: int) -> TapeValue:
    each = tape.buffers[buffer]
    return TapeValue(len(tape.values), each.shape, each.dtype, buffer)
