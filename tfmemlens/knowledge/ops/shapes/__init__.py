"""One rule an op: from the types of its inputs to the shapes of its outputs. After the shape functions in
TensorFlow's core/ops.

A rule registers itself where its module is imported; ops without one have outputs of unknown shape.
"""

from __future__ import annotations

from tfmemlens.knowledge.ops.shapes import (
    elementwise,
    images,
    products,
    rearranging,
    slicing,
    sources,
    vectors,
)
from tfmemlens.knowledge.ops.shapes._context import RULES, Dims, Shape, ShapeContext
from tfmemlens.knowledge.ops.shapes.dtypes import dtypes_of

__all__ = [
    "RULES",
    "Dims",
    "Shape",
    "ShapeContext",
    "dtypes_of",
    "elementwise",
    "images",
    "products",
    "rearranging",
    "slicing",
    "sources",
    "vectors",
]
