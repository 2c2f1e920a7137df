"""The program predicts the structure of a protein, whose memory grows with the square of the length.

What it means: AlphaFold and its kin hold a row of numbers for each pair of residues, and several of these at
once. Twice the length takes four times the memory, whatever was done to the batch, which is one protein.
When it fires: the text speaks of such a program, and a request of JAX's of 1 MiB or more failed (of any
size where unified memory was refused); one of less than 64 MiB found the device full of such arrays.
What to do: fewer residues at once, host RAM as an extension of the GPU, or a GPU with more memory; where
unified memory was refused, more free host RAM.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tfmemlens.findings.earlier_cells import RESTART, number_of_cell
from tfmemlens.findings.support import one_gpu, part_for_jax
from tfmemlens.findings.support import unified as unified_memory
from tfmemlens.findings.support.host_ram.no_lack import ROOM_FOR_UNIFIED, WITHOUT_UNIFIED, on_wsl
from tfmemlens.findings.support.jax_stack import LEAST_BYTES
from tfmemlens.findings.support.residues import (
    FEWER_RESIDUES,
    FEWER_RESIDUES_THEN,
    LESS_TO_DESIGN,
    SMALLER_ALIGNMENT,
    SMALLER_ALIGNMENT_FIRST,
    with_host_ram,
)
from tfmemlens.findings.support.rows import device_limit, on_host, requests, rows
from tfmemlens.findings.support.situation import JAX, framework_of, situation
from tfmemlens.findings.support.xla_arena import advice
from tfmemlens.knowledge.device_names import CPU, TPU
from tfmemlens.model.capture import DeviceUse, Surroundings
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.model.tensor import format_shape
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, MIB, human

BASIS = Basis.NAME
EXPLAINS = "the request"

_OF_TRAINING = (
    "smaller-batch",
    "smaller-prediction-batch",
    "recompute",
    "donate-buffers",
    "in-pieces",
    "mixed-precision",
    "shapes-without-running",
    "in-blocks",
    "record-a-step",
    "ask-what-is-in-use",
    "larger-pool",
)
"""What a user of such a program has no hand in."""
_LEAST_BYTES = MIB
"""A request of less may have found the device full of anything, another process's memory first of all."""

_WITHOUT_THE_GPU = Remedy(
    "predict one short chain on the CPU, which is slow: if that ends well, all is installed; for work take a"
    " GPU of 8 GB or more",
    "JAX_PLATFORMS=cpu colabfold_batch ...",
    slug="on-the-cpu",
)
_SMALL_GPU = 4.5 * GIB


def _small_gpu(told: Surroundings) -> DeviceUse | None:
    """The largest GPU of a table, where it is a small one."""
    uses = [use for use in told.device_uses if use.total]
    most = max(uses, key=lambda use: use.total.bytes if use.total else 0, default=None)
    return most if most and most.total and most.total.bytes <= _SMALL_GPU else None


def check(case: Case) -> Iterator[Finding]:
    told = case.capture.surroundings
    design = told.shows("designing a protein")
    line = design or told.shows("structure prediction")
    if line is None or framework_of(case) not in (JAX, None) or told.shows("training"):
        return
    if told.shows("a protein's language") and not _FOLDS.search(line.text):
        return  # its length alone is named, of a sequence that another network reads
    unified = told.setting("TF_FORCE_UNIFIED_MEMORY")
    for index, moment, request in list(requests(case))[:1]:
        need = request.needed_bytes or _listed(moment) or _of_the_compiler(moment)
        refused = told.shows("unified memory refused")
        elsewhere = on_host(moment) and not _of_a_program(request)
        if need is None or elsewhere or (need < _LEAST_BYTES and not refused):
            continue
        no_gpu = situation(case, moment).device in (TPU, CPU)
        alignment = _of_the_alignment(moment)
        because = _because(need, refused, alignment, designs=design is not None) + _of_the_cap(case, unified)
        if not (no_gpu or unified or refused):
            because += _beyond_the_gpu(case, moment)
        if not (no_gpu or refused):
            because += one_gpu.others_add_none(told, one_gpu.STRUCTURE)
        small = _small_gpu(told) if need < LEAST_BYTES and not no_gpu else None
        if small and small.total:
            because = (
                f"the GPU has {human(small.total.bytes)} in all ({small.line.place}), in which the weights of"
                " such a network and its compiled programs hardly find room, however short the chain: it says"
                " nothing of the installation"
            )
        late = need < LEAST_BYTES and not design and number_of_cell(request) >= _MANY_RUNS
        if late and not (small or refused or on_host(moment)):
            because = _after_other_runs(number_of_cell(request))
        if on_host(moment):
            because = f"{human(need)} were asked for at once: {because}"
        yield Finding(
            severity=Severity.CAUSE,
            headline=because,
            because=because,
            explains=small.total.bytes if small and small.total else need,
            evidence=(
                Evidence("what the text says", line),
                Evidence("the message", request.failed.line),
            ),
            remedies=(
                *((RESTART,) if late else ()),
                *(advice.more_unified(case, moment) if unified and not refused else ()),
                *((WITHOUT_UNIFIED,) if refused and on_wsl(case) else ()),
                *((LESS_TO_DESIGN,) if design else _of_the_length(small is not None, alignment is not None)),
                *((ROOM_FOR_UNIFIED,) if refused and not on_wsl(case) else ()),
                *(
                    ()
                    if no_gpu or unified or refused or _needs_many_gpus(case, moment)
                    else (with_host_ram(need, device_limit(case, moment)),)
                ),
                *((SMALLER_ALIGNMENT,) if not design and (small or not alignment) else ()),
            ),
            moment=index,
            rules_out=_OF_TRAINING,
        )


