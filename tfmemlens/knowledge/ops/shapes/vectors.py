"""Shapes as values: the small vectors that other ops read."""

from __future__ import annotations

from tfmemlens.knowledge.ops.shapes._context import Shape, ShapeContext, rule


@rule("Shape")
def _shape(site: ShapeContext) -> list[Shape]:
    shape = site.shape(0)
    return [(None if shape is None else len(shape),)]


@rule("ShapeN")
def _shapes(site: ShapeContext) -> list[Shape]:
    return [(None if each.shape is None else len(each.shape),) for each in site.inputs]


@rule("DataFormatVecPermute DataFormatDimMap")
def _mapped(site: ShapeContext) -> list[Shape]:
    return [site.shape(0)]


@rule("Range DynamicStitch")
def _vector(site: ShapeContext) -> list[Shape]:
    del site
    return [(None,)]


@rule("ConcatOffset")
def _offsets(site: ShapeContext) -> list[Shape]:
    return [each.shape for each in site.inputs[1:]]


@rule("BroadcastGradientArgs")
def _axes(site: ShapeContext) -> list[Shape]:
    del site
    return [(None,), (None,)]
