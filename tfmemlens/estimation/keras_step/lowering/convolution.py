"""Convolutions and poolings as ops."""

from __future__ import annotations

import math
from collections.abc import Callable

from tfmemlens.estimation.keras_step import op_costs
from tfmemlens.estimation.keras_step.lowering._context import (
    FIRST,
    LAST,
    LoweringContext,
    activated,
    biased,
    convolve,
    copied,
    gradient_ranks,
    place_of,
    reduce_mean,
    sizes_of_filter,
)
from tfmemlens.estimation.keras_step.lowering.core import concatenate
from tfmemlens.estimation.keras_step.tape import Sizes, Tape, TapeValue
from tfmemlens.knowledge.convolution.col_buffer import UnrolledConvolution
from tfmemlens.model.tensor import ITEM_BYTES


def _space(job: LoweringContext, shape: tuple[int, ...]) -> tuple[int, ...]:
    return shape[2:] if job.config.get("data_format") == "channels_first" else shape[1:-1]


def _conv(job: LoweringContext) -> list[TapeValue]:
    x, kernel = job.inputs[0], job.needed("kernel")
    tape, shape = job.tape, job.shape
    if job.config.get("padding") == "causal":
        reach = (kernel.shape[0] - 1) * _first(job.config.get("dilation_rate", 1))
        wide = (x.shape[0], x.shape[1] + reach, *x.shape[2:])
        x = copied(tape, x, "Pad", wide, "Slice", once=True)
    positions = math.prod(_space(job, shape))
    op = "Conv3D" if len(_space(job, shape)) == 3 else "Conv2D"
    patch, channels = math.prod(kernel.shape[:-1]), kernel.shape[-1]
    apart = _apart(job, x, kernel)
    if apart is None:
        made = convolve(job, x, kernel, shape, positions, patch, channels, op)
    else:
        moved = copied(tape, x, "SpaceToBatchND", apart, "BatchToSpaceND", once=True)
        reduced = [size - reach + 1 for size, reach in zip(apart[1:-1], kernel.shape, strict=False)]
        inner = (apart[0], *reduced, channels)
        made = convolve(job, moved, kernel, inner, math.prod(reduced), patch, channels, op)
        made = copied(tape, made, "BatchToSpaceND", shape, "SpaceToBatchND")
    return [activated(job, biased(tape, made, job.weight("bias")))]


def _apart(job: LoweringContext, x: TapeValue, kernel: TapeValue) -> Sizes | None:
    """What a kernel with holes reads goes into the batch, each offset an image of its own
    (`tf.nn.convolution`): the shape that makes.
    """
    told = job.config.get("dilation_rate", 1)
    space = _space(job, x.shape)
    rates = [int(each) for each in told] if isinstance(told, list | tuple) else [_first(told)] * len(space)
    if len(rates) != len(space) or max(rates) < 2 or x.shape[1:-1] != space:
        return None
    wide = [
        size + ((reach - 1) * rate if job.config.get("padding") == "same" else 0)
        for size, reach, rate in zip(space, kernel.shape, rates, strict=False)
    ]
    sizes = (math.ceil(size / rate) for size, rate in zip(wide, rates, strict=True))
    return (x.shape[0] * math.prod(rates), *sizes, x.shape[-1])


def _first(value: object) -> int:
    return int(value[0]) if isinstance(value, list | tuple) else int(str(value))


def _transposed(job: LoweringContext) -> list[TapeValue]:
    """The forward pass is the gradient of a convolution, and unrolls patches of its small input grid: in 3-D
    as many volumes as fill the cache, if any.
    """
    x, kernel = job.inputs[0], job.needed("kernel")
    tape, shape = job.tape, job.shape
    positions, patch, channels = (
        math.prod(_space(job, x.shape)),
        math.prod(kernel.shape[:-1]),
        kernel.shape[-1],
    )
    op = "Conv3D" if len(_space(job, shape)) == 3 else "Conv2D"
    unrolled = UnrolledConvolution(positions, patch, channels, ITEM_BYTES.get(x.dtype, 4))
    forward = scratch = 0
    if job.device == "cpu" and not job.onednn:
        forward, scratch = (
            unrolled.input_gradient_bytes(x.shape[0], job.threads),
            unrolled.filter_gradient_bytes(),
        )
        if op == "Conv3D":
            tensors = (job.l3_bytes, shape, kernel.shape, x.shape)
            scratch = unrolled.volume_gradient_bytes(*tensors)
            forward = unrolled.volume_input_gradient_bytes(x.shape[0], *tensors)
    flops = 2.0 * x.shape[0] * positions * patch * channels * op_costs.PRODUCT
    made = tape.op(f"{op}BackpropInput", [x, kernel], shape, temporary=forward, work=flops)

    def back(grad: TapeValue) -> list[TapeValue | None]:
        weight = data = None
        if tape.needs(kernel):
            weight = tape.op(
                f"{op}BackpropFilter",
                [grad, x],
                kernel.shape,
                temporary=scratch,
                work=op_costs.FILTER * flops,
                rank=LAST,
            )
        if tape.needs(x):
            data = tape.op(op, [grad, kernel], x.shape, work=flops)
        return [data, weight]

    tape.gradient(made, [x, kernel], back)
    return [activated(job, biased(tape, made, job.weight("bias")))]


