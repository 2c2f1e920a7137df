"""Shapes as values: the small vectors that other ops read."""

from __future__ import annotations

from tfmemlens.knowledge.ops.shapes._context import Shape, ShapeContext
from tfmemlens.knowledge.ops.values import broadcast_axes


def of_shape(site: ShapeContext) -> list[Shape]:
    """As many numbers as the input has dimensions."""
    shape = site.shape(0)
    return [(None if shape is None else len(shape),)]


def of_shapes(site: ShapeContext) -> list[Shape]:
    """For each input as many numbers as it has dimensions."""
    return [(None if each.shape is None else len(each.shape),) for each in site.inputs]


def sequence(site: ShapeContext) -> list[Shape]:
    """As many numbers as there are from the start to the limit."""
    low, high, step = (site.scalar(index) for index in range(3))
    return [(None if low is None or high is None or not step else len(range(low, high, step)),)]


def offsets(site: ShapeContext) -> list[Shape]:
    """A place for each dimension of each part."""
    return [each.shape for each in site.inputs[1:]]


def axes(site: ShapeContext) -> list[Shape]:
    """Two vectors of axes, as long as there are axes to sum over."""
    return [(None if each is None else len(each),) for each in broadcast_axes(site)]
