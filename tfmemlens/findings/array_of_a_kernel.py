"""XLA found no room for one array of a kernel that it tried while it compiled a program.

What it means: on a GPU XLA runs candidates of a kernel before the program starts, each with arrays of the
real size. Where an operand or the result alone is too large, compiling fails, and the log quotes the kernel:
the array's shape, the op and the layer that it belongs to. No other temporaries are in this figure.
When it fires: the log quotes such a kernel, and one of its arrays has the bytes of the request.
What to do: what its kind needs: logits in parts, attention in blocks or with fewer tokens, products instead
of a Hessian, differences as matrix products; a smaller batch only where the array has one.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import jax_lines, remedies, tried_kernels, use_of_pairs
from tfmemlens.findings.support.main_buffers import Buffers
from tfmemlens.findings.support.rows import requests
from tfmemlens.findings.support.situation import JAX, framework_of
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity

BASIS = Basis.MEASURED
EXPLAINS = "the request"

_COMPILED = Remedy(
    "put the operations before and after it into one jitted function: XLA then joins them, and an array that"
    " only the next one reads need not exist",
    "y = jax.jit(f)(x)",
    slug="compile-the-call",
)
_IN_PARTS = Remedy(
    "go through its rows in blocks, and reduce each block before the next",
    "y = jax.lax.map(f, x, batch_size=256)   # f of one row",
    slug="in-blocks",
)


def check(case: Case) -> Iterator[Finding]:
    if framework_of(case) != JAX:
        return
    for index, moment, request in list(requests(case))[:1]:
        compiler = moment.incident.compiler if moment.incident else None
        if compiler is None or compiler.tried is None:
            continue
        kind = tried_kernels.kind_of(case, request, compiler)
        if kind is None and jax_lines.made_at(case, moment):
            continue  # the program says more
        what = _what(case, request, kind)
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=what,
            explains=request.needed_bytes,
            evidence=(
                Evidence("the kernel that XLA tried", compiler.tried),
                Evidence("the message", request.failed.line),
            ),
            remedies=tuple(_remedies(case, moment, request, kind)),
            moment=index,
            rules_out=("donate-buffers", *(use_of_pairs.OF_ROWS if _covariance(case, request, kind) else ())),
        )


def _what(case: Case, request: Request, kind: Buffers | None) -> str:
    function, operation = tried_kernels.function_of(request), tried_kernels.operation_of(request)
    whole = f"`{function}`" if function else "the program"
    when = f"it is one array, for which XLA found no room when it tried a kernel while it compiled {whole}"
    if operation:
        when = f"it is one array of `{operation}`, an operation that ran by itself"
    line = tried_kernels.line_of_layer(case, request)
    attention = kind is not None and "attention" in kind.what
    if line is None and attention:
        line = tried_kernels.line_of_attention(case)
    at = f" ({line.place})" if line else ""
    if kind is None:
        return f"{when}{at}"
    names = tried_kernels.names_of(case) if "logits" in kind.what or "pair" in kind.what else {}
    named = tried_kernels.shape_in_names(request.failed.shape or (), names)
    return f"{kind.what}{at}{named}; {when}"


def _covariance(case: Case, request: Request, kind: Buffers | None) -> int:
    """The rows of a matrix of all pairs that is factorised whole; 0 where it is none."""
    pairs = kind is not None and "every pair" in kind.what and use_of_pairs.is_factorised(case)
    sides = {size for size in request.failed.shape or () if size}
    return sides.pop() if pairs and len(sides) == 1 else 0


def _remedies(case: Case, moment: Moment, request: Request, kind: Buffers | None) -> Iterator[Remedy]:
    if kind is None:
        yield from (_COMPILED, _IN_PARTS) if tried_kernels.operation_of(request) else (_IN_PARTS,)
        return
    if side := _covariance(case, request, kind):
        yield use_of_pairs.fewer_rows(side)
        return
    names = tried_kernels.names_of(case)
    if "attention" in kind.what:
        yield from (tried_kernels.shorter(request, names), *kind.remedies)
        return
    yield from kind.remedies
    if "logits" in kind.what:
        yield tried_kernels.fewer_samples(request, names)
    elif kind.batch:
        yield from remedies.offered(case, moment, "smaller-batch")