def depthwise(job: LoweringContext, x: TapeValue, kernel: TapeValue, shape: tuple[int, ...]) -> TapeValue:
    """A depthwise convolution: on the CPU the gradient of its filter holds one filter an image."""
    tape = job.tape
    item = ITEM_BYTES.get(x.dtype, 4)
    flops = 2.0 * math.prod(shape) * math.prod(kernel.shape[:-2])
    made = tape.op("DepthwiseConv2dNative", [x, kernel], shape, work=flops)
    sizes = sizes_of_filter(tape, x)
    first, last = gradient_ranks(job) if tape.fetches else (FIRST, LAST)

    def back(grad: TapeValue) -> list[TapeValue | None]:
        weight = data = None
        if tape.needs(kernel):
            scratch = x.shape[0] * math.prod(kernel.shape) * item if job.device == "cpu" else 0
            weight = tape.op(
                "DepthwiseConv2dNativeBackpropFilter",
                [x, grad, *sizes],
                kernel.shape,
                temporary=scratch,
                work=flops,
                rank=first,
                place=place_of(job, kernel),
            )
        if tape.needs(x):
            data = tape.op(
                "DepthwiseConv2dNativeBackpropInput", [kernel, grad], x.shape, work=flops, rank=last
            )
        return [data, weight]

    tape.gradient(made, [x, kernel], back)
    return made


def _depthwise(job: LoweringContext) -> list[TapeValue]:
    kernel = job.needed("kernel")
    return [
        activated(job, biased(job.tape, depthwise(job, job.inputs[0], kernel, job.shape), job.weight("bias")))
    ]


def _separable(job: LoweringContext) -> list[TapeValue]:
    deep, point = job.needed("depthwise_kernel"), job.needed("pointwise_kernel")
    space, first = _space(job, job.shape), job.config.get("data_format") == "channels_first"
    made = (job.shape[0], point.shape[-2], *space) if first else (job.shape[0], *space, point.shape[-2])
    middle = depthwise(job, job.inputs[0], deep, made)
    out = convolve(job, middle, point, job.shape, math.prod(space), point.shape[-2], point.shape[-1])
    return [activated(job, biased(job.tape, out, job.weight("bias")))]


def _max_pool(job: LoweringContext) -> list[TapeValue]:
    """TensorFlow's own kernel finds the places of the maxima anew in the gradient, which it writes over what
    was pooled; oneDNN's keeps a byte for each from the forward pass on.
    """
    return [_max_pooled(job, job.inputs[0], job.shape)]


def _max_pooled(job: LoweringContext, x: TapeValue, shape: Sizes) -> TapeValue:
    tape = job.tape
    solid = len(x.shape) == 5
    op = f"MaxPool{'3D' if solid else ''}"
    made = tape.op(op, [x], shape)
    flat_on_cpu = job.device == "cpu" and not solid
    if flat_on_cpu and job.onednn:
        places = tape.op(op, [x], shape, "uint8", work=0.0)
        read, scratch, over, copies = [x, made, places], 0, [], None
    else:
        read, over, copies = [x, made], [x] if flat_on_cpu else [], made if flat_on_cpu else None
        scratch = math.prod(made.shape) * ITEM_BYTES["int64"] if flat_on_cpu else 0
    tape.gradient(
        made,
        [x],
        lambda grad: [
            tape.op(
                f"{op}Grad",
                [*read, grad],
                x.shape,
                over=over,
                temporary=scratch,
                copies=copies,
                work=op_costs.SLOW * x.bytes,
            )
        ],
    )
    return made


def _adaptive_pool(job: LoweringContext) -> list[TapeValue]:
    """One axis after the other, as Keras writes it (`_adaptive_average_pool2d`): two poolings of each place,
    of a window and of one that is larger by one, joined, from which the places that are asked for are taken.
    """
    tape, made, shape = job.tape, job.inputs[0], job.shape
    first = job.config.get("data_format") == "channels_first"
    if first:
        made = copied(tape, made, "Transpose", (made.shape[0], *made.shape[2:], made.shape[1]), "Transpose")
        shape = (shape[0], *shape[2:], shape[1])
    for axis in range(1, len(shape) - 1):
        window = math.ceil(made.shape[axis] / shape[axis])
        both = [_pooled_along(job, made, axis, window + more) for more in (0, 1)]
        length = sum(each.shape[axis] for each in both)
        joined = concatenate(tape, both, _with_size(made.shape, axis, length))
        made = _taken(tape, joined, axis, shape[axis])
    return [copied(tape, made, "Transpose", job.shape, "Transpose") if first else made]


