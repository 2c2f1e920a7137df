"""Dense, embeddings, activations, dropout, and what only changes the shape."""

from __future__ import annotations

import math

from tfmemlens.knowledge.keras_layers._context import (
    LayerCall,
    LayerSpecs,
    Rule,
    UnsupportedLayer,
    listed,
    place_of,
    product,
    same,
    sides_of,
    times,
    tuple_of,
    unchanged,
    whole,
)
from tfmemlens.model.tensor import TensorType, numpy_dtype
from tfmemlens.patterns import regex

_EQUATION = regex(r"([a-zA-Z.]+),([a-zA-Z]+)->([a-zA-Z.]+)")


def _input(call: LayerCall) -> LayerSpecs:
    shape = call.get("batch_shape", "batch_input_shape")
    own = call.get("shape", "input_shape")
    if shape is None and isinstance(own, list | tuple):
        shape = [None, *own]
    kind = call.config.get("dtype")
    if shape is None:
        raise UnsupportedLayer("the model does not say what it reads; give --input-shape")
    if isinstance(shape, dict):
        raise UnsupportedLayer("it reads a dictionary of inputs")
    return LayerSpecs(
        (
            TensorType(
                tuple(sides_of(shape, "batch_shape")),
                numpy_dtype(kind) if isinstance(kind, str) else call.dtype,
            ),
        )
    )


def _dense(call: LayerCall) -> LayerSpecs:
    units, width = call.size("units", "output_dim"), call.width
    weights = [call.weight("kernel", width, units)]
    bias = call.config.get("use_bias", call.config.get("bias", True))
    if bias:
        weights.append(call.weight("bias", units))
    formula = f"({width}+1)*{units}" if bias else times(width, units)
    if call.config.get("lora_rank"):
        rank = call.size("lora_rank")
        weights[0] = call.weight("kernel", width, units, trainable=False)
        weights += [call.weight("lora_kernel_a", width, rank), call.weight("lora_kernel_b", rank, units)]
        formula += f"+({width}+{units})*{rank}"
    return call.specs((*call.shape[:-1], units), weights, formula)


def _einsum_dense(call: LayerCall) -> LayerSpecs:
    equation = str(call.needed("equation")).replace(" ", "")
    if (parts := _EQUATION.fullmatch(equation)) is None:
        raise UnsupportedLayer(f"its equation is {equation!r}")
    read, kernel, output = parts.groups()
    shape = call.shape
    free = len(shape) - len(read.replace("...", ""))
    if "..." in read:
        hidden = "".join(chr(ord("①") + index) for index in range(free))
        read, output = read.replace("...", hidden), output.replace("...", hidden)
    if len(read) != len(shape):
        raise UnsupportedLayer(f"its equation is {equation!r}, and it reads {list(shape)}")
    wanted = call.needed("output_shape")
    wanted = sides_of(wanted if isinstance(wanted, list | tuple) else [wanted], "output_shape")
    sizes: dict[str, int | None] = dict(zip(read, shape, strict=True))
    for letter, size in zip(reversed(output), reversed(wanted), strict=False):
        if size is not None:
            sizes.setdefault(letter, size)
    weights = [call.weight("kernel", *(sizes.get(letter) for letter in kernel))]
    if axes := call.config.get("bias_axes"):
        weights.append(call.weight("bias", *(sizes.get(letter) for letter in output if letter in str(axes))))
    return call.specs(
        [sizes.get(letter) for letter in output],
        weights,
        "+".join(times(*weight.shape) for weight in weights),
    )


def _embedding(call: LayerCall) -> LayerSpecs:
    rows, width = call.size("input_dim"), call.size("output_dim")
    shape = call.shape
    length = call.config.get("input_length")
    if length is not None and len(shape) == 2 and shape[1] is None:
        shape = (shape[0], *tuple_of(length, 1, "input_length"))
    weights = [call.weight("embeddings", rows, width)]
    formula = times(rows, width)
    if call.config.get("lora_rank"):
        rank = call.size("lora_rank")
        weights = [
            call.weight("embeddings", rows, width, trainable=False),
            call.weight("lora_embeddings_a", rows, rank),
            call.weight("lora_embeddings_b", rank, width),
        ]
        formula += f"+({rows}+{width})*{rank}"
    return call.specs((*shape, width), weights, formula)


def _reversible_embedding(call: LayerCall) -> LayerSpecs:
    rows, width = call.size("input_dim"), call.size("output_dim")
    reverse = call.arguments.get("reverse", call.arguments.get("1", False))
    weights, formula = [call.weight("embeddings", rows, width)], times(rows, width)
    if not call.config.get("tie_weights", True):
        weights.append(call.weight("reverse_embeddings", width, rows))
        formula += f"+{times(width, rows)}"
    return call.specs((*call.sides(1)[:-1], rows) if reverse else (*call.shape, width), weights, formula)


def _prelu(call: LayerCall) -> LayerSpecs:
    rank = len(call.shape)
    shared = {place_of(axis, rank) for axis in listed(call.get("shared_axes", default=()), "shared_axes")}
    sizes = [1 if axis in shared else size for axis, size in enumerate(call.shape) if axis]
    weight = call.weight("alpha", *sizes)
    return call.specs(call.shape, [weight], times(*weight.shape))


def _flatten(call: LayerCall) -> LayerSpecs:
    return LayerSpecs(
        (
            TensorType(
                (call.sides(1)[0], product(call.shape[1:]) if len(call.shape) > 1 else 1),
                call.inputs[0].dtype,
            ),
        )
    )


