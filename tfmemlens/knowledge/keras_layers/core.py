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


def _input(asked: LayerCall) -> LayerSpecs:
    shape = asked.get("batch_shape", "batch_input_shape")
    own = asked.get("shape", "input_shape")
    if shape is None and isinstance(own, list | tuple):
        shape = [None, *own]
    kind = asked.config.get("dtype")
    if shape is None:
        raise UnsupportedLayer("the model does not say what it reads; give --input-shape")
    if isinstance(shape, dict):
        raise UnsupportedLayer("it reads a dictionary of inputs")
    return LayerSpecs(
        (
            TensorType(
                tuple(sides_of(shape, "batch_shape")),
                numpy_dtype(kind) if isinstance(kind, str) else asked.dtype,
            ),
        )
    )


def _dense(asked: LayerCall) -> LayerSpecs:
    units, width = asked.size("units", "output_dim"), asked.width
    weights = [asked.weight("kernel", width, units)]
    bias = asked.config.get("use_bias", asked.config.get("bias", True))
    if bias:
        weights.append(asked.weight("bias", units))
    formula = f"({width}+1)*{units}" if bias else times(width, units)
    if asked.config.get("lora_rank"):
        rank = asked.size("lora_rank")
        weights[0] = asked.weight("kernel", width, units, trainable=False)
        weights += [asked.weight("lora_kernel_a", width, rank), asked.weight("lora_kernel_b", rank, units)]
        formula += f"+({width}+{units})*{rank}"
    return asked.told((*asked.shape[:-1], units), weights, formula)


def _einsum_dense(asked: LayerCall) -> LayerSpecs:
    equation = str(asked.needed("equation")).replace(" ", "")
    if (parts := _EQUATION.fullmatch(equation)) is None:
        raise UnsupportedLayer(f"its equation is {equation!r}")
    read, kernel, output = parts.groups()
    shape = asked.shape
    free = len(shape) - len(read.replace("...", ""))
    if "..." in read:
        hidden = "".join(chr(ord("①") + index) for index in range(free))
        read, output = read.replace("...", hidden), output.replace("...", hidden)
    if len(read) != len(shape):
        raise UnsupportedLayer(f"its equation is {equation!r}, and it reads {list(shape)}")
    wanted = asked.needed("output_shape")
    wanted = sides_of(wanted if isinstance(wanted, list | tuple) else [wanted], "output_shape")
    sizes: dict[str, int | None] = dict(zip(read, shape, strict=True))
    for letter, size in zip(reversed(output), reversed(wanted), strict=False):
        if size is not None:
            sizes.setdefault(letter, size)
    weights = [asked.weight("kernel", *(sizes.get(letter) for letter in kernel))]
    if axes := asked.config.get("bias_axes"):
        weights.append(asked.weight("bias", *(sizes.get(letter) for letter in output if letter in str(axes))))
    return asked.told(
        [sizes.get(letter) for letter in output],
        weights,
        "+".join(times(*weight.shape) for weight in weights),
    )


def _embedding(asked: LayerCall) -> LayerSpecs:
    rows, width = asked.size("input_dim"), asked.size("output_dim")
    shape = asked.shape
    length = asked.config.get("input_length")
    if length is not None and len(shape) == 2 and shape[1] is None:
        shape = (shape[0], *tuple_of(length, 1, "input_length"))
    weights = [asked.weight("embeddings", rows, width)]
    formula = times(rows, width)
    if asked.config.get("lora_rank"):
        rank = asked.size("lora_rank")
        weights = [
            asked.weight("embeddings", rows, width, trainable=False),
            asked.weight("lora_embeddings_a", rows, rank),
            asked.weight("lora_embeddings_b", rank, width),
        ]
        formula += f"+({rows}+{width})*{rank}"
    return asked.told((*shape, width), weights, formula)


def _reversible_embedding(asked: LayerCall) -> LayerSpecs:
    rows, width = asked.size("input_dim"), asked.size("output_dim")
    reverse = asked.arguments.get("reverse", asked.arguments.get("1", False))
    weights, formula = [asked.weight("embeddings", rows, width)], times(rows, width)
    if not asked.config.get("tie_weights", True):
        weights.append(asked.weight("reverse_embeddings", width, rows))
        formula += f"+{times(width, rows)}"
    return asked.told((*asked.sides(1)[:-1], rows) if reverse else (*asked.shape, width), weights, formula)


