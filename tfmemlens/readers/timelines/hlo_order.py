"""XLA's HloProto, a scheduled module with its buffers, as a program: its allocations, and between which
instructions each value lives.

The proto says where a value is made and where it lies, not how long it lives: that follows from who reads it,
whole or through instructions that only pass it on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tfmemlens.model.line import Line
from tfmemlens.readers.timelines import hlo_origin
from tfmemlens.readers.timelines.compiled_program import Placed, ProgramBlock, ProgramDraft
from tfmemlens.units import Size

DTYPES = {
    1: "pred", 2: "s8", 3: "s16", 4: "s32", 5: "s64", 6: "u8", 7: "u16", 8: "u32", 9: "u64", 10: "f16",
    11: "f32", 12: "f64", 15: "c64", 16: "bf16", 18: "c128",
}  # fmt: skip
"""XLA's PrimitiveType."""
_PASS_ON = {"tuple", "get-tuple-element", "bitcast", "while", "optimization-barrier", "call", "conditional"}
RUN_INSIDE = {"while", "call", "conditional", "async-start"}
_MOST_DEPTH = 60


def program_of(proto: Any, label: str, origins: hlo_origin.Origins) -> ProgramDraft:
    """The program. Evidence quotes allocations as XLA's text has them."""
    module, assignment = proto.hlo_module, proto.buffer_assignment
    known = {each.id: each for computation in module.computations for each in computation.instructions}
    values = {value.id: value for value in assignment.logical_buffers}
    program = ProgramDraft()
    for number, row in enumerate(assignment.buffer_allocations, 1):
        if row.is_thread_local:
            continue
        placed = []
        for place in row.assigned:
            value = values.get(place.logical_buffer_id)
            made = known.get(value.defined_at.instruction_id) if value is not None else None
            if value is not None and made is not None:
                index = "".join(f"{{{each}}}" for each in value.defined_at.shape_index)
                shape = _shape(made.shape, value.defined_at.shape_index)
                placed.append(Placed(made.name, place.size, place.offset, shape, index))
        placed.sort(key=lambda value: -value.size)
        flags = _flags(row, placed)
        line = Line(number, f"allocation {row.index}: size {row.size}, {flags}", label)
        block = ProgramBlock(line, Size.exactly(row.size), flags, placed)
        program.blocks.append(block)
    program.total = sum((block.size for block in program.blocks), Size.exactly(0))
    program.total_line = program.blocks[0].line if program.blocks else None
    for instruction, name in origins.names():
        program.metadata[instruction] = f'op_name="{name}"'
    _lives(program, module, known)
    return program


def places_of_result(module: Any) -> Iterator[str]:
    """The lines of code that the program's result comes from, `train.py:30`, the innermost first."""
    entry = next((each for each in module.computations if each.id == module.entry_computation_id), None)
    if entry is None:
        return
    root = next((each for each in entry.instructions if each.id == entry.root_id), None)
    if root is not None:
        yield from hlo_origin.places(module, root.metadata.stack_frame_id)


def _flags(row: Any, placed: Sequence[Placed]) -> str:
    """What the allocation is for, in the words of XLA's text."""
    shape = f", shape |{placed[0].shape}|" if placed and placed[0].shape else ""
    out = ", maybe-live-out" if row.maybe_live_out else ""
    if row.is_entry_computation_parameter:
        return f"parameter {row.parameter_number}{shape}{out}"
    if row.is_constant:
        return f"constant{shape}"
    return f"{shape}{out}".removeprefix(", ") if out else "preallocated-temp"


def _shape(shape: Any, index: Any) -> str:
    """`f32[8,16]`; of a tuple the part that is meant."""
    for each in index:
        if not 0 <= each < len(shape.tuple_shapes):
            return ""
        shape = shape.tuple_shapes[each]
    dtype = DTYPES.get(shape.element_type)
    return f"{dtype}[{','.join(map(str, shape.dimensions))}]" if dtype else ""


def _lives(program: ProgramDraft, module: Any, known: dict[int, Any]) -> None:
    """From where to where each value of the arena lives, by the numbers of instructions."""
    order, last = order_of(module, known)
    program.instructions += [known[at].name for at in order]
    lines = {value.name: block.line for block in program.blocks for value in block.values}
    parts = {(value.name, value.index) for block in program.blocks for value in block.values}
    of_name = {known[at].name: at for at in order}
    for name, index in parts:
        if name in of_name:
            at = of_name[name]
            program.ranges[name, index] = (order[at], last[at], lines[name])


def order_of(module: Any, known: dict[int, Any]) -> tuple[dict[int, int], dict[int, int]]:
    """The place of each instruction that runs in the schedule, in that order, and where its result is read
    for the last time, whole or through what only passes it on.
    """
    computations = {each.id: each for each in module.computations}
    order: dict[int, int] = {}

    sequences = {each.key: each.value.instruction_ids for each in module.schedule.sequences}

    def number(computation: Any, depth: int) -> None:
        ids = sequences.get(computation.id, ())
        steps = [known[each] for each in ids if each in known] or computation.instructions
        for each in steps:
            if each.opcode in RUN_INSIDE and depth < _MOST_DEPTH:
                for called in each.called_computation_ids:
                    if called in computations:
                        number(computations[called], depth + 1)
            if each.id not in order and each.id in known:
                order[each.id] = len(order)

    entry = computations.get(module.entry_computation_id)
    if entry is None:
        return {}, {}
    number(entry, 0)
    last = dict(order)
    for computation in module.computations:
        if computation.root_id in last and computation is not entry:
            last[computation.root_id] = max(last[computation.root_id], _caller(computation, known, order))
    for at in sorted(order, key=lambda each: -order[each]):
        user = known[at]
        until = last[at] if user.opcode in _PASS_ON else order[at]
        for operand in user.operand_ids:
            if operand in last:
                last[operand] = max(last[operand], until)
    return order, last


def _caller(computation: Any, known: dict[int, Any], order: dict[int, int]) -> int:
    """When the instruction that runs this computation has ended."""
    users = (each for each in known.values() if computation.id in each.called_computation_ids)
    return max((order.get(each.id, 0) for each in users), default=0)
