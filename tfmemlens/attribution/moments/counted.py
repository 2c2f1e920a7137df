"""What a dump shows without a name, as far as the program counted who held it: containers of Python's,
variables with their slots, constants of functions, batches; and what the step makes, by a recorded one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from tfmemlens.attribution.moments.claims import Blocks, Claim, Taken, take
from tfmemlens.attribution.moments.live_inputs import BATCH, HELD_TENSOR, OF_BATCH
from tfmemlens.attribution.names.live_names import LiveNames
from tfmemlens.attribution.names.node_names import owner_of
from tfmemlens.knowledge.input_queues import queues_of
from tfmemlens.knowledge.kept_elements import calls_that_keep, prefetched
from tfmemlens.model.allocation import Allocation, AllocationTable
from tfmemlens.model.attribution import NOBODY, Attribution, Kind, Owner, Phase
from tfmemlens.model.capture import Capture, Surroundings
from tfmemlens.model.incident import FailedRequest, Incident
from tfmemlens.model.line import Line
from tfmemlens.model.live_model import LEAST_BYTES, HeldTensors, Holder, LiveModel
from tfmemlens.model.tensor import TensorType
from tfmemlens.patterns import regex
from tfmemlens.units import MIB, round_up
from tfmemlens.values import replace

ELEMENT = "pipeline element"
_ANY_OP = "Identity"
"""Of the ops in a scope any will do: the scope tells the layer."""
_LEAST_ELEMENTS = 16
"""Of fewer blocks a step may have as many in the size of a sample."""


def with_counted(
    attribution: Attribution, capture: Capture, incident: Incident, of_step: Iterable[Claim] = ()
) -> Attribution | None:
    """The rows of a failure with the owners that the program counted, and of the rest those that a recorded
    step tells (`of_step`), then the elements of an input pipeline; None where that names none.
    """
    rows = list(zip(attribution.table, attribution.owners, strict=True))
    failed = incident.request
    free = Counter[int]()
    for row, owner in rows:
        if _is_nameless(row, owner):
            free[row.size_bytes] += row.count
    taken: Taken = {}
    blocks = _blocks(free, incident)
    of_step = list(of_step) if free else []
    if free:
        take(taken, blocks, (_of_one_weight(each, capture) for each in of_step if _is_sure(each)))
        take(taken, blocks, _claims(capture, failed))
        take(taken, blocks, _of_kept_rows(capture, failed, taken, blocks))
        take(taken, blocks, _of_queues(capture, failed, blocks))
        take(taken, blocks, (each for each in of_step if not _is_sure(each)))
        take(taken, blocks, _of_more_turns(of_step, taken, blocks))
        take(taken, blocks, _left_of(_of_feeds(capture.live_model, False), taken))
        take(taken, blocks, _of_elements(capture, failed, blocks))
        take(taken, blocks, _of_a_cast(capture, failed, blocks))
        take(taken, blocks, _of_graphs(capture.live_model, own=True) if capture.live_model else ())
    if not taken:
        return None
    split = [part for row, owner in rows for part in _split(row, owner, taken)]
    table = AllocationTable.of([row for row, _ in split])
    return Attribution(table, [owner for _, owner in split], attribution.calls)


def _is_sure(claim: Claim) -> bool:
    """Whether the record of the step that failed has the block itself, of what no variable keeps: a gradient
    or a product of the update is as large as the weight.
    """
    passing = claim.owner.kind in (Kind.GRADIENT, Kind.WORKSPACE)
    return bool(claim.block_bytes) and passing and claim.owner.phase in (Phase.GRADIENT, Phase.OPTIMIZER)


_DENSE = "UnsortedSegmentSum"
"""The op that makes a dense gradient of the rows that were looked up."""


def _of_one_weight(claim: Claim, capture: Capture) -> Claim:
    """The same with the layer that alone has a weight of this shape; rows that are summed up into it are a
    gradient.
    """
    layers = capture.live_model.with_weight(claim.tensor.shape or ()) if capture.live_model else ()
    owner = claim.owner
    if owner.layer is None and len(layers) == 1:
        owner = replace(owner, layer=layers[0])
    if claim.name.rpartition("/")[2].startswith(_DENSE):
        owner = replace(owner, kind=Kind.GRADIENT)
    return replace(claim, owner=owner)


def _blocks(free: Counter[int], incident: Incident) -> Blocks:
    """The free ones, with what those in use were asked for, where the dump of this failure says it of all."""
    told = incident.chunks
    if told is None or len(told.requested_bytes) != len(told) or None in told.requested_bytes:
        return Blocks(free, {}, frozenset())
    asked: dict[int, Counter[int]] = {}
    for used, wanted, size in zip(told.in_use, told.requested_bytes, told.size_bytes, strict=True):
        if used:
            asked.setdefault(wanted or 0, Counter())[size] += 1
    return Blocks(free, asked, frozenset(size for sizes in asked.values() for size in sizes))


def _is_nameless(row: Allocation, owner: Owner) -> bool:
    return row.node is None and owner.kind is Kind.UNATTRIBUTED and row.size_bytes >= LEAST_BYTES


def _claims(capture: Capture, failed: FailedRequest) -> Iterator[Claim]:
    """What was counted, the surest first: where several are as large, the first has the block."""
    model = capture.live_model
    weights = {each.tensor for each in model.variables if each.kind is Kind.PARAMETER} if model else set()
    read = list[Claim]()
    here = [each for each in capture.living if each.may_be_on(failed.device or failed.allocator)]
    for claim in _of_containers(here, model):
        if claim.owner.kind is not Kind.HELD and claim.tensor in weights:
            read.append(claim)  # most likely the weight itself, which an op read: one buffer
        else:
            yield claim
    if model is None:
        return
    for variable in model.variables:
        if variable.may_be_on(failed.device or ""):
            slot = variable.kind is Kind.OPTIMIZER_SLOT
            layer = variable.layer or (None if slot else variable.name)
            yield Claim(
                variable.name,
                replace(NOBODY, layer=layer, kind=variable.kind),
                variable.now or variable.tensor,
            )
    yield from _of_graphs(model)
    yield from _of_feeds(model, exact=True)
    fed = bool(model.fed)  # what the traced step was given is gone
    for each in () if fed else _batches_of(model) or _of_input_layers(model, failed.shape or ()):
        yield Claim(BATCH, OF_BATCH, each, 2 if model.ahead else 1, exact=True)
    yield from read


def _batches_of(model: LiveModel) -> list[TensorType]:
    """What the step that failed was given: as the traced one, with its own batch."""
    own = model.failed_batch or model.batch
    sizes = (each.shape or () for each in model.inputs)
    return [
        TensorType((own, *shape[1:]) if shape[:1] == (model.batch,) else shape, each.dtype)
        for shape, each in zip(sizes, model.inputs, strict=True)
    ]


def _of_input_layers(model: LiveModel, shape: tuple[int | None, ...]) -> Iterator[TensorType]:
    """What the model's inputs are given in a step whose first size is the failed tensor's, where no call
    told it; of 32 bits, as all that Keras casts.
    """
    classes = dict(model.layers)
    batch = shape[0] if shape else None
    for path, (first, *rest) in (each for each in model.outputs if each[1]):
        if classes.get(path) == "InputLayer" and first is None and batch and None not in rest:
            yield TensorType((batch, *(size or 0 for size in rest)), "float32")


def _of_containers(living: Iterable[HeldTensors], model: LiveModel | None) -> Iterator[Claim]:
    """What Python held, under the names that lead to it; what a tape keeps is of the one layer that makes
    tensors as wide, else of the tape. Of what no name leads to it is a function's that has as many traces, if
    what it keeps has room for one of the type in each; then a batch, and the rest is of the one layer, too.
    """
    given = Counter(model.inputs if model else ())
    room = {each: each.bytes - each.variable_bytes for each in (model.functions if model else ())}
    for group in living:
        size = group.tensor.bytes or 0
        for holder in group.holders:
            if holder.name is not None:
                kind = Kind.INPUT if holder.is_input else Kind.HELD
                owner = replace(NOBODY, layer=holder.name, kind=kind)
                yield Claim(HELD_TENSOR, owner, group.tensor, holder.count)
            elif holder.is_tape or holder.scope:
                yield Claim(HELD_TENSOR, _of_tape(holder, group.tensor, model), group.tensor, holder.count)
            elif holder.of_call:
                kind = Kind.INPUT if holder.is_input else Kind.ACTIVATION
                owner = replace(NOBODY, layer=holder.of_call, kind=kind)
                yield Claim(HELD_TENSOR, owner, group.tensor, holder.count)
        left = sum(
            holder.count
            for holder in group.holders
            if holder.name is None and not (holder.is_tape or holder.scope or holder.of_call)
        )
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


_MOST_ROWS = 4096
_LEAST_PART_FOUND = 0.75
"""Of the whole tensors that rows must be of, so many blocks must be there: others may lie in larger ones."""


def _of_kept_rows(capture: Capture, failed: FailedRequest, taken: Taken, blocks: Blocks) -> Iterator[Claim]:
    """Containers whose tensors no block has the size of, where as many are there in a multiple of it: rows of
    larger tensors (`for row in made:`), each of which keeps the whole.
    """
    found = Counter[tuple[str | None, TensorType]]()
    for claims in taken.values():
        for claim, count in claims:
            found[claim.owner.layer, claim.tensor] += count
    for group in capture.living:
        size = group.tensor.bytes or 0
        if size <= 0 or not group.may_be_on(failed.device or failed.allocator):
            continue
        for holder in group.holders:
            left = holder.count - found[holder.name, group.tensor]
            if holder.name is None or holder.is_given or 2 * left < holder.count or left < _LEAST_ELEMENTS:
                continue
            if whole := _whole_of(left, size, blocks):
                rows, count = whole
                tensor = TensorType((rows, *(group.tensor.shape or ())), group.tensor.dtype)
                owner = replace(NOBODY, layer=holder.name, kind=Kind.HELD)
                yield Claim(HELD_TENSOR, owner, tensor, count)


def _whole_of(rows: int, row_bytes: int, blocks: Blocks) -> tuple[int, int] | None:
    """How many rows each of the larger tensors has, and how many of these are there."""
    best: tuple[int, int] | None = None
    for wanted in {*blocks.asked, *blocks.free}:
        each, rest = divmod(wanted, row_bytes)
        if rest or not 2 <= each <= min(_MOST_ROWS, rows):
            continue
        needed = -(-rows // each)
        there = sum(blocks.of(size, wanted) for size in {round_up(wanted), *blocks.asked_for(wanted)})
        if there >= _LEAST_PART_FOUND * needed and (best is None or there > best[1]):
            best = each, min(there, needed)
    return best


def _of_tape(holder: Holder, tensor: TensorType, model: LiveModel | None) -> Owner:
    """The layer whose output a tape keeps: of the scope that it was made in, else the one that makes tensors
    as wide; else the line that opens the tape.
    """
    if (owner := owner_in(holder, model)) is not None:
        return owner
    layer = model.widest_like(tensor.shape or ()) if model else None
    if layer is None and holder.place:
        layer = f"tape ({holder.place})"
    return replace(NOBODY, layer=layer, kind=Kind.ACTIVATION)


def owner_in(holder: Holder, model: LiveModel | None) -> Owner | None:
    """Who made the tensors of a holder, by the scope that the program recorded; None in no scope."""
    if not holder.scope:
        return None
    owner = LiveNames(model).owner(owner_of(f"{holder.scope}/{_ANY_OP}", _ANY_OP))
    return replace(owner, kind=Kind.GRADIENT if owner.phase is Phase.GRADIENT else Kind.ACTIVATION)


def _of_graphs(model: LiveModel, own: bool = False) -> Iterator[Claim]:
    """Constants of functions and of a session's graphs; those in no scope are of the line that makes them.
    Variables that a function reads are `own` where the model has one of the type: they may be that one.
    """
    lines = {op: place.label for place in model.places for op in place.ops}
    types = {variable.tensor for variable in model.variables}
    for each in model.constants:
        if (each.is_variable and each.tensor in types) is not own:
            continue
        layer = each.name.rpartition("/")[0] or lines.get(each.name)
        kind = Kind.PARAMETER if each.is_variable else Kind.CONSTANT
        owner = replace(NOBODY, layer=layer, kind=kind)
        yield Claim(each.name, owner, each.tensor, each.count, exact=each.is_folded)


def _of_feeds(model: LiveModel | None, exact: bool) -> Iterator[Claim]:
    """What the run of a session that failed was given, by the names of its placeholders; those without a name
    of their own go by the lines that make them.
    """
    lines = {op: place.label for place in model.places for op in place.ops} if model else {}
    for name, tensor in model.fed if model else ():
        layer = lines.get(name, name) if _PLACEHOLDER.search(name) else name
        yield Claim(name, replace(OF_BATCH, layer=layer), tensor, exact=exact)


_PLACEHOLDER = regex(r"(?:\A|/)Placeholder(?:_\d+)?\Z")


def _left_of(claims: Iterable[Claim], taken: Taken) -> Iterator[Claim]:
    """Those that have no block yet."""
    had = {claim.name for claims_of_size in taken.values() for claim, _ in claims_of_size}
    return (claim for claim in claims if claim.name not in had)


def _of_more_turns(of_step: Iterable[Claim], taken: Taken, blocks: Blocks) -> Iterator[Claim]:
    """What a loop keeps of turns beyond those of the recorded step: as many of each type more as there are
    blocks of the type that has the most of them.
    """
    of_turns = Counter[Claim]()
    for claim in of_step:
        if claim.owner.kind is Kind.LOOP_STACK:
            of_turns[replace(claim, name="", count=1)] += claim.count
    had = Counter[Claim]()
    names = dict[Claim, str]()
    for claims in taken.values():
        for claim, count in claims:
            alike = replace(claim, name="", count=1)
            had[alike] += count
            names[alike] = claim.name
    many = [claim for claim, count in of_turns.items() if count >= _LEAST_ELEMENTS and had[claim] == count]
    there = {claim: blocks.of(round_up(claim.bytes), claim.bytes) for claim in many}
    longer = max(((had[claim] + there[claim]) / of_turns[claim] for claim in many), default=1.0)
    for claim in many:
        more = math.ceil(of_turns[claim] * longer) - had[claim]
        if more > 0:
            yield replace(claim, name=names[claim], count=more)


def _of_queues(capture: Capture, failed: FailedRequest, blocks: Blocks) -> Iterator[Claim]:
    """What the queues of a session's graph keep in the host's memory: many blocks of at least the size of one
    of their elements, no more than they may hold.
    """
    if _is_on_a_gpu(failed):
        return
    for queue in queues_of(capture.graph):
        owner = replace(OF_BATCH, layer=queue.label)
        for element in queue.elements:
            asked = element.bytes or 0
            size, most = round_up(asked), queue.capacity or sum(blocks.free.values())
            alike = sum(count for each, count in blocks.free.items() if size <= each < 2 * size)
            if size >= LEAST_BYTES and alike >= _LEAST_ELEMENTS:
                yield Claim(ELEMENT, owner, element, min(alike, most))


def _of_elements(capture: Capture, failed: FailedRequest, blocks: Blocks) -> Iterator[Claim]:
    """What a buffer of the input pipeline keeps: many blocks in the size of one element. That is what failed
    in the pipeline's own function, and, where something is known to keep elements, a sample of the batch.
    """
    told, model = capture.surroundings, capture.live_model
    elements = [TensorType(failed.shape, failed.dtype)] if failed.pipeline and failed.shape else []
    buffers = [what for what, _ in told.pipeline_buffers]
    calls = buffers or calls_that_keep(line.text for line in _code(told))
    if model is not None and model.ahead and (failed.pipeline or buffers or (calls and blocks.asked)):
        elements += [TensorType(each.shape[1:], each.dtype) for each in model.inputs if each.shape]
    for element in dict.fromkeys(elements):
        wanted = element.bytes or 0
        count = sum(blocks.of(size, wanted) for size in {round_up(wanted), *blocks.asked_for(wanted)})
        if count >= _LEAST_ELEMENTS:
            layer = " and ".join(calls) or None
            yield Claim(ELEMENT, replace(OF_BATCH, layer=layer), element, count)
    if model is not None and not _is_on_a_gpu(failed):
        yield from _of_batches_ahead(told, model, blocks)


def _is_on_a_gpu(failed: FailedRequest) -> bool:
    """Where no element of an input pipeline waits."""
    return "GPU" in (failed.device or failed.allocator or "")


_LEAST_TOLD = 2
_ROOM = 8
"""So many more blocks than it has room for may be there: what is being made, and what the step uses."""


def _of_batches_ahead(told: Surroundings, model: LiveModel, blocks: Blocks) -> Iterator[Claim]:
    """What a prefetch of the program keeps: many blocks in the size of one batch, no more than it has room
    for; few of them prove it where a dump says that just so much was asked for. Of a step that was never
    told, the batch is as many samples as the blocks have room for exactly.
    """
    ahead = prefetched(_code(told), _LEAST_TOLD)
    if ahead is None:
        return
    for element in dict.fromkeys([*_batches_of(model), *_batches_of_blocks(model, blocks)]):
        wanted = element.bytes or 0
        sizes = {round_up(wanted), *blocks.asked_for(wanted)}
        count = sum(blocks.of(size, wanted) for size in sizes)
        is_told = wanted >= MIB and bool(blocks.asked_for(wanted))
        least = _LEAST_TOLD if is_told and model.ahead else _LEAST_ELEMENTS
        if least <= count and (ahead.room.value is None or count <= ahead.room.value + _ROOM):
            yield Claim(ELEMENT, replace(OF_BATCH, layer=ahead.call), element, count)


def _batches_of_blocks(model: LiveModel, blocks: Blocks) -> Iterator[TensorType]:
    """Of what each input layer takes, the batch that the most of the blocks are."""
    classes = dict(model.layers)
    sizes = sorted((size for size in blocks.free if blocks.free[size] >= _LEAST_ELEMENTS), reverse=True)
    for path, (first, *rest) in (each for each in model.outputs if each[1]):
        sample = TensorType(tuple(rest), "float32").bytes if rest and None not in rest else None
        if classes.get(path) != "InputLayer" or first is not None or not sample or sample < LEAST_BYTES:
            continue
        exact = (size for size in sizes if size % sample == 0)
        size = max(exact, key=lambda each: each * blocks.free[each], default=None)
        if size is not None:
            yield TensorType((size // sample, *rest), "float32")


_CASTS = regex(r"(?:\A|/)Cast(?:_\d+)?\Z")
_OTHER_WIDTHS = (1, 2, 8, 4)
"""Bytes of a number that is cast: most often a comparison's."""


