"""A request that no device has is a square number of values: most likely one for every pair of rows.

What it means: `[n,1]` combined with `[n]` gives `[n,n]`, without an error: a column of labels against a flat
prediction is enough. With some 100,000 rows that is more than any device holds.
When it fires: a request of JAX's beyond the device (or any device, where none is known; on the CPU of 32 GiB
or more), without a list of buffers, is n x n values to the byte, with an n of 16,384 or more that can hardly
be chance; or the text states an n whose square is the request but for a thousandth, which is what else the
program needs. Where the program names two numbers of 1,000 and more of which every pair has whole numbers in
the request, it is of these two.
What to do: print the shapes of what is combined, and drop the axis of length 1. Where pairs are meant, go
through them in blocks; a Gaussian process takes fewer rows or an approximation.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

from tfmemlens.findings.second_order_matrix import side_of_hessian
from tfmemlens.findings.support import jax_lines, use_of_pairs
from tfmemlens.findings.support.program_lines import code_lines, settings_by_name
from tfmemlens.findings.support.rows import device_limit, lists_buffers, on_host, requests
from tfmemlens.findings.support.situation import JAX, framework_of
from tfmemlens.findings.support.stated_parameters import of_stated_parameters
from tfmemlens.findings.support.stated_sizes import (
    LEAST_SQUARE_SIDE,
    SQUARE_DTYPES,
    SQUARE_TELLING,
    TWICE,
    odd_part,
    stated_square,
)
from tfmemlens.findings.support.xla_arena.facts import LARGEST_DEVICE
from tfmemlens.model.capture import StatedSize
from tfmemlens.model.case import Case, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, square_side

BASIS = Basis.SHAPE
EXPLAINS = "the request"


def check(case: Case) -> Iterator[Finding]:
    if framework_of(case) not in (JAX, None):
        return
    from tfmemlens.findings.support.jax_computed import is_told_by_the_code, makes_pairs  # reads trees

    for index, moment, request in list(requests(case))[:1]:
        need, limit = request.needed_bytes, device_limit(case, moment)
        if not need or lists_buffers(moment) or side_of_hessian(request) or of_stated_parameters(case, need):
            continue
        if case.capture.surroundings.shows("jax: a full guide"):
            continue  # a covariance, which is a square of latent values
        stated = stated_square(need, case.capture.surroundings.sizes)
        failed = request.failed
        made = jax_lines.made_by(failed.source_text, need, failed.frames, way=False)
        if stated and made and not jax_lines.is_of_draws(made):
            continue  # the line says what it makes
        square = stated[:2] if stated else _square(need)
        on_cpu = on_host(moment) and "CPU" in (request.failed.device or "")
        most = _MUCH_ON_THE_HOST if on_cpu else LARGEST_DEVICE
        if stated is None and need <= (limit.high if limit else most):
            continue
        named = None if stated or made else _named_pairs(case, need)
        if named:
            if not makes_pairs(case, need, (named.rows[1], named.others[1])):
                yield _of_named(index, request, need, named)
            continue  # else failing-line-of-jax names its line
        if square is None:
            continue
        if stated is None and (printed := _printed_rows(case, need)):
            yield _of_printed(index, request, need, printed)
            continue  # a square of such rows is one by chance
        side, dtype = square[0], square[1]
        seen = bool(case.capture.surroundings.program())
        if dtype == "float64" and not ((on_cpu and not seen) or _has_64_bits(case)):
            dtype = TWICE
        if _is_of_a_hessian(case, request):
            continue  # failing-line-of-jax says it
        meant = use_of_pairs.are_meant(case)
        if is_told_by_the_code(case, side, need) or (not meant and makes_pairs(case, need, (side,))):
            continue  # failing-line-of-jax names its line
        exact = "to the byte" if _square(need) == square else "but for a thousandth"
        where = f" ({stated[2].place} states {side:,})" if stated else ""
        fit = use_of_pairs.rows_that_fit(side, need, limit.bytes) if limit and limit.bytes else None
        yield Finding(
            severity=Severity.CAUSE,
            headline=f"the request is {side:,} x {side:,} values in {dtype}, {exact}{where}",
            because=f"{exact} it is {side:,} x {side:,} in {dtype}{where}, so most likely a value for every"
            f" row with every row: a kernel or distances{'' if meant else _BY_MISTAKE}",
            explains=need,
            evidence=(
                Evidence("the message", request.failed.line),
                *((Evidence("the number of rows", stated[2]),) if stated else ()),
            ),
            remedies=tuple(
                use_of_pairs.of_meant_pairs(case, side, need, fit)
                if meant
                else _remedies(case, side, need if stated else None, fit)
            ),
            moment=index,
            rules_out=use_of_pairs.OF_ROWS if stated and use_of_pairs.is_factorised(case) else (),
        )


def _is_of_a_hessian(case: Case, request: Request) -> bool:
    """Whether the program makes a Hessian, which is a square of what it is differentiated by, and no other
    line is known to have failed.
    """
    from tfmemlens.findings.support.jax_program import derivatives_by_program  # reads trees

    text = request.failed.source_text
    made = derivatives_by_program(case.capture.surroundings) if framework_of(case) == JAX else None
    return made is not None and "Hessian" in made.what and (not text or "hessian" in text)


def _printed_rows(case: Case, need: int) -> StatedSize | None:
    """The array of most rows that the output prints, of which each row has whole numbers in the request."""
    sizes = case.capture.surroundings.sizes
    fitting = [
        each
        for each in sizes
        if max(each.sizes) >= _MANY_ROWS
        and need % (_FLOAT * max(each.sizes)) == 0
        and 1 < need // (_FLOAT * max(each.sizes)) <= _WIDEST
    ]
    return max(fitting, key=lambda each: max(each.sizes), default=None)


_MANY_ROWS, _WIDEST = 1_000_000, 65_536


def _of_printed(index: int, request: Request, need: int, printed: StatedSize) -> Finding:
    rows = max(printed.sizes)
    named = f"`{printed.name}` ({printed.line.place})" if printed.name else printed.line.place
    what = (
        f"to the byte it is {need // (_FLOAT * rows):,} float32 values for each of the {rows:,} rows of"
        f" {named}, so most likely what layers make of all of them at once"
    )
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        explains=need,
        evidence=(Evidence("the message", request.failed.line), Evidence("so many rows", printed.line)),
        remedies=(
            Remedy(
                f"go through the {rows:,} rows in blocks (some 10,000 to 100,000 at a time), and bring each"
                " block's result to the host: where no gradient is taken nothing else is kept",
                "parts = [np.asarray(f(params, x[i : i + 65536])) for i in range(0, len(x), 65536)]",
                slug="in-blocks",
            ),
            Remedy("or take fewer of them: a coarser grid, a part of the samples", slug="subsampling"),
        ),
        moment=index,
        rules_out=("smaller-batch", "gradient-accumulation", "recompute"),
    )


class _Pairs(NamedTuple):
    """Two numbers of the program, the larger first, of which each pair takes so many bytes."""

    rows: tuple[str, int, Line]
    others: tuple[str, int, Line]
    each: int


def _named_pairs(case: Case, need: int) -> _Pairs | None:
    """The only two numbers that the program names of which every pair has whole numbers in the request."""
    numbers = settings_by_name(code_lines(case.capture.surroundings))
    large = [(name, figure, line) for name, (figure, line) in numbers.items() if figure >= _LEAST_NAMED]
    found = [
        _Pairs(rows, others, need // (rows[1] * others[1]))
        for rows, others in combinations(sorted(large, key=lambda each: -each[1]), 2)
        if need % (_FLOAT * rows[1] * others[1]) == 0 and need <= _MOST_OF_A_PAIR * rows[1] * others[1]
    ]
    return found[0] if len(found) == 1 else None


_LEAST_NAMED, _MOST_OF_A_PAIR = 1000, 256
"""A smaller number is a side by chance; so many bytes are an array of a few numbers, or a few arrays."""


def _of_named(index: int, request: Request, need: int, pairs: _Pairs) -> Finding:
    (name, rows, line), (other, many, beside), each = pairs
    arrays = "an array" if each == _FLOAT else "arrays"
    what = (
        f"it is, to the byte, {each} bytes for each pair of {rows:,} (`{name}`) and {many:,} (`{other}`), so"
        f" most likely {arrays} with a value for every row of one with every row of the other"
    )
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        explains=need,
        evidence=(
            Evidence("the message", request.failed.line),
            Evidence(f"`{name}`", line),
            *((Evidence(f"`{other}`", beside),) if beside != line else ()),
        ),
        remedies=(
            Remedy(
                "go through the rows that the result keeps in blocks, and reduce each over the others:"
                f" {_fitting(many, each)} of `{name}`, or {_fitting(rows, each)} of `{other}`, at a time take"
                " 1 GiB at most",
                "y = jax.lax.map(f, x, batch_size=...)   # f of one row that is kept against all others",
                slug="in-blocks",
            ),
        ),
        moment=index,
    )


def _fitting(others: int, each: int) -> str:
    """How many rows take a GiB with so many others."""
    few = max(GIB // (others * each), 1)
    return f"{1 << (few.bit_length() - 1):,}"


_FLOAT = 4
_MUCH_ON_THE_HOST = 32 * GIB
"""So much at once is no part of what a program on the CPU usually holds."""


def _has_64_bits(case: Case) -> bool:
    """Whether the text speaks of numbers in 64 bits."""
    told = case.capture.surroundings
    lines = (*told.code, *filter(None, (told.shows("jax: 64 bits"),)))
    return any(_WIDE.search(line.text) for line in lines)


_WIDE = regex(r"(?i)x64|float64|\bdouble\b|64[- ]bits?")
_BY_MISTAKE = ", or by mistake, where [n,1] is combined with [n]"


def _square(need: int) -> tuple[int, str] | None:
    """The side and the type of a square that is the request, where it is one of a single type."""
    found = [(side, dtype) for item, dtype in SQUARE_DTYPES if (side := square_side(need, item)) is not None]
    side = found[0][0] if len(found) == 1 else 0
    return found[0] if side >= LEAST_SQUARE_SIDE and odd_part(side) >= SQUARE_TELLING else None


def _remedies(case: Case, side: int, stated: int | None, fit: int | None) -> Iterator[Remedy]:
    """Where nobody says that pairs are meant: what is quickly looked at, and what helps if they
    are; with fewer rows where the text states their number, whose pairs need `stated` bytes.
    """
    numpyro = case.api.library == "NumPyro"
    where = " (of NumPyro: each site, its plate, and `obs`)" if numpyro else ""
    yield Remedy(
        f"look for what has {side:,} rows, and print the shapes that are combined{where}: [n,1] against [n]"
        " gives [n,n]; drop the axis of length 1",
        "tr = handlers.trace(handlers.seed(model, key)).get_trace(x, y);"
        " print(numpyro.util.format_shapes(tr))"
        if numpyro
        else "y = y.squeeze(-1)   # print(jax.eval_shape(f, *arguments)) shows shapes without running",
        slug="compare-shapes",
    )
    yield Remedy(
        "if every row with every row is meant (a kernel or distances): go through the rows in blocks,"
        " and reduce"
        " each block at once",
        "y = jax.lax.map(f, x, batch_size=256)   # f of one row against all others",
        slug="in-blocks",
    )
    if stated:
        yield use_of_pairs.fewer_rows(side, fit, stated)
