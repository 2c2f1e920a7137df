"""What a compiled XLA program needs, and what its temporaries are at the worst moment.

What it means: XLA plans a program's memory before it runs: arguments (weights, slots, batch) that exist
already, results, and one arena for all temporaries, in which values share places over time. The arena is
asked for in one piece; its size is what an OOM names.
When it fires: the input is a buffer assignment or a memory usage report of `--xla_dump_to`.
What to do: a smaller arena comes from a smaller batch, recomputation, or from breaking up what is alive at
the peak; arguments shrink with the model and its optimizer, or by donating buffers, so that results take
their place.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import program_account, remedies
from tfmemlens.findings.support.rows import failures, quote, rows
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import NOTHING, CompilerMemory, RequestKind
from tfmemlens.units import Size, human, human_size

_WORTH_A_WORD = 0.01
"""The share of the program's need from which its results are spoken of."""
BASIS = Basis.FIGURES
EXPLAINS = "the program's temporaries"


def check(case: Case) -> Iterator[Finding]:
    for index, moment in failures(case):
        incident = moment.incident
        if incident is None or incident.compiler is None or incident.request.kind is not RequestKind.PROGRAM:
            continue
        compiler = incident.compiler
        temporaries, arguments = compiler.temporaries or NOTHING, compiler.arguments or NOTHING
        shares = (
            f"{human_size(temporaries)} of temporaries in one arena, {human_size(arguments)} of arguments"
            f"{_results(compiler)}"
        )
        whole = _whole(compiler)
        size = human_size(whole) if whole else "more than this"
        compare = Remedy(
            f"look whether the device has {size} free: then nothing needs to change, since"
            " nothing failed here",
            "jax.devices()[0].memory_stats()['bytes_limit']",
            slug="compare-with-device",
        )
        smaller = remedies.offered(case, moment, "smaller-batch", "recompute")
        if arguments.bytes > temporaries.bytes:
            smaller = tuple(program_account.smaller_arguments(case, moment, compiler))
        donated = (
            [program_account.donate(case, compiler)] if program_account.donatable_bytes(compiler) else []
        )
        advice = (compare, *donated, *smaller)
        yield Finding(
            severity=Severity.FACTOR,
            headline=f"{shares}; the arena is allocated as one block",
            because=shares,
            explains=temporaries.bytes,
            evidence=(
                *(
                    Evidence(f"{name}: {human_size(size)}", line)
                    for name, size, line in compiler.sections
                    if name in ("preallocated temp", "parameter")
                ),
                *(
                    quote(row)
                    for row in rows(
                        moment,
                        lambda row: (
                            row.allocation.purpose == "preallocated temp" and row.allocation.node is not None
                        ),
                    )[:3]
                ),
            ),
            remedies=advice,
            moment=index,
        )


def _whole(compiler: CompilerMemory) -> Size | None:
    """All that it needs at once, where that is told."""
    return compiler.needed or compiler.section("total")


def _results(compiler: CompilerMemory) -> str:
    """The results that do not lie in the arguments' place, where there are any."""
    if not compiler.results or not compiler.results.bytes:
        return ""
    beside = compiler.results.bytes - (compiler.shared_bytes or 0)
    if beside <= 0:
        return ", the results in their place"
    whole = _whole(compiler)
    worth = whole is None or beside > _WORTH_A_WORD * whole.bytes
    return f", {human(beside)} of results beside them" if worth else ""
