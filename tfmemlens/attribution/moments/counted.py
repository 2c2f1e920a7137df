"""What a dump shows without a name, as far as the program counted who held it: containers of Python's,
variables with their slots, constants of functions, batches; and what the step makes, by a recorded one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from tfmemlens.attribution.moments.claims import Claim, Taken, take
from tfmemlens.attribution.moments.live_inputs import BATCH, HELD_TENSOR, OF_BATCH
from tfmemlens.model.allocation import Allocation, AllocationTable
from tfmemlens.model.attribution import NOBODY, Attribution, Kind, Owner
from tfmemlens.model.capture import Capture
from tfmemlens.model.live_model import LEAST_BYTES, HeldTensors, LiveModel
from tfmemlens.model.tensor import TensorType
from tfmemlens.values import replace


def with_counted(
    attribution: Attribution, capture: Capture, device: str | None, of_step: Iterable[Claim] = ()
) -> Attribution | None:
    """The rows of a failure with the owners that the program counted, and of the rest those that a recorded
    step tells (`of_step`); None where that names none.
    """
    rows = list(zip(attribution.table, attribution.owners, strict=True))
    free = Counter[int]()
    for row, owner in rows:
        if _is_nameless(row, owner):
            free[row.size_bytes] += row.count
    taken: Taken = {}
    if free:
        take(taken, free, _claims(capture, device))
        take(taken, free, of_step)
    if not taken:
        return None
    split = [part for row, owner in rows for part in _split(row, owner, taken)]
    table = AllocationTable.of([row for row, _ in split])
    return Attribution(table, [owner for _, owner in split], attribution.calls)


def _is_nameless(row: Allocation, owner: Owner) -> bool:
    return row.node is None and owner.kind is Kind.UNATTRIBUTED and row.size_bytes >= LEAST_BYTES


def _claims(capture: Capture, device: str | None) -> Iterator[Claim]:
    """What was counted, the surest first: where several are as large, the first has the block."""
    model = capture.live_model
    yield from _of_containers(capture.living, model)
    if model is None:
        return
    for variable in model.variables:
        if variable.may_be_on(device or ""):
            slot = variable.kind is Kind.OPTIMIZER_SLOT
            layer = variable.layer or (None if slot else variable.name)
            yield Claim(variable.name, replace(NOBODY, layer=layer, kind=variable.kind), variable.tensor)
    yield from _of_graphs(model)
    for each in model.inputs:
        yield Claim(BATCH, OF_BATCH, each, 2 if model.ahead else 1, exact=True)


def _of_containers(living: Iterable[HeldTensors], model: LiveModel | None) -> Iterator[Claim]:
    """What Python held, under the names that lead to it. Of what no name leads to it is a function's that has
    as many traces, if what it keeps has room for one of the type in each; then a batch, and the rest, such as
    a tape keeps, is of the one layer that makes tensors as wide.
    """
    given = Counter(model.inputs if model else ())
    room = {each: each.bytes for each in (model.functions if model else ())}
    for group in living:
        size = group.tensor.bytes or 0
        for holder in group.holders:
            if holder.name is not None:
                owner = replace(NOBODY, layer=holder.name, kind=Kind.HELD)
                yield Claim(HELD_TENSOR, owner, group.tensor, holder.count)
        left = sum(holder.count for holder in group.holders if holder.name is None)
        for function, bytes_left in room.items():
            if function.traces <= left and 0 < size * function.traces <= bytes_left:
                room[function] -= size * function.traces
                left -= function.traces
                owner = replace(NOBODY, layer=function.name, kind=Kind.CONSTANT)
                yield Claim(HELD_TENSOR, owner, group.tensor, function.traces)
        batches = min(given[group.tensor], left)
        if batches:
            left -= batches
            yield Claim(BATCH, OF_BATCH, group.tensor, batches)
        if left:
            layer = model.widest_like(group.tensor.shape or ()) if model else None
            yield Claim(HELD_TENSOR, replace(NOBODY, layer=layer, kind=Kind.HELD), group.tensor, left)


def _of_graphs(model: LiveModel) -> Iterator[Claim]:
    """Constants of functions and of a session's graphs; those in no scope are of the line that makes them."""
    lines = {op: place.label for place in model.places for op in place.ops}
    for each in model.constants:
        layer = each.name.rpartition("/")[0] or lines.get(each.name)
        owner = replace(NOBODY, layer=layer, kind=Kind.CONSTANT)
        yield Claim(each.name, owner, each.tensor, each.count)


def _split(row: Allocation, owner: Owner, taken: Taken) -> Iterator[tuple[Allocation, Owner]]:
    """The row by its owners; what nobody claims stays as it is. What a row takes is taken off."""
    left = row.count if _is_nameless(row, owner) else 0
    waiting = taken.get(row.size_bytes, [])
    while left and waiting:
        claim, count = waiting.pop(0)
        here = min(count, left)
        if here < count:
            waiting.insert(0, (claim, count - here))
        left -= here
        tensor = claim.tensor
        yield (
            replace(
                row, node=claim.name, count=here, shape=tensor.shape, dtype=tensor.dtype,
                requested_bytes=tensor.bytes,
            ),
            claim.owner,
        )  # fmt: skip
    rest = left if _is_nameless(row, owner) else row.count
    if rest:
        yield replace(row, count=rest), owner


def with_holders(attribution: Attribution, living: Sequence[HeldTensors]) -> Attribution:
    """The rows of a step with the names of the containers in which Python later held most tensors of the
    type.
    """
    names = {group.tensor: name for group in living if (name := _most_of(group))}
    if not names:
        return attribution
    owners = [
        replace(owner, layer=names.get(TensorType(row.shape, row.dtype)))
        if row.node == HELD_TENSOR and owner.layer is None
        else owner
        for row, owner in zip(attribution.table, attribution.owners, strict=True)
    ]
    return replace(attribution, owners=owners)


def _most_of(group: HeldTensors) -> str | None:
    """The name that leads to more than half of the tensors of a type."""
    counts: Counter[str] = Counter()
    for holder in group.holders:
        if holder.name is not None:
            counts[holder.name] += holder.count
    name, count = max(counts.items(), key=lambda pair: pair[1], default=(None, 0))
    return name if 2 * count > group.count else None
