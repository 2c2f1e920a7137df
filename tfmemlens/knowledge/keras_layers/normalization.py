"""Normalisation layers: scales, offsets, moving averages."""

from __future__ import annotations

from collections.abc import Sequence

from tfmemlens.knowledge.keras_layers._context import (
    LayerCall,
    LayerSpecs,
    Rule,
    place_of,
    product,
    same,
    times,
)
from tfmemlens.model.network import WeightSpec


def _axes(asked: LayerCall, default: int = -1) -> list[int]:
    axis = asked.config.get("axis", default)
    axes = axis if isinstance(axis, list | tuple) else [axis]
    return sorted(place_of(each, len(asked.shape)) for each in axes if each is not None)


def _formula(count: int, sizes: Sequence[int]) -> str:
    if not count:
        return ""
    return f"{count}*{times(*sizes)}" if count > 1 else times(*sizes)


def _batch(asked: LayerCall) -> LayerSpecs:
    sizes = [asked.shape[axis] for axis in _axes(asked)]
    names = [name for name, flag in (("gamma", "scale"), ("beta", "center")) if asked.config.get(flag, True)]
    weights = [asked.weight(name, *sizes, dtype=_wide(asked)) for name in names]
    weights += [
        asked.weight(name, *sizes, trainable=False, dtype=_wide(asked))
        for name in ("moving_mean", "moving_variance")
    ]
    if asked.config.get("renorm"):
        weights += [
            asked.weight(name, *sizes, trainable=False)
            for name in ("moving_stddev", "renorm_mean", "renorm_stddev")
        ]
    return asked.told(asked.shape, weights, _formula(len(weights), weights[-1].shape))


def _wide(asked: LayerCall) -> str:
    """Half precision keeps its statistics in float32."""
    return (
        "float32"
        if asked.variable_dtype in ("float16", "bfloat16") and asked.dialect != "keras-3"
        else asked.variable_dtype
    )


def _layer(asked: LayerCall) -> LayerSpecs:
    sizes = [asked.shape[axis] for axis in _axes(asked)]
    rms = asked.config.get("rms_scaling", False)
    names = ["gamma"] if rms or asked.config.get("scale", True) else []
    names += ["beta"] if asked.config.get("center", True) and not rms else []
    weights = [asked.weight(name, *sizes) for name in names]
    return asked.told(asked.shape, weights, _formula(len(weights), weights[0].shape) if weights else "")


def _group(asked: LayerCall) -> LayerSpecs:
    sizes = [asked.shape[axis] for axis in _axes(asked)[:1]]
    weights = [
        asked.weight(name, *sizes)
        for name, flag in (("gamma", "scale"), ("beta", "center"))
        if asked.config.get(flag, True)
    ]
    return asked.told(asked.shape, weights, _formula(len(weights), weights[0].shape) if weights else "")


def _rms(asked: LayerCall) -> LayerSpecs:
    weight = asked.weight("scale", *(asked.shape[axis] for axis in _axes(asked)))
    return asked.told(asked.shape, [weight], times(*weight.shape))


def _normalization(asked: LayerCall) -> LayerSpecs:
    """The preprocessing layer: mean and variance are weights unless they are given."""
    if asked.config.get("mean") is not None:
        return asked.told(asked.shape)
    sizes = [asked.shape[axis] for axis in _axes(asked)] if asked.config.get("axis", -1) is not None else []
    count = WeightSpec("count", (), "int64" if asked.dialect != "keras-3" else "int32", trainable=False)
    weights = [asked.weight(name, *sizes, trainable=False) for name in ("mean", "variance")] + [count]
    return asked.told(
        asked.shape, weights, f"2*{times(*weights[0].shape)}+1" if product(sizes) != 1 else "2*1+1"
    )


RULES: dict[str, Rule] = {
    "BatchNormalization": _batch,
    "SyncBatchNormalization": _batch,
    "LayerNormalization": _layer,
    "GroupNormalization": _group,
    "RMSNormalization": _rms,
    "UnitNormalization": same,
    "Normalization": _normalization,
}
