"""Who holds the blocks of a step that failed, by a recorded step of the same program that ran: what was alive
there when the op that failed here asked for its tensor, in the sizes of the step that failed.

The sizes are the evidence: a tensor that the failed step does not hold finds no block of its size.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tfmemlens.attribution.moments.claims import Claim
from tfmemlens.attribution.names.owner_cache import owner_like
from tfmemlens.attribution.names.weight_gradients import of_weights
from tfmemlens.knowledge.ops import roles
from tfmemlens.model.allocation import BEFORE, PIPELINE, Shape
from tfmemlens.model.attribution import Kind, Phase
from tfmemlens.model.incident import FailedRequest
from tfmemlens.model.live_model import LEAST_BYTES, LiveModel
from tfmemlens.model.tensor import TensorType
from tfmemlens.model.timeline import Timeline
from tfmemlens.values import dataclass, field, replace

_OF_THE_STEP = (Kind.ACTIVATION, Kind.GRADIENT, Kind.WORKSPACE, Kind.LOOP_STACK, Kind.LAYOUT_TRANSPOSE)
_LEAST_MULTIPLE = 16
"""Of smaller numbers too many sizes are multiples."""
_MOST_POOLED = 32
"""A picture is rarely made smaller than by that."""


@dataclass(frozen=True, slots=True)
class ResizedStep:
    """ResizedStep of the recorded step, and what they are in the one that failed."""

    batch: Mapping[int, int] = field(default_factory=dict)
    sides: Mapping[int, int] = field(default_factory=dict)
    """Of pictures and sequences."""
    given: Mapping[int, int] = field(default_factory=dict)
    """Of what a session's run was given: lengths and the like, wherever they stand."""
    weights: frozenset[Shape] = frozenset()
    """The shapes of the program's variables, which no batch changes."""


def claims_of_step(
    timelines: Sequence[Timeline], request: FailedRequest, model: LiveModel | None, in_use: int | None = None
) -> Iterator[Claim]:
    """First what was alive when the same op asked, or at the peak; then what the step makes at other times,
    where one layer alone makes tensors of the type. Where the step is itself the one that failed, it has the
    blocks that were alive when just so much was `in_use`.
    """
    for timeline in timelines:
        if request.allocator in (None, timeline.allocator):
            is_the_failed = bool(model and (model.failed_step or model.until_failure))
            if is_the_failed:
                yield from _of_the_blocks(timeline, in_use)
            index, sizes = _same_moment(timeline, request, model, is_the_failed)
            sizes = replace(sizes, weights=_shapes_of_weights(model), given=_given_sizes(model))
            rows = timeline.alive_after(index)
            if timeline.predicted:
                rows = [*rows, *_kept_until_the_peak(timeline, {*rows})]
            yield from _claims(timeline, rows, sizes)
            yield from _of_other_times(timeline, {*rows}, sizes, request)
            return


def _given_sizes(model: LiveModel | None) -> dict[int, int]:
    """Sizes of the arrays that the recorded run was given, and what they are in the one that failed: not the
    batch, nor what has several values there.
    """
    inputs = [each.shape or () for each in model.inputs] if model else []
    fed = [each.shape or () for _, each in model.fed] if model else []
    if model is None or [*map(len, inputs)] != [*map(len, fed)]:
        return {}
    pairs = {
        pair
        for mine, theirs in zip(inputs, fed, strict=True)
        for pair in zip(mine[1:], theirs[1:], strict=True)
    }
    known = Counter(old for old, _ in pairs)
    return {
        old: new
        for old, new in pairs
        if old and new and known[old] == 1 and old != new and old >= _LEAST_MULTIPLE and old != model.batch
    }


def _shapes_of_weights(model: LiveModel | None) -> frozenset[Shape]:
    shapes = (each.tensor.shape for each in model.variables) if model else ()
    return frozenset(shape for shape in shapes if shape)


def _of_the_blocks(timeline: Timeline, in_use: int | None) -> Iterator[Claim]:
    """At the last of the events that come nearest to what was in use."""
    if in_use is None or not timeline.curve:
        return
    index = min(range(len(timeline.curve)), key=lambda at: (abs(timeline.curve[at] - in_use), -at))
    rows = timeline.alive_after(index)
    for row, claim in _claims_by_row(timeline, rows, ResizedStep()):
        yield replace(claim, block_bytes=timeline.table.size_bytes[row], exact=True)


def _kept_until_the_peak(timeline: Timeline, alive: set[int]) -> Iterator[int]:
    """What the forward pass makes and keeps may have been there before: a prediction knows one order of the
    ops, and there are others.
    """
    table = timeline.table
    for row in timeline.alive_after(timeline.peak_index):
        node = table.node[row] or ""
        owner = timeline.owners.get(node) or owner_like(node, table.op[row])
        if row not in alive and owner.phase is Phase.FORWARD:
            yield row


def _same_moment(
    timeline: Timeline, request: FailedRequest, model: LiveModel | None, is_the_failed: bool = False
) -> tuple[int, ResizedStep]:
    """The event at which the op that failed asked for its tensor, and the sizes. Of several that it asks for,
    such as its buffers, the last in the failed one's shape, else the last; of the failed step itself only
    what it was given before.
    """
    known = {model.batch: model.failed_batch} if model and model.batch and model.failed_batch else {}
    shapes, rows = timeline.table.shape, timeline.events[2]
    asked = list(_asked_by(timeline, request.node)) if request.node else []
    if not asked:
        return timeline.peak_index, ResizedStep(known)
    same = (at for at in asked if resized(shapes[rows[at]] or (), ResizedStep(known)) == request.shape)
    found = next(same, asked[0])
    shape = shapes[rows[found]] or ()
    if is_the_failed:
        return found, ResizedStep(known)
    if not request.shape or len(shape) != len(request.shape):
        return found, ResizedStep(known, _sides_of_patches(timeline, request))
    first, *others = (
        {mine: theirs} if mine and theirs and mine != theirs else {}
        for mine, theirs in zip(shape, request.shape, strict=True)
    )
    return found, ResizedStep({**known, **first}, {old: new for each in others for old, new in each.items()})


