"""Shape rules: from the types of an op's inputs to the shapes of its outputs. After the shape functions in
TensorFlow's core/ops; `ops.table` says which op has which.
"""

from __future__ import annotations

from tfmemlens.knowledge.ops.shapes._context import (
    MAX_OUTPUTS,
    Dims,
    Shape,
    ShapeContext,
    ShapeRule,
    Typed,
    ValueRule,
    axis_of,
    positive,
    shape_of,
    side_of,
)

__all__ = [
    "MAX_OUTPUTS",
    "Dims",
    "Shape",
    "ShapeContext",
    "ShapeRule",
    "Typed",
    "ValueRule",
    "axis_of",
    "positive",
    "shape_of",
    "side_of",
]
