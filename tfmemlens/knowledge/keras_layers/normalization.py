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


def _axes(call: LayerCall, default: int = -1) -> list[int]:
    axis = call.config.get("axis", default)
    axes = axis if isinstance(axis, list | tuple) else [axis]
    return sorted(place_of(each, len(call.shape)) for each in axes if each is not None)


def _formula(count: int, sizes: Sequence[int]) -> str:
    if not count:
        return ""
    return f"{count}*{times(*sizes)}" if count > 1 else times(*sizes)


def _batch(call: LayerCall) -> LayerSpecs:
    sizes = [call.shape[axis] for axis in _axes(call)]
    names = [name for name, flag in (("gamma", "scale"), ("beta", "center")) if call.config.get(flag, True)]
    weights = [call.weight(name, *sizes, dtype=_wide(call)) for name in names]
    weights += [
        call.weight(name, *sizes, trainable=False, dtype=_wide(call))
        for name in ("moving_mean", "moving_variance")
    ]
    if call.config.get("renorm"):
        weights += [
            call.weight(name, *sizes, trainable=False)
            for name in ("moving_stddev", "renorm_mean", "renorm_stddev")
        ]
    return call.specs(call.shape, weights, _formula(len(weights), weights[-1].shape))


def _wide(call: LayerCall) -> str:
    """Half precision keeps its statistics in float32."""
    return (
        "float32"
        if call.variable_dtype in ("float16", "bfloat16") and call.dialect != "keras-3"
        else call.variable_dtype
    )


def _layer(call: LayerCall) -> LayerSpecs:
    sizes = [call.shape[axis] for axis in _axes(call)]
    rms = call.config.get("rms_scaling", False)
    names = ["gamma"] if rms or call.config.get("scale", True) else []
    names += ["beta"] if call.config.get("center", True) and not rms else []
    weights = [call.weight(name, *sizes) for name in names]
    return call.specs(call.shape, weights, _formula(len(weights), weights[0].shape) if weights else "")


def _group(call: LayerCall) -> LayerSpecs:
    sizes = [call.shape[axis] for axis in _axes(call)[:1]]
    weights = [
        call.weight(name, *sizes)
        for name, flag in (("gamma", "scale"), ("beta", "center"))
        if call.config.get(flag, True)
    ]
    return call.specs(call.shape, weights, _formula(len(weights), weights[0].shape) if weights else "")


def _rms(call: LayerCall) -> LayerSpecs:
    weight = call.weight("scale", *(call.shape[axis] for axis in _axes(call)))
    return call.specs(call.shape, [weight], times(*weight.shape))


def _normalization(call: LayerCall) -> LayerSpecs:
    """The preprocessing layer: mean and variance are weights unless they are given."""
    if call.config.get("mean") is not None:
        return call.specs(call.shape)
    sizes = [call.shape[axis] for axis in _axes(call)] if call.config.get("axis", -1) is not None else []
    count = WeightSpec("count", (), "int64" if call.dialect != "keras-3" else "int32", trainable=False)
    weights = [call.weight(name, *sizes, trainable=False) for name in ("mean", "variance")] + [count]
    return call.specs(
        call.shape, weights, f"2*{times(*weights[0].shape)}+1" if product(sizes) != 1 else "2*1+1"
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
