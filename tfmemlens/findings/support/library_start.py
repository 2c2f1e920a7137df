"""One of CUDA's libraries did not start: what in the text speaks for a lack of memory, and what to say where
nothing does.

A handle that cannot be made and a convolution without an algorithm look alike, whether the device is full or
the library is missing or does not match. Without one of these grounds the page names both, and what tells
them apart comes first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tfmemlens.findings.support import code_snippets, part_for_jax, remedies
from tfmemlens.findings.support.own_tasks import share_one
from tfmemlens.findings.support.situation import JAX, framework_name, framework_of
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Remedy
from tfmemlens.model.incident import RequestKind
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

_SAYS = regex(
    r"(?i)ALLOC_FAILED|memory_error|out[ _]of[ _]memory|due to OOM|resource allocation failed"
    r"|\b(?:memory )?allocation failed|not allocate|failed to allocate|memory not available|from device:"
)
"""What the messages themselves say of memory."""
_OF_MEMORY = regex(r"(?i)\b(?:V?RAM|memory|OOM)\b")
_NEARLY_ALL = 0.9
"""A part of the GPU for JAX's pool that leaves a library next to no room."""
_OF_A_GROWING_POOL = ("allow_growth", "memory_growth", "TF_FORCE_GPU_ALLOW_GROWTH")
_LOGGED = regex(r"_STATUS_|(?i:\bhandle\b|Create\()")
"""What the library itself says when it does not start: without it the exception alone is quoted."""
_ABSENT = regex(r"(?i)\bno (?:DNN|BLAS)\b|\bDNN library is not found")


def speaks_of_memory(case: Case, moment: Moment) -> bool:
    """Whether the library's message, the allocator's lines beside it or the writer name a lack of memory."""
    told = case.capture.surroundings
    tellings = moment.incident.tellings if moment.incident else ()
    said = "\n".join(line.text for line in tellings)
    short = told.shows("running short")
    in_words = short is not None and short not in tellings and _OF_MEMORY.search(short.text) is not None
    refused = told.refusals or (moment.incident and moment.incident.driver_failures)
    beside = told.soft_warnings or refused or any(map(_of_a_device, case.moments))
    return bool(_SAYS.search(said) or beside or in_words or told.shows("growth helps")) or _is_taken(case)


def _of_a_device(moment: Moment) -> bool:
    """Whether it is a request of a device's memory, and no library's."""
    kind = moment.request.failed.kind if moment.request else None
    return kind not in (None, RequestKind.WORKSPACE, RequestKind.HOST)


def _is_taken(case: Case) -> bool:
    """Whether the text shows the device to be taken by a large pool, other processes or TensorFlow beside."""
    told = case.capture.surroundings
    large = any(part.value >= _NEARLY_ALL for part in part_for_jax.every(told))
    shows = ("a pool at start", "memory free beside a library", "jax: updated before", "one GPU for all")
    beside = ("jax: a model of TensorFlow beside", "jax: TensorFlow beside")
    if framework_of(case) == JAX and any(map(told.shows, beside)):
        return True
    return large or any(map(told.shows, shows)) or share_one(case) is not None


def both(case: Case, moment: Moment, library: str, handle: bool) -> str:
    """The two usual causes, and that the text does not decide."""
    of_what = framework_name(case)
    versions = f"the version of {library} does not match {of_what}, the driver or the GPU"
    undecided = "this text does not say which"
    if grows := _grows(case):
        undecided = (
            f"{grows.place} lets the pool grow, so it is versions, or another process that holds the device"
        )
    tellings = moment.incident.tellings if moment.incident else ()
    if any(_ABSENT.search(line.text) for line in tellings) and not _is_logged(tellings):
        return (
            f"{of_what} has no {library} that it can use: the library is missing, {versions}, or it could not"
            f" start, as on a device whose memory is taken; {undecided}"
        )
    if handle:
        return (
            f"{library} could not start: either no memory is left for its handle outside {of_what}'s pool, or"
            f" {versions}; {undecided}"
        )
    return (
        f"none of {library}'s algorithms worked: either they found no memory for their workspace, or"
        f" {versions}; {undecided}"
    )


def _is_logged(tellings: Sequence[Line]) -> bool:
    return any(_LOGGED.search(line.text) for line in tellings)


def _grows(case: Case) -> Line | None:
    """The line that has the pool grow already."""
    settings = map(case.capture.surroundings.setting, _OF_A_GROWING_POOL)
    return next((found[1] for found in settings if found and found[0].lower() in ("true", "1")), None)


def tell_apart(
    case: Case, moment: Moment, library: str, handle: bool, *, room: bool = False
) -> Iterator[Remedy]:
    """What decides between memory and versions, and what helps against each; `room` where the pool is given a
    part that leaves room already.
    """
    tellings = moment.incident.tellings if moment.incident else ()
    if not _is_logged(tellings):
        yield Remedy(
            "read the lines above it in the console (of a notebook: in the terminal of its server): `but"
            " source was compiled with` and `Could not load` speak of versions; `ALLOC_FAILED`, `failed to"
            " allocate` and `ran out of memory` of memory",
            slug="read-the-log",
        )
    if not _grows(case) and not room:
        yield Remedy(
            f"let {framework_name(case)} take memory as needed instead of all at start, for one run: where it"
            " fails all the same on a device that is empty before, it is not memory",
            code_snippets.growth(case.api),
            slug="growth",
        )
    yield Remedy(
        "see, before it starts, whether another process (a notebook that still runs, another server) holds"
        " the device",
        "nvidia-smi",
        slug="see-device-users",
    )
    yield Remedy(
        f"let {library}, CUDA and the driver be those that this {framework_name(case)} was built with, and"
        " let no other copy of them stand in LD_LIBRARY_PATH",
        "pip list | grep -i -E 'jax|tensorflow|nvidia|cudnn'; nvidia-smi; echo $LD_LIBRARY_PATH",
        slug="matching-driver",
    )
    batch = None if handle else remedies.batch_of(case, moment)
    if batch and batch > 1:
        yield Remedy(
            f"try once with a smaller batch ({batch} -> {batch // 2}): where that runs, it was memory",
            slug="smaller-batch",
        )
