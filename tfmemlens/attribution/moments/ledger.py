"""The ledger of a moment: all that a step allocated with its owners, and how each row answers to another
batch or input size.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

from tfmemlens.attribution.moments.consumers import MAX_ROWS, graph_of, last_reader
from tfmemlens.attribution.moments.timelines import owners_of
from tfmemlens.model.allocation import AllocationTable, Shape
from tfmemlens.model.attribution import Kind, Owner
from tfmemlens.model.capture import Hints
from tfmemlens.model.case import Moment, Naming
from tfmemlens.model.finding import Certainty
from tfmemlens.model.graph import Graph
from tfmemlens.model.lazy_column import LazyColumn
from tfmemlens.model.ledger import Ledger
from tfmemlens.model.scaling import BATCH_KINDS, Lever, Scaling, grows_with_batch
from tfmemlens.model.tensor import TensorType
from tfmemlens.model.timeline import Timeline


def ledger_of(moment: Moment, hints: Hints = Hints(), graph: Graph | None = None) -> Ledger:
    """All rows of a timeline and what stood before it; of a failure the rows that were held then."""
    columns = _timed(moment, moment.timeline) if moment.timeline else _held(moment)
    table, owners, tensors, birth, death = columns
    readers = _readers(table, moment.timeline, graph) if moment.timeline else []
    return Ledger(
        table, owners, tensors, birth, death, _scaling(moment, table, owners, tensors, hints), readers
    )


def _readers(table: AllocationTable, timeline: Timeline, graph: Graph | None) -> list[str | None]:
    """Who kept each row, unless there are so many rows that asking takes longer than all the rest."""
    graph = graph or graph_of(timeline)
    return list(last_reader(table, graph, timeline)) if graph is not None and len(table) <= MAX_ROWS else []


Rows = tuple[AllocationTable, list[Owner], list["TensorType | None"], list[int], list[int]]


def _held(moment: Moment) -> Rows:
    table = moment.attribution.table
    namings = moment.namings or [None] * len(table)
    tensors = [
        _tensor(shape, dtype, naming)
        for shape, dtype, naming in zip(table.shape, table.dtype, namings, strict=True)
    ]
    return table, list(moment.attribution.owners), tensors, [-1] * len(table), [0] * len(table)


def _tensor(shape: Shape | None, dtype: str | None, naming: Naming | None) -> TensorType | None:
    if shape is not None:
        return TensorType(shape, dtype)
    return naming.best.tensor if naming else None


def _timed(moment: Moment, timeline: Timeline) -> Rows:
    """The timeline's rows, then those that stood before the step."""
    ours = timeline.table
    standing = [
        (row, owner)
        for row, owner in zip(moment.attribution.table, moment.attribution.owners, strict=True)
        if row.start_micros is None
    ]
    before = AllocationTable.of([row for row, _ in standing])
    table = AllocationTable(
        **{
            name: LazyColumn(partial(_joined, ours, before, name))
            for name in AllocationTable.__dataclass_fields__
        }
    )
    owners = [*owners_of(timeline), *(owner for _, owner in standing)]
    types: dict[object, TensorType] = {}
    tensors = [
        None if shape is None else types.setdefault((shape, dtype), TensorType(shape, dtype))
        for shape, dtype in zip(table.shape, table.dtype, strict=True)
    ]
    changes, rows = timeline.events[1:]
    birth, death = [len(rows)] * len(ours), [len(rows)] * len(ours)
    for index, (change, row) in enumerate(zip(changes, rows, strict=True)):
        if change >= 0 and birth[row] == len(rows):
            birth[row] = index
        else:
            death[row] = index
    return table, owners, tensors, [*birth, *([-1] * len(standing))], [*death, *([len(rows)] * len(standing))]


def _joined(one: AllocationTable, other: AllocationTable, name: str) -> list[Any]:
    return [*getattr(one, name), *getattr(other, name)]


