"""Pooling, padding, cropping and resizing: no weights, other grids."""

from __future__ import annotations

from typing import Any

from tfmemlens.knowledge.keras_layers._context import (
    LayerCall,
    LayerSpecs,
    Rule,
    UnsupportedLayer,
    listed,
    tuple_of,
    whole,
    window,
)
from tfmemlens.knowledge.keras_layers.convolution import padding_of


def _pool(rank: int) -> Rule:
    def rule(call: LayerCall) -> LayerSpecs:
        space, channels = call.grid(rank)
        size = tuple_of(call.get("pool_size", "pool_length", default=2), rank, "pool_size")
        strides = tuple_of(call.get("strides", "stride", default=list(size)), rank, "strides")
        grid = [
            window(side, over, stride, padding_of(call))
            for side, over, stride in zip(space, size, strides, strict=True)
        ]
        return call.specs(call.placed(grid, channels))

    return rule


def _global(rank: int) -> Rule:
    def rule(call: LayerCall) -> LayerSpecs:
        _, channels = call.grid(rank)
        return call.specs(
            call.placed((1,) * rank, channels) if call.get("keepdims") else (call.shape[0], channels)
        )

    return rule


def _adaptive(rank: int) -> Rule:
    return lambda call: call.specs(
        call.placed(tuple_of(call.needed("output_size"), rank, "output_size"), call.grid(rank)[1])
    )


def _sides(value: Any, rank: int, name: str) -> list[tuple[int, int]]:
    """`1`, `[1, 2]` or `[[1, 1], [2, 2]]` as what is added before and after each dimension."""
    if rank == 2 and isinstance(value, dict):  # Keras 1
        return [
            (whole(value.get(f"{first}_pad", 0), name), whole(value.get(f"{last}_pad", 0), name))
            for first, last in (("top", "bottom"), ("left", "right"))
        ]
    values = [value] * rank if isinstance(value, int) else listed(value, name)
    flat = [each for each in values if not isinstance(each, list | tuple)]
    if len(flat) == len(values) == 2 * rank <= 4:
        values = [values[at : at + 2] for at in range(0, 2 * rank, 2)]
    if len(values) != rank:
        raise UnsupportedLayer(f"its setting {name!r} has {len(values)} entries for {rank} dimensions")
    pairs = [tuple_of(each, 2, name, 0) for each in values]
    return [(before, after) for before, after in pairs]


def _padded(rank: int, sign: int, name: str) -> Rule:
    def rule(call: LayerCall) -> LayerSpecs:
        space, channels = call.grid(rank)
        sides = _sides(call.get(name, default=1), rank, name)
        grid = [
            None if size is None else max(size + sign * (before + after), 0)
            for size, (before, after) in zip(space, sides, strict=True)
        ]
        return call.specs(call.placed(grid, channels))

    return rule


def _upsampled(rank: int) -> Rule:
    def rule(call: LayerCall) -> LayerSpecs:
        space, channels = call.grid(rank)
        factors = tuple_of(call.get("size", "length", default=2), rank, "size")
        return call.specs(
            call.placed(
                [
                    None if side is None else side * factor
                    for side, factor in zip(space, factors, strict=True)
                ],
                channels,
            )
        )

    return rule


def _resized(call: LayerCall) -> LayerSpecs:
    return call.specs(call.placed((call.size("height"), call.size("width")), call.grid(2)[1]))


_RANKS = {"1D": 1, "2D": 2, "3D": 3}
RULES: dict[str, Rule] = {
    **{
        f"{kind}Pooling{suffix}": _pool(rank)
        for suffix, rank in _RANKS.items()
        for kind in ("Max", "Average")
    },
    **{f"{kind}Pool{suffix}": _pool(rank) for suffix, rank in _RANKS.items() for kind in ("Max", "Avg")},
    **{
        f"Global{kind}Pooling{suffix}": _global(rank)
        for suffix, rank in _RANKS.items()
        for kind in ("Max", "Average")
    },
    **{
        f"Global{kind}Pool{suffix}": _global(rank)
        for suffix, rank in _RANKS.items()
        for kind in ("Max", "Avg")
    },
    **{
        f"Adaptive{kind}Pooling{suffix}": _adaptive(rank)
        for suffix, rank in _RANKS.items()
        for kind in ("Max", "Average")
    },
    **{f"ZeroPadding{suffix}": _padded(rank, 1, "padding") for suffix, rank in _RANKS.items()},
    **{f"Cropping{suffix}": _padded(rank, -1, "cropping") for suffix, rank in _RANKS.items()},
    **{f"UpSampling{suffix}": _upsampled(rank) for suffix, rank in _RANKS.items()},
    "Resizing": _resized,
}
