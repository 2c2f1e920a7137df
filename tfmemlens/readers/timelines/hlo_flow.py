"""What the instructions of XLA's HloProto are computed with, across the computations that fusions and loops
call: a loop's state is one tuple, and each part of it comes from before the loop or from the turn before.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

_MOVES = frozenset({"bitcast", "convert", "copy", "get-tuple-element", "reshape", "transpose", "tuple"})
"""Opcodes that compute nothing."""
_COPIES = _MOVES - {"tuple"}
_GIVE = frozenset({"fusion", "call"})
"""Who gives each parameter of what it calls the operand of this number."""
_STACKS = "dynamic-update-slice"
_MOST_DEPTH = 24
_MOST_VALUES = 400


class Flow:
    """The instructions of one program by their numbers."""

    def __init__(self, module: Any) -> None:
        self.known: dict[int, Any] = {}
        self.inside: dict[int, int] = {}
        """The computation that each instruction belongs to."""
        self.callers: dict[int, int] = {}
        """The instruction that calls a computation, the first of several."""
        self._roots = {each.id: each.root_id for each in module.computations}
        for computation in module.computations:
            for each in computation.instructions:
                self.known[each.id] = each
                self.inside[each.id] = computation.id
                for called in each.called_computation_ids:
                    self.callers.setdefault(called, each.id)

    def computed_with(self, number: int) -> list[int]:
        """The nearest instructions before it that compute something, and arguments of the program."""
        reached: dict[int, None] = {}
        waiting, seen = list(self.sources(number)), set[int]()
        while waiting and len(seen) < _MOST_VALUES:
            each = waiting.pop(0)
            if each in seen:
                continue
            seen.add(each)
            sources = list(self.sources(each))
            moves = self.known[each].opcode in _MOVES or self.known[each].opcode == "parameter"
            if moves and sources:
                waiting += sources
            else:
                reached[each] = None
        return list(reached)

    def combines(self, number: int) -> bool:
        """Whether it meets two arrays along different dimensions, `a[:, None] - b[None]`: a value for every
        pair of their rows, which is more than either of them is, and the work of neither. Of a norm, which
        does the same with a mean and a scale, one operand is as large already.
        """
        called = [self.known[number]]
        if called[0].opcode == "fusion":
            bodies = set(called[0].called_computation_ids)
            called = [each for each in self.known.values() if self.inside[each.id] in bodies]
        wide: dict[tuple[int, ...], set[tuple[int, ...]]] = {}
        for each in called:
            if each.opcode == "broadcast" and each.operand_ids and each.operand_ids[0] in self.known:
                made, given = _sides(each), _sides(self.known[each.operand_ids[0]])
                if 1 < math.prod(given) < math.prod(made):
                    along = (number for number, side in zip(each.dimensions, given, strict=False) if side > 1)
                    wide.setdefault(made, set()).add(tuple(along))
        operands = [self.known[each] for each in self.known[number].operand_ids if each in self.known]
        largest = max((math.prod(_sides(each)) for each in operands), default=0)
        return any(len(along) > 1 and math.prod(made) > largest for made, along in wide.items())

    def sources(self, number: int) -> Iterator[int]:
        """What it reads: a part of a loop's state is what stood before the loop, then what a turn writes."""
        each = self.known[number]
        if each.opcode == "get-tuple-element" and each.operand_ids:
            yield from self._parts(each.operand_ids[0], each.tuple_index, 0)
        elif each.opcode == "parameter":
            caller = self.known.get(self.callers.get(self.inside[number], -1))
            operands = caller.operand_ids if caller is not None else ()
            if each.parameter_number < len(operands) and operands[each.parameter_number] in self.known:
                yield operands[each.parameter_number]
        else:
            yield from (operand for operand in each.operand_ids if operand in self.known)

    def fills(self, number: int) -> bool:
        """Whether it makes an array of one number, as a loop's stack is before the loop."""
        return bool(self._done(number).opcode == "broadcast")

    def row_of_stack(self, number: int) -> int | None:
        """What an instruction puts into a stack, None where it does no such thing."""
        each = self._done(number)
        if each.opcode != _STACKS or len(each.operand_ids) < 2 or each.operand_ids[1] not in self.known:
            return None
        row: int = each.operand_ids[1]
        return row

    def _done(self, number: int) -> Any:
        """The instruction, of a fusion the last one that it holds."""
        each = self.known[number]
        if each.opcode == "fusion" and each.called_computation_ids:
            each = self.known.get(self._roots.get(each.called_computation_ids[0], -1), each)
        return each

    def moved_from(self, number: int) -> int | None:
        """What an instruction only moves or changes the shape of: of a loop's state what a turn writes."""
        opcode = self.known[number].opcode
        if opcode not in _MOVES and opcode != "parameter":
            return None
        return next(reversed(list(self.sources(number))), None)

    def copied_from(self, number: int) -> int | None:
        """What an instruction has the numbers of, across the fusion that it is or lies in: of a fusion its
        end, of what a fusion or a call is given the operand. None where it computes something.
        """
        each = self.known[number]
        if each.opcode == "fusion":
            root = self._done(number)
            return None if root is each or root.opcode == "tuple" else int(root.id)
        if each.opcode == "parameter":
            caller = self.known.get(self.callers.get(self.inside[number], -1))
            return self.moved_from(number) if caller is not None and caller.opcode in _GIVE else None
        return self.moved_from(number) if each.opcode in _COPIES else None

    def _parts(self, whole: int, index: int, depth: int) -> Iterator[int]:
        """Where a part of a tuple comes from."""
        each = self.known.get(whole)
        if each is None or depth > _MOST_DEPTH:
            return
        if each.opcode == "tuple":
            if index < len(each.operand_ids) and each.operand_ids[index] in self.known:
                yield each.operand_ids[index]
            return
        loop = self._loop(whole)
        if loop is None:
            yield whole
            return
        yield from self._parts(loop.operand_ids[0], index, depth + 1)
        body = self.inside[whole] if each.opcode == "parameter" else loop.called_computation_ids[0]
        root = self.known.get(self._roots.get(body, -1))
        if root is not None and root.opcode == "tuple":
            yield from self._parts(root.id, index, depth + 1)

    def _loop(self, whole: int) -> Any | None:
        """The loop whose state a tuple is: what it gives back, or what its body is given."""
        each = self.known[whole]
        if each.opcode == "parameter":
            each = self.known.get(self.callers.get(self.inside[whole], -1))
        is_loop = each is not None and each.opcode == "while"
        return each if is_loop and each.operand_ids and each.called_computation_ids else None


def _sides(instruction: Any) -> tuple[int, ...]:
    return tuple(instruction.shape.dimensions)
