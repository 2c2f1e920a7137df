"""What the matrix products of a followed JAX program tell of a matrix: one-hot rows that sum or look up other
rows, and a matrix multiplied by itself on the side where it has more numbers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tfmemlens.knowledge.jax_arrays import Followed, Noted
from tfmemlens.knowledge.jax_arrays.transforms import JACOBIANS
from tfmemlens.model.finding import Remedy
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, human
from tfmemlens.values import dataclass, replace

_NAMED = regex(r"\A\s{0,40}(?P<name>\w{1,60})\s*=(?!=)")
_PRODUCTS = frozenset({"matmul", "dot", "einsum", "tensordot"})
_VALUE = r"[\w.]{1,60}(?:\[[^\[\]]{1,40}\])?"
_COUNTED = r"jnp\.arange\((?P<many>[\w.]{1,60})\)"
_FORMS = (
    (regex(rf"one_hot\((?P<ids>{_VALUE}), (?:num_classes=)?(?P<many>{_VALUE})"), True),
    (regex(rf"(?P<ids>[\w.]{{1,60}})\[:, None\] == {_COUNTED}"), True),
    (regex(rf"{_COUNTED}\[:, None\] == (?P<ids>[\w.]{{1,60}})"), False),
    (regex(rf"\beye\((?P<many>[\w.]{{1,60}})(?:, dtype=[\w.]{{1,30}})?\)\[(?P<ids>{_VALUE})\]"), True),
)
"""Ways to write one-hot rows, and whether a row is the last axis."""
_MATRIX = 2


@dataclass(frozen=True, slots=True)
class OneHotUse:
    """What a product makes of one-hot rows."""

    what: str
    remedy: Remedy


def of_one_hot(made: Noted, followed: Followed) -> OneHotUse | None:
    """What a one-hot matrix is for, where a product of the program sums rows by it, or looks rows up."""
    form = next(((match, last) for code, last in _FORMS if (match := code.search(made.code))), None)
    if form is None or len(made.array.shape) != _MATRIX or made.name in _PRODUCTS:
        return None
    match, last = form
    rows, places = made.array.shape if last else made.array.shape[::-1]
    products = [each for each in followed.arrays if each.name in _PRODUCTS and rows != places]
    for line, product in ((line, each) for line in reversed(made.way) for each in products):
        named = _NAMED.match(line.text)
        if not (other := _other(product.code, {named["name"]} if named else set(), made.code)):
            continue
        shape, ids, many = product.array.shape, match["ids"], match["many"]
        if places in shape and rows not in shape:
            return OneHotUse(
                f"it only sums {rows:,} rows into {places:,} places, and all but one number of each row are"
                " zeros",
                Remedy(
                    f"sum the rows by their index: the matrix of {rows:,} x {places:,} then never exists",
                    f"total = jax.ops.segment_sum({other}, {ids}, num_segments={many})",
                    slug="stay-sparse",
                ),
            )
        if rows in shape and places not in shape:
            return OneHotUse(
                f"it only looks up {rows:,} of {places:,} rows, and all but one number of each row are zeros",
                Remedy(
                    f"look the rows up by their index: the matrix of {rows:,} x {places:,} then never exists",
                    f"rows = {other}[{ids}]",
                    slug="stay-sparse",
                ),
            )
    return None


def _other(code: str, names: set[str], made: str) -> str:
    """The operand of a product beside a matrix, by the matrix's names or its own code; empty where it is no
    product of that.
    """
    try:
        node = ast.parse(code, mode="eval").body
    except SyntaxError:
        return ""
    if isinstance(node, ast.BinOp):
        parts = [node.left, node.right]
    elif isinstance(node, ast.Call):
        parts = [each for each in node.args if not isinstance(each, ast.Constant)]
    else:
        return ""
    own = [
        each
        for each in parts
        if made in ast.unparse(each) or names & {n.id for n in ast.walk(each) if isinstance(n, ast.Name)}
    ]
    others = [each for each in parts if each not in own]
    return ast.unparse(others[0]) if len(own) == len(others) == 1 else ""


_WITH_ITSELF = regex(
    r"\A\(?(?P<rows>\w{1,60})\.(?:conj\(\)\.)?T @ (?P=rows)\b"
    r"|\b(?:dot|matmul)\((?P<dotted>\w{1,60})\.T, (?P=dotted)\)"
    r"|\beinsum\('(?P<n>\w)(?P<i>\w),(?P=n)(?P<j>\w)->(?P=i)(?P=j)', (?P<summed>\w{1,60}), (?P=summed)\)"
)
_FEWER = 4
"""So many times as few rows as columns: the other side is worth the change."""


def is_of_parameters(made: Noted) -> bool:
    """Whether it is a number for each pair of columns of one matrix, or of the numbers that a function is
    differentiated by: no kernel of rows.
    """
    square = len(made.array.shape) == _MATRIX and len(set(made.array.shape)) == 1
    return square and (made.name in JACOBIANS or _WITH_ITSELF.search(made.code) is not None)


def of_itself(made: Noted, followed: Followed) -> Iterator[Remedy]:
    """What makes `J.T @ J` needless: equations for its rows where these are fewer, products with
    vectors.
    """
    match = _WITH_ITSELF.search(made.code)
    if match is None or not is_of_parameters(made):
        return
    name, many = match["rows"] or match["dotted"] or match["summed"], made.array.shape[0]
    rows = _rows(name, many, followed)
    if rows and rows * _FEWER <= many:
        yield Remedy(
            f"solve for the {rows:,} rows of `{name}` instead of its {many:,} columns: with damping this is"
            f" the same step where the right side is {name}' r (else by Woodbury's identity), and the matrix"
            f" is [{rows},{rows}], {human(rows * rows * _FLOAT)}",
            f"step = {name}.T @ jnp.linalg.solve({name} @ {name}.T + lam * jnp.eye({rows}), r)",
            slug="dual-form",
        )
    fits = rows and rows * many * _FLOAT <= GIB
    products = f"lambda v: {name}.T @ ({name} @ v) + lam * v, {name}.T @ r"
    if not fits:
        products = "lambda v: pull(jax.jvp(f, (w,), (v,))[1])[0] + lam * v, pull(r)[0]"
    yield Remedy(
        "or solve by conjugate gradients, which take products with vectors and never make the matrix"
        + ("" if fits else f" (nor `{name}`)"),
        ("" if fits else "r, pull = jax.vjp(f, w)   # f gives the residuals\n")
        + f"step, _ = jax.scipy.sparse.linalg.cg({products}, maxiter=50)",
        slug="hessian-products",
    )
    yield replace(DIAGONAL_OR_BLOCKS, code=f"diagonal = ({name} ** 2).sum(0)")


_FLOAT = 4
DIAGONAL_OR_BLOCKS = Remedy(
    "or keep its diagonal, or a block for each layer, in the place of all pairs",
    slug="diagonal-guide",
)
OF_PAIRS_OF_PARAMETERS = (
    "smaller-batch",
    "gradient-accumulation",
    "recompute",
    "in-blocks",
    "fewer-rows",
    "compare-shapes",
)
"""What leaves a number for each pair of parameters as it is."""


def _rows(name: str, many: int, followed: Followed) -> int:
    """How many rows the matrix of this name has beside its so many columns; 0 where that is not known."""
    found = [
        each.array.shape[-1] if each.name == "transpose" else each.array.shape[0]
        for each in followed.arrays
        if len(each.array.shape) == _MATRIX
        and (
            (each.name == "transpose" and each.code == f"{name}.T" and each.array.shape[0] == many)
            or (
                any((at := _NAMED.match(line.text)) and at["name"] == name for line in each.way)
                and each.array.shape[1] == many
                and each.name != "transpose"
            )
        )
    ]
    return found[-1] if found else 0


_FEW_INPUTS = 16
_GRADIENT_OF = regex(r"\b(?P<call>(?:value_and_)?grad)\(\s*(?P<function>[\w.]{1,60})")


def forward_first(followed: Followed) -> Remedy | None:
    """Forward derivatives in the place of a gradient through a loop, where every gradient of the program is
    by a few numbers: then nothing is kept of the steps.
    """
    by = [each for each in followed.derived if each.kind == "grad"]
    if not by or not all(0 < each.by <= _FEW_INPUTS for each in by):
        return None
    most = max(by, key=lambda each: each.by)
    match = _GRADIENT_OF.search(most.line.text)
    name = match["function"] if match else "f"
    inputs = f"{most.by} numbers" if most.by > 1 else "one number"
    value = " (the value is a call by itself)" if match and match["call"] != "grad" else ""
    return Remedy(
        f"differentiate forward: the gradient of {most.line.place} is by {inputs} only, so that as many"
        f" tangents go along with the loop, and nothing is kept of its steps{value}",
        f"g = jax.jacfwd({name})(...)   # in the place of jax.grad; argnums as there",
        slug="forward-derivatives",
    )
