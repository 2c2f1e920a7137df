"""Attention layers."""

from __future__ import annotations

from tfmemlens.knowledge.keras_layers._context import (
    LayerCall,
    LayerSpecs,
    Rule,
    Shape,
    UnsupportedLayer,
    listed,
    place_of,
    product,
    sides_of,
    times,
)
from tfmemlens.model.network import WeightSpec
from tfmemlens.model.tensor import TensorType


def sources(call: LayerCall) -> tuple[Shape, Shape, Shape]:
    """The shapes of query, value and key, given by position, by name or as a list. Raises
    UnsupportedLayer.
    """
    first = call.arguments.get("0")
    places: list[object] = (
        list(first) if isinstance(first, list) else [first, call.arguments.get("1"), call.arguments.get("2")]
    )
    places += [None] * (3 - len(places))
    query = call.arguments.get("query") or places[0]
    value = call.arguments.get("value") or places[1] or query
    key = call.arguments.get("key") or places[2] or value
    shapes = [each.shape if isinstance(each, TensorType) else None for each in (query, value, key)]
    if any(shape is None for shape in shapes):
        raise UnsupportedLayer("the shapes of its query and value are not known")
    query_shape, value_shape, key_shape = (shape or () for shape in shapes)
    if min(len(query_shape), len(value_shape), len(key_shape)) < 2:
        raise UnsupportedLayer(f"it reads {list(query_shape)}, {list(value_shape)} and {list(key_shape)}")
    return query_shape, value_shape, key_shape


def _projection(call: LayerCall, name: str, width: int | None, *made: int) -> list[WeightSpec]:
    weights = [call.weight(f"{name}/kernel", width, *made)]
    return [*weights, call.weight(f"{name}/bias", *made)] if call.config.get("use_bias", True) else weights


def _scores(call: LayerCall) -> bool:
    return bool(call.arguments.get("return_attention_scores"))


def _multi_head(call: LayerCall) -> LayerSpecs:
    query, value, key = sources(call)
    heads, deep = call.size("num_heads"), call.size("key_dim")
    wide = call.size("value_dim", default=deep)
    target = call.config.get("output_shape")
    made = [query[-1]]
    if target:
        made = sides_of(target if isinstance(target, list | tuple) else [target], "output_shape")
    if any(size is None for size in made):
        raise UnsupportedLayer("the width of its query is not known")
    sizes = [size for size in made if size is not None]
    weights = _projection(call, "query", query[-1], heads, deep) + _projection(
        call, "key", key[-1], heads, deep
    )
    weights += _projection(call, "value", value[-1], heads, wide)
    if call.config.get("use_gate"):
        weights += _projection(call, "gate", query[-1], heads, wide)
    bias = call.config.get("use_bias", True)
    weights.append(call.weight("attention_output/kernel", heads, wide, *sizes))
    if bias:
        weights.append(call.weight("attention_output/bias", *sizes))
    more = "+1" if bias else ""
    gate = f"+({query[-1]}{more})*{heads}*{wide}" if call.config.get("use_gate") else ""
    formula = (
        f"({query[-1]}{more})*{heads}*{deep}+({key[-1]}{more})*{heads}*{deep}"
        f"+({value[-1]}{more})*{heads}*{wide}{gate}+({heads}*{wide}{more})*{times(*sizes)}"
    )
    outputs = [TensorType((*query[:-1], *sizes), call.dtype)]
    if _scores(call):
        axes = [
            place_of(axis, min(len(query), len(value)))
            for axis in listed(call.config.get("attention_axes") or [1], "attention_axes")
        ]
        outputs.append(
            TensorType(
                (query[0], heads, *(query[axis] for axis in axes), *(value[axis] for axis in axes)),
                call.dtype,
            )
        )
    return LayerSpecs(tuple(outputs), tuple(weights), formula)


def _grouped(call: LayerCall) -> LayerSpecs:
    query, value, key = sources(call)
    deep, heads, shared = map(call.size, ("head_dim", "num_query_heads", "num_key_value_heads"))
    width = query[-1]
    weights = _projection(call, "query", width, heads, deep) + _projection(call, "key", key[-1], shared, deep)
    weights += _projection(call, "value", value[-1], shared, deep)
    gate = bool(call.config.get("use_gate"))
    if gate:
        weights += _projection(call, "gate", width, heads, deep)
    weights.append(call.weight("attention_output/kernel", heads, deep, width))
    bias = call.config.get("use_bias", True)
    if bias:
        weights.append(call.weight("attention_output/bias", width))
    q, k, v, out = (
        f"({size}+1)" if bias else str(size) for size in (width, key[-1], value[-1], f"{heads}*{deep}")
    )
    formula = (
        f"{q}*{heads}*{deep}{'*2' if gate else ''}+{k}*{shared}*{deep}+{v}*{shared}*{deep}+{out}*{width}"
    )
    outputs = [TensorType(query, call.dtype)]
    if _scores(call):
        outputs.append(TensorType((query[0], heads, query[1], value[1]), call.dtype))
    return LayerSpecs(tuple(outputs), tuple(weights), formula)


def _dot_product(call: LayerCall) -> LayerSpecs:
    query, value, _ = sources(call)
    weights: list[WeightSpec] = []
    if call.config.get("use_scale", call.spec.class_name == "AdditiveAttention"):
        weights.append(
            call.weight("scale", *([query[-1]] if call.spec.class_name == "AdditiveAttention" else []))
        )
    if call.config.get("score_mode") == "concat":
        weights.append(call.weight("concat_score_weight"))
    outputs = [TensorType((*query[:-1], value[-1]), call.dtype)]
    if _scores(call):
        outputs.append(TensorType((*query[:-1], value[1]), call.dtype))
    return LayerSpecs(
        tuple(outputs), tuple(weights), "+".join(str(product(weight.shape)) for weight in weights)
    )


RULES: dict[str, Rule] = {
    "MultiHeadAttention": _multi_head,
    "GroupedQueryAttention": _grouped,
    "GroupQueryAttention": _grouped,
    "Attention": _dot_product,
    "AdditiveAttention": _dot_product,
}
