"""The variables and the tensors of the live program in what stood before a step: the trace alone has their
sum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from tfmemlens.attribution.moments.exact_chunks import exact_chunks
from tfmemlens.attribution.moments.live_inputs import BATCH, HELD_TENSOR, OF_BATCH, OF_TENSOR
from tfmemlens.attribution.names.owner_cache import owner_like
from tfmemlens.model.allocation import OUTPUT, PERSISTENT, Allocation
from tfmemlens.model.attribution import NOBODY, Kind, Owner, Phase
from tfmemlens.model.live_model import LEAST_BYTES, LiveModel, LiveVariable
from tfmemlens.model.timeline import Timeline
from tfmemlens.patterns import regex
from tfmemlens.units import round_up
from tfmemlens.values import replace

_MOST_TENSORS = 2000
_NEAR = 0.01
"""Of rests of chunks: what nothing explains is their sum, but for small change."""
_ASSIGNS = regex(r"(?:\A|/)Assign(?:Add|Sub)?(?:VariableOp)?(?:_\d{1,9})?\Z")
Row = tuple[Allocation, Owner]


def named_before(timeline: Timeline, model: LiveModel | None) -> Timeline:
    """The same, with the names of variables whose buffers the step replaced: what it freed without a name has
    the size of one. Among several of one size it is any, the weights first.
    """
    table = timeline.table
    rows = [
        row
        for row in timeline.freed_preexisting
        if table.node[row] is None and table.size_bytes[row] >= LEAST_BYTES
    ]
    if model is None or not rows:
        return timeline
    waiting: dict[int, list[LiveVariable]] = {}
    for variable in sorted(model.variables, key=lambda each: each.kind is not Kind.PARAMETER):
        waiting.setdefault(round_up(variable.tensor.bytes or 0), []).append(variable)
    nodes, purposes, owners = list(table.node), list(table.purpose), dict(timeline.owners)
    for row in rows:
        alike = waiting.get(table.size_bytes[row])
        if alike:
            variable = alike.pop(0)
            nodes[row], owners[variable.name] = variable.name, _owner(variable)
            written = _written_for(timeline, row, owners)
            if written is not None:
                purposes[written] = OUTPUT
                owners[table.node[written] or ""] = replace(_owner(variable), phase=Phase.OPTIMIZER)
    return replace(timeline, table=replace(table, node=nodes, purpose=purposes), owners=owners)


def named_in_larger_chunks(timeline: Timeline, model: LiveModel | None) -> Timeline:
    """The same for variables whose old buffers lay in chunks of up to twice their size, as far as nothing
    fits better: for each the step must have made a new buffer that asks for its bytes and stays.
    """
    table = timeline.table
    freed = timeline.freed_preexisting
    rows = [row for row in freed if table.node[row] is None and table.size_bytes[row] >= LEAST_BYTES]
    if model is None or not rows:
        return timeline
    named = {table.node[row] for row in freed}
    sizes = [(each.tensor.bytes or 0, each) for each in model.variables]
    columns = zip(table.requested_bytes, table.end_micros, strict=True)
    new = Counter(asked for asked, end in columns if asked and end is None)
    new.subtract(size for size, each in sizes if each.name in named)
    nodes, owners = list(table.node), dict(timeline.owners)
    for row in rows:
        near = [
            (size, each)
            for size, each in sizes
            if each.name not in named
            and new[size] > 0
            and round_up(size) <= table.size_bytes[row] < 2 * round_up(size)
        ]
        if near:
            size, best = max(near, key=lambda pair: (pair[0], pair[1].kind is Kind.PARAMETER))
            new[size] -= 1
            named.add(best.name)
            nodes[row], owners[best.name] = best.name, _owner(best)
    return replace(timeline, table=replace(table, node=nodes), owners=owners)


def _written_for(timeline: Timeline, old: int, known: Mapping[str, Owner]) -> int | None:
    """The assignment whose buffer took the place of one that stood before: as large, there before the old one
    went, and still there at the end; of several that nobody owns yet the last.
    """
    table = timeline.table
    size, freed = table.size_bytes[old], table.end_micros[old] or 0.0
    rows = [
        (start, row)
        for row, (node, start) in enumerate(zip(table.node, table.start_micros, strict=True))
        if node
        and node not in known
        and table.size_bytes[row] == size
        and table.end_micros[row] is None
        and start is not None
        and start <= freed
        and _ASSIGNS.search(node)
    ]
    return max(rows)[1] if rows else None


def _owner(variable: LiveVariable) -> Owner:
    """Its layer's; one that no layer has goes by its name, a slot by that of nobody."""
    layer = variable.layer or (None if variable.kind is Kind.OPTIMIZER_SLOT else variable.name)
    return replace(NOBODY, layer=layer, kind=variable.kind, phase=Phase.NONE)


