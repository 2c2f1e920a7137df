"""Which values of a scheduled module of XLA share a buffer, where XLA itself does not say it.

XLA of a GPU gives a module and how large its arena is, and no list of what lies in it (measured: jax 0.11). A
value is a buffer of its own unless its instruction only passes on what it is given: a part of a tuple, a
change of shape without a copy, a loop's state, an update in place. An instruction that reads a buffer for the
last time may write its result over it. What lies where in the arena is not known: places here only tell
buffers apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tfmemlens.model.tensor import ITEM_BYTES, numpy_dtype
from tfmemlens.readers.timelines import hlo_order
from tfmemlens.values import dataclass, field

Leaf = tuple[int, tuple[int, ...]]
"""A part of an instruction's result: the instruction, and the path through its tuple."""
_BYTES = {number: ITEM_BYTES[numpy_dtype(name)] for number, name in hlo_order.DTYPES.items()}
_BYTES |= dict.fromkeys((19, 20, 23, 24, 25, 28, 29), 1)
"""Bytes of an element, by XLA's PrimitiveType; 8-bit floats from 19 on."""
_SAME = {
    "bitcast", "optimization-barrier", "get-tuple-element", "tuple", "while", "call", "parameter",
    "conditional", "async-start", "async-done", "copy-done",
}  # fmt: skip
_UPDATES = "dynamic-update-slice"
_IN_PLACE = {
    "fusion", "add", "subtract", "multiply", "divide", "maximum", "minimum", "select", "convert",
    "exponential", "negate", "tanh", "power", "sqrt", "rsqrt", "log",
}  # fmt: skip
"""Opcodes whose result may lie over an operand of its size that nobody reads afterwards."""
_ELSEWHERE = ("input_", "gemm_", "triton_")
"""Fusions of a GPU, by XLA's names for them, that read more than the element that they write."""
_MOST_PARTS, _MOST_DEPTH = 4096, 8


@dataclass
class _Buffer:
    leaves: list[Leaf] = field(default_factory=list)
    size: int = 0
    start: int = 1 << 60
    end: int = 0


def assign(proto: Any, temporary_bytes: int | None) -> None:
    """Give the proto a buffer assignment: arguments, results, and one arena of `temporary_bytes`."""
    module = proto.hlo_module
    shared = _Shared(module)
    known = shared.known
    order, _ = hlo_order.order_of(module, known)
    buffers = shared.buffers(order)
    entry = shared.computations.get(module.entry_computation_id)
    if entry is None:
        return
    arguments = {
        shared.of((each.id, path)): each for each in entry.instructions if each.opcode == "parameter"
        for path, _ in _parts(each.shape)
    }  # fmt: skip
    constants = {shared.of((each.id, ())) for each in known.values() if each.opcode == "constant"}
    root = known.get(entry.root_id)
    results = {shared.of((root.id, path)) for path, _ in _parts(root.shape)} if root is not None else set()
    assignment, arena = proto.buffer_assignment, []
    for whole, buffer in buffers.items():
        if whole in constants or not buffer.size:
            continue
        if whole not in arguments and whole not in results:
            arena.append(buffer)
            continue
        row = assignment.buffer_allocations.add(index=len(assignment.buffer_allocations), size=buffer.size)
        row.maybe_live_out = whole in results
        row.is_entry_computation_parameter = whole in arguments
        if whole in arguments:
            row.parameter_number = arguments[whole].parameter_number
        _place(assignment, row, buffer, 0, shared)
    if arena:
        whole_size = temporary_bytes or sum(each.size for each in arena)
        row = assignment.buffer_allocations.add(index=len(assignment.buffer_allocations), size=whole_size)
        for buffer, offset in _offsets(arena, known, order):
            _place(assignment, row, buffer, offset, shared)


def _place(assignment: Any, row: Any, buffer: _Buffer, offset: int, shared: _Shared) -> None:
    for number, path in buffer.leaves:
        if shared.passes_on(number):
            continue
        value = assignment.logical_buffers.add(id=len(assignment.logical_buffers) + 1, size=buffer.size)
        value.defined_at.instruction_id = number
        value.defined_at.shape_index.extend(path)
        row.assigned.add(logical_buffer_id=value.id, offset=offset, size=buffer.size)


