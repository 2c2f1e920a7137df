"""One rule an op: from the types of its inputs to the shapes of its outputs. After the shape functions in TensorFlow's core/ops.

A rule registers itself where its module is imported; ops without one have outputs of unknown shape.
"""

from __future__ import annotations

from tfmemlens.costs.type_rules import elementwise, images, products, rearranging, slicing, sources, vectors
from tfmemlens.costs.type_rules._site import RULES, Dims, Shape, Site
from tfmemlens.costs.type_rules.dtypes import dtypes_of

__all__ = ["RULES", "Dims", "Shape", "Site", "dtypes_of", "elementwise", "images", "products", "rearranging", "slicing", "sources", "vectors"]
