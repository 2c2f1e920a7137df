"""The program is a known one of JAX's, whose own settings decide how much it needs.

What it means: a weather model holds the whole globe, a sampler all of its samples, a solver every point that
it saves, a server the pool that it was told to take. Advice for a training (a smaller batch, accumulated
gradients) names nothing that these programs have.
When it fires: the text names such a program, or shows its stack, and a request of JAX's of 64 MiB or more
failed, or a device that it filled; nothing where the code shows which array it is, or where a kernel met the
end of a TPU core's own small memory.
What to do: change the setting of the program that the memory goes with.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.left_by_earlier_calls import compiled_again
from tfmemlens.findings.support import one_gpu, own_settings, part_for_jax, program_account
from tfmemlens.findings.support.main_buffers import main_buffers
from tfmemlens.findings.support.rows import device_limit, on_host, requests
from tfmemlens.findings.support.servers import A_SERVER
from tfmemlens.findings.support.situation import JAX, TORCH_XLA, framework_of
from tfmemlens.findings.support.xla_arena import facts
from tfmemlens.findings.support.xla_arena.because import because as too_little
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.units import MIB, human_size
from tfmemlens.values import replace

BASIS = Basis.NAME
EXPLAINS = "the request"

_LEAST_BYTES = 64 * MIB
"""A smaller one found the device full, which these settings do as well, but not of a known share."""


def check(case: Case) -> Iterator[Finding]:
    serves = framework_of(case) == TORCH_XLA and case.capture.surroundings.shows("program: a server")
    if framework_of(case) not in (JAX, None) and not serves:
        return
    for index, moment, request in list(requests(case))[:1]:
        known = own_settings.of_the_program(case, surely_jax=framework_of(case) is not None)
        if compiled_again(case):
            continue  # its writer found what grows
        if known is None or facts.on_chip(moment) or not _asks_for_much(moment, request):
            continue  # a kernel's own memory on the chip is no setting's of the program
        if known.program.fact == A_SERVER and (loads := _loads_weights(case)):
            yield _of_weights(index, request, known, loads)
            continue
        compiler = moment.incident.compiler if moment.incident else None
        of_results = compiler is not None and program_account.mostly_results(compiler)
        serving = known.program.fact == A_SERVER
        if (not serving and _is_known_better(case, moment)) or (
            known.program.fact == own_settings.AFTER_DRAWS and not of_results
        ):
            continue
        of_a_list = main_buffers(moment, JAX) is not None
        alone = known.program.of_a_list or not of_a_list
        because = (
            f"it is {known.program.name} ({known.line.place}): {known.program.grows}{_on_one(case, known)}"
        )
        if known.program is own_settings.TRAINER and compiler and compiler.needed and compiler.capacity:
            because = f"{too_little(case, moment, compiler)}; {because}"
        if compiler and facts.is_arena(compiler, request.failed.size):
            because += program_account.beside_its_arena(compiler, device_limit(case, moment))
        if compiler and compiler.reduced_to and compiler.goal:
            because += (
                f"; even after rematerialisation the program needs {human_size(compiler.reduced_to)}, and"
                f" {human_size(compiler.goal)} was the compiler's goal"
            )
        yield Finding(
            severity=Severity.CAUSE if alone else Severity.FACTOR,
            headline=f"it is {known.program.name}: {known.program.grows}",
            because=because,
            explains=request.needed_bytes,
            evidence=(
                Evidence("what the text says", known.line),
                Evidence("the message", request.failed.line),
            ),
            remedies=(
                *_larger_pool(case, moment, known),
                *known.remedies(
                    case,
                    on_host=on_host(moment),
                    returns_much=compiler is not None and program_account.returns_much(compiler),
                ),
            ),
            moment=index,
            rules_out=known.program.not_of_it,
        )


def _larger_pool(case: Case, moment: Moment, known: own_settings.NamedProgram) -> Iterator[Remedy]:
    """A larger part of the GPU, where the whole program is known and has room in it."""
    compiler, limit = moment.incident.compiler if moment.incident else None, device_limit(case, moment)
    total = compiler.section("total") if compiler else None
    if (
        compiler is None
        or total is None
        or limit is None
        or on_host(moment)
        or known.program.fact == A_SERVER
    ):
        return
    if part_for_jax.USUAL * limit.high < total.low and facts.larger_pool_may_do(case, moment, compiler):
        yield replace(
            part_for_jax.LARGER_POOL,
            text=(
                "let JAX take more of the GPU than 75 %, if nothing else needs the rest: the whole program"
                f" needs {human_size(total)} of {human_size(limit)}"
            ),
        )


def _loads_weights(case: Case) -> Line | None:
    """The line that says that the server failed while it loaded weights, before it makes its cache."""
    return case.capture.surroundings.shows("loading weights in words")


def _of_weights(index: int, request: Request, known: own_settings.NamedProgram, line: Line) -> Finding:
    """A server whose weights did not fit: no length of a request plays a part yet."""
    what = (
        f"it is {known.program.name} ({known.line.place}), and it failed while weights were loaded"
        f" ({line.place}), before it takes anything for requests: the weights' part of each device is too"
        " large, or they lie there in a wider type first"
    )
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        explains=request.needed_bytes,
        evidence=(Evidence("what the text says", line), Evidence("the message", request.failed.line)),
        remedies=(
            Remedy(
                "spread the weights over all devices, and see in its log that it does: each then holds its"
                " part alone",
                "--tensor-parallel-size 8   # as many as there are devices",
                slug="shard-arguments",
            ),
            Remedy(
                "load a checkpoint whose weights are quantised already: one that is quantised while it loads"
                " may lie on the device in 16 bits first, twice as large as in 8; else a smaller model, or"
                " devices with more memory",
                slug="smaller-model",
            ),
        ),
        moment=index,
        rules_out=(*known.program.not_of_it, "smaller-cache-part", "shorter-sequences"),
    )


def _on_one(case: Case, known: own_settings.NamedProgram) -> str:
    """That other GPUs of the machine add no memory, where a program computes one input on one device."""
    if known.program.fact != own_settings.WEATHER:
        return ""
    return one_gpu.others_add_none(case.capture.surroundings, one_gpu.FORECAST)


def _asks_for_much(moment: Moment, request: Request) -> bool:
    compiler = moment.incident.compiler if moment.incident else None
    return (request.needed_bytes or 0) >= _LEAST_BYTES or bool(compiler and compiler.needed)


def _is_known_better(case: Case, moment: Moment) -> bool:
    """Whether the code, or the settings of the text, say which array it is."""
    from tfmemlens.findings.support.jax_lines import made_at  # reads trees

    return made_at(case, moment) is not None