def _offsets(
    arena: list[_Buffer], known: dict[int, Any], order: dict[int, int]
) -> Iterator[tuple[_Buffer, int]]:
    """A place for each buffer: over an operand that ends where it begins, else one of its own."""
    free = 0
    ends: dict[tuple[int, int], list[tuple[int, set[int]]]] = {}
    for buffer in sorted(arena, key=lambda each: each.start):
        makers = [known[number] for number, _ in buffer.leaves if order.get(number) == buffer.start]
        maker = makers[0] if makers else None
        place = None
        if maker is not None and maker.opcode in _IN_PLACE and not maker.name.startswith(_ELSEWHERE):
            beside = ends.get((buffer.size, buffer.start), [])
            operands = set(maker.operand_ids)
            at = next((index for index, (_, made) in enumerate(beside) if made & operands), None)
            place = beside.pop(at)[0] if at is not None else None
        if place is None:
            place, free = free, free + buffer.size
        made_by = {number for number, _ in buffer.leaves}
        ends.setdefault((buffer.size, buffer.end), []).append((place, made_by))
        yield buffer, place


class _Shared:
    """The parts of results of a module's instructions, joined where they are one buffer."""

    def __init__(self, module: Any) -> None:
        self.computations = {each.id: each for each in module.computations}
        self._parent: dict[Leaf, Leaf] = {}
        self.known: dict[int, Any] = {}
        self._all = {each.id: each for each in _instructions(module.computations)}
        for computation in self._scheduled(module.entry_computation_id):
            for each in computation.instructions:
                self.known[each.id] = each
        for each in list(self.known.values()):
            self._join(each)

    def of(self, leaf: Leaf) -> Leaf:
        """The one that stands for all of its buffer."""
        parent = self._parent
        while (above := parent.get(leaf, leaf)) != leaf:
            parent[leaf] = parent.get(above, above)
            leaf = parent[leaf]
        return leaf

    def passes_on(self, number: int) -> bool:
        """Whether an instruction makes no buffer of its own."""
        return self.known[number].opcode in _SAME

    def buffers(self, order: dict[int, int]) -> dict[Leaf, _Buffer]:
        """All buffers with what lies in each, and from which instruction to which it lives."""
        found: dict[Leaf, _Buffer] = {}
        for each in self.known.values():
            if each.id not in order:
                continue
            for path, size in _parts(each.shape):
                buffer = found.setdefault(self.of((each.id, path)), _Buffer())
                buffer.leaves.append((each.id, path))
                buffer.size = max(buffer.size, size)
                buffer.start = min(buffer.start, order[each.id])
                buffer.end = max(buffer.end, order[each.id])
        for reader in self.known.values():
            if reader.id not in order or reader.opcode in _SAME:
                continue
            for operand in reader.operand_ids:
                for path, _ in _parts(self.known[operand].shape) if operand in self.known else ():
                    buffer = found.setdefault(self.of((operand, path)), _Buffer())
                    buffer.end = max(buffer.end, order[reader.id])
        return found

    def _scheduled(self, entry: int) -> Iterator[Any]:
        """The computations whose instructions run by themselves: of fusions and reductions none does."""
        waiting, seen = [entry], {entry}
        while waiting:
            computation = self.computations.get(waiting.pop())
            if computation is None:
                continue
            yield computation
            for each in computation.instructions:
                if each.opcode in hlo_order.RUN_INSIDE:
                    fresh = [called for called in each.called_computation_ids if called not in seen]
                    seen.update(fresh)
                    waiting += fresh

    def _union(self, one: Leaf, other: Leaf) -> None:
        first, second = self.of(one), self.of(other)
        if first != second:
            self._parent[second] = first

    def _same(self, one: int, other: int) -> None:
        """All parts of two results of one shape."""
        if one in self.known and other in self.known:
            for path, _ in _parts(self.known[one].shape):
                self._union((other, path), (one, path))

    def _join(self, each: Any) -> None:
        """What an instruction passes on, to whom."""
        operands = [number for number in each.operand_ids if number in self.known]
        if each.opcode in ("bitcast", "optimization-barrier") and operands:
            self._same(each.id, operands[0])
        elif each.opcode == "get-tuple-element" and operands:
            for path, _ in _parts(each.shape):
                self._union((operands[0], (each.tuple_index, *path)), (each.id, path))
        elif each.opcode == "tuple":
            for index, operand in enumerate(operands):
                for path, _ in _parts(self.known[operand].shape):
                    self._union((operand, path), (each.id, (index, *path)))
        elif each.opcode == "while" and operands:
            self._same(each.id, operands[0])
            for called in each.called_computation_ids:
                self._enters(called, [operands[0]])
            body = self.computations.get(next(iter(each.called_computation_ids), -1))
            if body is not None:
                self._same(each.id, body.root_id)
        elif each.opcode == "async-start":
            self._start(each, operands)
        elif each.opcode in ("async-done", "copy-done") and operands:
            result = 1 if each.opcode == "async-done" else 0
            for path, _ in _parts(each.shape):
                self._union((operands[0], (result, *path)), (each.id, path))
        elif each.opcode == "copy-start" and operands:
            self._union((operands[0], ()), (each.id, (1,)))
        elif each.opcode in ("call", "conditional"):
            for position, called in enumerate(each.called_computation_ids):
                given = operands if each.opcode == "call" else operands[position + 1 : position + 2]
                self._enters(called, given)
                if called in self.computations:
                    self._same(each.id, self.computations[called].root_id)
        else:
            self._update(each)

    def _start(self, each: Any, operands: list[int]) -> None:
        """Its result is what it is given, and what it will give back."""
        for index, operand in enumerate(operands):
            for path, _ in _parts(self.known[operand].shape):
                self._union((operand, path), (each.id, (0, index, *path)))
        for called in each.called_computation_ids:
            self._enters(called, operands)
            root = self.known.get(self.computations[called].root_id) if called in self.computations else None
            if root is not None:
                for path, _ in _parts(root.shape):
                    self._union((root.id, path), (each.id, (1, *path)))

    def _enters(self, called: int, operands: list[int]) -> None:
        computation = self.computations.get(called)
        for each in computation.instructions if computation is not None else ():
            if each.opcode == "parameter" and each.parameter_number < len(operands):
                self._same(operands[each.parameter_number], each.id)

    def _update(self, each: Any) -> None:
        """What an update in place writes to, by itself or as the end of a fusion."""
        if each.opcode == _UPDATES and each.operand_ids:
            self._same(each.operand_ids[0], each.id)
        if each.opcode != "fusion" or not each.called_computation_ids:
            return
        fused = self.computations.get(each.called_computation_ids[0])
        root = self._all.get(fused.root_id) if fused is not None else None
        if root is None:
            return
        ends = list(enumerate(root.operand_ids)) if root.opcode == "tuple" else [(None, root.id)]
        for index, number in ends:
            target = self._updated_parameter(number)
            if target is not None and target < len(each.operand_ids):
                path = () if index is None else (index,)
                self._union((each.operand_ids[target], ()), (each.id, path))

    def _updated_parameter(self, number: int) -> int | None:
        """The parameter of a fusion that its end writes to in place."""
        each = self._all.get(number)
        updates = False
        for _ in range(_MOST_DEPTH):
            if each is None:
                return None
            if each.opcode == "parameter":
                return int(each.parameter_number) if updates else None
            if each.opcode not in (_UPDATES, "bitcast") or not each.operand_ids:
                return None
            updates = updates or each.opcode == _UPDATES
            each = self._all.get(each.operand_ids[0])
        return None


def _instructions(computations: Any) -> Iterator[Any]:
    for computation in computations:
        yield from computation.instructions


def _parts(shape: Any, path: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], int]]:
    """Each array of a shape with its path through the tuple and its bytes."""
    waiting, count = [(shape, path)], 0
    while waiting and count < _MOST_PARTS:
        each, at = waiting.pop()
        count += 1
        if each.tuple_shapes:
            if len(at) < _MOST_DEPTH:
                waiting += [(part, (*at, index)) for index, part in enumerate(each.tuple_shapes)]
            continue
        size = _BYTES.get(each.element_type, 0)
        for dimension in each.dimensions:
            size *= max(dimension, 0)
        yield at, size