def _scaling(
    moment: Moment,
    table: AllocationTable,
    owners: Sequence[Owner],
    tensors: Sequence[TensorType | None],
    hints: Hints,
) -> Scaling:
    grows = [grows_with_batch(owner, node) for owner, node in zip(owners, table.node, strict=True)]
    batch = (
        hints.batch or (hints.input_shape[0] if hints.input_shape else None) or _batch(table, tensors, grows)
    )
    if (
        batch is None
        and moment.request
        and grows_with_batch(moment.request.owner, moment.request.failed.node)
    ):
        shape = moment.request.failed.shape
        batch = shape[0] if shape and len(shape) >= 2 else None
    grows = [
        _fits(tensor, batch) if grew and tensor else grew for tensor, grew in zip(tensors, grows, strict=True)
    ]
    axis, size = _axis(table, tensors, grows)
    return Scaling(
        batch,
        grows,
        _levers(owners, tensors),
        axis,
        size,
        [_exponent(tensor, grew, axis, size) for tensor, grew in zip(tensors, grows, strict=True)],
    )


def _batch(table: AllocationTable, tensors: Sequence[TensorType | None], grows: Sequence[bool]) -> int | None:
    """The first dimension that most bytes have, among rows that grow with the batch."""
    votes: Counter[int] = Counter()
    for size, tensor, grew in zip(table.size_bytes, tensors, grows, strict=True):
        if grew and tensor and tensor.shape and len(tensor.shape) >= 2 and tensor.shape[0]:
            votes[tensor.shape[0]] += size
    return votes.most_common(1)[0][0] if votes else None


def _fits(tensor: TensorType, batch: int | None) -> bool:
    """Whether the batch is in a tensor's shape: a multiple of it as the first dimension counts, for [B*L, D]
    is one, too.
    """
    first = tensor.shape[0] if tensor.shape else None
    return bool(batch and first and first % batch == 0)


def _axis(
    table: AllocationTable, tensors: Sequence[TensorType | None], grows: Sequence[bool]
) -> tuple[str | None, int | None]:
    """Images or sequences, whichever holds more bytes: feature maps have rank 4 or 5, sequences rank 3."""
    images = sequences = 0
    lengths: Counter[int] = Counter()
    for size, tensor, grew in zip(table.size_bytes, tensors, grows, strict=True):
        if not grew or tensor is None or tensor.shape is None or None in tensor.shape:
            continue
        if len(tensor.shape) == 3:
            sequences += size
            lengths[tensor.shape[1] or 0] += size
        elif (
            len(tensor.shape) == 4
            and tensor.shape[2] == tensor.shape[3]
            and tensor.shape[1] != tensor.shape[2]
        ):
            sequences += size  # attention scores [B, heads, L, L], unless it is a square image in NCHW
            images += size
        elif len(tensor.shape) in (4, 5):
            images += size
    if not images and not sequences:
        return None, None
    return (
        ("side", None)
        if images >= sequences
        else ("length", lengths.most_common(1)[0][0] if lengths else None)
    )


def _exponent(tensor: TensorType | None, grew: bool, axis: str | None, size: int | None) -> int:
    shape = tensor.shape if tensor and grew else None
    if not shape or axis is None:
        return 0
    if axis == "side":
        return len(shape) - 2 if len(shape) in (4, 5) else 0
    return sum(part == size for part in shape[1:])


def _levers(owners: Sequence[Owner], tensors: Sequence[TensorType | None]) -> tuple[Lever, ...]:
    """The settings that would touch any row here."""

    def of(*kinds: Kind) -> list[bool]:
        return [owner.kind in kinds for owner in owners]

    wide = [
        owner.kind in BATCH_KINDS and (tensor is None or tensor.dtype in (None, "float32"))
        for owner, tensor in zip(owners, tensors, strict=True)
    ]
    levers = (
        Lever("layout", "no layout copies", 0.0, Certainty.BOUND, of(Kind.LAYOUT_TRANSPOSE)),
        Lever("half", "activations in 16 bits (mixed precision)", 0.5, Certainty.ESTIMATE, wide),
        Lever(
            "recompute",
            "recompute activations in the backward pass",
            0.5,
            Certainty.ESTIMATE,
            of(Kind.ACTIVATION),
        ),
        Lever(
            "slots", "an optimizer without slots (plain SGD)", 0.0, Certainty.EXACT, of(Kind.OPTIMIZER_SLOT)
        ),
    )
    return tuple(lever for lever in levers if any(lever.touches))