def with_variables(timeline: Timeline, known: Sequence[Row], model: LiveModel | None) -> list[Row]:
    """What is known to stand, and of the rest the model's variables: all of them, or none where they exceed
    what stood, for then they are on another device or of another time. Then the tensors that Python held, as
    far as there is room.
    """
    if model is None:
        return list(known)
    named = _with_variables(timeline, known, model)
    rows = [*known, *named, *_more(timeline, [*known, *named], model)]
    exact = exact_chunks(rows, _chunks_of(timeline, model), _room(timeline, rows))
    if exact:
        return exact
    placed = [*known, *_in_chunks(named, timeline, model, _room(timeline, [*known, *named]))]
    more = _more(timeline, placed, model)
    placed += _in_chunks(more, timeline, model, _room(timeline, [*placed, *more]))
    return _as_a_constant_lies(placed, timeline, model)


def _more(timeline: Timeline, known: Sequence[Row], model: LiveModel) -> list[Row]:
    """Constants of graphs, tensors that Python held and the next batch, as far as there is room."""
    more = list(_constants(timeline, known, model))
    more += _tensors(timeline, [*known, *more], model)
    more += _next_batch(timeline, [*known, *more], model)
    return more


def _chunks_of(timeline: Timeline, model: LiveModel) -> dict[int, list[int]]:
    """For what was asked for the chunks that a dump of this allocator shows, the largest first."""
    sizes: dict[int, list[int]] = {}
    for allocator, asked, size in sorted(model.chunks, key=lambda each: -each[2]):
        if allocator == timeline.allocator:
            sizes.setdefault(asked, []).append(size)
    return sizes


def _as_a_constant_lies(rows: list[Row], timeline: Timeline, model: LiveModel) -> list[Row]:
    """The same with the chunks of a constant that asks for as many bytes, such as a slot's initial value,
    where just these rests of chunks are what nothing else explains.
    """
    left = _room(timeline, rows)
    chunks = {
        each.requested_bytes: each.size_bytes
        for each in model.constants
        if each.allocator == timeline.allocator and each.size_bytes > round_up(each.requested_bytes)
    }
    for asked, chunk in chunks.items():
        asking = (at for at, (row, _) in enumerate(rows) if row.requested_bytes == asked)
        alike = [at for at in asking if rows[at][0].size_bytes < chunk]
        rest = sum(chunk - rows[at][0].size_bytes for at in alike)
        if alike and abs(left - rest) <= _NEAR * rest:
            for at in alike:
                row, owner = rows[at]
                rows[at] = replace(row, size_bytes=chunk), owner
            return rows
    return rows


def _room(timeline: Timeline, known: Sequence[Row]) -> int:
    """The bytes of what stood before the step that nothing known explains."""
    return timeline.baseline_bytes - sum(row.size_bytes for row, _ in known if row.size_bytes > 0)


