"""Which tensor is behind a printed size: shapes from the user's hint, the failing tensor, and what fits
together.

A figure is the size of a chunk, so it may exceed its tensor: BFC hands out a whole chunk unless it is at
least twice the request or 128 MiB larger (`BFCAllocator::FindChunkPtr`). A size that several tensors explain
stays ambiguous.
"""

from __future__ import annotations

import math
from collections import Counter

from tfmemlens.model.allocation import Allocation
from tfmemlens.model.attribution import Attribution, Kind, Owner, Phase
from tfmemlens.model.capture import Hints
from tfmemlens.model.case import Candidate, Naming
from tfmemlens.model.incident import FailedRequest
from tfmemlens.model.tensor import ITEM_BYTES, TensorType
from tfmemlens.units import MIB, round_up
from tfmemlens.values import dataclass

_NO_FEATURE_MAP = (Kind.WORKSPACE, Kind.PARAMETER, Kind.OPTIMIZER_SLOT)
"""Requests whose shape says nothing of the activations."""
_MIN_ROW_BYTES = 64 << 10
_MAX_SLACK = 128 * MIB
_LEVELS = 6
_UP = 3
_MAX_CHANNELS = 2048
_FLOATS = ("float32", "float16", "bfloat16", "float64")
_STANDARD = (
    (720, 1280),
    (1080, 1920),
    (480, 640),
    (360, 640),
    (240, 320),
    (321, 481),
    (600, 800),
    (768, 1024),
    (1024, 2048),
    (512, 1024),
)


@dataclass(frozen=True, slots=True)
class _Anchor:
    """What is known of the tensors of this model: the batch, the image or the sequence, the channels seen
    there.
    """

    batch: int
    space: tuple[int, ...]
    channels: int | None
    """None where nothing but the batch is known."""
    dtype: str
    reason: str
    whole: bool = True
    """Whether this is the input itself, at full resolution."""

    def at(self, level: int) -> tuple[int, ...]:
        """The grid after halving `level` times with SAME padding; a negative level doubles it."""
        return tuple(math.ceil(size / 2**level) for size in self.space)


def name_tensors(
    attribution: Attribution, request: FailedRequest, owner: Owner, hints: Hints
) -> tuple[Naming | None, ...]:
    """For each row the tensors that its figure can stand for, best first. `owner` is the failed request's."""
    anchors = _anchors(request, owner, hints)
    rows = list(zip(attribution.table, attribution.owners, strict=True))
    exact = [_exact(row, anchors) for row, _ in rows]
    base = _widest(exact, anchors)
    ranked = [sorted(entries, key=lambda entry: _unlikeliness(entry, base)) for entries in exact]
    known = _by_layer(rows, ranked)
    return tuple(
        _naming(row, owner, entries, known, ranked, anchors, base)
        for (row, owner), entries in zip(rows, ranked, strict=True)
    )


Entry = tuple[int, int, _Anchor]
"""(level, channels, anchor)"""


def _anchors(request: FailedRequest, owner: Owner, hints: Hints) -> list[_Anchor]:
    dtype = request.dtype if request.dtype in _FLOATS else "float32"
    anchors = []
    if hints.input_shape and len(hints.input_shape) >= 2:
        sizes = [size if size is not None else hints.batch or 1 for size in hints.input_shape]
        anchors.append(_Anchor(sizes[0], tuple(sizes[1:-1]), sizes[-1], dtype, "--input-shape"))
    telling = owner.kind not in _NO_FEATURE_MAP and owner.phase is not Phase.OPTIMIZER
    if (
        telling
        and request.shape
        and 2 <= len(request.shape) <= 5
        and all(request.shape)
        and request.dtype in (*_FLOATS, None)
    ):
        anchors += _from_failing(
            [size for size in request.shape if size], dtype, dict(request.attributes).get("data_format", "")
        )
    if hints.batch and not hints.input_shape:
        anchors = [anchor for anchor in anchors if anchor.batch == hints.batch] or [
            _Anchor(hints.batch, (), None, dtype, "--batch")
        ]
    return anchors


def _from_failing(shape: list[int], dtype: str, data_format: str) -> list[_Anchor]:
    batch, *rest = shape
    if len(shape) == 2:
        return [_Anchor(batch, (), rest[0], dtype, "the failing tensor", whole=False)]
    first = "NC" in data_format or (len(rest) == 3 and rest[1] == rest[2] != rest[0] and rest[0] % 8 == 0)
    space, channels = (rest[1:], rest[0]) if first else (rest[:-1], rest[-1])
    return [_Anchor(batch, tuple(space), channels, dtype, "the failing tensor", whole=False)]


def _exact(row: Allocation, anchors: list[_Anchor]) -> list[Entry]:
    """All (level, channels) whose tensor, rounded up to 256, is the figure to the byte or within its print
    error.
    """
    entries: list[Entry] = []
    if row.node is None or row.size_bytes < _MIN_ROW_BYTES:
        return entries
    for anchor in anchors:
        if anchor.channels is None:  # any figure is some width of a matrix with the batch alone
            continue
        for level in _levels(anchor):
            plane = anchor.batch * math.prod(anchor.at(level)) * ITEM_BYTES[anchor.dtype]
            channels = round(row.size_bytes / plane)
            if (
                channels >= 1
                and abs(round_up(channels * plane) - row.size_bytes) <= row.error_bytes
                and _usual(channels, anchor)
            ):
                entries.append((level, channels, anchor))
    return entries


