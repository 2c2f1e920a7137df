"""Shapes as values: the small vectors that other ops read."""

from __future__ import annotations

from tfmemlens.costs.type_rules._site import Shape, Site, rule


@rule("Shape")
def _shape(site: Site) -> list[Shape]:
    shape = site.shape(0)
    return [(None if shape is None else len(shape),)]


@rule("ShapeN")
def _shapes(site: Site) -> list[Shape]:
    return [(None if each.shape is None else len(each.shape),) for each in site.inputs]


@rule("DataFormatVecPermute DataFormatDimMap")
def _mapped(site: Site) -> list[Shape]:
    return [site.shape(0)]


@rule("Range DynamicStitch")
def _vector(site: Site) -> list[Shape]:
    del site
    return [(None,)]


@rule("ConcatOffset")
def _offsets(site: Site) -> list[Shape]:
    return [each.shape for each in site.inputs[1:]]


@rule("BroadcastGradientArgs")
def _axes(site: Site) -> list[Shape]:
    del site
    return [(None,), (None,)]
