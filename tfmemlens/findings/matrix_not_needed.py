"""A square matrix that the program can do without: a diagonal one, or the full factors of a tall matrix.

What it means: `diag(w)` of n numbers is a matrix of n x n, nearly all zeros, and a product with it multiplies
each row by its number. The full factors of a singular value or QR decomposition have a square matrix for
the longer side; what stands beyond the shorter one multiplies zeros.
When it fires: what failed is a square matrix of 512 and more, and the program multiplies by what `diag`
makes; or the line that failed decomposes with full factors, as NumPy's and JAX's `svd` does by default.
What to do: multiply by the numbers themselves; ask for the thin factors.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.diagonals import rows_times_numbers
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.findings.support.rows import requests
from tfmemlens.findings.support.situation import JAX, TENSORFLOW, framework_of
from tfmemlens.model.case import Case, Request
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.model.tensor import format_shape
from tfmemlens.patterns import regex
from tfmemlens.values import dataclass

BASIS = Basis.SHAPE
EXPLAINS = "the request"

_LEAST = 512
_DIAG = r"(?:\w+\.){0,3}(?:matrix_|tensor_)?diag"
_OF = r"\(\s*(?P<of{0}>[^(),]{{1,60}})\)"
_MADE = regex(rf"\b(?P<name>[A-Za-z_]\w{{0,40}})\s*=\s*(?P<call>{_DIAG}){_OF.format('')}")
_WITHIN = regex(
    rf"\b(?:matmul|dot|einsum)\([^#]{{0,60}}?(?P<call>{_DIAG}){_OF.format('')}"
    rf"|(?P<call2>{_DIAG}){_OF.format(2)}\s*@"
)
_OPS = regex(r"(?i)matmul|matrixdiag|\bdiag|dot_general")
_DECOMPOSES = regex(
    r"\b(?:svd|qr)\([^#]*?full_matrices\s*=\s*True|\bqr\([^#]*?['\"]complete['\"]"
    r"|\b(?:jnp|jax\.numpy|np|numpy)\.linalg\.svd\("
    r"(?![^#]*full_matrices)(?![^#]*compute_uv\s*=\s*False)"
)


@dataclass(frozen=True, slots=True)
class _Diagonal:
    """A line that makes a diagonal matrix, the call, and the numbers on the diagonal."""

    line: Line
    call: str
    of: str


def check(case: Case) -> Iterator[Finding]:
    if framework_of(case) not in (TENSORFLOW, JAX):
        return
    for index, _, request in list(requests(case))[:1]:
        if request.fixed:
            continue
        if (line := _decomposition(case, request)) is not None:
            yield _of_full_factors(index, request, line)
        elif _square(request) and (diagonal := _diagonal(case, request)) is not None:
            yield _of_a_diagonal(index, request, diagonal)


def _square(request: Request) -> int:
    """The side of the square matrix that failed; 0 of anything else."""
    shape = request.failed.shape or ()
    side = (shape[-1] or 0) if len(shape) > 1 and shape[-1] == shape[-2] else 0
    return side if side >= _LEAST else 0


def _diagonal(case: Case, request: Request) -> _Diagonal | None:
    """The one line of the program that makes a diagonal matrix and multiplies by it."""
    lines = [*code_lines(case.capture.surroundings)]
    found: dict[str, _Diagonal] = {}
    for line in lines:
        if within := _WITHIN.search(line.text):
            call, of = within["call"] or within["call2"], within["of"] or within["of2"]
            found.setdefault(of, _Diagonal(line, call, of))
        elif made := _MADE.search(line.text):
            name = made["name"]
            if any(_multiplies(each, name) for each in lines if each is not line):
                found.setdefault(name, _Diagonal(line, made["call"], made["of"]))
    named = f"{request.failed.op or ''} {request.failed.node or ''} {request.failed.source_text or ''}"
    return next(iter(found.values())) if len(found) == 1 and _OPS.search(named) else None


_PRODUCT = regex(r"\b(?:matmul|dot)\([^#]*|\w+(?:\[[^\]]{0,40}\])?\s*(?=@)|(?<=@)\s*\w+")
_NAMES = regex(r"\w+")


def _multiplies(line: Line, name: str) -> bool:
    """Whether the line has a matrix product with what has this name."""
    return any(name in _NAMES.findall(product[0]) for product in _PRODUCT.finditer(line.text))


def _of_a_diagonal(index: int, request: Request, diagonal: _Diagonal) -> Finding:
    shape, of = request.failed.shape or (), diagonal.of
    what = (
        f"`{diagonal.call}({of})` ({diagonal.line.place}) makes a matrix {format_shape(shape)} of"
        f" {shape[-1]:,} numbers and zeros, and the program multiplies by it: most likely this is that"
        " matrix, or its gradient"
    )
    return _finding(
        index,
        request,
        diagonal.line,
        what,
        rows_times_numbers(of, request.needed_bytes),
    )


def _decomposition(case: Case, request: Request) -> Line | None:
    """The line that failed, where it decomposes a matrix with full factors."""
    text = (request.failed.source_text or "").strip()
    of_op = (request.failed.op or "") in _FACTORS
    lines = [line for line in code_lines(case.capture.surroundings) if _DECOMPOSES.search(line.text)]
    alike = [line for line in lines if text and line.text.strip() == text]
    if alike or (of_op and len(lines) == 1):
        return (alike or lines)[0]
    return request.failed.line if _DECOMPOSES.search(text) else None


_FACTORS = ("Svd", "Qr")


def _of_full_factors(index: int, request: Request, line: Line) -> Finding:
    shape = request.failed.shape
    which = f", {format_shape(shape)}," if shape else ""
    what = (
        f"the line asks a decomposition for its full factors ({line.place}): the one of the longer"
        f" side{which} is square, and what it has beyond the shorter side multiplies zeros"
    )
    return _finding(
        index,
        request,
        line,
        what,
        Remedy(
            "ask for the thin factors: they multiply to the same matrix, and each has as many columns as the"
            " shorter side",
            "tf.linalg.svd(x, full_matrices=False)   # of NumPy and JAX, too; qr: mode='reduced'",
            saves_bytes=request.needed_bytes,
            certainty=Certainty.BOUND,
            slug="thin-factors",
        ),
    )


def _finding(index: int, request: Request, line: Line, what: str, remedy: Remedy) -> Finding:
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        explains=request.needed_bytes,
        evidence=(Evidence("the line", line), Evidence("the request", request.failed.line)),
        remedies=(remedy,),
        moment=index,
        rules_out=(
            "lower-constant",
            "smaller-batch",
            "smaller-input",
            "in-batches",
            "in-pieces",
            "in-blocks",
        ),
    )
