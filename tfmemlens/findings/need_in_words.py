"""The text tells in words how much memory something needs, and quotes no failure.

What it means: who writes `this requires 16 TB of memory` or `I need 50 GB to compute it` has a question of
memory, whether or not a message stands there. What needs so much at once is mostly one call that makes the
results of all of its rows together, or keeps what its backward pass needs.
When it fires: no rule knows a failure, and a line of prose states a size that something needs, takes or uses,
of the program's and not of the machine's.
What to do: ask the compiler, or measure, what one call takes; compute in parts.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import part_for_jax
from tfmemlens.findings.support.pool_of_jax import BEFORE_JAX, LOOK_INSIDE, takes_as_needed
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.findings.support.situation import JAX, TENSORFLOW, framework_of, situation
from tfmemlens.findings.support.traceback_place import of_a_cut_traceback
from tfmemlens.findings.support.xla_arena.facts import LARGEST_DEVICE
from tfmemlens.model.capture import NEED_IN_WORDS
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import GIB

BASIS = Basis.NAME
EXPLAINS = "no bytes: no failure is told"
ALONE = True
"""It speaks where no other rule does."""

_IN_PARTS = Remedy(
    "compute in parts: vmap makes what it does inside for all rows at once, and lax.map with a batch size for"
    " some of them at a time (jax 0.4.31 and newer; else a loop over slices)",
    "out = jax.lax.map(f, xs, batch_size=1024)   # instead of jax.vmap(f)(xs)",
    slug="in-blocks",
)
_PARTS_OF_A_LIBRARY = Remedy(
    "call it for a part at a time (some rows, pairs or points) and join the results: what it makes inside for"
    " all of them at once is then that of one part",
    slug="in-blocks",
)
_PLAN = Remedy(
    "ask the compiler before anything runs, at two sizes: what grows between them is made inside"
    " (temporaries)"
    " or is what is given and returned",
    "print(jax.jit(f).lower(*args).compile().memory_analysis())",
    slug="see-the-plan",
)
_AGAIN = Remedy(
    "where a gradient is taken through it, let the backward pass compute it again: each turn of a loop keeps"
    " what its gradient needs, so memory goes with the number of turns",
    "y = jax.checkpoint(f)(x)   # in a loop: jax.lax.scan(jax.checkpoint(body), state, xs)",
    slug="recompute-some",
)
_PEAK = Remedy(
    "see what the device really has in use at its peak, which is less than what TensorFlow reserves",
    "print(tf.config.experimental.get_memory_info('GPU:0')['peak'] >> 20, 'MiB')   # TF 2.5+",
    slug="see-real-use",
)
_RAM = Remedy(
    "print the RAM of the process before and after each stage: that at which it jumps is the one to change",
    "print(psutil.Process().memory_info().rss >> 20, 'MiB')",
    slug="tell-which",
)
_NEEDS = regex(
    r"(?i)\b(?P<verb>needs?|requires?|takes?|uses?|consum\w+|using|requiring|allocates?)\b[^.\n]{0,24}?"
    r"(?P<size>\d{1,5}(?:\.\d{1,2})?) ?(?P<unit>[GT])i?B?\b"
)
_BYTES = {"G": GIB, "T": 1024 * GIB}
_OF_HOST = regex(r"(?i)\bRAM\b|\b(?:host|CPU|system) memory\b|\blaptop\b|\bswap")
_OF_GPU = regex(r"(?i)\b(?:GPU|VRAM|HBM|device|TPU)\b")
_VMAPS = regex(r"\bvmap\((?P<name>[\w.]{1,40})")
_SAME_AGAIN = regex(
    r"(?i)\b(?:second|later|next|subsequent|further) (?:call|run|time|evaluation)s?\b[^.\n]{0,40}\bsame\b"
)
_WHERE = regex(
    r"(?i)\b(?:memory|RAM|usage|it)\b[^.\n]{0,40}?\b(?:most|mostly|jump\w*|increas\w*|growth|grows|peaks?"
    r"|rises?)\b"
    r"[^.\n]{0,16}?\b(?:after|in|at|during|inside"
    r"|when calling) [`'\"](?P<name>[A-Za-z_][\w.]{3,40})(?:\(\))?[`'\"]"
)


def check(case: Case) -> Iterator[Finding]:
    told = case.capture.surroundings
    line = told.shows(NEED_IN_WORDS)
    if line is None or case.moments or told.foreign or told.elsewhere or situation(case).program:
        return
    match = _NEEDS.search(line.text)
    if match is None:
        return
    size = float(match["size"]) * _BYTES[match["unit"].upper()]
    beyond = ", more than any device has" if size > LARGEST_DEVICE else ""
    vmapped = _vmapped(case)
    named = _named(line)
    if pool := _may_be_the_pool(case, line, vmapped or named):
        yield pool
        return
    inside = ""
    if vmapped:
        inside = f"; most likely what vmap makes for all rows at once ({vmapped.place})"
    elif named:
        inside = f"; it names `{named}` as where memory goes up"
    same = (
        "; a later call takes as much, so it is most likely not compilation"
        if _SAME_AGAIN.search(line.text)
        else ""
    )
    yield Finding(
        severity=Severity.FACTOR,
        headline=(
            f"{line.place} says that it {_third(match['verb'])} {match['size']} {match['unit'].upper()}B"
            f"{beyond}, and no message of a failure is quoted{inside}{same}{of_a_cut_traceback(told)}"
        ),
        evidence=(
            Evidence("what the text says", line),
            *((Evidence("the call", vmapped),) if vmapped else ()),
        ),
        remedies=tuple(_remedies(case, line, vmapped, named)),
    )


def _may_be_the_pool(case: Case, line: Line, otherwise: object) -> Finding | None:
    """Of a figure of a GPU's memory under JAX, where nothing keeps JAX from taking its pool at the start: it
    says no more of the program than that it uses the GPU.
    """
    told = case.capture.surroundings
    sizes = [float(each["size"]) * _BYTES[each["unit"].upper()] for each in _SIZES.finditer(line.text)]
    most = max(sizes, default=0.0)
    if framework_of(case) != JAX or otherwise or not _is_seen(line):
        return None
    if not _LEAST_POOL <= most <= LARGEST_DEVICE or takes_as_needed(told) or part_for_jax.stated(told):
        return None
    what = (
        f"no failure is quoted, and a figure of the GPU's memory ({line.place}) need not be what"
        " the program needs: JAX reserves 75 % of a GPU at its first computation (early releases and some"
        " projects 90 %), and a tool such as nvidia-smi shows that"
    )
    return Finding(
        severity=Severity.FACTOR,
        headline=what,
        because=what,
        evidence=(Evidence("what the text says", line),),
        remedies=(BEFORE_JAX, LOOK_INSIDE),
    )


def _is_seen(line: Line) -> bool:
    """Whether it is a figure of a GPU's memory that somebody read, rather than one that is reckoned."""
    verbs = (each["verb"].lower()[:4] for each in _NEEDS.finditer(line.text))
    return _OF_GPU_ALONE.search(line.text) is not None and any(verb not in _RECKONED for verb in verbs)