def _prelu(asked: LayerCall) -> LayerSpecs:
    rank = len(asked.shape)
    shared = {place_of(axis, rank) for axis in listed(asked.get("shared_axes", default=()), "shared_axes")}
    sizes = [1 if axis in shared else size for axis, size in enumerate(asked.shape) if axis]
    weight = asked.weight("alpha", *sizes)
    return asked.told(asked.shape, [weight], times(*weight.shape))


def _flatten(asked: LayerCall) -> LayerSpecs:
    return LayerSpecs(
        (
            TensorType(
                (asked.sides(1)[0], product(asked.shape[1:]) if len(asked.shape) > 1 else 1),
                asked.inputs[0].dtype,
            ),
        )
    )


def _reshape(asked: LayerCall) -> LayerSpecs:
    """The target with its -1 worked out."""
    known = product(asked.sides(1)[1:])
    sizes = [
        size if size in (None, -1) else whole(size, "target_shape")
        for size in listed(asked.needed("target_shape"), "target_shape")
    ]
    if -1 in sizes:
        rest = math.prod(size for size in sizes if size not in (-1, None) and size)
        sizes[sizes.index(-1)] = None if known is None or not rest else known // rest
    return LayerSpecs((TensorType((asked.shape[0], *sizes), asked.inputs[0].dtype),))


def _permute(asked: LayerCall) -> LayerSpecs:
    dims = listed(asked.needed("dims"), "dims")
    return LayerSpecs(
        (
            TensorType(
                (asked.sides(1)[0], *(asked.shape[place_of(axis, len(asked.shape))] for axis in dims)),
                asked.inputs[0].dtype,
            ),
        )
    )


def _repeat(asked: LayerCall) -> LayerSpecs:
    return LayerSpecs(
        (TensorType((asked.sides(1)[0], asked.size("n"), *asked.shape[1:]), asked.inputs[0].dtype),)
    )


def _lambda(asked: LayerCall) -> LayerSpecs:
    shape = asked.config.get("output_shape")
    if isinstance(shape, list | tuple) and all(isinstance(size, int | None) for size in shape):
        return asked.told((asked.sides(1)[0], *sides_of(shape, "output_shape")))
    raise UnsupportedLayer("it is a Lambda, whose code the file does not tell")


def _category(asked: LayerCall) -> LayerSpecs:
    tokens = asked.size("num_tokens", "max_tokens")
    shape = asked.sides(1)
    if asked.get("output_mode", default="multi_hot") in ("multi_hot", "count"):
        return asked.told((*shape[:-1], tokens) if len(shape) > 1 else (shape[0], tokens))
    return asked.told((*shape[:-1], tokens) if shape[-1] == 1 else (*shape, tokens))


def _lookup(asked: LayerCall) -> LayerSpecs:
    if asked.get("output_mode", default="int") == "int":
        return asked.told(asked.shape, dtype="int64")
    words = asked.get("vocabulary", default=())
    size = asked.get("vocabulary_size", "max_tokens") or (len(words) if isinstance(words, list) else 0)
    return asked.told((*asked.sides(1)[:-1], whole(size, "vocabulary_size") or None))


def _text(asked: LayerCall) -> LayerSpecs:
    if asked.get("output_mode", default="int") == "int":
        return asked.told((asked.sides(1)[0], _open(asked, "output_sequence_length")), dtype="int64")
    return asked.told((asked.sides(1)[0], _open(asked, "max_tokens")))


def _open(asked: LayerCall, name: str) -> int | None:
    return None if asked.get(name) is None else asked.size(name)


def _layer_scale(asked: LayerCall) -> LayerSpecs:
    width = asked.size("projection_dim")
    return asked.told(asked.shape, [asked.weight("gamma", width)], str(width))


def _maxout(asked: LayerCall) -> LayerSpecs:
    units, width, features = (
        asked.size("output_dim"),
        asked.width,
        asked.size("nb_feature", default=4),
    )
    return asked.told(
        (asked.shape[0], units),
        [asked.weight("kernel", features, width, units), asked.weight("bias", features, units)],
        f"{features}*({width}+1)*{units}",
    )


def _highway(asked: LayerCall) -> LayerSpecs:
    width = asked.width
    weights = [asked.weight(name, width, width) for name in ("W", "W_carry")] + [
        asked.weight(name, width) for name in ("b", "b_carry")
    ]
    return asked.told(asked.shape, weights, f"2*({width}+1)*{width}")


def _random_crop(asked: LayerCall) -> LayerSpecs:
    shape = list(asked.sides(3))
    shape[-3:-1] = asked.size("height"), asked.size("width")
    return asked.told(shape)


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
    "Hashing": lambda asked: asked.told(asked.shape, dtype="int64"),
    "Discretization": lambda asked: asked.told(asked.shape, dtype="int64"),
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
