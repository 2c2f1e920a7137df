"""Pooling, padding, cropping and resizing: no weights, other grids."""

from __future__ import annotations

from typing import Any

from tfmemlens.knowledge.keras_layers._context import LayerCall, LayerSpecs, Rule, tuple_of, window
from tfmemlens.knowledge.keras_layers.convolution import padding_of


def _pool(rank: int) -> Rule:
    def rule(asked: LayerCall) -> LayerSpecs:
        space, channels = asked.grid(rank)
        size = tuple_of(asked.get("pool_size", "pool_length", default=2), rank)
        strides = tuple_of(asked.get("strides", "stride", default=list(size)), rank)
        grid = [
            window(side, over, stride, padding_of(asked))
            for side, over, stride in zip(space, size, strides, strict=True)
        ]
        return asked.told(asked.placed(grid, channels))

    return rule


def _global(rank: int) -> Rule:
    def rule(asked: LayerCall) -> LayerSpecs:
        _, channels = asked.grid(rank)
        return asked.told(
            asked.placed((1,) * rank, channels) if asked.get("keepdims") else (asked.shape[0], channels)
        )

    return rule


def _adaptive(rank: int) -> Rule:
    return lambda asked: asked.told(
        asked.placed(tuple_of(asked.config["output_size"], rank), asked.grid(rank)[1])
    )


def _sides(value: Any, rank: int) -> list[tuple[int, int]]:
    """`1`, `[1, 2]` or `[[1, 1], [2, 2]]` as what is added before and after each dimension."""
    if isinstance(value, dict):  # Keras 1
        return [
            (int(value.get(f"{first}_pad", 0)), int(value.get(f"{last}_pad", 0)))
            for first, last in (("top", "bottom"), ("left", "right"))
        ]
    values = [value] * rank if isinstance(value, int) else list(value)
    if rank == 1 and len(values) == 2 and isinstance(values[0], int):
        return [(values[0], values[1])]
    if rank == 2 and len(values) == 4:
        return [(values[0], values[1]), (values[2], values[3])]
    return [(each, each) if isinstance(each, int) else (int(each[0]), int(each[1])) for each in values]


def _padded(rank: int, sign: int, name: str) -> Rule:
    def rule(asked: LayerCall) -> LayerSpecs:
        space, channels = asked.grid(rank)
        sides = _sides(asked.get(name, default=1), rank)
        grid = [
            None if size is None else max(size + sign * (before + after), 0)
            for size, (before, after) in zip(space, sides, strict=True)
        ]
        return asked.told(asked.placed(grid, channels))

    return rule


def _upsampled(rank: int) -> Rule:
    def rule(asked: LayerCall) -> LayerSpecs:
        space, channels = asked.grid(rank)
        factors = tuple_of(asked.get("size", "length", default=2), rank)
        return asked.told(
            asked.placed(
                [
                    None if side is None else side * factor
                    for side, factor in zip(space, factors, strict=True)
                ],
                channels,
            )
        )

    return rule


def _resized(asked: LayerCall) -> LayerSpecs:
    return asked.told(
        asked.placed((int(asked.config["height"]), int(asked.config["width"])), asked.grid(2)[1])
    )


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
