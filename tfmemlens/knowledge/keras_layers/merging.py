"""Layers that join tensors."""

from __future__ import annotations

from collections.abc import Sequence

from tfmemlens.knowledge.keras_layers._context import (
    MOST,
    LayerCall,
    LayerSpecs,
    Rule,
    Shape,
    UnsupportedLayer,
    broadcast,
    place_of,
    tuple_of,
)


def shapes_of(asked: LayerCall) -> list[Shape]:
    """The shapes of all inputs. Raises UnsupportedLayer."""
    if not asked.inputs or any(each.shape is None for each in asked.inputs):
        raise UnsupportedLayer("the shape of one of its inputs is not known")
    return [each.shape or () for each in asked.inputs]


def concatenated(shapes: Sequence[Shape], axis: object) -> Shape:
    """These shapes joined along an axis. Raises UnsupportedLayer where they do not fit."""
    if len({len(shape) for shape in shapes}) != 1:
        raise UnsupportedLayer(f"it joins tensors of shapes {[list(shape) for shape in shapes]}")
    axis = place_of(axis, len(shapes[0]))
    parts = [shape[axis] for shape in shapes]
    total = None if any(part is None for part in parts) else sum(part for part in parts if part is not None)
    return tuple(
        total if at == axis else next((shape[at] for shape in shapes if shape[at] is not None), None)
        for at in range(len(shapes[0]))
    )


def _elementwise(asked: LayerCall) -> LayerSpecs:
    shapes = shapes_of(asked)
    if len({len(shape) for shape in shapes}) == 1:
        return asked.told(broadcast(shapes))
    # Keras puts the sides that a smaller tensor lacks behind its batch.
    batch = broadcast([shape[:1] for shape in shapes])
    return asked.told((*batch, *broadcast([shape[1:] for shape in shapes])))


def _concatenate(asked: LayerCall) -> LayerSpecs:
    return asked.told(concatenated(shapes_of(asked), asked.get("axis", "concat_axis", default=-1)))


def _dot(asked: LayerCall) -> LayerSpecs:
    shapes = shapes_of(asked)
    if len(shapes) != 2 or not all(shapes):
        raise UnsupportedLayer(f"it multiplies tensors of shapes {[list(shape) for shape in shapes]}")
    first, second = shapes
    one, two = tuple_of(asked.get("axes", "dot_axes", default=-1), 2, "axes", -MOST)
    one, two = place_of(one, len(first)), place_of(two, len(second))
    left = [size for at, size in enumerate(first) if at != one]
    right = [size for at, size in enumerate(second) if at not in (0, two)]
    return asked.told([*left, *right] if left[1:] or right else [*left, 1])


def _merge(asked: LayerCall) -> LayerSpecs:
    """Keras 1's layer for all of these."""
    mode = asked.get("mode", default="sum")
    if mode == "concat":
        return _concatenate(asked)
    if mode in ("dot", "cos"):
        return _dot(asked)
    if mode in ("sum", "mul", "ave", "max"):
        return _elementwise(asked)
    raise UnsupportedLayer("it merges by code that the file does not tell")


def _scaled_sum(asked: LayerCall) -> LayerSpecs:
    return asked.told(asked.shape)


RULES: dict[str, Rule] = {
    **dict.fromkeys("Add Subtract Multiply Average Maximum Minimum".split(), _elementwise),
    "Concatenate": _concatenate,
    "Dot": _dot,
    "Merge": _merge,
    "CustomScaleLayer": _scaled_sum,
}