def _levels(anchor: _Anchor) -> range:
    """How often the grid can be halved and still be an image; a sequence stays as long as it is.

    The failing tensor may itself sit below full resolution, so from there the grid may also double.
    """
    if len(anchor.space) < 2:
        return range(1)
    return range(0 if anchor.whole else -_UP, max(1, min(_LEVELS, min(anchor.space).bit_length() - 1)))


def _usual(channels: int, anchor: _Anchor) -> bool:
    """Widths that people choose; without this every size is some number of channels."""
    if channels == anchor.channels or not anchor.space:
        return True
    return channels <= 4 or (channels <= _MAX_CHANNELS and (channels % 16 == 0 or channels == 8))


def _widest(exact: list[list[Entry]], anchors: list[_Anchor]) -> int | None:
    """The commonest number of channels at full resolution; nets double it where they halve the image."""
    counts = Counter(
        channels
        for entries in exact
        for level, channels, anchor in entries
        if level == 0 and channels >= 8 and anchor.whole
    )
    if not counts:
        return anchors[0].channels if anchors else None
    return max(counts, key=lambda channels: (counts[channels] * min(channels, 64), channels))


def _unlikeliness(entry: Entry, base: int | None) -> tuple[float, int]:
    level, channels, anchor = entry
    if level == 0 and channels == anchor.channels:
        return (-1.0, 0)
    if not anchor.whole and anchor.channels and anchor.channels >= 8:
        base = anchor.channels
    steps = abs(math.log2(channels / base) - level) if base else 0.0
    return (steps + _oddness(channels), abs(level))


def _oddness(channels: int) -> float:
    """Powers of two are the rule, multiples of 16 common."""
    if channels & (channels - 1) == 0:
        return 0.0
    return 0.5 if channels % 16 == 0 else 1.0


def _by_layer(rows: list[tuple[Allocation, Owner]], ranked: list[list[Entry]]) -> dict[str, Entry]:
    """For each layer the tensor that its own ops make, where a figure fits it exactly."""
    known: dict[str, Entry] = {}
    for (_, owner), entries in zip(rows, ranked, strict=True):
        if entries and owner.layer and owner.copy_of != "input":
            known.setdefault(owner.layer, entries[0])
    return known


def _naming(
    row: Allocation,
    owner: Owner,
    fitting: list[Entry],
    known: dict[str, Entry],
    ranked: list[list[Entry]],
    anchors: list[_Anchor],
    base: int | None,
) -> Naming | None:
    if row.node is None or not anchors:
        return None
    if row.shape is not None and (stated := TensorType(row.shape, row.dtype)).bytes is not None:
        return Naming((Candidate(stated, row.size_bytes - (stated.bytes or 0)),), "the input states it")
    if fitting:
        likely = [
            entry
            for entry in fitting
            if _unlikeliness(entry, base)[0] <= max(_unlikeliness(fitting[0], base)[0], 0) + 1
        ]
        return Naming(
            tuple(dict.fromkeys(_candidate(entry, row) for entry in likely))[:2], fitting[0][2].reason
        )
    if anchors[0].channels is None:
        return _from_batch(row, anchors[0])
    same = known.get(owner.layer or "")
    options = ([same] if same else []) + [entry for entries in ranked for entry in entries[:1]]
    fitting = [
        entry
        for entry in options
        if 0 <= row.size_bytes + row.error_bytes - _bytes(entry) < min(_bytes(entry), _MAX_SLACK)
    ]
    if not fitting:
        return None
    own = same is not None and same in fitting
    best = same if same is not None and own else max(fitting, key=_bytes)
    reason = (
        "a chunk larger than the layer's own tensor" if own else "the nearest tensor below the chunk's size"
    )
    if not own and row.size_bytes - _bytes(best) > 0.1 * row.size_bytes:
        return None
    return Naming((_candidate(best, row),), reason)


def _bytes(entry: Entry) -> int:
    level, channels, anchor = entry
    return anchor.batch * math.prod(anchor.at(level)) * channels * ITEM_BYTES[anchor.dtype]


def _candidate(entry: Entry, row: Allocation) -> Candidate:
    level, channels, anchor = entry
    tensor = TensorType((anchor.batch, *anchor.at(level), channels), anchor.dtype)
    slack = row.size_bytes - _bytes(entry)
    return Candidate(tensor, slack if slack > row.error_bytes else 0)


def _from_batch(row: Allocation, anchor: _Anchor) -> Naming | None:
    """With nothing but the batch: images of usual proportions with usual channels; always ambiguous."""
    elements = row.size_bytes // ITEM_BYTES[anchor.dtype]
    candidates = []
    for channels in (64, 32, 128, 256, 512, 16, 3):
        positions = round(elements / (anchor.batch * channels))
        if abs(anchor.batch * channels * positions * ITEM_BYTES[anchor.dtype] - row.size_bytes) > max(
            row.error_bytes, 255
        ):
            continue
        side = math.isqrt(positions)
        grids = [grid for grid in _STANDARD if math.prod(grid) == positions] + (
            [(side, side)] if side * side == positions else []
        )
        candidates += [
            Candidate(TensorType((anchor.batch, *grid, channels), anchor.dtype), 0) for grid in grids
        ]
    return Naming(tuple(candidates[:3]), "--batch and usual image sizes") if candidates else None
