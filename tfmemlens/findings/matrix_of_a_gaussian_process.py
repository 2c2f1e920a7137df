"""The covariance of all points with all points, which an exact Gaussian process factorises whole.

What it means: an exact Gaussian process holds a matrix of N x N numbers for N points, and several more of
that size: distances, the kernel, its Cholesky factor and their gradients. The factor needs the whole matrix,
so no blocks of rows help, and there is no batch.
When it fires: the text names an exact Gaussian process, or a line factorises or inverts a matrix, and what
failed is a square matrix of at least 1,024 rows and 64 MiB.
What to do: a sparse approximation with inducing points, fewer points, or the CPU with its RAM.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.of_all_points import points_of_a_process
from tfmemlens.findings.support.rows import on_host, requests, tensor_text
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.units import human

BASIS = Basis.SHAPE
EXPLAINS = "the failing matrix"


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in list(requests(case))[:1]:
        found = points_of_a_process(case, request)
        need = request.failed.tensor_bytes
        if found is None or need is None:
            continue
        points, line = found
        factorises = "tf." in line.text and "GaussianProcess" not in line.text
        what = _of_a_factor(points, need, line) if factorises else _of_a_process(points, need, line)
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=what,
            explains=need,
            evidence=(
                Evidence(f"requested: {tensor_text(moment)}", request.failed.line),
                Evidence("the model", line),
            ),
            remedies=(
                _sparse(factorises, line),
                Remedy(
                    f"or fewer points: half of {points:,} makes each of these matrices a quarter",
                    slug="fewer-points",
                ),
                *(() if on_host(moment) else (_ON_THE_CPU,)),
            ),
            moment=index,
            rules_out=("in-blocks", "single-precision", "fewer-pairs", "smaller-batch", "smaller-input"),
        )


def _of_a_factor(points: int, need: int, line: Line) -> str:
    return (
        f"a matrix of all {points:,} rows with all rows, {human(need)}, is factorised or inverted"
        f" ({line.place}), which needs it whole, and makes several of that size"
    )


def _of_a_process(points: int, need: int, line: Line) -> str:
    return (
        f"an exact Gaussian process ({line.place}) has a matrix of all {points:,} points with all points,"
        f" {human(need)}, and several of that size at once: distances, kernel, Cholesky factor, gradients"
    )


def _sparse(factorises: bool, line: Line) -> Remedy:
    """A method whose largest matrix is smaller."""
    text = (
        "take a method that needs no factor of the whole matrix: a low-rank one (inducing points, Nystrom),"
        " or conjugate gradients with products computed in blocks"
        if factorises
        else "take a sparse Gaussian process, whose largest matrix is of all points with some hundred"
        " inducing points; with minibatches not even of all points"
    )
    of_gpflow = "gpflow.models.SGPR((X, Y), kernel=k, inducing_variable=X[::50].copy())   # or SVGP"
    return Remedy(text, of_gpflow if "gpflow" in line.text.lower() else None, slug="sparse-process")


_ON_THE_CPU = Remedy(
    "or compute on the CPU, if its RAM holds several of these matrices",
    "CUDA_VISIBLE_DEVICES=-1 python ...",
    slug="train-on-the-cpu",
)