def _constants(timeline: Timeline, known: Sequence[Row], model: LiveModel) -> Iterator[Row]:
    """What other graphs of the session and all traces of functions keep, as far as there is room; the step's
    own are known.
    """
    left = _room(timeline, known)
    named = {row.node for row, _ in known}
    for each in model.constants:
        count = min(each.count, left // max(each.size_bytes, 1), _MOST_TENSORS)
        if each.allocator not in ("", timeline.allocator) or each.name in named or count <= 0:
            continue
        left -= count * each.size_bytes
        row = Allocation(
            each.name, each.size_bytes, "Const", timeline.device, timeline.allocator, each.requested_bytes,
            shape=each.tensor.shape, dtype=each.tensor.dtype or None, purpose=PERSISTENT,
        )  # fmt: skip
        owner = replace(owner_like(each.name, "Const"), kind=Kind.CONSTANT, phase=Phase.NONE)
        yield from [(row, owner)] * count


def _tensors(timeline: Timeline, known: Sequence[Row], model: LiveModel) -> Iterator[Row]:
    left = _room(timeline, known)
    on_gpu = "GPU" in timeline.device
    table = timeline.table
    freed = Counter(
        table.size_bytes[row] for row in timeline.freed_preexisting if table.node[row] in (HELD_TENSOR, BATCH)
    )
    given = Counter(model.inputs)
    for each in model.tensors:
        size = round_up(each.tensor.bytes or 0)
        if size < LEAST_BYTES or (each.device and ("GPU" in each.device) is not on_gpu):
            continue
        count = min(each.count - freed[size], left // size, _MOST_TENSORS)
        if count <= 0:
            continue
        left -= count * size
        row = Allocation(
            HELD_TENSOR, size, None, timeline.device, timeline.allocator, each.tensor.bytes,
            shape=each.tensor.shape, dtype=each.tensor.dtype, purpose=PERSISTENT,
        )  # fmt: skip
        batches = min(given[each.tensor], count)
        yield from [(replace(row, node=BATCH), OF_BATCH)] * batches
        yield from [(row, OF_TENSOR)] * (count - batches)


def _next_batch(timeline: Timeline, known: Sequence[Row], model: LiveModel) -> Iterator[Row]:
    """The batch that the input pipeline has ready for the step after this one, on the host, as far as there
    is room.
    """
    left = _room(timeline, known)
    for each in model.inputs if model.ahead and "GPU" not in timeline.device else ():
        size = round_up(each.bytes or 0)
        if LEAST_BYTES <= size <= left:
            left -= size
            row = Allocation(
                BATCH, size, None, timeline.device, timeline.allocator, each.bytes, shape=each.shape,
                dtype=each.dtype, purpose=PERSISTENT,
            )  # fmt: skip
            yield row, OF_BATCH


def _with_variables(timeline: Timeline, known: Sequence[Row], model: LiveModel) -> list[Row]:
    """Those that are not known yet, where all of them can have stood, else such as can."""
    kinds = (Kind.PARAMETER, Kind.OPTIMIZER_SLOT)
    listed = {row.node for row, owner in known if owner.kind in kinds and row.size_bytes}  # a size is known
    listed |= {timeline.table.node[row] for row in timeline.freed_preexisting}
    rows = [
        (
            Allocation(
                variable.name, round_up(variable.tensor.bytes or 0), None, timeline.device,
                timeline.allocator, variable.tensor.bytes, shape=variable.tensor.shape,
                dtype=variable.tensor.dtype, purpose=PERSISTENT,
            ),
            _owner(variable),
        )
        for variable in model.variables
        if variable.name not in listed and variable.may_be_on(timeline.device)
    ]  # fmt: skip
    needed = sum(row.size_bytes for row, _ in rows)
    left = _room(timeline, known)
    if any(owner.kind in kinds for _, owner in known):
        return list(_missing(rows, listed, model, left))
    if needed <= left:
        return rows
    weights = [(row, owner) for row, owner in rows if owner.kind is Kind.PARAMETER]
    tried = (*_first_sets(rows), weights, *_first_sets(weights))  # models, or an optimizer, made since
    return next((some for some in tried if sum(row.size_bytes for row, _ in some) <= left), [])


def _first_sets(rows: Sequence[Row]) -> list[list[Row]]:
    """Of several models whose variables have the same names the first ones, as many as there can be: those
    that a program makes later have the later variables.
    """
    seen: Counter[str | None] = Counter()
    of_set = []
    for row, _ in rows:
        of_set.append(seen[row.node])
        seen[row.node] += 1
    sets = range(max(of_set, default=0), 0, -1)
    return [[row for row, number in zip(rows, of_set, strict=True) if number < count] for count in sets]


def _missing(
    rows: Sequence[Row], listed: Collection[str | None], model: LiveModel, left: int
) -> Iterator[Row]:
    """Of a step that names its variables as the program does: those that it does not show, because it only
    looks rows up in them or because they are handed to one op, the largest first, as far as there is room.
    """
    if not any(variable.name in listed for variable in model.variables):
        return
    for row, owner in sorted(rows, key=lambda each: -each[0].size_bytes):
        if LEAST_BYTES <= row.size_bytes <= left:
            left -= row.size_bytes
            yield row, owner


def _in_chunks(rows: Sequence[Row], timeline: Timeline, model: LiveModel, left: int) -> Iterator[Row]:
    """The same with the chunks that a dump of this allocator shows for what they ask for, as far as there is
    room: BFC gives up to twice of that. Of several the smallest; the last of its size the largest that there
    is room for, where that explains most of the room.
    """
    sizes = _chunks_of(timeline, model)
    waiting = Counter(row.requested_bytes or 0 for row, _ in rows)
    for row, owner in rows:
        asked = row.requested_bytes or 0
        waiting[asked] -= 1
        alike = sizes.get(asked)
        fitting = [size for size in alike or () if row.size_bytes <= size <= row.size_bytes + left]
        if alike and fitting:
            chunk, largest = fitting[-1], fitting[0]
            if not waiting[asked] and left + row.size_bytes - largest <= largest - chunk:
                chunk = largest
            alike.remove(chunk)
            left -= chunk - row.size_bytes
            row = replace(row, size_bytes=chunk)
        yield row, owner
