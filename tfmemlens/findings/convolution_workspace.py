"""cuDNN, cuBLAS or another of CUDA's libraries could not get its own memory.

What it means: besides tensors, convolutions need a workspace and the libraries need handles (some hundred
MiB) outside TensorFlow's pool. `No algorithm worked` and `Failed to get convolution algorithm` nearly always
mean that none of the algorithms got its workspace; a handle that cannot be created, that the pool had taken
the whole device.
When it fires: the failure is such a message. Where the next line says that most of the device was free, no
memory was lacking: the library does not fit the GPU's driver or the framework.
What to do: leave memory outside the pool (growth or a lower limit), a smaller batch, a lower workspace limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tfmemlens.findings.support import code_snippets, remedies
from tfmemlens.findings.support.jax_told import OFF_THE_GPU
from tfmemlens.findings.support.libraries import library_of
from tfmemlens.findings.support.rows import failures, place
from tfmemlens.findings.support.situation import JAX, framework_name, framework_of
from tfmemlens.knowledge.convolution.gpu import LIMIT_VARIABLE, default_limit_bytes
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import RequestKind
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, human, human_size

BASIS = Basis.FIGURES
EXPLAINS = "a workspace that its limit refused; else no bytes: the message states no size"

_REFUSED = regex(
    r"Allocating (?P<bytes>\d{1,18}) bytes exceeds the memory limit of (?P<limit>\d{1,18}) bytes"
)

_FREE_BESIDE = regex(r"(?P<free>\d{1,18}) bytes free, (?P<total>\d{1,18}) bytes total")


def check(case: Case) -> Iterator[Finding]:
    for index, moment in failures(case):
        assert moment.request and moment.incident
        failed = moment.request.failed
        if failed.kind is not RequestKind.WORKSPACE:
            continue
        said = " ".join(line.text for line in moment.incident.tellings)
        library = library_of(moment) or "cuDNN"
        refused = case.capture.surroundings.shows("a workspace beyond its limit")
        if refused and (beyond := _beyond_the_limit(f"{said} {refused.text}")):
            yield _of_the_limit(moment, index, refused, *beyond)
            continue
        if "nullptr" in said:
            yield _without_library(case, moment, index)
            continue
        if (free := _much_was_free(case)) and "ALLOC_FAILED" not in said:
            yield _for_another_reason(case, moment, index, library, free)
            continue
        likely = "" if "ALLOC_FAILED" in said else "most likely "
        handle = library == "cuBLAS" or "handle" in said or "Create(" in said
        what = "handle" if handle else "workspace"
        where = f" at {place(moment)}" if place(moment) else ""
        yield Finding(
            severity=Severity.CAUSE,
            headline=f"{likely}{library} found no memory for its {what}{where}: an OOM that does not say so",
            because=(
                f"{likely}the library found no memory for its {what}, which lies outside"
                f" {framework_name(case)}'s pool{_of_tensorflow_beside(case)}"
            ),
            evidence=(Evidence("the message", failed.line), *_tried(case)),
            detail="" if handle else _limit(case),
            remedies=tuple(_remedies(case, moment, library, handle)),
            moment=index,
        )


def _beyond_the_limit(said: str) -> tuple[int, int] | None:
    """The smallest workspace that was refused, and the limit of a workspace that refused it."""
    refused = [(int(match["bytes"]), int(match["limit"])) for match in _REFUSED.finditer(said)]
    return min(refused, default=None)


def _of_the_limit(moment: Moment, index: int, refused: Line, need: int, limit: int) -> Finding:
    """No lack of memory on the device: cuDNN's algorithms want more than one may take."""
    assert moment.request
    what = (
        f"each algorithm that cuDNN tried wants a workspace of {human(need)} or more, and one may take"
        f" {human(limit)} whatever the device has left"
    )
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        explains=need,
        basis=Basis.MEASURED,
        evidence=(
            Evidence("the message", moment.request.failed.line),
            Evidence("what an algorithm asked for, and its limit", refused),
        ),
        remedies=(
            Remedy(
                f"raise the limit of a workspace above {human(need)}, if the device has so much left",
                f"export {LIMIT_VARIABLE}={-(-need // GIB) * 1024}",
                slug="cudnn-workspace-limit",
            ),
            Remedy(
                "or make the layer's input smaller (tiles, a smaller batch), or compute this layer in another"
                " precision: other algorithms want less",
                slug="smaller-input",
            ),
        ),
        moment=index,
        rules_out=("growth", "see-device-users"),
    )


def _without_library(case: Case, moment: Moment, index: int) -> Finding:
    """XLA has no cuDNN at all: as a rule a version that does not match, seldom a full device."""
    assert moment.request
    what = "XLA could start no cuDNN: its version does not match, or the device had no memory left for it"
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        evidence=(Evidence("the message", moment.request.failed.line),),
        remedies=(
            Remedy(
                "see whether cuDNN and CUDA are those that this jaxlib was built with, and run something"
                " small: where that fails, too, the versions are the cause",
                "pip list | grep -i -E 'jax|nvidia|cudnn'",
                slug="matching-driver",
            ),
            Remedy("see whether another process holds the device", "nvidia-smi", slug="see-device-users"),
            Remedy(
                f"leave room outside {framework_name(case)}'s pool, where the library takes its memory",
                code_snippets.growth(case.api),
                slug="growth",
            ),
        ),
        moment=index,
    )


