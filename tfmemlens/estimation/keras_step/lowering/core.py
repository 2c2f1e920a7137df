"""Dense layers, normalisation, dropout, merging and shapes as ops."""

from __future__ import annotations

import math

from tfmemlens.estimation.keras_step.lowering._context import (
    LoweringContext,
    Rule,
    activated,
    add,
    biased,
    copied,
    gelu,
    in_float32,
    matmul,
    multiply,
    reduce_mean,
    scaled,
    softmax,
    swish,
    unary,
)
from tfmemlens.estimation.keras_step.tape import Tape, TapeValue

_SPLIT_BEYOND = 16
"""So many parts of a concatenation get a slice each of the gradient; more are copied by one op."""


def _dense(job: LoweringContext) -> list[TapeValue]:
    kernel = job.needed("kernel")
    made = matmul(job.tape, job.inputs[0], kernel, job.shape)
    return [activated(job, biased(job.tape, made, job.weight("bias")))]


def _embedding(job: LoweringContext) -> list[TapeValue]:
    tape, x = job.tape, job.inputs[0]
    table = job.needed("embeddings")
    if tape.scatters and tape.needs(table):
        read = tape.op("ReadVariableOp", [table], early=True)
        made = tape.op("GatherV2", [read, x], job.shape, work=2.0 * math.prod(job.shape))
    else:
        made = tape.op("ResourceGather", [table, x], job.shape, table.dtype, work=2.0 * math.prod(job.shape))
    tape.gradient(made, [table, x], lambda grad: [grad, None])
    return [made]


def _batch_norm(job: LoweringContext) -> list[TapeValue]:
    fuses = not job.keras_3 and len(job.inputs[0].shape) in (4, 5 if job.fuses_volumes else 4)
    return _batch_norm_of(job) if fuses else in_float32(_batch_norm_of)(job)


def _batch_norm_of(job: LoweringContext) -> list[TapeValue]:
    tape, x = job.tape, job.inputs[0]
    scale, offset = job.weight("gamma"), job.weight("beta")
    if not job.tape.training or not job.spec.trainable:
        weights = [value for value in (scale, offset) if value is not None]
        product = multiply(tape, x, weights[0]) if weights else scaled(tape, x)
        return [add(tape, [product, weights[-1]], x.shape) if weights else product]
    if not job.keras_3 and len(x.shape) in (4, 5 if job.fuses_volumes else 4):
        return [_fused(job, x, scale, offset)]
    return [_unfused(tape, x, scale, offset)]


def _fused(
    job: LoweringContext, x: TapeValue, scale: TapeValue | None, offset: TapeValue | None
) -> TapeValue:
    """FusedBatchNormV3: output, mean and variance twice; its gradient reads the input and may write over what
    comes in. With oneDNN that gradient lives as if scale and offset had ops of their own that read it later:
    so do two dense blocks of TensorFlow 2.11 (157 and 250 MiB, told 156 and 252, else 137 and 215), and why
    is not known.
    """
    tape = job.tape
    reads = [value for value in (x, scale, offset) if value is not None]
    made = tape.op("FusedBatchNormV3", reads, x.shape)

    def back(grad: TapeValue) -> list[TapeValue | None]:
        data = tape.op("FusedBatchNormGradV3", [grad, x], x.shape)
        if tape.onednn:
            return [data, *(tape.op("FusedBatchNormGradV3", [data], value.shape) for value in reads[1:])]
        return [data, *(tape.beside(data, value.shape) for value in reads[1:])]

    tape.gradient(made, reads, back)
    return made


def _unfused(tape: Tape, x: TapeValue, scale: TapeValue | None, offset: TapeValue | None) -> TapeValue:
    """moments, then x * inv + (beta - mean * inv), as Keras 3 writes it; the gradient passes over four
    tensors of the input's size.
    """
    width = (x.shape[-1],)
    mean = tape.op("Mean", [x], width, x.dtype)
    squared = tape.op("SquaredDifference", [x, mean], x.shape)
    variance = tape.op("Mean", [squared], width)
    inverse = tape.op("Rsqrt", [variance], over=[variance])
    if scale is not None:
        inverse = tape.op("Mul", [inverse, scale], width)
    product = tape.op("Mul", [x, inverse], x.shape)
    shift = tape.op("Sub", [mean, inverse], width)
    made = tape.op("AddV2", [product, shift], x.shape, over=[product])
    reads = [value for value in (x, scale, offset) if value is not None]

    def back(grad: TapeValue) -> list[TapeValue | None]:
        direct = tape.op("Mul", [grad, inverse], x.shape, over=[grad])
        weighted = tape.op("Mul", [x, grad], x.shape, over=[grad])
        total = tape.op("Sum", [grad], width)
        towards = tape.op("Sum", [weighted], width)
        spread = tape.op("Tile", [total], x.shape)
        through = tape.op("Mul", [spread], over=[spread])
        wide = tape.op("Tile", [towards], x.shape)
        narrow = tape.op("Mul", [wide], over=[wide])
        doubled = tape.op("Mul", [narrow], over=[narrow])
        centred = tape.op("Sub", [x, mean, doubled], x.shape, over=[x])
        squares = tape.op("Mul", [doubled, centred], over=[doubled, centred])
        data = tape.op("AddN", [direct, squares, through], over=[direct, squares, through])
        return [data, *(tape.op("Mul", [towards], value.shape) for value in reads[1:])]

    tape.gradient(made, reads, back)
    return made


