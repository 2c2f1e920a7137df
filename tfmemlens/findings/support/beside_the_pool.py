"""What the driver keeps of JAX's programs outside JAX's pool: their code, the stacks of their kernels, and
CUDA graphs of their launches.

JAX takes 75 % of a GPU at its first computation, and these come out of what it leaves. No array is missing
there, so that no batch has a part in it.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import part_for_jax
from tfmemlens.findings.support.situation import JAX, framework_of
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Remedy
from tfmemlens.model.incident import RequestKind
from tfmemlens.patterns import regex

GRAPHS, CODE, KERNEL = "graphs", "code", "kernel"
_WORDS = (
    (GRAPHS, regex(r"(?i)\b(?:CUDA|GPU|HIP) graphs?\b|Capture\w*Graph|\b(?:cu|cuda|hip)Graph[A-Z]\w+")),
    (
        CODE,
        regex(
            r"in-memory CUBIN|\bcuModule(?:Load|GetFunction)|\bcuLibrary\w+|\bFailed to load PTX\b"
            r"|load(?:ing)? (?:GPU )?module|\bFailed to get module function\b"
        ),
    ),
    (KERNEL, regex(r"(?i)\bfailed to launch (?:CUDA|ROCm|HIP|GPU) kernel\b|\bcuLaunchKernel\w*")),
)
_EARLY_RUNTIME = regex(r"\bgpu graph|Capture\w*Graph|'xla\.gpu\.|\bGPU graphs\b")
"""Words of the runtime up to early 2024, which has another flag: an unknown one ends the program."""
_ALIVE = regex(r"total of (?P<graphs>\d{1,9}) alive graphs")
_TAKES = "XLA_PYTHON_CLIENT_PREALLOCATE"


def wanted(case: Case, moment: Moment) -> str | None:
    """What the driver refused: graphs, code or a kernel's start; None for all else."""
    failed = moment.request.failed if moment.request else None
    if failed is None or failed.kind is not RequestKind.DRIVER or failed.size or framework_of(case) != JAX:
        return None
    text = "\n".join(_lines(moment))
    return next((what for what, words in _WORDS if words.search(text)), None)


def _lines(moment: Moment) -> Iterator[str]:
    """The lines that tell of the failure."""
    failed = moment.request.failed if moment.request else None
    if failed and failed.line:
        yield failed.line.text
    yield from (line.text for line in (moment.incident.tellings if moment.incident else ()))


def alive(moment: Moment) -> int | None:
    """How many CUDA graphs the message counts in the process."""
    match = next(filter(None, map(_ALIVE.search, _lines(moment))), None)
    return int(match["graphs"]) if match else None


def refused(case: Case, moment: Moment) -> str | None:
    """What the driver had no memory for, as a clause."""
    what = wanted(case, moment)
    if what == GRAPHS and (many := alive(moment)):
        return (
            "the driver had no memory left for one more CUDA graph of a compiled program"
            f" ({many:,} are alive in the process)"
        )
    if what == GRAPHS:
        outside = f" (outside JAX's pool{_at_once(case)})"
        return f"the driver had no memory left for a CUDA graph of a compiled program{outside}"
    if what == KERNEL:
        return (
            "the driver had no memory left to start a kernel of a compiled program (its code and the stack of"
            f" its threads lie outside JAX's pool{_at_once(case)})"
        )
    return "the driver had no memory left for the code of one more compiled program" if what else None


def _at_once(case: Case) -> str:
    """That the pool is taken whole, unless the text says otherwise."""
    told = case.capture.surroundings
    if told.setting(_TAKES) or part_for_jax.stated(told) or told.setting("XLA_PYTHON_CLIENT_ALLOCATOR"):
        return ""
    return ", which takes 75 % of the GPU at its start"


def fewer_graphs(case: Case, moment: Moment) -> Remedy:
    """Do without graphs, where the text does not so already, or with fewer."""
    few = "let few programs be made (inputs padded to few shapes, one jitted function for all)"
    flag = "--xla_gpu_enable_command_buffer=   # empty: no such graphs, somewhat slower"
    if any(map(_EARLY_RUNTIME.search, _lines(moment))):
        flag = "--xla_gpu_graph_level=0   # no such graphs; later releases: --xla_gpu_enable_command_buffer="
    if case.capture.surroundings.setting("without_command_buffers"):
        return Remedy(f"{few}: each keeps graphs of its own", slug="constant-shapes")
    return Remedy(
        "each compiled program keeps CUDA graphs of its own in the driver's memory, beside JAX's pool: do"
        f" without them, or {few}",
        f"export XLA_FLAGS={flag}",
        slug="constant-shapes",
    )


LESS_CODE = Remedy(
    "or compile less in one program: loops of lax.scan or lax.fori_loop instead of unrolled ones, or the work"
    " in two jitted functions; a smaller batch changes no code",
    slug="roll-loops",
)
