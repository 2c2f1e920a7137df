"""Where the values of XLA's HloProto come from, beyond their own names: the user's line of code, the
arguments that they are computed with, and for those without a name the name of what they are made for.

XLA gives no name to what it adds itself: copies, and the zeros that a loop fills. A copy is told by what it
copies, the rest by the instruction that reads it; what goes into a loop, by what the loop's body writes to
the same place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tfmemlens.knowledge.stack_frames import user_frame
from tfmemlens.model.incident import ProgramValue
from tfmemlens.readers.timelines.hlo_flow import Flow

_MOST_DEPTH = 60
_MOST_STEPS = 4
"""From a value to the argument that it is computed with: a product, a conversion, an activation function."""
_MOST_READERS = 6
_MOST_MOVES = 8
"""Copies and changes of shape between a row and the stack that it is put into."""
_LEAST_BYTES = 1 << 20
_MOST_VALUES = 400


class Origins:
    """The instructions of one program with who reads them and where they lie."""

    def __init__(self, proto: Any) -> None:
        self._module = proto.hlo_module
        self._flow = Flow(self._module)
        self._known, self._inside, self._callers = self._flow.known, self._flow.inside, self._flow.callers
        self._readers: dict[int, list[int]] = {}
        for each in self._known.values():
            for operand in each.operand_ids:
                self._readers.setdefault(operand, []).append(each.id)
        self._places = _places(proto)
        self._at: dict[tuple[int, int, int], list[int]] = {}
        for number, place in self._places.items():
            self._at.setdefault(place, []).append(number)
        self._named = {number: self._name_of(number) for number in self._known}

    def names(self) -> Iterator[tuple[str, str]]:
        """(instruction, name) of all that have a name, their own or what they are made for."""
        for number, named in self._named.items():
            if named:
                yield self._known[number].name, self._known[named].metadata.op_name

    def values(self, lines: Mapping[str, str]) -> Iterator[ProgramValue]:
        """The largest values, the largest first; `lines` are the user's own as `train.py:30` and their
        texts.
        """
        sized = sorted(self._places, key=lambda number: -self._places[number][2])[:_MOST_VALUES]
        for number in sized:
            size, named = self._places[number][2], self._named.get(number)
            if size < _LEAST_BYTES or number not in self._known or not named:
                continue
            place, function = self._line_of(self._stacked(named))
            name = self._known[named].metadata.op_name
            arguments = tuple(self._arguments(number))
            if place or arguments:
                yield ProgramValue(name, size, place, lines.get(place or "") or None, arguments, function)

    def _line_of(self, number: int) -> tuple[str | None, str | None]:
        """The user's innermost line of an instruction, and its function."""
        stack = frames(self._module, self._known[number].metadata.stack_frame_id)
        return next((each for each in stack if user_frame(each[0])), (None, None))

    def _stacked(self, number: int) -> int:
        """Of what a loop stacks, row by row: the instruction of its body that makes a row, where that has a
        line of its own. The stack itself has the line of the loop.
        """
        row = self._flow.row_of_stack(number)
        line = self._line_of(number)[0]
        for _ in range(_MOST_MOVES):
            if row is None:
                return number
            place = self._line_of(row)[0]
            if place is not None and place != line:
                return row
            row = self._flow.moved_from(row)
        return number

    def _name_of(self, number: int) -> int | None:
        """The instruction whose name this one has. What only the name of the loop stands on, such as the
        zeros that it fills, is told by the loop's body.
        """
        own = self._known[number]
        if self._flow.fills(number) and (stacked := self._filled(number)):
            return stacked
        if own.metadata.op_name and (own.opcode == "while" or not own.metadata.op_name.endswith("/while")):
            return number
        copied = self._copied(number)
        given = copied is not None and self._known[copied].opcode == "parameter"
        if copied is not None and not given and not any(self._loops_given(number)):
            return copied
        return self._name_of_reader(number) or (number if own.metadata.op_name else copied)

    def _copied(self, number: int) -> int | None:
        """The instruction with a name whose numbers one without a name has, in another place or order. An
        argument that is laid out anew is there for its reader, and tells only what nobody reads.
        """
        if self._known[number].metadata.op_name:
            return None
        for _ in range(_MOST_MOVES):
            before = self._flow.copied_from(number)
            if before is None:
                return None
            name = self._known[before].metadata.op_name
            if name:
                return None if name.endswith("/while") else before
            number = before
        return None

    def _filled(self, number: int) -> int | None:
        """What a loop stacks into zeros that stand before it: they are its stack, whatever name they have."""
        written = (self._written(number, each) for each in self._loops_given(number))
        return next((each for each in written if each and self._flow.row_of_stack(each) is not None), None)

    def _loops_given(self, number: int) -> Iterator[int]:
        """The loops that are given a value as a part of their state."""
        for reader in self._readers.get(number, ()):
            if self._known[reader].opcode == "tuple":
                again = self._readers.get(reader, ())
                yield from (each for each in again if self._known[each].opcode == "while")

    def _name_of_reader(self, number: int) -> int | None:
        level, seen = [number], {number}
        for _ in range(_MOST_READERS):
            level = [reader for each in level for reader in self._after(each) if reader not in seen]
            seen.update(level)
            for reader in sorted(level, key=lambda each: self._known[each].opcode != "while"):
                if self._known[reader].metadata.op_name:
                    inside = self._known[reader].opcode == "while" and self._written(number, reader)
                    return inside or reader
        return None

    def _after(self, number: int) -> list[int]:
        """Who reads it; of what a loop's body is given, and of what it gives back, the loop."""
        readers = self._readers.get(number, [])
        caller = self._callers.get(self._inside[number])
        if caller is None or (readers and self._known[number].opcode != "parameter"):
            return readers
        return [caller]

    def _written(self, number: int, loop: int) -> int | None:
        """What the loop's body writes to the place of a value that goes into it."""
        bodies = self._run_by(loop)
        beside = self._at.get(self._places.get(number, (-1, -1, -1)), ())
        return next(
            (each for each in beside if self._inside[each] in bodies and self._known[each].metadata.op_name),
            None,
        )

    def _run_by(self, loop: int) -> set[int]:
        """The computations that a loop runs, and those that its body starts beside it."""
        bodies = set(self._known[loop].called_computation_ids)
        for each in self._known.values():
            if each.opcode == "async-start" and self._inside[each.id] in bodies:
                bodies.update(each.called_computation_ids)
        return bodies

    def _arguments(self, number: int) -> Iterator[str]:
        """The nearest arguments of the program that a value is computed with; none beyond what meets two
        arrays as all pairs of their rows.
        """
        level, seen = [number], {number}
        for _ in range(_MOST_STEPS):
            own = (each for each in level if not self._flow.combines(each))
            before = (source for each in own for source in self._flow.computed_with(each))
            level = list(dict.fromkeys(each for each in before if each not in seen))[:_MOST_VALUES]
            seen.update(level)
            arguments = [self._known[each] for each in level if self._is_argument(each)]
            if arguments:
                yield from (each.metadata.op_name for each in arguments)
                return

    def _is_argument(self, number: int) -> bool:
        each = self._known[number]
        entry = self._inside[number] == self._module.entry_computation_id
        return entry and each.opcode == "parameter" and bool(each.metadata.op_name)