def dropout(tape: Tape, x: TapeValue, training: bool, drawn: tuple[int, ...] | None = None) -> TapeValue:
    """Uniform numbers (4 bytes an element, gone at once), a mask of one byte that stays, x scaled, and the
    selection. `drawn`: the shape of the numbers, where several elements share one.
    """
    if not training:
        return x
    drawn = drawn or x.shape
    noise = tape.op("StatelessRandomUniformV2", [], drawn, "float32", early=True)
    mask = tape.op("GreaterEqual", [noise], drawn, "bool")
    larger = tape.op("Mul", [x])
    alike = drawn == x.shape
    made = tape.op("SelectV2", [mask, larger], x.shape, x.dtype, over=[larger] if alike else [])

    def back(grad: TapeValue) -> list[TapeValue]:
        chosen = tape.op("SelectV2", [mask, grad], x.shape, x.dtype, over=[grad] if alike else [])
        return [tape.op("Mul", [chosen], over=[chosen])]

    tape.gradient(made, [x], back)
    return made


def _dropout(job: LoweringContext) -> list[TapeValue]:
    rate = job.config.get("rate", job.config.get("p", 0.5))
    if not rate:
        return job.inputs[:1]
    if job.spec.class_name.startswith("Spatial"):
        return [scaled(job.tape, job.inputs[0])] if job.tape.training else job.inputs[:1]
    x = job.inputs[0]
    return [dropout(job.tape, x, job.tape.training, _drawn(job.config.get("noise_shape"), x.shape))]


