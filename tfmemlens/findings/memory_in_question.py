"""The text asks why a program of JAX takes what it takes, and tells of no failure.

What it means: two forms of one program differ, a donated array is there twice, the gradient of a loop needs
more the longer the loop is. That is no leak, and nothing ran out: the compiler planned it so, and its plan
can be read.
When it fires: no rule knows a failure, no words say that memory ran out, grows or is full, and the program is
JAX's. Words tell of more memory than in another form, of donation beside memory that is copied or compared,
or of memory beside the gradient of a loop or a replay buffer.
What to do: compare what the compiler plans for both; see whether donation took place; let the backward pass
compute steps again.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.jax_told import smaller_replay
from tfmemlens.findings.support.prose_of_jax import STEPS_AGAIN
from tfmemlens.findings.support.situation import JAX, framework_of, without_gpu
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

BASIS = Basis.NAME
EXPLAINS = "no bytes: no failure is told"
ALONE = True
"""It speaks where no other rule does."""

_COMPARE_PLANS = Remedy(
    "compile both, and compare what the compiler plans: what is given and returned should be alike, and what"
    " differs (temp) is made inside: copies, or what is kept for the backward pass",
    "print(jax.jit(step).lower(state, batch).compile().memory_analysis())   # of each form",
    slug="see-the-plan",
)
_SEE_WHETHER_DONATED = Remedy(
    "see whether donation took place: False means that the old array is still there. It needs an argument"
    " that is given by its place and is on the device that the function runs on, and a result of the same"
    " shape and type; what is there under another name is copied all the same",
    "new = step(old, batch); print(jax.tree.leaves(old)[0].is_deleted())",
    slug="tell-which",
)
_NEWER_ON_THE_CPU = Remedy(
    "on the CPU early releases ignore donation: compare a newer jaxlib",
    "pip install -U jax jaxlib",
    slug="newer-release",
)
_ONE_PROGRAM = Remedy(
    "or put the whole loop into one jitted function (lax.scan): inside a program XLA uses memory again by"
    " itself, and donation counts for the arguments of the outermost function alone",
    slug="loop-of-xla",
)


_NESTED = Remedy(
    "recomputing the whole loop keeps nothing of it until its own backward pass, and recomputing its body"
    " keeps the carry of each turn: do both in blocks of about the square root of the turns",
    "jax.lax.scan(jax.checkpoint(block_of_steps), state, blocks)   # each block a scan of its own",
    slug="recompute-some",
)
_MEASURE = Remedy(
    "read what JAX's pool has in use, now and at its peak (a GPU, a TPU): nvidia-smi shows the pool, full or"
    " empty; who holds it is in a device memory profile",
    "jax.local_devices()[0].memory_stats()['peak_bytes_in_use']   # jax.profiler.save_device_memory_profile",
    slug="see-real-use",
)
_PLAN_FIRST = Remedy(
    "or ask the compiler before anything runs: arguments, results and temporaries of one call",
    "print(jax.jit(f).lower(*args).compile().memory_analysis())",
    slug="see-the-plan",
)
_OF_PYTORCH = regex(r"(?i)\b(?:py)?torch\b(?![/_]xla)")
_COUNT_ALIKE = Remedy(
    "count the same of both: arrays that are alive at the peak. nvidia-smi counts as well what each library"
    " keeps beside them: its context, kernels that are loaded, workspaces, and the pool, in use or not",
    "jax.local_devices()[0].memory_stats()['peak_bytes_in_use']   # torch.cuda.max_memory_allocated()",
    slug="see-real-use",
)
_OF_MEMORY = regex(r"(?i)\b(?:memory|V?RAM|HBM|[GM]i?B)\b")


def check(case: Case) -> Iterator[Finding]:
    told = case.capture.surroundings
    if framework_of(case) != JAX or case.moments or told.raised or any(map(told.shows, _OF_A_FAILURE)):
        return
    at_issue = told.shows("memory at issue") or told.shows("GPU memory named")
    twice, donated = told.shows("jax: twice"), told.shows("jax: donation in words")
    if twice and not _OF_MEMORY.search(twice.text):
        twice = None  # something is given twice
    loop, graded = told.shows("jax: a long loop"), told.shows("jax: a gradient")
    of_the_loop = told.shows("jax: complexity of memory") or told.shows("jax: recomputing") or at_issue
    if donated and (twice or told.shows("jax: figures compared")):
        yield _of_donation(case, donated, twice or donated)
    elif line := told.shows("jax: more memory than"):
        what = f"{line.place} says that one program takes more memory than another"
        helps = (_COMPARE_PLANS, remedies.name_the_buffers())
        if _OF_PYTORCH.search(line.text):
            helps = (_COUNT_ALIKE, _PLAN_FIRST)  # a program that XLA does not compile
        yield _finding(what, line, *helps)
    elif loop and graded and of_the_loop:
        what = (
            f"the gradient of a loop keeps what its backward pass needs of every turn ({loop.place}), so it"
            " needs more the more turns there are, and is no leak"
        )
        again = (_NESTED,) if told.shows("jax: recomputing") else STEPS_AGAIN[:1]
        yield _finding(what, loop, *again, *STEPS_AGAIN[1:])
    elif line := told.shows("jax: asks how to measure"):
        what = f"{line.place} asks how to measure what a program takes"
        yield _finding(what, line, _MEASURE, _PLAN_FIRST)
    elif (buffer := told.shows("learning from a buffer")) and at_issue:
        what = f"most likely the replay buffer ({buffer.place}), which is made whole before the first step"
        yield _finding(what, buffer, smaller_replay(told))


_OF_A_FAILURE = (
    *("running short", "growing in words", "ended in words", "killed in words", "hanging in words"),
    *("much memory in words", "kept in words", "raising an exception", "slowing in words"),
)


def _of_donation(case: Case, donated: Line, line: Line) -> Finding:
    says = "memory is there twice" if line != donated else "memory is compared with and without donation"
    what = f"{line.place} says that {says}, and {donated.place} donates an argument"
    if line == donated:
        what = f"{line.place} speaks of donating an argument, and its memory is compared"
    release = (_NEWER_ON_THE_CPU,) if without_gpu(case) or case.capture.surroundings.shows(_CPU) else ()
    return _finding(what, line, _SEE_WHETHER_DONATED, _ONE_PROGRAM, *release)


_CPU = "compared with the CPU"


def _finding(what: str, line: Line, *helps: Remedy) -> Finding:
    what = f"no failure is told: {what}"
    return Finding(
        severity=Severity.FACTOR,
        headline=what,
        because=what,
        evidence=(Evidence("what the text says", line),),
        remedies=helps,
    )
