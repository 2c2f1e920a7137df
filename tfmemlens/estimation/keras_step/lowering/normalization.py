"""Layer and group normalisation as ops."""

from __future__ import annotations

from tfmemlens.estimation.keras_step.lowering._context import (
    FIRST,
    LoweringContext,
    Rule,
    in_float32,
    waits_for_the_end,
)
from tfmemlens.estimation.keras_step.tape import Sizes, TapeValue


def _layer_norm(job: LoweringContext) -> list[TapeValue]:
    if job.keras_3:
        return [_layer_norm_of_keras_3(job)]
    tape, x = job.tape, job.inputs[0]
    scale, offset = job.weight("gamma"), job.weight("beta")
    reads = [value for value in (x, scale, offset) if value is not None]
    narrow = (*x.shape[:-1], 1)
    mean = tape.op("Mean", [x], narrow)
    squared = tape.op("SquaredDifference", [x, mean], x.shape)
    variance = tape.op("Mean", [squared], narrow)
    inverse = tape.op("Rsqrt", [variance], over=[variance])
    factor = tape.op("Mul", [inverse, scale], x.shape) if scale is not None else inverse
    product = tape.op("Mul", [x, factor], x.shape)
    shifted = tape.op("Mul", [mean, factor], x.shape)
    rest = tape.op("Sub", [shifted], x.shape, over=[shifted])
    made = tape.op("AddV2", [product, rest], over=[product, rest])

    def back(grad: TapeValue) -> list[TapeValue | None]:
        direct = tape.op("Mul", [grad, factor], x.shape)
        weighted = tape.op("Mul", [x, grad], x.shape)
        negative = tape.op("Neg", [grad])
        of_mean = tape.op("Mul", [negative, factor], x.shape)
        of_factor = tape.op("Mul", [negative, mean], x.shape, over=[negative])
        summed = tape.op("AddN", [weighted, of_factor], over=[weighted, of_factor])
        of_scale = tape.op("Mul", [summed, inverse], x.shape)
        small = tape.op("Sum", [summed], narrow)
        spread = tape.op("Tile", [tape.op("Sum", [of_mean], narrow)], x.shape)
        wide = tape.op("Tile", [small], x.shape)
        centred = tape.op("Sub", [x, mean, wide], x.shape)
        squares = tape.op("Mul", [wide, centred], over=[wide, centred])
        data = tape.op("AddN", [direct, squares, spread], over=[direct, squares, spread])
        return [
            data,
            *(
                tape.op("Sum", [of_scale if at == 0 else grad], value.shape)
                for at, value in enumerate(reads[1:])
            ),
        ]

    tape.gradient(made, reads, back)
    tape.normalised.add(made.index)
    return [made]


def _layer_norm_of_keras_3(job: LoweringContext) -> TapeValue:
    """`x * factor + (offset - mean * factor)`, and its gradient, as the graph of a step of 2.21 has it."""
    tape, x = job.tape, job.inputs[0]
    scale, offset = job.weight("gamma"), job.weight("beta")
    reads = [value for value in (x, scale, offset) if value is not None]
    narrow = _means_shape(job.config.get("axis", -1), x)
    mean = tape.op("Mean", [x], narrow)
    squared = tape.op("SquaredDifference", [x, mean], x.shape)
    variance = tape.op("Mean", [squared], narrow)
    inverse = tape.op("Rsqrt", [variance], over=[variance])
    factor = inverse if scale is None else tape.op("Mul", [scale, inverse], x.shape)
    wide = factor.shape == x.shape
    negative = tape.op("Neg", [mean])
    shift = tape.op("Mul", [negative, factor], factor.shape)
    product = tape.op("Mul", [x, factor], x.shape)
    made = tape.op("AddV2", [shift, product], x.shape, over=[shift, product])
    if offset is not None:
        made = tape.op("AddV2", [made, offset], x.shape, over=[made])

    def back(grad: TapeValue) -> list[TapeValue | None]:
        direct = tape.op("Mul", [factor, grad], x.shape, over=[grad])
        of_shift = tape.op("Mul", [negative, grad], x.shape, over=[grad])
        of_product = tape.op("Mul", [x, grad], x.shape, over=[grad])
        of_factor = tape.op("AddN", [of_shift, of_product], x.shape, over=[of_shift, of_product])
        weighted = (
            of_factor if scale is None else tape.op("Mul", [of_factor, scale], x.shape, over=[of_factor])
        )
        late = scale is not None and waits_for_the_end(tape, scale, grad, series=True)
        of_scale = tape.op(
            "Mul", [of_factor, inverse], x.shape, over=[of_factor], rank=2 * FIRST if late else 0
        )
        of_mean = tape.op("Sum", [direct if wide else of_shift], narrow)
        spread = tape.op("Tile", [of_mean], x.shape)
        spread = tape.op("Mul", [spread], over=[spread])
        towards = tape.op("Tile", [tape.op("Sum", [weighted], narrow)], x.shape)
        towards = tape.op("Mul", [towards], over=[towards])
        centred = tape.op("Sub", [x, mean, towards], x.shape, over=[x])
        squares = tape.op("Mul", [towards, centred], over=[towards, centred])
        data = tape.op("AddN", [direct, squares, spread], over=[direct, squares, spread])
        sums = {"gamma": of_scale, "beta": grad}
        ranks = [2 * FIRST if waits_for_the_end(tape, value, grad, series=True) else 0 for value in reads[1:]]
        told = [name for name, value in (("gamma", scale), ("beta", offset)) if value is not None]
        return [
            data,
            *(
                tape.op("Sum", [sums[name]], value.shape, rank=rank)
                for name, value, rank in zip(told, reads[1:], ranks, strict=True)
            ),
        ]

    tape.gradient(made, reads, back)
    tape.normalised.add(made.index)
    return made