def _drawn(told: object, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape of a Dropout's random numbers: `noise_shape`, with that of the input where it says None."""
    if not isinstance(told, list | tuple) or len(told) != len(shape):
        return None
    return tuple(each if isinstance(each, int) else size for each, size in zip(told, shape, strict=True))


def _alpha_dropout(job: LoweringContext) -> list[TapeValue]:
    """X * kept + (1 - kept) * a number, with `kept` as numbers."""
    tape, x = job.tape, job.inputs[0]
    if not tape.training or not job.config.get("rate"):
        return [x]
    noise = tape.op("StatelessRandomUniformV2", [], x.shape, "float32", early=True)
    kept = tape.op("Cast", [tape.op("GreaterEqual", [noise], x.shape, "bool")], x.shape, x.dtype)
    others = scaled(tape, tape.op("Sub", [kept], x.shape))
    return [unary(tape, scaled(tape, add(tape, [multiply(tape, x, kept), others], x.shape)), "AddV2", "none")]


def _random_factor(job: LoweringContext) -> list[TapeValue]:
    tape, x = job.tape, job.inputs[0]
    if not tape.training or not job.config.get("rate"):
        return [x]
    return [multiply(tape, x, tape.op("StatelessRandomNormalV2", [], x.shape), x.shape)]


def _noise(job: LoweringContext) -> list[TapeValue]:
    if not job.tape.training:
        return job.inputs[:1]
    noise = job.tape.op("StatelessRandomNormalV2", [], job.inputs[0].shape)
    return [add(job.tape, [job.inputs[0], noise], job.inputs[0].shape)]


def _relu(job: LoweringContext) -> TapeValue:
    """With a slope and a limit or a threshold the part below is made apart (`activations.relu`)."""
    tape, x = job.tape, job.inputs[0]
    highest, slope, threshold = (
        job.config.get(name) for name in ("max_value", "negative_slope", "threshold")
    )
    if slope and highest is None and not threshold:
        return unary(tape, x, "LeakyRelu", "input")
    below = unary(tape, unary(tape, x, "Neg", "none"), "Relu", "output") if slope else None
    if threshold:
        made = _where_greater(tape, x)
    else:
        made = unary(tape, x, "Relu6" if highest == 6 else "Relu", "output")
    if highest is not None and (threshold or highest != 6):
        made = unary(tape, unary(tape, made, "Minimum", "input"), "Maximum", "input")
    return made if below is None else add(tape, [made, scaled(tape, below)], x.shape)


def _where_greater(tape: Tape, x: TapeValue) -> TapeValue:
    """What lies above a number, else 0."""
    mask = tape.op("Greater", [x], x.shape, "bool")
    made = tape.op("SelectV2", [mask, x], x.shape, x.dtype)
    tape.gradient(made, [x], lambda grad: [tape.op("SelectV2", [mask, grad], x.shape, x.dtype, over=[grad])])
    return made


def _activation(job: LoweringContext) -> list[TapeValue]:
    tape, x, name = job.tape, job.inputs[0], job.spec.class_name
    if name == "ReLU":
        return [_relu(job)]
    if name == "LeakyReLU":
        return [unary(tape, x, "LeakyRelu", "input")]
    if name == "PReLU":
        return [
            add(
                tape,
                [
                    unary(tape, x, "Relu", "output"),
                    multiply(
                        tape, unary(tape, scaled(tape, x), "Relu", "output"), job.weights["alpha"], x.shape
                    ),
                ],
                x.shape,
            )
        ]
    if name == "Softmax":
        return [softmax(tape, x)]
    if name == "ELU":
        return [unary(tape, x, "Elu", "output")]
    return [activated(job, x)]


def _sum(job: LoweringContext) -> list[TapeValue]:
    return [add(job.tape, job.inputs, job.shape)]


def _average(job: LoweringContext) -> list[TapeValue]:
    return [scaled(job.tape, add(job.tape, job.inputs, job.shape))]


def _product(job: LoweringContext) -> list[TapeValue]:
    made = job.inputs[0]
    for other in job.inputs[1:]:
        made = multiply(job.tape, made, other, job.shape if other is job.inputs[-1] else None)
    return [made if len(job.inputs) > 1 else scaled(job.tape, made)]


def _extremum(job: LoweringContext) -> list[TapeValue]:
    tape, made = job.tape, job.inputs[0]
    for other in job.inputs[1:]:
        made = _larger(tape, made, other, job.shape)
    return [made]


def _larger(tape: Tape, x: TapeValue, y: TapeValue, shape: tuple[int, ...]) -> TapeValue:
    """The greater or the less of two; the gradient chooses between itself and zeros that are as large."""
    made = tape.op("Maximum", [x, y], shape, over=[x, y])

    def back(grad: TapeValue) -> list[TapeValue]:
        mask = tape.op("GreaterEqual", [x, y], shape, "bool")
        zeros = tape.zeros(tuple(shape), grad.dtype)
        return [tape.op("SelectV2", [mask, grad, zeros], shape, grad.dtype) for _ in (x, y)]

    tape.gradient(made, [x, y], back)
    return made


def concatenate(tape: Tape, parts: list[TapeValue], shape: tuple[int, ...]) -> TapeValue:
    """A copy of all parts; the gradient copies each slice back, and Grappler turns their order round. Of many
    parts one op copies all at once (`array_grad.py :: _ConcatGradHelper`).
    """
    made = tape.op("ConcatV2", parts, shape, parts[0].dtype)

    def back(grad: TapeValue) -> list[TapeValue]:
        if len(parts) > _SPLIT_BEYOND:
            return tape.split(grad, [part.shape for part in parts])
        return [tape.op("Slice", [grad], part.shape) for part in reversed(parts)][::-1]

    tape.gradient(made, parts, back)
    return made


def _concatenate(job: LoweringContext) -> list[TapeValue]:
    return [concatenate(job.tape, job.inputs, job.shape)] if len(job.inputs) > 1 else job.inputs[:1]


def _reshape(job: LoweringContext) -> list[TapeValue]:
    return [job.tape.alias(job.inputs[0], job.shape)]


def _transpose(job: LoweringContext) -> list[TapeValue]:
    return [copied(job.tape, job.inputs[0], "Transpose", job.shape, "Transpose")]


def _tile(job: LoweringContext) -> list[TapeValue]:
    return [copied(job.tape, job.inputs[0], "Tile", job.shape, "Sum")]


def _same(job: LoweringContext) -> list[TapeValue]:
    return job.inputs[:1]


def _scaled(job: LoweringContext) -> list[TapeValue]:
    return [scaled(job.tape, job.inputs[0])]


def _rescaled(job: LoweringContext) -> list[TapeValue]:
    return [unary(job.tape, scaled(job.tape, job.inputs[0]), "AddV2", "none")]


def _layer_scale(job: LoweringContext) -> list[TapeValue]:
    return [multiply(job.tape, job.inputs[0], job.weights["gamma"], job.shape)]


def unknown(job: LoweringContext) -> list[TapeValue]:
    """A layer that we do not know op by op: it reads its inputs and keeps its output, as most do."""
    tape = job.tape
    made = []
    for kind in job.outputs:
        shape = tuple(1 if size is None else size for size in kind.shape or ())
        value = tape.op(job.spec.class_name, job.inputs, shape, kind.dtype or job.dtype)
        weights = [weight for weight in job.weights.values() if tape.needs(weight)]
        reads = [*job.inputs, *weights]

        def back(
            grad: TapeValue, value: TapeValue = value, reads: list[TapeValue] = reads
        ) -> list[TapeValue | None]:
            return [
                (
                    tape.op(f"{job.spec.class_name}Grad", [grad, value, *job.inputs], each.shape, each.dtype)
                    if tape.needs(each)
                    else None
                )
                for each in reads
            ]

        tape.gradient(value, reads, back)
        made.append(value)
    return made


def _gelu(job: LoweringContext) -> list[TapeValue]:
    return [gelu(job.tape, job.inputs[0])]


def _silu(job: LoweringContext) -> list[TapeValue]:
    return [swish(job.tape, job.inputs[0])]


def _mean(job: LoweringContext) -> list[TapeValue]:
    return [reduce_mean(job.tape, job.inputs[0], job.shape)]


def _total(job: LoweringContext) -> list[TapeValue]:
    return [reduce_mean(job.tape, job.inputs[0], job.shape, "Sum")]


def _slice(job: LoweringContext) -> list[TapeValue]:
    return [copied(job.tape, job.inputs[0], "StridedSlice", job.shape, "StridedSliceGrad")]


RULES: dict[str, Rule] = {
    "Dense": _dense,
    "EinsumDense": _dense,
    "Embedding": _embedding,
    "BatchNormalization": _batch_norm,
    "Dropout": _dropout,
    "SpatialDropout1D": _dropout,
    "SpatialDropout2D": _dropout,
    "SpatialDropout3D": _dropout,
    "AlphaDropout": _alpha_dropout,
    "GaussianDropout": _random_factor,
    "GaussianNoise": _noise,
    "StochasticDepth": _scaled,
    "LayerScale": _layer_scale,
    **dict.fromkeys("Activation ReLU LeakyReLU PReLU ELU Softmax ThresholdedReLU".split(), _activation),
    **dict.fromkeys("Add Subtract".split(), _sum),
    "CustomScaleLayer": _sum,
    "Average": _average,
    "Multiply": _product,
    "Maximum": _extremum,
    "Minimum": _extremum,
    "Concatenate": _concatenate,
    "Flatten": _reshape,
    "Reshape": _reshape,
    "Permute": _transpose,
    "RepeatVector": _tile,
    "Identity": _same,
    "Masking": _scaled,
    "ActivityRegularization": _same,
    "Rescaling": _rescaled,
    "Normalization": _rescaled,
}

OPS: dict[str, Rule] = {
    **dict.fromkeys("add sub subtract addv2".split(), _sum),
    **dict.fromkeys("multiply mul truediv truedivide divide realdiv".split(), _product),
    **dict.fromkeys("mean".split(), _mean),
    **dict.fromkeys("sum".split(), _total),
    **dict.fromkeys("concat concatenate stack".split(), _concatenate),
    **dict.fromkeys("reshape expanddims squeeze flatten identity stopgradient cast".split(), _reshape),
    **dict.fromkeys("transpose swapaxes moveaxis".split(), _transpose),
    **dict.fromkeys("getitem split pad".split(), _slice),
    **dict.fromkeys("tile repeat broadcastto".split(), _tile),
    **dict.fromkeys("maximum minimum".split(), _extremum),
    "gelu": _gelu,
    "silu": _silu,
    "swish": _silu,
    "softmax": lambda job: [softmax(job.tape, job.inputs[0])],
    "relu": lambda job: [unary(job.tape, job.inputs[0], "Relu", "output")],
    "relu6": lambda job: [unary(job.tape, job.inputs[0], "Relu6", "output")],
    "sigmoid": lambda job: [unary(job.tape, job.inputs[0], "Sigmoid", "output")],
    "tanh": lambda job: [unary(job.tape, job.inputs[0], "Tanh", "output")],
    "sqrt": lambda job: [unary(job.tape, job.inputs[0], "Sqrt", "output")],
    "exp": lambda job: [unary(job.tape, job.inputs[0], "Exp", "output")],
}
