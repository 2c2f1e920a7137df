"""An XLA request failed: as a rule a compiled program's temporaries, which it needs in one piece.

What it means: XLA packs all temporaries of one executable into one arena and asks for it at once. Where the
message lists the program's parts, its figure is that arena; a message without a list may also be about one
array. Arrays that other code keeps alive come on top of a program.
When it fires: the failure is an XLA or TPU program that does not fit, or an array that XLA could not place.
What to do: make the program smaller: batch, recomputation (`jax.checkpoint`, `tf.recompute_grad`), sharding,
donated buffers.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import given_and_returned, program_account, remedies
from tfmemlens.findings.support.alike import alive_alike, let_go, of_the_living
from tfmemlens.findings.support.main_buffers import Buffers, main_buffers
from tfmemlens.findings.support.new_shapes import new_shapes
from tfmemlens.findings.support.rows import device_limit, of_a_program, quote, requests, rows
from tfmemlens.findings.support.situation import JAX, TENSORFLOW, framework_of
from tfmemlens.findings.support.xla_arena import advice, facts
from tfmemlens.findings.support.xla_arena.because import because
from tfmemlens.findings.support.xla_arena.derivatives import rows_of_derivatives
from tfmemlens.model.allocation import Allocation
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Severity
from tfmemlens.model.incident import CompilerMemory
from tfmemlens.model.line import Line
from tfmemlens.units import Size, human, human_size

BASIS = Basis.FIGURES
EXPLAINS = "all that the program or buffer asks for"


def check(case: Case) -> Iterator[Finding]:
    yield from _asked_of_tensorflow(case)
    for index, moment, request in requests(case):
        failed = request.failed
        if (failed.allocator or "").startswith("xla_gpu_host"):
            continue  # a pool of host RAM, of which no program's arena is made
        compiler = moment.incident.compiler if moment.incident else None
        if failed.compiled and framework_of(case) == JAX:
            compiler = compiler or CompilerMemory()  # JAX says no more than its allocator's dump
        elif not failed.of_xla or compiler is None:
            continue
        if compiler.tried:
            continue  # one array of a kernel, which has a rule of its own
        buffers = rows_of_derivatives(case, moment) or main_buffers(moment, framework_of(case))
        little = facts.ends_no_step(case) or facts.explains_little(buffers, compiler)
        yield Finding(
            severity=Severity.CAUSE,
            headline=_headline(case, moment, compiler),
            because=because(case, moment, compiler)
            + _whose(case, moment, compiler, "" if little else _largest(buffers, compiler)),
            explains=_needed(compiler, failed.size),
            evidence=tuple(_evidence(moment, compiler)),
            detail=_detail(moment, compiler),
            remedies=tuple(advice.remedies_of(case, moment, compiler, buffers)),
            moment=index,
            rules_out=_ruled_out(case, moment, compiler),
        )


def _ruled_out(case: Case, moment: Moment, compiler: CompilerMemory) -> tuple[str, ...]:
    """Advice for another cause than the one that is said."""
    if not compiler.sections and alive_alike(moment):
        return _OF_A_BLOCK
    if given_and_returned.vectors(moment, compiler):
        return _OF_BATCHES
    full = facts.is_full(case, moment, compiler) and not case.capture.surroundings.stores
    return _OF_WHAT_IS_KEPT if full and new_shapes(case) else ()


_OF_WHAT_IS_KEPT = ("keep-numbers", "record-a-step", "see-device-users", "compare-shapes", "find-what-grows")
"""What looks for arrays that are kept, where programs are what piles up."""
_OF_BATCHES = (
    "smaller-evaluation-batch",
    "smaller-prediction-batch",
    "smaller-batch",
    "keep-numbers",
    "bucket-lengths",
    "in-blocks",
    "in-pieces",
)
"""What hides that two shapes do not fit each other, and leaves a wrong value."""


def _asked_of_tensorflow(case: Case) -> Iterator[Finding]:
    """XLA asked TensorFlow's allocator, whose dump tells more than XLA's sentence, but not for what."""
    for index, moment, request in requests(case):
        if not request.failed.compiled or framework_of(case) == JAX:
            continue
        alike = alive_alike(moment) if framework_of(case) != TENSORFLOW else None
        if alike:
            yield _of_the_living(case, index, moment, request, alike)
            continue
        by = " (jit_compile)" if framework_of(case) == TENSORFLOW else ""
        told = f"XLA asked for all temporaries of a compiled function{by} in one block, which names no layer"
        yield Finding(
            severity=Severity.CAUSE,
            headline=told,
            because=told,
            explains=request.needed_bytes,
            basis=Basis.NAME,
            evidence=(Evidence("the request", request.failed.line),),
            detail="A smaller batch makes the block smaller"
            + ("; without XLA the error names the op." if by else "."),
            remedies=(
                advice.WITHOUT_XLA,
                *remedies.offered(case, moment, "smaller-batch", "recompute"),
                remedies.name_the_buffers(),
            ),
            moment=index,
        )


def _of_the_living(case: Case, index: int, moment: Moment, request: Request, alike: Allocation) -> Finding:
    told = of_the_living(alike)
    return Finding(
        severity=Severity.CAUSE,
        headline=told,
        because=told,
        explains=alike.total_bytes,
        basis=Basis.NAME,
        evidence=(Evidence("the request", request.failed.line),),
        remedies=(let_go(case, moment),),
        moment=index,
        rules_out=_OF_A_BLOCK,
    )


_OF_A_BLOCK = ("name-the-buffers", "look-for-lists", "without-xla")
"""What looks into a block of temporaries, or into lists of a training."""


def _headline(case: Case, moment: Moment, compiler: CompilerMemory) -> str:
    assert moment.request
    size = moment.request.failed.size
    limit = device_limit(case, moment)
    if compiler.capacity and compiler.needed:
        space = facts.on_chip(moment)
        where = f" of {space}, memory on the chip," if space else ""
        return (
            f"the compiled program needs {human_size(compiler.needed)}{where} of"
            f" {human_size(compiler.capacity).removeprefix('about ')}: {facts.over(compiler)} too much"
        )
    if facts.in_host_space(moment) and compiler.needed:
        return f"the compiled program needs {human_size(compiler.needed)} of the host's RAM"
    if space := facts.on_chip(moment):
        name = moment.request.failed.executable
        kernel = f"a kernel ({name})" if name else "a kernel"
        return f"{kernel} does not fit {space}, memory on the chip"
    if compiler.free and size:
        name = moment.request.failed.executable
        what = "a program" if facts.loads_a_program(moment) else "a buffer"
        what = f"loading {name}" if name else what
        return f"{what} asks for {human_size(size)}, and {human_size(compiler.free)} was free"
    of = f" on a device with {human_size(limit)}" if limit else ""
    asked = human_size(size) if size else "an unknown amount"
    who = "one compiled program" if of_a_program(moment) else "XLA"
    return f"{who} asked for {asked} in one piece{of}"


def _detail(moment: Moment, compiler: CompilerMemory) -> str:
    if facts.on_chip(moment) or not of_a_program(moment) or compiler.free:
        return ""
    return "The figure covers one executable only: arrays that other code keeps alive come on top."


def _needed(compiler: CompilerMemory, size: Size | None) -> int | None:
    """All that the program or buffer needs: it is the whole problem, however little of it does not fit."""
    need = compiler.needed or (compiler.reduced_to if compiler.arguments_and_results else None) or size
    return need.bytes if need else None


def _evidence(moment: Moment, compiler: CompilerMemory) -> Iterator[Evidence]:
    assert moment.request
    if moment.request.failed.line:
        yield Evidence("the message", moment.request.failed.line)
    if compiler.arguments_and_results and compiler.reduced_line:
        yield Evidence("what XLA says of its arguments and results", compiler.reduced_line)
    elif compiler.reduced_to and compiler.reduced_line:
        was = f" (from {human_size(compiler.reduced_from)})" if compiler.reduced_from else ""
        yield Evidence(
            f"the compiler already reduced it to {human_size(compiler.reduced_to)}{was}",
            compiler.reduced_line,
        )
    for name, size, line in compiler.sections:
        if name in (
            "TensorCore",
            "SparseCore",
            "preallocated temp",
            "HLO temp",
            "parameter",
            "constant",
            "arguments",
            "output",
            "program",
            "total",
        ):
            yield Evidence(f"{name}: {human_size(size)}", line)
    for row in rows(moment)[:3]:
        yield quote(row)
    for value, held in program_account.made_at(moment, compiler)[:2]:
        file, _, number = (value.place or "").rpartition(":")
        if value.text and number.isdecimal():
            yield Evidence(f"makes {human(held)} of this", Line(int(number), value.text, file))


def _whose(case: Case, moment: Moment, compiler: CompilerMemory, largest: str) -> str:
    """The layer, else the line, then what its largest buffers are: a sentence that is too long loses its
    end.
    """
    layer = program_account.mostly_of_a_layer(moment, compiler)
    if of_each := _gradient_of_each_sample(case, moment):
        return f"{of_each}{layer}{largest}"
    made = program_account.mostly_made_at(moment, compiler)
    return f"{layer}{largest}{made}" if layer else f"{made}{largest}"


def _gradient_of_each_sample(case: Case, moment: Moment) -> str:
    """The line that makes gradients of each sample by itself, as a clause, where the program was read."""
    if framework_of(case) != JAX or not case.capture.surroundings.program():
        return ""
    from tfmemlens.findings.support.jax_computed import gradient_of_each_sample  # reads trees

    line = gradient_of_each_sample(case, moment)
    return f"; {line.place} makes a gradient for each sample by itself" if line else ""


def _largest(buffers: Buffers | None, compiler: CompilerMemory) -> str:
    """What its largest buffers are, as a clause; of a list without its beginning, those that it has."""
    those = "the largest that the text lists" if compiler.cut else "its largest buffers"
    if buffers and not buffers.largest:
        those = f"among {those}"
    return f"; {those} are {buffers.what} ({buffers.listed})" if buffers else ""
