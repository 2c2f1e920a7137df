"""Layers that join tensors."""

from __future__ import annotations

from collections.abc import Sequence

from tfmemlens.knowledge.keras_layers._context import (
    MAX_SIZE,
    LayerCall,
    LayerSpecs,
    Rule,
    Shape,
    UnsupportedLayer,
    broadcast,
    place_of,
    tuple_of,
)


def shapes_of(call: LayerCall) -> list[Shape]:
    """The shapes of all inputs. Raises UnsupportedLayer."""
    if not call.inputs or any(each.shape is None for each in call.inputs):
        raise UnsupportedLayer("the shape of one of its inputs is not known")
    return [each.shape or () for each in call.inputs]


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


def _elementwise(call: LayerCall) -> LayerSpecs:
    shapes = shapes_of(call)
    if len({len(shape) for shape in shapes}) == 1:
        return call.specs(broadcast(shapes))
    # Keras puts the sides that a smaller tensor lacks behind its batch.
    batch = broadcast([shape[:1] for shape in shapes])
    return call.specs((*batch, *broadcast([shape[1:] for shape in shapes])))


def _concatenate(call: LayerCall) -> LayerSpecs:
    return call.specs(concatenated(shapes_of(call), call.get("axis", "concat_axis", default=-1)))


def _dot(call: LayerCall) -> LayerSpecs:
    shapes = shapes_of(call)
    if len(shapes) != 2 or not all(shapes):
        raise UnsupportedLayer(f"it multiplies tensors of shapes {[list(shape) for shape in shapes]}")
    first, second = shapes
    one, two = tuple_of(call.get("axes", "dot_axes", default=-1), 2, "axes", -MAX_SIZE)
    one, two = place_of(one, len(first)), place_of(two, len(second))
    left = [size for at, size in enumerate(first) if at != one]
    right = [size for at, size in enumerate(second) if at not in (0, two)]
    return call.specs([*left, *right] if left[1:] or right else [*left, 1])


def _merge(call: LayerCall) -> LayerSpecs:
    """Keras 1's layer for all of these."""
    mode = call.get("mode", default="sum")
    if mode == "concat":
        return _concatenate(call)
    if mode in ("dot", "cos"):
        return _dot(call)
    if mode in ("sum", "mul", "ave", "max"):
        return _elementwise(call)
    raise UnsupportedLayer("it merges by code that the file does not tell")


def _scaled_sum(call: LayerCall) -> LayerSpecs:
    return call.specs(call.shape)


RULES: dict[str, Rule] = {
    **dict.fromkeys("Add Subtract Multiply Average Maximum Minimum".split(), _elementwise),
    "Concatenate": _concatenate,
    "Dot": _dot,
    "Merge": _merge,
    "CustomScaleLayer": _scaled_sum,
}
