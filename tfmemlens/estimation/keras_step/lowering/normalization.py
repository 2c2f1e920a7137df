"""Layer and group normalisation as ops."""

from __future__ import annotations

from tfmemlens.estimation.keras_step.lowering._context import (
    FIRST,
    LAST,
    LoweringContext,
    Rule,
    in_float32,
    waits_for_the_end,
)
from tfmemlens.estimation.keras_step.tape import Sizes, Tape, TapeValue

_DEFAULT_EPSILON, _SMALLEST_FUSED_EPSILON = 1e-3, 1.001e-5


def _layer_norm(job: LoweringContext) -> list[TapeValue]:
    if not job.keras_3 and _is_fused(job):
        return [_layer_norm_fused(job)]
    return in_float32(_layer_norm_of_moments)(job)


def _layer_norm_of_moments(job: LoweringContext) -> list[TapeValue]:
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


def _is_fused(job: LoweringContext) -> bool:
    """Whether Keras 2 takes the kernel of BatchNormalization (`_fused_can_be_used` in
    keras/layers/normalization/layer_normalization.py): over the last axes, with its default epsilon.
    """
    axis = job.config.get("axis", -1)
    rank = len(job.inputs[0].shape)
    axes = sorted(each % rank for each in (axis if isinstance(axis, list | tuple) else [axis]))
    epsilon = job.config.get("epsilon", _DEFAULT_EPSILON)
    return (
        axes == [*range(rank - len(axes), rank)]
        and job.inputs[0].dtype == "float32"
        and isinstance(epsilon, int | float)
        and epsilon >= _SMALLEST_FUSED_EPSILON
    )


def _layer_norm_fused(job: LoweringContext) -> TapeValue:
    """FusedBatchNormV3 of [1, samples, features, 1], where TensorFlow's own CPU kernel turns whatever it
    reads and makes; scale and offset follow as ops of their own, whose gradients run after what goes on to
    the input: so the order of the executor has it in 43 and 46 of 48 places of two nets (TensorFlow 2.11).
    """
    tape, x = job.tape, job.inputs[0]
    scale, offset = job.weight("gamma"), job.weight("beta")
    turned = x.bytes if job.device == "cpu" and not job.onednn else 0
    plain = tape.op("FusedBatchNormV3", [x], x.shape, temporary=2 * turned)
    of_each = _means_shape(job.config.get("axis", -1), x)
    moments = [tape.beside(plain, of_each) for _ in range(4)]
    tape.gradient(
        plain,
        [x],
        lambda grad: [
            tape.op("FusedBatchNormGradV3", [grad, x, *moments[2:]], x.shape, temporary=3 * turned)
        ],
    )
    made = plain
    if scale is not None:
        made = tape.op("Mul", [plain, scale], x.shape)
        tape.gradient(made, [plain, scale], lambda grad: _of_scaled(tape, grad, plain, scale))
    if offset is not None:
        shifted = tape.op("AddV2", [made, offset], x.shape, over=[made])
        tape.gradient(shifted, [made, offset], lambda grad: [grad, tape.op("Sum", [grad], offset.shape)])
        made = shifted
    tape.normalised.add(made.index)
    return made


def _of_scaled(tape: Tape, grad: TapeValue, plain: TapeValue, scale: TapeValue) -> list[TapeValue]:
    product = tape.op("Mul", [grad, plain], plain.shape, over=[grad, plain], rank=FIRST)
    return [
        tape.op("Mul", [grad, scale], plain.shape, over=[grad], rank=LAST),
        tape.op("Sum", [product], scale.shape),
    ]


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
    "LayerNormalization": _layer_norm,
    "GroupNormalization": in_float32(_group_norm),
}