def _places(proto: Any) -> dict[int, tuple[int, int, int]]:
    """For each instruction that makes a value of the arena (allocation, offset, bytes) of its largest."""
    assignment = proto.buffer_assignment
    made_by = {value.id: value.defined_at.instruction_id for value in assignment.logical_buffers}
    largest: dict[int, tuple[int, int, int]] = {}
    for row in assignment.buffer_allocations:
        if row.is_thread_local or row.is_entry_computation_parameter or row.is_constant:
            continue
        for place in row.assigned:
            number = made_by.get(place.logical_buffer_id)
            if number is not None and place.size > largest.get(number, (0, 0, 0))[2]:
                largest[number] = row.index, place.offset, place.size
    return largest


def places(module: Any, frame: int) -> Iterator[str]:
    """The lines of code behind a frame, `train.py:30`, the innermost first."""
    return (place for place, _ in frames(module, frame))


def frames(module: Any, frame: int) -> Iterator[tuple[str, str | None]]:
    """The same, each with the function that it lies in."""
    index = module.stack_frame_index
    for _ in range(_MOST_DEPTH):
        if not 0 < frame <= len(index.stack_frames):
            return
        told = index.stack_frames[frame - 1]
        if not 0 < told.file_location_id <= len(index.file_locations):
            return
        place = index.file_locations[told.file_location_id - 1]
        if 0 < place.file_name_id <= len(index.file_names):
            names, number = index.function_names, place.function_name_id
            function = names[number - 1] if 0 < number <= len(names) else None
            yield f"{index.file_names[place.file_name_id - 1]}:{place.line}", function
        if told.parent_frame_id == frame:
            return
        frame = told.parent_frame_id