def _means_shape(axis: object, x: TapeValue) -> Sizes:
    """One number for what is normalised together: 1 along the axes of a LayerNormalization."""
    axes = axis if isinstance(axis, list | tuple) else [axis]
    chosen = {each % len(x.shape) for each in axes if isinstance(each, int)}
    return tuple(1 if at in chosen else size for at, size in enumerate(x.shape))


def _group_norm(job: LoweringContext) -> list[TapeValue]:
    """As Keras 3 does it on [batch, …, groups, channels of a group]: means over axes that do not lie side by
    side turn the tensor first; scales and shifts have one number a sample and channel.
    """
    tape, x = job.tape, job.inputs[0]
    scale, offset = job.weight("gamma"), job.weight("beta")
    reads = [value for value in (x, scale, offset) if value is not None]
    groups, channels = int(job.config.get("groups") or 1), x.shape[_axis(job.config.get("axis", -1))]
    groups = channels if groups < 0 else groups
    few, each = (x.shape[0], groups), (x.shape[0], channels)
    turned = x.bytes if groups > 1 else 0
    mean = tape.op("Mean", [x], few, temporary=turned)
    squared = tape.op("SquaredDifference", [x, mean], x.shape)
    variance = tape.op("Mean", [squared], few, temporary=turned)
    factor = tape.op("Mul", [variance, *([scale] if scale else [])], each)
    shift = tape.op("Sub", [mean, factor, *([offset] if offset else [])], each)
    product = tape.op("Mul", [x, factor], x.shape)
    made = tape.op("AddV2", [product, shift], x.shape, over=[product])

    def back(grad: TapeValue) -> list[TapeValue | None]:
        of_shift = tape.op("Sum", [grad], each)
        of_mean = tape.op("Tile", [tape.op("Mul", [of_shift, factor], few)], x.shape)
        of_factor = tape.op("Sum", [tape.op("Mul", [grad, x], x.shape)], each)
        direct = tape.op("Mul", [grad, factor, of_factor], x.shape, over=[grad])
        wide = tape.op("Tile", [tape.op("Mul", [of_factor, mean, of_shift], few)], x.shape)
        centred = tape.op("Sub", [x, mean, wide], x.shape, over=[x])
        squares = tape.op("Mul", [wide, centred], x.shape, over=[wide, centred])
        data = tape.op("AddN", [squares, of_mean, direct], x.shape, over=[squares, of_mean, direct])
        sums = zip((scale, offset), (of_factor, of_shift), strict=True)
        return [data, *(tape.op("Sum", [made_of], own.shape) for own, made_of in sums if own is not None)]

    tape.gradient(made, reads, back)
    return [made]


def _axis(told: object) -> int:
    """The axis of the channels, as Keras writes it: a number, or a list of one."""
    return int(told[0]) if isinstance(told, list | tuple) and told else int(str(told))


RULES: dict[str, Rule] = {
    "LayerNormalization": in_float32(_layer_norm),
    "GroupNormalization": in_float32(_group_norm),
}