def _asked_by(timeline: Timeline, wanted: str) -> Iterator[int]:
    """The events at which an op asks for memory, the last first."""
    node, (_, changes, rows) = timeline.table.node, timeline.events
    for index in range(len(rows) - 1, -1, -1):
        if changes[index] >= 0 and node[rows[index]] == wanted:
            yield index


def _sides_of_patches(timeline: Timeline, request: FailedRequest) -> dict[int, int]:
    """Of square pictures of which the gradient of a convolution makes a matrix, a row for each position:
    their side, and the side of a picture that the same op or its layer makes in the recorded step.
    """
    if not request.node or len(request.shape or ()) != 3:
        return {}
    _, positions, patch = request.shape or (None, None, None)
    side, table = math.isqrt(positions or 0), timeline.table
    rows = [row for row, shape in enumerate(table.shape) if shape and _is_square(shape, patch)]
    layer = owner_like(request.node).layer
    same = [row for row in rows if table.node[row] == request.node]
    same = same or [row for row in rows if owner_like(table.node[row] or "").layer == layer]
    old = (table.shape[same[-1]] or (None, None))[1] if same else None
    return {old: side} if old and side > 1 and side * side == positions and old != side else {}


def _is_square(shape: Shape, patch: int | None) -> bool:
    """Whether these are square pictures, and no kernel of so many numbers for each output."""
    if len(shape) != 4 or shape[1] != shape[2] or not all(shape):
        return False
    return math.prod(each or 0 for each in shape[:3]) != patch


def _claims(timeline: Timeline, rows: Iterable[int], sizes: ResizedStep) -> Iterator[Claim]:
    return (claim for _, claim in _claims_by_row(timeline, rows, sizes))


def _claims_by_row(
    timeline: Timeline, rows: Iterable[int], sizes: ResizedStep
) -> Iterator[tuple[int, Claim]]:
    table = timeline.table
    for row in rows:
        shape, node, asked = table.shape[row], table.node[row], table.requested_bytes[row]
        if not node or table.size_bytes[row] < LEAST_BYTES:
            continue
        owner = timeline.owners.get(node) or owner_like(node, table.op[row])
        if not shape and asked and table.op[row] in roles.CONSTANTS:  # one that Grappler folded
            constant = replace(owner, kind=Kind.CONSTANT)
            yield row, Claim(node, constant, TensorType(None, None), exact=True, asked_bytes=asked)
        if not shape:
            continue
        if owner.kind in _OF_THE_STEP and table.purpose[row] not in (BEFORE, PIPELINE):
            of_weight = owner.kind is Kind.GRADIENT and shape in sizes.weights and of_weights(node)
            tensor = TensorType(shape if of_weight else resized(shape, sizes), table.dtype[row])
            yield row, Claim(node, owner, tensor)


def _of_other_times(
    timeline: Timeline, alive: set[int], sizes: ResizedStep, request: FailedRequest
) -> Iterator[Claim]:
    """Not what the backward pass makes, where it failed before."""
    forward = bool(request.node) and owner_like(request.node or "").phase is Phase.FORWARD
    rows = (row for row in range(len(timeline.table)) if row not in alive)
    by_type: dict[TensorType, list[Claim]] = {}
    for claim in _claims(timeline, rows, sizes):
        if not (forward and claim.owner.phase in (Phase.GRADIENT, Phase.OPTIMIZER)):
            by_type.setdefault(claim.tensor, []).append(claim)
    for claims in by_type.values():
        if len({claim.owner.layer for claim in claims}) == 1:
            first = claims[0]
            yield Claim(first.name, first.owner, first.tensor, len(claims), exact=True)


def resized(shape: Shape, sizes: ResizedStep) -> Shape:
    """A shape of the recorded step as the one that failed has it."""
    new = list(shape)
    for old, size in sizes.sides.items():
        _resize_side(new, shape, old, size)
    for old, size in sizes.batch.items():
        first = shape[0] if shape else None
        if old in shape:
            new[shape.index(old)] = size
        elif first and old >= _LEAST_MULTIPLE and first % old == 0:
            new[0] = first // old * size  # a batch of sequences that lies flat
    widths = {side for weight in sizes.weights for side in weight} if sizes.given else set()
    for at, old_size in enumerate(shape):
        given = sizes.given.get(old_size or 0)
        if given and new[at] == old_size and (at + 1 < len(shape) or old_size not in widths):
            new[at] = given
    return tuple(new)


def _resize_side(new: list[int | None], shape: Shape, old: int, size: int) -> None:
    """Where a side stands between the first and the last, and its halves and quarters (a picture that was
    pooled); the last beside one other is a sequence's, beside two channels.
    """
    between = range(1, len(shape) - 1)
    alike = [at for at in between if shape[at] == old]
    for at in alike or between:
        each = shape[at] or 0
        if each > 1 and old % each == 0 and old // each <= _MOST_POOLED:
            new[at] = -(-size // (old // each))
        elif each > old and each % old < each // old <= _MOST_POOLED:  # before it was pooled
            new[at] = each // old * size
    if len(shape) > 1 and shape[-1] == old and (len(alike) == 1 or not between):
        new[-1] = size
