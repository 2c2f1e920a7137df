"""How each row of a moment or a timeline answers to changes, as its kind and its tensor tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tfmemlens.attribution.names.weight_gradients import of_weights
from tfmemlens.model.allocation import AllocationTable
from tfmemlens.model.attribution import Kind, Owner
from tfmemlens.model.capture import Hints
from tfmemlens.model.case import Moment
from tfmemlens.model.ledger import Ledger
from tfmemlens.model.scaling import Lever, Scaling
from tfmemlens.model.tensor import TensorType
from tfmemlens.what_if import changes

_BATCH_KINDS = (Kind.ACTIVATION, Kind.LAYOUT_TRANSPOSE, Kind.LOOP_STACK)


def _grows_with_batch(owner: Owner, node: str | None) -> bool:
    """Whether a row's first dimension is the batch, as its kind tells."""
    return owner.kind in _BATCH_KINDS or (owner.kind is Kind.GRADIENT and not of_weights(node))


def scaling_of(moment: Moment, rows: Ledger, hints: Hints) -> Scaling:
    """How each row answers to another batch, another size of the input, and the changes that touch any."""
    table, owners, tensors = rows.table, rows.owners, rows.tensors
    grows = [_grows_with_batch(owner, node) for owner, node in zip(owners, table.node, strict=True)]
    batch = (
        hints.batch or (hints.input_shape[0] if hints.input_shape else None) or _batch(table, tensors, grows)
    )
    if batch is None and moment.request:
        batch = moment.request.batch
    grows = [
        _fits(tensor, batch) if grew and tensor else grew for tensor, grew in zip(tensors, grows, strict=True)
    ]
    axis, size = _axis(table, tensors, grows)
    return Scaling(
        batch,
        grows,
        _levers(rows),
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
    return max(votes, key=votes.__getitem__, default=None)


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
    if images >= sequences:
        return "side", None
    return "length", max(lengths, key=lengths.__getitem__, default=None)


def _exponent(tensor: TensorType | None, grew: bool, axis: str | None, size: int | None) -> int:
    shape = tensor.shape if tensor and grew else None
    if not shape or axis is None:
        return 0
    if axis == "side":
        return len(shape) - 2 if len(shape) in (4, 5) else 0
    return sum(part == size for part in shape[1:])


def _levers(rows: Ledger) -> tuple[Lever, ...]:
    """The changes that would touch any row here."""
    touches = {
        changes.NO_LAYOUT_COPIES: (0.0, _of(rows, Kind.LAYOUT_TRANSPOSE)),
        changes.MIXED_PRECISION: (0.5, wide(rows)),
        changes.RECOMPUTE: (0.5, _of(rows, Kind.ACTIVATION)),
        changes.LIGHTER_OPTIMIZER: (0.0, _of(rows, Kind.OPTIMIZER_SLOT)),
    }
    return tuple(
        Lever(slug, changes.CHANGES[slug].text, factor, touched)
        for slug, (factor, touched) in touches.items()
        if any(touched)
    )


def _of(rows: Ledger, *kinds: Kind) -> list[bool]:
    return [owner.kind in kinds for owner in rows.owners]


def wide(rows: Ledger) -> list[bool]:
    """The rows that mixed precision halves: activations and their gradients in 32 bits."""
    return [
        _is_wide(owner, node, tensor)
        for owner, node, tensor in zip(rows.owners, rows.table.node, rows.tensors, strict=True)
    ]


def _is_wide(owner: Owner, node: str | None, tensor: TensorType | None) -> bool:
    return (tensor is None or tensor.dtype in (None, "float32")) and _grows_with_batch(owner, node)