_FOLDS = regex(r"(?i)fold|craft|design|model_\d")
_MANY_RUNS = 10
"""Runs of cells in one notebook, whose programs have fewer cells."""


def _after_other_runs(number: int) -> str:
    return (
        "so small a request fails only where the device is full: by the arrays of this prediction over all"
        " pairs of residues, which grow with the square of the length, or by what earlier runs left (this is"
        f" run {number} of a cell in this notebook)"
    )


def _listed(moment: Moment) -> int | None:
    """The largest buffer of a list, where what stood above it is missing: so much was needed at least."""
    compiler = moment.incident.compiler if moment.incident else None
    sizes = moment.attribution.table.size_bytes if compiler and compiler.cut else ()
    return max((int(size) for size in sizes), default=None)


def _of_the_compiler(moment: Moment) -> int | None:
    """What the compiler says that the program needs, where its warning alone is in the text."""
    compiler = moment.incident.compiler if moment.incident else None
    return compiler.reduced_to.bytes if compiler and compiler.reduced_to and compiler.goal else None


def _of_the_length(small: bool, alignment: bool) -> tuple[Remedy, ...]:
    """What makes the largest arrays smaller: those of pairs, or of the alignment."""
    if small:
        return (_WITHOUT_THE_GPU,)
    return (SMALLER_ALIGNMENT_FIRST, FEWER_RESIDUES_THEN) if alignment else (FEWER_RESIDUES,)


def _of_the_alignment(moment: Moment) -> Sequence[int] | None:
    """The shape of the largest listed array, where it has a row for each sequence of the alignment and is no
    square of residues.
    """
    listed = [each.allocation for each in rows(moment, lambda row: bool(row.allocation.shape))]
    largest = max(listed, key=lambda each: each.size_bytes, default=None)
    shape = [size for size in (largest.shape or ()) if size is not None] if largest else []
    if len(shape) != _RANK or not _SEQUENCES[0] <= shape[0] <= _SEQUENCES[1]:
        return None
    return shape if shape[0] != shape[1] and shape[2] in _CHANNELS else None


_RANK, _SEQUENCES, _CHANNELS = 3, (32, 8192), (64, 256)
"""Of the alignment's array: sequences (a power of two as a rule) x residues x channels of AlphaFold."""


def _of_a_program(request: Request) -> bool:
    """Whether XLA asked for it: its words tell it from what Python asks of the same RAM."""
    return request.failed.line is not None and "memory while trying to allocate" in request.failed.line.text


def _beyond_the_gpu(case: Case, moment: Moment) -> str:
    """That the whole program, whose last part alone was refused, has no room on this GPU."""
    compiler, limit = moment.incident.compiler if moment.incident else None, device_limit(case, moment)
    if compiler and compiler.reduced_to and compiler.goal:
        return (
            f"; the whole program needs {human(compiler.reduced_to.bytes)}, and the compiler's goal was"
            f" {human(compiler.goal.bytes)}"
        )
    whole = compiler.section("total") if compiler else None
    if whole is None or limit is None or whole.low <= limit.high:
        return ""
    return (
        f"; the whole program takes {human(whole.bytes)}, more than the {human(limit.bytes)} of this GPU:"
        " it says nothing of the installation"
    )


_MANY = 8
"""So many times the GPU no host's RAM extends it in a time that anybody waits."""


def _needs_many_gpus(case: Case, moment: Moment) -> bool:
    """Whether the compiler found the program to need many times what there is."""
    compiler, limit = moment.incident.compiler if moment.incident else None, device_limit(case, moment)
    if compiler is None:
        return False
    whole = compiler.section("total")
    if whole and limit and whole.bytes > _MANY * limit.bytes:
        return True
    if compiler.reduced_to is None or compiler.goal is None:
        return False
    return compiler.reduced_to.bytes > _MANY * compiler.goal.bytes


def _of_the_cap(case: Case, unified: object) -> str:
    """That unified memory is not in effect, or that its pool has a limit of its own, whatever RAM is free,
    where the text has it.
    """
    if why_not := unified_memory.why_not(case):
        return why_not
    part = part_for_jax.stated(case.capture.surroundings)
    if not unified or part is None or not part.above_all:
        return ""
    return (
        f"; with unified memory the pool may be {part.words} and no more ({part.line.place}), however much"
        " RAM is free"
    )


def _because(
    need: int, refused: Line | None, alignment: Sequence[int] | None = None, designs: bool = False
) -> str:
    """What fills the device, and that host RAM was not to be had beside it, where the log says so."""
    what = (
        "it predicts a protein's structure, whose arrays over all pairs of residues grow with the square of"
        " the length"
    )
    if alignment:
        what = (
            "it predicts a protein's structure; the largest array of the list,"
            f" {format_shape(alignment)}, has a row for each of {alignment[0]:,} sequences of the alignment"
        )
    if designs:
        what = (
            "it designs a protein with gradients through the network that predicts structures: beside arrays"
            " over all pairs of residues there is what the backward pass needs, so that a length which can be"
            " predicted may be too long to design"
        )
    if need < LEAST_BYTES:
        what = f"so small a request fails only where the device is full: {what}"
    if refused:
        what += f"; unified memory, host RAM for what the GPU has no room for, was refused ({refused.place})"
    return what
