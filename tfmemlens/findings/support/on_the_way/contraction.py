"""A product that keeps an index which the next step sums over."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from tfmemlens.findings.support.on_the_way.code import (
    Assigned,
    CodePart,
    argument,
    failed_at,
    is_call,
    parts,
)
from tfmemlens.findings.support.on_the_way.facts import OnTheWay
from tfmemlens.knowledge.tree_values import written_number
from tfmemlens.model.case import Request
from tfmemlens.model.finding import Certainty, Remedy
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program
from tfmemlens.patterns import regex
from tfmemlens.units import human

_REDUCES = ("reduce_mean", "reduce_sum", "sum", "mean")
_LEAST_RANK = 3
_LETTERS = "abcdefgh"
_EQUATION = regex(
    r"\A\s*(?P<one>[a-zA-Z]{1,8}),\s*(?P<other>[a-zA-Z]{1,8})\s*->\s*(?P<out>[a-zA-Z]{1,8})\s*\Z"
)
_OF_IT = regex(r"(?i)einsum|(?:\A|/)(?:Mul|Tile|BroadcastTo|Transpose|(?:Batch)?MatMul|RealDiv|truediv)")
_RULED_OUT = (
    *("lower-constant", "smaller-input", "blockwise-attention", "in-blocks", "matrix-product"),
    *("lower-setting", "narrower-layer", "smaller-batch"),
)


class _Product(NamedTuple):
    """The indices of both factors and of their product."""

    one: str
    other: str
    out: str

    @property
    def of_both(self) -> str:
        return "".join(each for each in self.out if each in self.one and each in self.other)


class _Reduced(NamedTuple):
    product: _Product
    made_at: Line
    reduced_at: Line
    by: str
    axis: int
    factors: tuple[str, str]


def contracted_late(program: Program, request: Request) -> OnTheWay | None:
    """The product that failed, or whose gradient did, and is summed over an axis at once."""
    failed = request.failed
    shape = failed.shape or ()
    if len(shape) < _LEAST_RANK or not all(shape):
        return None
    found = [each for part in parts(program) for each in _reduced(part, len(shape))]
    here = [each for each in found if failed_at(request, each.made_at, each.reduced_at)]
    if not here and _OF_IT.search(failed.node or failed.op or ""):
        here = found if len({each.made_at for each in found}) == 1 else []
    return _told(request, here[0]) if here else None


def _reduced(part: CodePart, rank: int) -> Iterator[_Reduced]:
    for call, line in part.calls():
        axis = written_number(argument(call, 1, "axis"))
        if not is_call(call, *_REDUCES) or not call.args or axis is None:
            continue
        for value, made_at in _values(part, call.args[0], line):
            product, factors = _product(value, rank)
            if product and -rank <= axis < rank:
                yield _Reduced(product, made_at, line, ast.unparse(call.func), axis % rank, factors)


def _values(part: CodePart, node: ast.expr, line: Line) -> Iterator[tuple[ast.expr, Line]]:
    """What is reduced: an expression, or the value of a name that nothing else reads."""
    if not isinstance(node, ast.Name):
        yield node, line
        return
    above = [each for each in part.assigned() if each.name == node.id and each.line.number < line.number]
    if above and _is_read_once(part, above[-1]):
        yield above[-1].value, above[-1].line


def _is_read_once(part: CodePart, made: Assigned) -> bool:
    return len(part.reads(made)) == 1


def _product(value: ast.expr, rank: int) -> tuple[_Product | None, tuple[str, str]]:
    if is_call(value, "einsum") and isinstance(value, ast.Call) and len(value.args) == 3:
        equation = value.args[0]
        written = equation.value if isinstance(equation, ast.Constant) else None
        match = _EQUATION.match(written) if isinstance(written, str) else None
        if match is None or len(match["out"]) != rank:
            return None, ("", "")
        return _Product(match["one"], match["other"], match["out"]), (
            ast.unparse(value.args[1]),
            ast.unparse(value.args[2]),
        )
    if is_call(value, "multiply") and isinstance(value, ast.Call) and len(value.args) == 2:
        return _broadcast(value.args[0], value.args[1], rank)
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
        return _broadcast(value.left, value.right, rank)
    return None, ("", "")


def _broadcast(left: ast.expr, right: ast.expr, rank: int) -> tuple[_Product | None, tuple[str, str]]:
    """The same of `a[:, :, None] * b[:, None]`, where each factor has an axis that the other lacks."""
    one, other = _indices(left, rank), _indices(right, rank)
    if one is None or other is None or not (set(one[0]) - set(other[0]) and set(other[0]) - set(one[0])):
        return None, ("", "")
    return _Product(one[0], other[0], _LETTERS[:rank]), (one[1], other[1])


def _indices(node: ast.expr, rank: int) -> tuple[str, str] | None:
    """The axes of the product that a factor with new axes has, and its name without them."""
    if is_call(node, "expand_dims") and isinstance(node, ast.Call) and node.args:
        axis = written_number(argument(node, 1, "axis"))
        if axis is None or not -rank <= axis < rank:
            return None
        return _LETTERS[: axis % rank] + _LETTERS[axis % rank + 1 : rank], ast.unparse(node.args[0])
    if not isinstance(node, ast.Subscript):
        return None
    given = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    dots = [at for at, each in enumerate(given) if isinstance(each, ast.Constant) and each.value is Ellipsis]
    fill: list[ast.expr] = [ast.Slice()] * (rank - len(given) + len(dots))
    at = dots[0] if dots else len(given)
    sides = [*given[:at], *fill, *given[at + 1 :]]
    if (
        len(sides) != rank
        or rank > len(_LETTERS)
        or not all(_is_whole(each) or _is_new(each) for each in sides)
    ):
        return None
    kept = "".join(letter for letter, each in zip(_LETTERS, sides, strict=False) if not _is_new(each))
    return (kept, ast.unparse(node.value)) if len(kept) < rank else None


def _is_new(node: ast.expr) -> bool:
    of_none = isinstance(node, ast.Constant) and node.value is None
    return of_none or (isinstance(node, ast.Attribute) and node.attr == "newaxis")


def _is_whole(node: ast.expr) -> bool:
    return isinstance(node, ast.Slice) and not (node.lower or node.upper or node.step)


def _told(request: Request, found: _Reduced) -> OnTheWay:
    failed, out = request.failed, found.product.out
    index = out[found.axis]
    equation = f"{found.product.one},{found.product.other}->{out.replace(index, '')}"
    one, other = found.factors
    averages = found.by.endswith("mean")
    code = f'tf.einsum("{equation}", {one}, {other})'
    if averages:
        at = found.product.one.find(index)
        of, place = (one, at) if at >= 0 else (other, found.product.other.find(index))
        code += f" / tf.cast(tf.shape({of})[{place}], {of}.dtype)"
    sides = _count_of(request, found)
    need = failed.tensor_bytes
    small = f": {human(need // sides)} instead of {human(need)}" if need and sides else ""
    where = (
        f"the next step ({found.reduced_at.place})" if found.reduced_at != found.made_at else "the same line"
    )
    return OnTheWay(
        f"the product of {found.made_at.place} keeps an axis (`{index}` of `{out}`) that {where} sums over"
        f" with `{found.by}`, and its gradient is as large again",
        found.made_at,
        Remedy(
            f"let the product sum over it, so that it is never written out{small}; the result is the same",
            code,
            saves_bytes=need - need // sides if need and sides else None,
            of_one_tensor=True,
            certainty=Certainty.EXACT if need and sides else None,
            slug="sum-in-the-product",
        ),
        rules_out=_RULED_OUT,
    )


def _count_of(request: Request, found: _Reduced) -> int | None:
    """How long the axis is: known of the product itself, and of axes of both factors, which come first in any
    gradient as well; that is as large, but may have the others in another order.
    """
    shape, out = request.failed.shape or (), found.product.out
    forward = failed_at(request, found.made_at) and "grad" not in (request.failed.node or "")
    lead = out[: found.axis + 1]
    if not forward and not set(lead) <= set(found.product.of_both):
        return None
    side = shape[found.axis] or 0
    return side if side > 1 else None
