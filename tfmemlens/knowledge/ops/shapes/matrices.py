"""Diagonals of matrices, what solves with them, and Fourier transforms."""

from __future__ import annotations

from tfmemlens.knowledge.ops.shapes._context import Shape, ShapeContext


def diagonal(site: ShapeContext) -> list[Shape]:
    """A tensor of twice the rank with the input on its diagonal."""
    shape = site.shape(0)
    return [None if shape is None else shape * 2]


def diagonal_part(site: ShapeContext) -> list[Shape]:
    """The diagonal of a tensor of an even rank: half of its sides."""
    shape = site.shape(0)
    return [None if shape is None else shape[: len(shape) // 2]]


def matrix_diagonal(site: ShapeContext) -> list[Shape]:
    """A square matrix for each row; of V2 and V3 only that of the main diagonal is known."""
    shape = site.shape(0)
    if not shape or not _is_main(site):
        return [None]
    return [(*shape, shape[-1])]


def matrix_diagonal_part(site: ShapeContext) -> list[Shape]:
    """The main diagonal of each matrix."""
    shape = site.shape(0)
    if shape is None or len(shape) < 2 or not _is_main(site):
        return [None]
    height, width = shape[-2:]
    return [(*shape[:-2], None if height is None or width is None else min(height, width))]


def _is_main(site: ShapeContext) -> bool:
    return site.node.op in ("MatrixDiag", "MatrixDiagPart") or site.value(1) == (0,)


def solution(site: ShapeContext) -> list[Shape]:
    """As many unknowns as right-hand sides."""
    return [site.shape(1)]


def transform(site: ShapeContext) -> list[Shape]:
    """Of real numbers half of the frequencies and one; back, as many numbers as the second input says."""
    shape, length = site.shape(0), site.value(1)
    if shape is None or not length or len(length) > len(shape):
        return [None]
    *outer, last = length
    if last is not None and site.node.op.startswith("RFFT"):
        last = last // 2 + 1
    return [(*shape[: len(shape) - len(length)], *outer, last)]
