"""Kernels that cut, repeat or pick, and may share their input's buffer."""

from __future__ import annotations

from tfmemlens.estimation.graph_step.kernels._call import ALIGNED, KernelCall, kernel, variable_of
from tfmemlens.estimation.graph_step.tokens import Token
from tfmemlens.knowledge.ops.shapes import axis_of, side_of
from tfmemlens.knowledge.ops.shapes.slicing import chosen_ranges


def _has_aligned_rows(source: Token) -> bool:
    """Whether each part along the first axis begins where Eigen wants it (`IsInnerDimsSizeAligned`)."""
    return Token(source.shape[1:], source.dtype).bytes % ALIGNED == 0


def _is_aligned(source: Token, start: int, count: int) -> bool:
    """Whether so many rows may lie in the tensor's own buffer: rows are aligned, or of a vector both start
    and length (`IsDim0SliceAligned`; so seen in TensorFlow 2.21).
    """
    if len(source.shape) > 1:
        return _has_aligned_rows(source)
    return all(Token((size,), source.dtype).bytes % ALIGNED == 0 for size in (start, count))


def _within(source: Token, part: Token) -> Token:
    """A part in the buffer of the whole."""
    return Token(part.shape, source.dtype, part.values, source.buffer)


@kernel("Split", "SplitV")
def _split(call: KernelCall) -> list[Token]:
    first = call.node.op == "Split"
    data = call.input(1 if first else 0)
    axis = axis_of((call.values(0 if first else 2) or (0,))[0], len(data.shape))
    count = call.site.count("num_split")
    even = tuple(size // count if at == axis else size for at, size in enumerate(data.shape))
    parts = call.results(*[even] * count)
    if count == 1 or (axis == 0 and _has_aligned_rows(data)):
        return [_within(data, part) for part in parts]
    return [call.fresh(part) for part in parts]


@kernel("Slice")
def _slice(call: KernelCall) -> list[Token]:
    source, begin = call.input(0), call.values(1)
    made = call.result(source.shape)
    if begin is None or call.values(2) is None:
        return [call.fresh(made)]
    if made.shape == source.shape:
        return [call.alias(0)]
    rows = side_of(begin, 0), side_of(made.shape, 0)
    if made.shape[1:] == source.shape[1:] and _is_aligned(source, *rows):
        return [_within(source, made)]
    return [call.fresh(made)]


@kernel("StridedSlice")
def _strided_slice(call: KernelCall) -> list[Token]:
    """Nothing is copied where it is all of the tensor, or rows of it that lie side by side."""
    source = call.input(0)
    made = call.result(source.shape[1:])
    chosen = chosen_ranges(call.site, source.shape)
    if chosen is None:
        return [call.fresh(made)]
    whole = [picked == range(size) for picked, size in zip(chosen, source.shape, strict=True)]
    if all(whole):
        return [call.alias(0, made.shape)]
    rows = chosen[0]
    if all(whole[1:]) and rows.step == 1 and _is_aligned(source, rows.start, len(rows)):
        return [_within(source, made)]
    return [call.fresh(made)]


@kernel("StridedSliceGrad")
def _strided_slice_gradient(call: KernelCall) -> list[Token]:
    return [call.fresh(call.result(call.input(-1).shape))]


@kernel("Tile", "BroadcastTo", "ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic", "ResizeArea")
def _enlarged(call: KernelCall) -> list[Token]:
    """What has its size already is passed on."""
    source = call.input(0)
    made = call.result(source.shape)
    same = made.shape == source.shape and made.dtype == source.dtype
    return [call.alias(0) if same else call.fresh(made)]


@kernel("ResourceGather")
def _gather_rows(call: KernelCall) -> list[Token]:
    """Rows of the table that a handle names."""
    table = variable_of(call.input(0))
    made = KernelCall(
        call.node, (table, *call.inputs[1:]), call.memory, call.threads, call.state, call.scratch
    ).result()
    made.dtype = table.dtype
    return [call.fresh(made)]


@kernel("UnsortedSegmentSum", "SegmentSum", "UnsortedSegmentMax")
def _segments(call: KernelCall) -> list[Token]:
    """At most one segment for each row, where their number is not known."""
    data, ids = call.input(0), call.input(1)
    return [call.fresh(call.result((*data.shape[:1], *data.shape[len(ids.shape) :])))]


@kernel("ScatterNd")
def _scatter_nd(call: KernelCall) -> list[Token]:
    return [call.fresh(call.result(call.input(1).shape))]


@kernel("Unique", "UniqueV2")
def _unique(call: KernelCall) -> list[Token]:
    """At worst all are different."""
    return [call.fresh(token) for token in call.results(call.input(0).shape)]