def _reshape(call: LayerCall) -> LayerSpecs:
    """The target with its -1 worked out."""
    known = product(call.sides(1)[1:])
    sizes = [
        size if size in (None, -1) else whole(size, "target_shape")
        for size in listed(call.needed("target_shape"), "target_shape")
    ]
    if -1 in sizes:
        rest = math.prod(size for size in sizes if size not in (-1, None) and size)
        sizes[sizes.index(-1)] = None if known is None or not rest else known // rest
    return LayerSpecs((TensorType((call.shape[0], *sizes), call.inputs[0].dtype),))


def _permute(call: LayerCall) -> LayerSpecs:
    dims = listed(call.needed("dims"), "dims")
    return LayerSpecs(
        (
            TensorType(
                (call.sides(1)[0], *(call.shape[place_of(axis, len(call.shape))] for axis in dims)),
                call.inputs[0].dtype,
            ),
        )
    )


def _repeat(call: LayerCall) -> LayerSpecs:
    return LayerSpecs(
        (TensorType((call.sides(1)[0], call.size("n"), *call.shape[1:]), call.inputs[0].dtype),)
    )


def _lambda(call: LayerCall) -> LayerSpecs:
    shape = call.config.get("output_shape")
    if isinstance(shape, list | tuple) and all(isinstance(size, int | None) for size in shape):
        return call.specs((call.sides(1)[0], *sides_of(shape, "output_shape")))
    raise UnsupportedLayer("it is a Lambda, whose code the file does not tell")


def _category(call: LayerCall) -> LayerSpecs:
    tokens = call.size("num_tokens", "max_tokens")
    shape = call.sides(1)
    if call.get("output_mode", default="multi_hot") in ("multi_hot", "count"):
        return call.specs((*shape[:-1], tokens) if len(shape) > 1 else (shape[0], tokens))
    return call.specs((*shape[:-1], tokens) if shape[-1] == 1 else (*shape, tokens))


def _lookup(call: LayerCall) -> LayerSpecs:
    if call.get("output_mode", default="int") == "int":
        return call.specs(call.shape, dtype="int64")
    words = call.get("vocabulary", default=())
    size = call.get("vocabulary_size", "max_tokens") or (len(words) if isinstance(words, list) else 0)
    return call.specs((*call.sides(1)[:-1], whole(size, "vocabulary_size") or None))


def _text(call: LayerCall) -> LayerSpecs:
    if call.get("output_mode", default="int") == "int":
        return call.specs((call.sides(1)[0], _open(call, "output_sequence_length")), dtype="int64")
    return call.specs((call.sides(1)[0], _open(call, "max_tokens")))


def _open(call: LayerCall, name: str) -> int | None:
    return None if call.get(name) is None else call.size(name)


def _layer_scale(call: LayerCall) -> LayerSpecs:
    width = call.size("projection_dim")
    return call.specs(call.shape, [call.weight("gamma", width)], str(width))


def _maxout(call: LayerCall) -> LayerSpecs:
    units, width, features = (
        call.size("output_dim"),
        call.width,
        call.size("nb_feature", default=4),
    )
    return call.specs(
        (call.shape[0], units),
        [call.weight("kernel", features, width, units), call.weight("bias", features, units)],
        f"{features}*({width}+1)*{units}",
    )


def _highway(call: LayerCall) -> LayerSpecs:
    width = call.width
    weights = [call.weight(name, width, width) for name in ("W", "W_carry")] + [
        call.weight(name, width) for name in ("b", "b_carry")
    ]
    return call.specs(call.shape, weights, f"2*({width}+1)*{width}")


def _random_crop(call: LayerCall) -> LayerSpecs:
    shape = list(call.sides(3))
    shape[-3:-1] = call.size("height"), call.size("width")
    return call.specs(shape)


RULES: dict[str, Rule] = {
    "InputLayer": _input,
    "Dense": _dense,
    "EinsumDense": _einsum_dense,
    "Embedding": _embedding,
    "ReversibleEmbedding": _reversible_embedding,
    "PReLU": _prelu,
    "Flatten": _flatten,
    "Reshape": _reshape,
    "Permute": _permute,
    "RepeatVector": _repeat,
    "Lambda": _lambda,
    "CategoryEncoding": _category,
    "IntegerLookup": _lookup,
    "StringLookup": _lookup,
    "TextVectorization": _text,
    "LayerScale": _layer_scale,
    "MaxoutDense": _maxout,
    "Highway": _highway,
    "RandomCrop": _random_crop,
    "CenterCrop": _random_crop,
    "Hashing": lambda call: call.specs(call.shape, dtype="int64"),
    "Discretization": lambda call: call.specs(call.shape, dtype="int64"),
    "Identity": unchanged,
    "Masking": same,
    "ActivityRegularization": same,
    **dict.fromkeys(
        "Activation ReLU LeakyReLU ELU ThresholdedReLU Softmax ParametricSoftplus SReLU".split(), same
    ),
    **dict.fromkeys(
        "Dropout AlphaDropout GaussianDropout GaussianNoise SpatialDropout1D SpatialDropout2D"
        " SpatialDropout3D StochasticDepth FixedDropout".split(),
        same,
    ),
    **dict.fromkeys(
        "Rescaling RandomFlip RandomRotation RandomZoom RandomTranslation RandomContrast RandomBrightness"
        " RandomHue RandomSaturation".split(),
        same,
    ),
    **dict.fromkeys(
        "RandomSharpness RandomShear RandomGrayscale RandomInvert RandomPosterization RandomErasing"
        " RandomColorJitter Solarization".split(),
        same,
    ),
    **dict.fromkeys(
        "RandomColorDegeneration RandomElasticTransform RandomGaussianBlur RandomPerspective AutoContrast"
        " Equalization".split(),
        same,
    ),
}
