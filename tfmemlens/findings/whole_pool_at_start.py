"""TensorFlow takes nearly all of a GPU when it starts, which is no failure.

What it means: unless told otherwise TensorFlow reserves nearly all memory of every GPU that it sees, and
deals it out itself. `nvidia-smi` shows what is reserved, the same for a large model and for none.
When it fires: the text says that all of a GPU's memory is taken, or more than expected, and quotes no
failure.
What to do: let the pool grow, or give it a limit, where others need the rest.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import code_snippets, pool_of_jax
from tfmemlens.findings.support.situation import JAX, TENSORFLOW, framework_of, situation
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line

BASIS = Basis.NAME
_OF_JAX = (
    "no failure is quoted: JAX reserves 75 % of a GPU at its first computation (projects often set 90 %),"
    " whatever the program needs, and deals it out itself; an import may compute already"
)
_LOOK_AT_JAX = Remedy(
    "to see what it really uses, or where others need the rest, let JAX take memory as needed, or a smaller"
    " part (XLA_PYTHON_CLIENT_MEM_FRACTION=.3), before it is imported",
    "export XLA_PYTHON_CLIENT_PREALLOCATE=false",
    slug="see-real-use",
)
EXPLAINS = "no bytes"


def check(case: Case) -> Iterator[Finding]:
    told = case.capture.surroundings
    if pool := pool_of_jax.told_of_the_pool(case):
        yield _of_jax(told, pool)
        return
    line = told.shows("taking the whole GPU")
    if case.moments or told.foreign or told.elsewhere or told.without_figures:
        return
    if told.shows("running short") or told.shows("growing in words"):
        return
    if line is None and (more := told.shows("more than expected")):
        yield _more_than_expected(case, more)
    if line is None or framework_of(case) != TENSORFLOW:
        return
    serving = situation(case).program == "TensorFlow Serving"
    what = (
        "no failure: TensorFlow reserves nearly all of a GPU's memory when it starts, whatever the model"
        " needs, so what nvidia-smi shows is not what the model uses"
    )
    grow = Remedy(
        "where other programs need the rest: let the server take memory as needed (the variable"
        " TF_FORCE_GPU_ALLOW_GROWTH=true), or a part of it (its flag"
        " --per_process_gpu_memory_fraction=0.3)"
        if serving
        else "where other programs need the rest: let TensorFlow take memory as needed",
        None if serving else code_snippets.growth(case.api),
        slug="growth",
    )
    yield _no_failure(what, line, grow)


def _of_jax(told: Surroundings, line: Line) -> Finding:
    """Of a text that tells of JAX's pool or of its settings before anything failed."""
    wrong = pool_of_jax.what_is_wrong(told)
    kept = " and keeps it until the process ends" if told.shows("kept in words") else ""
    what = (
        f"JAX's pool ({line.place}), and no failure is told: JAX reserves 75 % of a GPU at its first"
        f" computation (early releases and some projects 90 %), whatever the program needs{kept}"
    )
    if wrong:
        what += f"; {wrong[0]}"
    return Finding(
        severity=Severity.FACTOR,
        headline=what,
        because=what,
        evidence=tuple(
            Evidence(fact, each)
            for each, fact in {
                line: "what the text says",
                **({wrong[1]: "the setting"} if wrong else {}),
            }.items()
        ),
        remedies=tuple(pool_of_jax.remedies(told)),
    )


_DONATE = Remedy(
    "where arrays themselves take more in a training step: give the old state's memory to the new one, else"
    " both are there during the update",
    "step = jax.jit(step, donate_argnums=0)   # Flax NNX: nnx.jit(step, donate_argnums=...)",
    slug="donate-buffers",
)


def _no_failure(what: str, line: Line, *remedies: Remedy) -> Finding:
    return Finding(
        severity=Severity.FACTOR,
        headline=what,
        because=what,
        evidence=(Evidence("what the text says", line),),
        remedies=remedies,
    )


def _more_than_expected(case: Case, line: Line) -> Finding:
    """Of a text that compares what a tool shows with what was promised."""
    if framework_of(case) == JAX:
        trains = case.capture.surroundings.shows("training in words")
        return _no_failure(_OF_JAX, line, _LOOK_AT_JAX, *((_DONATE,) if trains else ()))
    what = (
        "no failure is quoted, and what nvidia-smi shows need not be what the program uses: JAX takes 75 % of"
        " a GPU when it starts (projects often set 90 %), TensorFlow nearly all of it"
    )
    look = Remedy(
        "see what it really uses: let it take memory as needed, and look again. Where it fails on a"
        " smaller GPU under JAX, let it take more than 75 % (XLA_PYTHON_CLIENT_MEM_FRACTION=.90)",
        "export XLA_PYTHON_CLIENT_PREALLOCATE=false TF_FORCE_GPU_ALLOW_GROWTH=true   # for the look",
        slug="growth",
    )
    return _no_failure(what, line, look)
