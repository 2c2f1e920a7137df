"""A weight times its own transpose, on its longer side."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from typing import NamedTuple

from tfmemlens.findings.support.on_the_way.code import CodePart, argument, failed_at, is_call, parts
from tfmemlens.findings.support.on_the_way.facts import OnTheWay
from tfmemlens.model.case import Request
from tfmemlens.model.finding import Certainty, Remedy
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program, Statement
from tfmemlens.model.tensor import format_shape
from tfmemlens.patterns import regex
from tfmemlens.units import human

_PRODUCTS = ("matmul", "dot")
_PENALTY = regex(r"(?i)ortho|gram|decorr|penal|regular|spectral|srip")
_LEAST_SIDE = 1024
_RULED_OUT = (
    *("lower-constant", "same-shapes", "in-blocks", "fewer-columns", "fewer-pairs", "smaller-batch"),
    *("smaller-input", "gradient-accumulation", "narrower-layer", "matrix-product", "check-the-matrix"),
)


class _Gram(NamedTuple):
    of: str
    rows: bool
    """Whether it has a number for each pair of rows, else of columns."""
    line: Line
    penal: bool
    by: str
    """The function that multiplies."""


def gram_of_the_longer_side(program: Program, request: Request) -> OnTheWay | None:
    """A square of the longer side of a layer's kernel, whose own product with itself the program makes."""
    shape = request.failed.shape or ()
    sides = shape[1:] if len(shape) == 3 and shape[0] == 1 else shape
    if len(sides) != 2 or sides[0] != sides[1] or (sides[0] or 0) < _LEAST_SIDE:
        return None
    found = [each for part in parts(program) for each in _grams(part)]
    found = [each for each in found if each.penal or failed_at(request, each.line)]
    side = sides[0] or 0
    kernels = _kernels(program) if found else {}
    for each in found:
        fitting = [
            (kernel, line) for kernel, line in kernels.items() if kernel[0 if each.rows else 1] == side
        ]
        fitting = [(kernel, line) for kernel, line in fitting if kernel[1 if each.rows else 0] < side]
        if fitting:
            return _told(request, each, *min(fitting, key=lambda fit: min(fit[0])))
    return None


def _kernels(program: Program) -> dict[tuple[int, int], Line]:
    """The kernels of the program's layers as matrices: all but the last side, by the last."""
    from tfmemlens.knowledge.keras_program import layer_outputs
    from tfmemlens.knowledge.program_shapes import made_by

    shapes = [(tuple(weight.shape), each.line) for each in layer_outputs(program) for weight in each.weights]
    shapes += [(each.shape, each.line) for each in made_by(program)]
    return {(math.prod(shape[:-1]), shape[-1]): line for shape, line in shapes if len(shape) > 1}


def _grams(part: CodePart) -> Iterator[_Gram]:
    """Products of a matrix with its own transpose."""
    for statement, node in part.nodes:
        factors = _factors(node)
        if factors is None:
            continue
        (one, turned), (other, also) = factors
        if turned == also or ast.unparse(one) != ast.unparse(other):
            continue
        line = statement.line_of(node)
        named = " ".join((part.function.name if part.function else "", line.text, _class_of(statement)))
        by = ast.unparse(node.func) if isinstance(node, ast.Call) else "@"
        yield _Gram(ast.unparse(one), also, line, bool(_PENALTY.search(named)), by)


def _class_of(statement: Statement) -> str:
    """The names of the class in which a function stands, and of its bases."""
    node = statement.node
    if not isinstance(node, ast.ClassDef):
        return ""
    return " ".join((node.name, *(ast.unparse(base) for base in node.bases)))


def _factors(node: ast.AST) -> tuple[tuple[ast.expr, bool], tuple[ast.expr, bool]] | None:
    """Both factors of a product of matrices, each with whether it is transposed."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return _plain(node.left), _plain(node.right)
    if not is_call(node, *_PRODUCTS) or not isinstance(node, ast.Call) or len(node.args) < 2:
        return None
    (one, turned), (other, also) = _plain(node.args[0]), _plain(node.args[1])
    first = _is_true(argument(node, 9, "transpose_a", "adjoint_a"))
    second = _is_true(argument(node, 9, "transpose_b", "adjoint_b"))
    return (one, turned != first), (other, also != second)


def _plain(node: ast.expr) -> tuple[ast.expr, bool]:
    if is_call(node, "transpose", "matrix_transpose", "permute_dimensions") and isinstance(node, ast.Call):
        return (node.args[0], True) if node.args else (node, False)
    if isinstance(node, ast.Attribute) and node.attr == "T":
        return node.value, True
    return node, False


def _is_true(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _told(request: Request, gram: _Gram, kernel: tuple[int, int], made_at: Line) -> OnTheWay:
    long, short = max(kernel), min(kernel)
    item = (request.failed.tensor_bytes or 0) // (long * long)
    small = f" ({human(item * short * short)} instead of {human(item * long * long)})" if item else ""
    of = gram.of
    if gram.by == "@":
        code = f"{of}.T @ {of}" if gram.rows else f"{of} @ {of}.T"
        code = code.replace(f"{of}.T", f"tf.transpose({of})")
    else:
        module = gram.by.rpartition(".")[0]
        turn = f"{module}.transpose({of})" if module else f"transpose({of})"
        code = f"{gram.by}({turn}, {of})" if gram.rows else f"{gram.by}({of}, {turn})"
    which = "rows" if gram.rows else "columns"
    return OnTheWay(
        f"{gram.line.place} multiplies `{of}` with its own transpose on the longer side: of the kernel of"
        f" {made_at.place}, {format_shape(kernel)} as a matrix, that is a number for each pair of {which}",
        gram.line,
        Remedy(
            f"multiply on the shorter side: [{short},{short}]{small}; for a penalty that is meant as a"
            f" rule: {long:,} vectors of {short:,} numbers cannot all be orthogonal",
            code,
            saves_bytes=item * (long * long - short * short) or None,
            of_one_tensor=True,
            certainty=Certainty.EXACT if item else None,
            slug="the-shorter-side",
        ),
        rules_out=_RULED_OUT,
    )