def _of_a_cast(capture: Capture, failed: FailedRequest, blocks: Blocks) -> Iterator[Claim]:
    """What a cast reads is there while its result is asked for: as many numbers, each of another width. It is
    of the layer in whose scope the cast is, else of the line that makes it.
    """
    shape, node = failed.shape or (), failed.node or ""
    if capture.live_model is None or not shape or not all(shape) or not _CASTS.search(node):
        return
    numbers = math.prod(side or 0 for side in shape)
    own = (failed.tensor_bytes or 0) // numbers
    for width in _OTHER_WIDTHS:
        wanted = numbers * width
        if width == own or wanted < LEAST_BYTES:
            continue
        if any(blocks.of(size, wanted) for size in {round_up(wanted), *blocks.asked_for(wanted)}):
            named = LiveNames(capture.live_model).owner(owner_of(node, "Cast"))
            owner = replace(named, kind=Kind.ACTIVATION)
            if "/" not in node:
                owner = replace(owner, layer=_line_of(capture.live_model, failed.source or ""))
            tensor = TensorType(shape, "bool" if width == 1 else None)
            yield Claim(f"what {node} reads", owner, tensor, exact=True, asked_bytes=wanted)
            return


def _line_of(model: LiveModel | None, source: str) -> str | None:
    """A line of the program as the program told it, with the function that it stands in."""
    place = source.rpartition("/")[2]
    alike = (each.label for each in model.places if f"{each.file}:{each.code_line}" == place) if model else ()
    return next(iter(alike), place or None)


def _code(told: Surroundings) -> Iterator[Line]:
    yield from told.code
    yield from (line for statement in told.program() for line in statement.lines)


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
                requested_bytes=claim.bytes or None,
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
