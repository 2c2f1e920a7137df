"""Kernels that join, cut, repeat or pick."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tfmemlens.estimation.graph_step.kernels._call import ALIGNED, KernelCall, declared, kernel, variable_of
from tfmemlens.estimation.graph_step.tokens import Shape, Token
from tfmemlens.model.graph import Node


@kernel("ConcatV2", "Concat")
def _concat(call: KernelCall) -> list[Token]:
    last = call.node.op == "ConcatV2"
    axis_values = call.values(len(call.inputs) - 1) if last else call.values(0)
    parts = call.inputs[:-1] if last else call.inputs[1:]
    shape = list(parts[0].shape)
    if not shape:
        return [call.output((len(parts),), parts[0].dtype)]
    axis = (axis_values or (0,))[0] % len(shape)
    shape[axis] = sum(each.shape[axis] if axis < len(each.shape) else 0 for each in parts)
    values = [each.values for each in parts]
    known = (
        tuple(number for each in values for number in each or ())
        if len(shape) == 1 and all(each is not None for each in values)
        else None
    )
    return [call.output(shape, parts[0].dtype, known)]


@kernel("Split", "SplitV")
def _split(call: KernelCall) -> list[Token]:
    data = call.inputs[1] if call.node.op == "Split" else call.inputs[0]
    axis = ((call.values(0) if call.node.op == "Split" else call.values(2)) or (0,))[0] % max(
        len(data.shape), 1
    )
    count = int(call.attribute("num_split", 1))
    sizes = call.values(1) if call.node.op == "SplitV" else None
    if sizes is None or any(size < 0 for size in sizes):
        known = sum(size for size in sizes or () if size >= 0)
        sizes = (
            tuple(data.shape[axis] // count for _ in range(count))
            if sizes is None
            else tuple(size if size >= 0 else data.shape[axis] - known for size in sizes)
        )
    inner = Token(data.shape[1:], data.dtype).bytes
    shared = count == 1 or (axis == 0 and inner % ALIGNED == 0)
    result = []
    for size in sizes:
        shape = [size if index == axis else each for index, each in enumerate(data.shape)]
        result.append(
            Token(tuple(shape), data.dtype, None, data.buffer) if shared else call.output(shape, data.dtype)
        )
    return result


@kernel("Slice")
def _slice(call: KernelCall) -> list[Token]:
    source, begin, size = call.inputs[0], call.values(1), call.values(2)
    if begin is None or size is None:
        return [call.output(declared(call) or source.shape)]
    shape = [
        whole - first if wanted < 0 else wanted
        for whole, first, wanted in zip(source.shape, begin, size, strict=True)
    ]
    if tuple(shape) == source.shape:
        return [call.alias(0)]
    if (
        shape[1:] == list(source.shape[1:])
        and begin[0] * Token(source.shape[1:], source.dtype).bytes % ALIGNED == 0
    ):
        return [Token(tuple(shape), source.dtype, None, source.buffer)]
    values = (
        source.values[begin[0] : begin[0] + shape[0]]
        if source.values is not None and len(shape) == 1
        else None
    )
    return [call.output(shape, source.dtype, values)]


@kernel("StridedSlice")
def _strided_slice(call: KernelCall) -> list[Token]:
    source = call.inputs[0]
    found = strided(source.shape, call.values(1), call.values(2), call.values(3), call.node)
    if found is None:
        return [call.output(declared(call) or source.shape[1:])]
    shape, ranges = found
    whole = all(
        (first, step, count) == (0, 1, size)
        for (first, step, count), size in zip(ranges, source.shape, strict=True)
    )
    if whole:
        return [call.alias(0, shape)]
    rows_only = all(
        (first, step, count) == (0, 1, size)
        for (first, step, count), size in zip(ranges[1:], source.shape[1:], strict=True)
    )
    if (
        rows_only
        and ranges[0][1] == 1
        and len(source.shape) > 1
        and ranges[0][0] * Token(source.shape[1:], source.dtype).bytes % ALIGNED == 0
    ):
        return [Token(shape, source.dtype, None, source.buffer)]
    values = None
    if source.values is not None and len(source.shape) == 1:
        first, step, count = ranges[0]
        values = tuple(source.values[first + step * index] for index in range(count))
    return [call.output(shape, source.dtype, values)]


def strided(
    shape: Shape,
    begin: Sequence[int] | None,
    end: Sequence[int] | None,
    strides: Sequence[int] | None,
    node: Node,
) -> tuple[Shape, list[tuple[int, int, int]]] | None:
    """The shape of a strided slice and (first, step, count) of each dimension of its source; None when a
    bound is not known.
    """
    if begin is None or end is None:
        begin_mask = int(str(node.attributes.get("shrink_axis_mask") or 0))
        if begin is None and end is None and begin_mask == 1 and strides is not None and len(strides) == 1:
            return shape[1:], [(1, 1, 1), *((0, 1, size) for size in shape[1:])]
        return None
    masks = {
        name: int(str(node.attributes.get(name) or 0))
        for name in ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
    }
    strides = strides if strides is not None else (1,) * len(begin)
    result: list[int] = []
    ranges: list[tuple[int, int, int]] = []
    given = len(begin) - bin(masks["new_axis_mask"]).count("1") - (1 if masks["ellipsis_mask"] else 0)
    for index in range(len(begin)):
        bit = 1 << index
        if masks["ellipsis_mask"] & bit:
            for _ in range(len(shape) - given):
                ranges.append((0, 1, shape[len(ranges)]))
                result.append(ranges[-1][2])
            continue
        if masks["new_axis_mask"] & bit:
            result.append(1)
            continue
        if len(ranges) >= len(shape):
            return None
        size, step = shape[len(ranges)], strides[index] or 1
        if masks["shrink_axis_mask"] & bit:
            first = begin[index] + (size if begin[index] < 0 else 0)
            ranges.append((first, 1, 1))
            continue
        chosen = range(
            *slice(
                None if masks["begin_mask"] & bit else begin[index],
                None if masks["end_mask"] & bit else end[index],
                step,
            ).indices(size)
        )
        ranges.append((chosen.start, step, len(chosen)))
        result.append(len(chosen))
    while len(ranges) < len(shape):
        ranges.append((0, 1, shape[len(ranges)]))
        result.append(ranges[-1][2])
    return tuple(result), ranges


@kernel("StridedSliceGrad")
def _strided_slice_gradient(call: KernelCall) -> list[Token]:
    return [call.output(call.values(0) or declared(call) or call.inputs[-1].shape)]


@kernel("Pad", "PadV2", "MirrorPad")
def _pad(call: KernelCall) -> list[Token]:
    edges = call.values(1) or (0,) * (2 * len(call.inputs[0].shape))
    return [
        call.output(
            [
                size + edges[2 * index] + edges[2 * index + 1]
                for index, size in enumerate(call.inputs[0].shape)
            ]
        )
    ]


@kernel("Tile")
def _tile(call: KernelCall) -> list[Token]:
    times = call.values(1)
    if times is None:
        return [call.output(declared(call) or call.inputs[0].shape)]
    shape = [size * count for size, count in zip(call.inputs[0].shape, times, strict=True)]
    return [call.alias(0) if tuple(shape) == call.inputs[0].shape else call.output(shape)]


@kernel("BroadcastTo")
def _broadcast_to(call: KernelCall) -> list[Token]:
    shape = call.values(1) or declared(call) or call.inputs[0].shape
    return [call.alias(0) if tuple(shape) == call.inputs[0].shape else call.output(shape)]


@kernel(
    "Fill",
    "RandomUniform",
    "RandomStandardNormal",
    "TruncatedNormal",
    "RandomUniformInt",
    "StatelessRandomUniform",
    "StatelessRandomNormal",
    "Empty",
)
@kernel(
    "StatelessRandomUniformV2",
    "StatelessRandomNormalV2",
    "StatelessTruncatedNormalV2",
    "StatelessTruncatedNormal",
    "StatelessRandomUniformIntV2",
)
def _filled(call: KernelCall) -> list[Token]:
    dtype = call.inputs[1].dtype if call.node.op == "Fill" else str(call.attribute("dtype", "float32"))
    shape = call.values(0)
    values = None
    if call.node.op == "Fill" and shape is not None and (one := call.values(1)) and math.prod(shape) <= 64:
        values = one * math.prod(shape)
    return [call.output(shape if shape is not None else declared(call) or (), dtype, values)]


@kernel("GatherV2", "Gather", "ResourceGather")
def _gather(call: KernelCall) -> list[Token]:
    source = variable_of(call.inputs[0]) if call.inputs[0].resource is not None else call.inputs[0]
    axis = (call.values(2) or (0,))[0] % max(len(source.shape), 1)
    indices = call.inputs[1]
    values = None
    if source.values is not None and indices.values is not None and len(source.shape) == 1:
        values = tuple(
            source.values[index]
            for index in indices.values
            if -len(source.values) <= index < len(source.values)
        )
    return [
        call.output((*source.shape[:axis], *indices.shape, *source.shape[axis + 1 :]), source.dtype, values)
    ]


@kernel("GatherNd")
def _gather_nd(call: KernelCall) -> list[Token]:
    source, indices = call.inputs[0], call.inputs[1]
    return [call.output((*indices.shape[:-1], *source.shape[indices.shape[-1] :]), source.dtype)]


@kernel("UnsortedSegmentSum", "SegmentSum", "UnsortedSegmentMax")
def _segments(call: KernelCall) -> list[Token]:
    count = (call.values(2) or (call.inputs[0].shape[0],))[0]
    return [call.output((count, *call.inputs[0].shape[len(call.inputs[1].shape) :]))]


@kernel("ScatterNd")
def _scatter_nd(call: KernelCall) -> list[Token]:
    return [call.output(call.values(2) or declared(call) or call.inputs[1].shape, call.inputs[1].dtype)]


@kernel("OneHot")
def _one_hot(call: KernelCall) -> list[Token]:
    return [call.output((*call.inputs[0].shape, (call.values(1) or (1,))[0]), call.inputs[2].dtype)]