_SIZES = regex(r"(?P<size>\d{1,5}(?:\.\d{1,2})?) ?(?P<unit>[GT])i?B?\b")
_OF_GPU_ALONE = regex(r"(?i)\bGPUs?\b|\bVRAM\b|\bnvidia-smi\b")
_RECKONED = ("need", "requ")
"""How verbs begin that tell what something would need, as likely as what a tool shows."""
_LEAST_POOL = 5 * GIB
"""Less than 75 % of any GPU that JAX is used on is what a program takes of it."""


def _third(verb: str) -> str:
    verb = verb.lower()
    if verb.startswith("consum"):
        return "consumes"
    stem = {"using": "use", "requiring": "require"}.get(verb, verb)
    return stem if stem.endswith("s") else f"{stem}s"


def _vmapped(case: Case) -> Line | None:
    lines = code_lines(case.capture.surroundings) if framework_of(case) == JAX else ()
    return next((each for each in lines if _VMAPS.search(each.text)), None)


def _named(line: Line) -> str:
    match = _WHERE.search(line.text)
    return match["name"] if match else ""


def _remedies(case: Case, line: Line, vmapped: Line | None, named: str) -> Iterator[Remedy]:
    if framework_of(case) == JAX:
        trains = case.capture.surroundings.shows("training in words") or case.capture.surroundings.shows(
            "training"
        )
        if named and trains:
            yield _AGAIN
        if vmapped:
            yield _IN_PARTS
        elif not _is_seen(line):
            yield _PARTS_OF_A_LIBRARY
        yield _PLAN
    elif framework_of(case) == TENSORFLOW and _OF_GPU.search(line.text):
        yield _PEAK
    elif _OF_HOST.search(line.text):
        yield _RAM