def _with_size(shape: Sizes, axis: int, size: int) -> Sizes:
    return (*shape[:axis], size, *shape[axis + 1 :])


def _pooled_along(job: LoweringContext, x: TapeValue, axis: int, window: int) -> TapeValue:
    shape = _with_size(x.shape, axis, max(x.shape[axis] - window + 1, 0))
    if job.spec.class_name.startswith("AdaptiveMax"):
        return _max_pooled(job, x, shape)
    return copied(job.tape, x, "AvgPool", shape, "AvgPoolGrad")


def _taken(tape: Tape, x: TapeValue, axis: int, size: int) -> TapeValue:
    """Some places along an axis; the gradient is summed with this axis in front, and turned back
    (`array_grad.py :: _GatherV2Grad`).
    """
    made = tape.op("GatherV2", [x], _with_size(x.shape, axis, size))

    def back(grad: TapeValue) -> list[TapeValue]:
        turned = tape.op("Transpose", [grad], grad.shape)
        summed = tape.op("UnsortedSegmentSum", [turned], x.shape)
        return [tape.op("Transpose", [summed], x.shape)]

    tape.gradient(made, [x], back)
    return made


def _average_pool(job: LoweringContext) -> list[TapeValue]:
    return [copied(job.tape, job.inputs[0], "AvgPool", job.shape, "AvgPoolGrad")]


def _global_average(job: LoweringContext) -> list[TapeValue]:
    return [reduce_mean(job.tape, job.inputs[0], job.shape)]


def _global_max(job: LoweringContext) -> list[TapeValue]:
    tape, x = job.tape, job.inputs[0]
    made = tape.op("Max", [x], job.shape)

    def back(grad: TapeValue) -> list[TapeValue]:
        mask = tape.op("Equal", [x, made], x.shape, "bool")
        number = tape.op("Cast", [mask], x.shape, x.dtype)
        share = tape.op("RealDiv", [number], over=[number])
        return [tape.op("Mul", [share, grad], x.shape, over=[share])]

    tape.gradient(made, [x], back)
    return [made]


def _copy(op: str, back: str) -> Callable[[LoweringContext], list[TapeValue]]:
    return lambda job: [copied(job.tape, job.inputs[0], op, job.shape, back)]


def _repeated(job: LoweringContext) -> list[TapeValue]:
    """A volume, repeated along one axis after the other; the gradients are summed in the same steps."""
    made, shape = job.inputs[0], job.shape
    for axis in range(1, len(shape)):
        longer = (*shape[: axis + 1], *made.shape[axis + 1 :])
        if longer != made.shape:
            made = copied(job.tape, made, "Repeat", longer, "Sum")
    return [made]


_RANKS = ("1D", "2D", "3D")
RULES: dict[str, Callable[[LoweringContext], list[TapeValue]]] = {
    **{f"{name}{rank}": _conv for rank in _RANKS for name in ("Conv", "Convolution")},
    **{f"{name}{rank}Transpose": _transposed for rank in _RANKS for name in ("Conv", "Convolution")},
    **{f"DepthwiseConv{rank}": _depthwise for rank in _RANKS},
    **{f"SeparableConv{rank}": _separable for rank in _RANKS},
    **{f"MaxPooling{rank}": _max_pool for rank in _RANKS},
    **{f"AveragePooling{rank}": _average_pool for rank in _RANKS},
    **{f"Adaptive{kind}Pooling{rank}": _adaptive_pool for rank in _RANKS for kind in ("Average", "Max")},
    **{f"GlobalAveragePooling{rank}": _global_average for rank in _RANKS},
    **{f"GlobalMaxPooling{rank}": _global_max for rank in _RANKS},
    **{f"ZeroPadding{rank}": _copy("Pad", "Slice") for rank in _RANKS},
    **{f"Cropping{rank}": _copy("StridedSlice", "StridedSliceGrad") for rank in _RANKS},
    **{f"UpSampling{rank}": _copy("ResizeNearestNeighbor", "ResizeNearestNeighborGrad") for rank in _RANKS},
    "UpSampling3D": _repeated,
    "Resizing": _copy("ResizeBilinear", "ResizeBilinearGrad"),
}