class _Free(NamedTuple):
    """What the library itself found free when it failed."""

    free_bytes: int
    total_bytes: int
    line: Line


def _much_was_free(case: Case) -> _Free | None:
    """What was free as the library's own line says, where that is half of the device or more."""
    line = case.capture.surroundings.shows("memory free beside a library")
    match = _FREE_BESIDE.search(line.text) if line else None
    if line is None or match is None:
        return None
    free, total = int(match["free"]), int(match["total"])
    return _Free(free, total, line) if total and total // 2 <= free <= total else None


def _for_another_reason(case: Case, moment: Moment, index: int, library: str, free: _Free) -> Finding:
    """A library that did not start although there was memory for it."""
    assert moment.request
    what = (
        f"{library} could not start although {human(free.free_bytes)} of {human(free.total_bytes)} were"
        f" free ({free.line.place}): no memory was lacking, so most likely its version does not match the"
        " driver, the GPU or the framework"
    )
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        evidence=(Evidence("the message", moment.request.failed.line), Evidence("what was free", free.line)),
        remedies=(
            Remedy(
                f"let {library}, CUDA and the driver be those that this {framework_name(case)} was built"
                " with, and let no other copy of them stand in LD_LIBRARY_PATH",
                "pip list | grep -i -E 'jax|tensorflow|nvidia|cudnn'; nvidia-smi; echo $LD_LIBRARY_PATH",
                slug="matching-driver",
            ),
            Remedy(
                "if they match, leave more room outside the pool: it may have been taken a moment later",
                code_snippets.growth(case.api),
                slug="growth",
            ),
        ),
        moment=index,
        rules_out=("see-device-users", "smaller-batch"),
    )


_OF_MATRICES = ("cuSOLVER", "cuSPARSE")


def _tensorflow_beside(case: Case) -> Line | None:
    """The line that shows TensorFlow in the process of a program of JAX."""
    line = case.capture.surroundings.shows("jax: TensorFlow beside")
    return line if framework_of(case) == JAX else None


def _of_tensorflow_beside(case: Case) -> str:
    line = _tensorflow_beside(case)
    return f"; {line.place} shows TensorFlow in the same process, which takes most of a GPU" if line else ""


def _remedies(case: Case, moment: Moment, library: str, handle: bool) -> Iterator[Remedy]:
    told = case.capture.surroundings
    if _tensorflow_beside(case):
        yield OFF_THE_GPU
    if told.shows("jax: updated before") and not told.works_in:
        yield remedies.RELEASES_BEFORE
    if not told.shows("jax: a flag of the pool tried"):
        yield Remedy(
            f"let {framework_name(case)} take memory as needed instead of all at start, so that room is left"
            " outside its pool: the libraries allocate their handles there",
            code_snippets.growth(case.api),
            slug="growth",
        )
    yield Remedy(
        "see whether another process, such as a notebook that still runs, holds the device",
        "nvidia-smi",
        slug="see-device-users",
    )
    if not handle and library in _OF_MATRICES:
        yield Remedy(
            "give it a smaller matrix (half the side is a quarter of the workspace), 32 bits, or the CPU with"
            " its RAM",
            "jnp.linalg.eigh(jax.device_put(a, jax.devices('cpu')[0]))"
            if framework_of(case) == JAX
            else None,
            slug="smaller-input",
        )
    elif not handle:
        yield from remedies.offered(case, moment, "smaller-batch")
        yield Remedy(
            "cap the workspace that cuDNN may ask for",
            f"export {LIMIT_VARIABLE}=256",
            slug="cudnn-workspace-limit",
        )
        yield remedies.DEFAULT_ALGORITHM
    yield Remedy(
        f"if it fails at the very first call of a small model on an empty device, suspect a {library} or"
        f" driver version that does not match {framework_name(case)}",
        slug="matching-driver",
    )


def _tried(case: Case) -> Iterator[Evidence]:
    """What was asked for and done without before: as a rule workspaces of faster algorithms."""
    warnings = sorted(case.capture.surroundings.soft_warnings, key=lambda warning: -warning.size.bytes)
    if warnings:
        largest = warnings[0]
        yield Evidence(
            f"before it an allocation of {human_size(largest.size)} failed without harm: most likely a faster"
            " algorithm's workspace",
            largest.line,
        )


def _limit(case: Case) -> str:
    limits = sorted({default_limit_bytes(case.api.oldest), default_limit_bytes(case.api.newest)})
    text = " or ".join(human(limit) for limit in limits)
    return (
        f"Autotune tries every algorithm when a shape is first seen, with workspaces of up to {text} each"
        f" ({LIMIT_VARIABLE} sets another limit), and keeps the fastest that got its own. Where none gets"
        " one, the op fails like this."
    )
