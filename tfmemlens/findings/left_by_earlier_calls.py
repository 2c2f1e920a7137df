"""A step that went well in earlier calls of a program of XLA's fails in a later one: those left something.

What it means: a compiled step needs as much in each call. Where a script does the same work again and again,
and a later turn runs out, the earlier ones left arrays or programs: a model, its optimizer's state, a data
set on the device, a jitted function with what it closes over.
When it fires: a request of XLA's failed, and the text says that whole calls or runs went well before it, that
each goes well alone, that what a call with an error held stays, or that memory grows while something is
compiled again. Not where code shows what is kept, or a kernel met the end of a chip's own memory.
What to do: let go of what a call made before the next, or give each a process of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings import kept_by_a_loop, results_kept
from tfmemlens.findings.support.kept_code import kept, largest
from tfmemlens.findings.support.prose_of_jax import CLEARED
from tfmemlens.findings.support.rows import on_host, requests
from tfmemlens.findings.support.situation import JAX, TENSORFLOW, TORCH_XLA, framework_of
from tfmemlens.findings.support.xla_arena import facts
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

BASIS = Basis.NAME
EXPLAINS = "the request"

_OF_ONE_CALL = ("smaller-batch", "recompute", "donate-buffers", "what-runs-then")
_LET_GO = Remedy(
    "let go of what a call made before the next begins: return numbers or NumPy arrays, delete the model, its"
    " optimizer's state and the data on the device, and drop the programs",
    "out = jax.device_get(out); del state, batch; jax.clear_caches()   # then: gc.collect()",
    slug="start-anew",
)
_LET_GO_OF_TORCH = Remedy(
    "let go of what a call made before the next begins: return numbers, delete model, optimizer and batches,"
    " and end the step",
    "del model, optimizer, batch; gc.collect(); xm.mark_step()   # torch_xla.sync() in newer versions",
    slug="start-anew",
)
_LET_GO_OF_DRAWS = Remedy(
    "let go of the draws of one run before the next: the sampler's object holds them besides the name that"
    " you gave them, so that two runs are on the device at once",
    "draws, state = jax.device_get(mcmc.get_samples()), mcmc.last_state; del mcmc\n"
    "mcmc = MCMC(kernel, num_warmup=0, num_samples=n); mcmc.post_warmup_state = state",
    slug="start-anew",
)
_A_PROCESS = Remedy(
    "or do each in a process of its own, whose end frees everything",
    "multiprocessing.get_context('spawn').Pool(1, maxtasksperchild=1).map(run, inputs)",
    slug="own-process",
)
_WATCH = Remedy(
    "see which of them grows: print what is in use at the end of each call",
    "print(jax.local_devices()[0].memory_stats()['bytes_in_use'] >> 20, len(jax.live_arrays()))",
    slug="find-what-grows",
)


_STILL = regex(r"(?i)\bstill\b")
"""What the text says of the earlier one's results: they are there when the next begins."""


def check(case: Case) -> Iterator[Finding]:
    told = case.capture.surroundings
    said = told.shows("many runs before") or told.alone
    if framework_of(case) == TENSORFLOW:
        return
    if failed := told.shows("after an error"):
        yield from _of_an_error(case, failed)
        return
    if anew := compiled_again(case):
        yield from _of_programs(case, anew)
        return
    if said is None:
        return
    for index, moment, request in list(requests(case))[:1]:
        if not request.failed.of_xla or on_host(moment) or facts.on_chip(moment):
            continue
        if any(results_kept.check(case)) or any(kept_by_a_loop.check(case)):
            continue
        torch = framework_of(case) == TORCH_XLA
        held = largest(kept(told), on_host=False)
        what = (
            f"it went well in earlier calls ({said.place}), and one of the same size needs as much: most"
            " likely they left something on the device (a model and its optimizer's state, data, programs"
            " with what they close over)"
        )
        if held is not None:
            what = (
                f"it went well in earlier calls ({said.place}), and `{held.container}` ({held.line.place})"
                " keeps what each of them made on the device"
            )
        draws = told.shows("drawing chains") and _STILL.search(said.text)
        if draws and not held:
            what = (
                f"one run of the sampler fits ({said.place}), and what it drew is still there in the next:"
                " its object holds all draws of all sites, and so does a name that they were given"
            )
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=what,
            explains=request.needed_bytes,
            evidence=(
                Evidence("what the text says", said),
                Evidence("the message", request.failed.line),
            ),
            remedies=(
                *((_out_of(held.container),) if held else ()),
                *(
                    (_LET_GO_OF_TORCH, _A_PROCESS)
                    if torch
                    else (_LET_GO_OF_DRAWS if draws else _LET_GO, _A_PROCESS, _WATCH)
                ),
            ),
            moment=index,
            rules_out=_OF_ONE_CALL,
        )


def compiled_again(case: Case) -> Line | None:
    """Where a text on JAX says that memory grows while something is compiled again and again."""
    told = case.capture.surroundings
    grows = told.shows("growing in words") or told.shows("kept in words")
    line = told.shows("jax: recompiling") if grows and framework_of(case) == JAX else None
    return None if line is None or _DENIES.search(line.text) else line


_DENIES = regex(r"(?i)(?:\b(?:no|not|never|without)|n't) (?:\w+ ){0,3}re-?compil")


def _of_programs(case: Case, anew: Line) -> Iterator[Finding]:
    """What its writer found: programs that pile up, so that no setting of one call ends it."""
    moment = next((moment for _, moment, _ in requests(case)), None)
    if moment is None or on_host(moment) or facts.on_chip(moment):
        return
    what = (
        f"memory grows while something is compiled again and again ({anew.place}): each program stays, with"
        " its constants and the room that it is loaded to"
    )
    rules_out = (*_OF_ONE_CALL, "chunks-of-samples", "fewer-draws", "in-pieces")
    yield from _told(case, what, anew, (_SAME_SHAPES, _DROP), rules_out)


def _told(
    case: Case, what: str, line: Line, remedies: tuple[Remedy, ...], rules_out: tuple[str, ...]
) -> Iterator[Finding]:
    """The cause of the first request, which a line of the text tells."""
    for index, _, request in list(requests(case))[:1]:
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=what,
            explains=request.needed_bytes,
            evidence=(Evidence("what the text says", line), Evidence("the message", request.failed.line)),
            remedies=remedies,
            moment=index,
            rules_out=rules_out,
        )


_SAME_SHAPES = Remedy(
    "see what is compiled, and why: a line for each program names the function and the shapes. What differs"
    " from call to call (a number of neighbours, connected elements, a last batch) is padded to one size",
    "jax.config.update('jax_log_compiles', True)   # and jax_explain_cache_misses",
    slug="one-shape-of-jax",
)
_DROP = Remedy(
    "until then drop the programs now and then, each time at the cost of compiling again",
    "jax.clear_caches()   # every hundred turns",
    slug="start-anew",
)


def _of_an_error(case: Case, failed: Line) -> Iterator[Finding]:
    """A call that ended with an exception, whose traceback is kept with all that its frames hold."""
    what = (
        f"calls that ended with an error still hold the device ({failed.place}): Python keeps the last"
        " exception, a notebook more of them, and the frames of its traceback keep their arrays"
    )
    yield from _told(case, what, failed, (CLEARED, _WATCH), _OF_ONE_CALL)


def _out_of(container: str) -> Remedy:
    return Remedy(
        f"keep numbers in `{container}`, or arrays in host RAM",
        f"{container}.append(jax.device_get(out))",
        slug="keep-numbers",
    )
