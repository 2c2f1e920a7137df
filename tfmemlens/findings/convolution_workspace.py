"""cuDNN, cuBLAS or another of CUDA's libraries could not get its own memory.

What it means: besides tensors, convolutions need a workspace and the libraries need handles (some hundred
MiB) outside TensorFlow's pool. `No algorithm worked`, `Failed to get convolution algorithm` and a handle that
cannot be created are what a full device brings, and a library that is missing or does not match as well.
When it fires: the failure is such a message. Where the next line says that most of the device was free, no
memory was lacking: the library does not fit the GPU's driver or the framework.
Where 1 GiB or more was free, which a handle has room in, neither is proven; nor where no line names memory.
What to do: leave memory outside the pool (growth or a lower limit), a smaller batch, a lower workspace limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tfmemlens.findings import processes_on_one_device
from tfmemlens.findings.support import code_snippets, exla, library_start, part_for_jax, remedies
from tfmemlens.findings.support.board import JETSON, board, what_helps
from tfmemlens.findings.support.contrasted import ONE_EACH, ended_by
from tfmemlens.findings.support.jax_told import OFF_THE_GPU
from tfmemlens.findings.support.libraries import did_not_start, library_of, of_handle
from tfmemlens.findings.support.own_tasks import share_one
from tfmemlens.findings.support.rows import failures, place
from tfmemlens.findings.support.situation import JAX, TENSORFLOW, framework_name, framework_of, situation
from tfmemlens.knowledge.convolution.gpu import LIMIT_VARIABLE, default_limit_bytes
from tfmemlens.knowledge.gpu_generations import generation
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
        if _ASKS_ITS_SIZE.search(said):
            yield _of_a_count(moment, index, library)
            continue
        if "nullptr" in said and "dnn" in said.lower():
            yield _without_library(case, moment, index)
            continue
        if _SCRATCH.search(said):
            yield _of_the_pool(case, moment, index, library)
            continue
        handle = did_not_start(moment)
        if newer := _newer_gpu(case, library):
            yield _for_another_reason(case, moment, index, library, newer)
            continue
        room = case.capture.surroundings.shows("room on the device")
        if room and not handle and "ALLOC_FAILED" not in said:
            yield _with_room(moment, index, library, room)
            continue
        if "ALLOC_FAILED" not in said and (reason := _another_reason(case, library, handle)):
            yield _for_another_reason(case, moment, index, library, reason)
            continue
        if _GUESSED.search(said):
            yield _as_guessed(case, moment, index, library)
            continue
        if handle and "ALLOC_FAILED" not in said and (some := _some_was_free(case)):
            yield _undecided(case, moment, index, library, some)
            continue
        if _is_open(case, moment):
            yield _of_two_causes(case, moment, index, library)
            continue
        likely = "" if "ALLOC_FAILED" in said else "most likely "
        size = f" of {human_size(failed.size)}" if failed.size and not handle else ""
        what = "handle" if handle else f"workspace{size}"
        where = f" at {place(moment)}" if place(moment) else ""
        yield Finding(
            severity=Severity.CAUSE,
            headline=f"{likely}{library} found no memory for its {what}{where}: an OOM that does not say so",
            because=(
                f"{likely}the library found no memory for its {what}, which lies outside"
                f" {framework_name(case)}'s pool{_of_tensorflow_beside(case)}{_taken_at_start(case)}"
                f"{_of_ranks(moment)}{_refused_a_pool(moment)[0]}"
            ),
            evidence=(
                Evidence("the message", failed.line),
                *_refused_a_pool(moment)[1],
                *_tried(case),
            ),
            detail="" if handle else _limit(case),
            remedies=tuple(_remedies(case, moment, library, handle)),
            moment=index,
        )


_NAMES_SERVERS = ("TensorFlow Serving", exla.ELIXIR)


def _is_open(case: Case, moment: Moment) -> bool:
    """Whether nothing speaks for a lack of memory, and no program's own settings of its pool come first."""
    if situation(case, moment).program in _NAMES_SERVERS or _of_ranks(moment) or _room_helped(case):
        return False
    if library_of(moment) in _OF_MATRICES and not did_not_start(moment):
        return False  # its workspace grows with the matrix
    return not library_start.speaks_of_memory(case, moment)


def _of_two_causes(case: Case, moment: Moment, index: int, library: str) -> Finding:
    """A library that did not start, where the text does not say why."""
    assert moment.request
    handle = did_not_start(moment)
    what = library_start.both(case, moment, library, handle)
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        evidence=(Evidence("the message", moment.request.failed.line),),
        remedies=tuple(
            library_start.tell_apart(case, moment, library, handle, room=_part_of_its_own(case) is not None)
        ),
        moment=index,
        rules_out=("smaller-batch",) if handle else (),
    )


def _with_room(moment: Moment, index: int, library: str, room: Line) -> Finding:
    """A library that knew no way to compute a call, where the writer says that the device has room."""
    assert moment.request
    why = (
        f"{library} had no algorithm for it; {room.place} says that the device has room, so most likely this"
        " is a limit of the library for such sizes, and no lack of memory"
    )
    return Finding(
        severity=Severity.CAUSE,
        headline=why,
        because=why,
        evidence=(Evidence("the message", moment.request.failed.line), Evidence("what is in use", room)),
        remedies=(
            Remedy(
                "compute it for fewer samples at once, in batches: some of cuDNN's kernels take no size of"
                " 65,536 or more, whatever memory is free; a size that works beside one that fails tells the"
                " limit",
                slug="smaller-batch",
            ),
            Remedy(
                "or take a newer TensorFlow and cuDNN, or compute this layer another way (another layout or"
                " precision, another layer with the same result)",
                slug="newer-release",
            ),
        ),
        moment=index,
        rules_out=("growth", "see-device-users", "cudnn-workspace-limit", "gradient-accumulation"),
    )


_ASKS_ITS_SIZE = regex(r"operation (?:cu|gpu)solver\w*_bufferSize\(")


def _of_a_count(moment: Moment, index: int, library: str) -> Finding:
    """A call that only asks how large its workspace would be: it allocates nothing."""
    assert moment.request
    what = (
        f"this call only asks {library} how large its workspace would be, and takes no memory: as a rule the"
        " matrix is too large for the 32-bit sizes of the call, whatever is free"
    )
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        evidence=(Evidence("the message", moment.request.failed.line),),
        remedies=(
            Remedy(
                "take a newer jax and jaxlib, which call the library with 64-bit sizes",
                "pip install -U 'jax[cuda12]'",
                slug="newer-release",
            ),
            Remedy(
                "or give it 32-bit numbers, which take half, a smaller matrix, or the CPU with its RAM",
                "jnp.linalg.eigh(jax.device_put(a, jax.devices('cpu')[0]))",
                slug="smaller-input",
            ),
        ),
        moment=index,
        rules_out=("growth", "see-device-users", "matching-driver", "in-pieces"),
    )


_SCRATCH = regex(r"(?i)failed to allocate the scratch space")


def _of_the_pool(case: Case, moment: Moment, index: int, library: str) -> Finding:
    """TensorFlow gives an algorithm its workspace out of its own pool (`AllocateScratchOrFallback` in
    tensorflow/core/kernels/conv_ops_gpu.h), and none was left, nor an algorithm that does without.
    """
    assert moment.request and moment.incident
    first = min(line.number for line in moment.incident.tellings)
    asked = [each for each in case.capture.surroundings.soft_warnings if each.line.number < first]
    where = f" at {place(moment)}" if place(moment) else ""
    size = f" ({human_size(asked[-1].size)} was asked for, {asked[-1].line.place})" if asked else ""
    return Finding(
        severity=Severity.CAUSE,
        headline=f"{library} found no room for its workspace{where} in {framework_name(case)}'s pool{size}:"
        " an OOM that does not say so",
        because=f"{framework_name(case)}'s pool, which holds the tensors as well, had no room for its"
        f" workspace{size}",
        explains=asked[-1].size.bytes if asked else None,
        evidence=(
            Evidence("the message", moment.request.failed.line),
            *(Evidence("what the pool could not serve", each.line) for each in asked[-1:]),
        ),
        remedies=(
            *remedies.offered(case, moment, "smaller-batch"),
            remedies.cudnn_workspace(
                "or cap the workspace that cuDNN may ask for: a slower algorithm may do with less"
            ),
            Remedy(
                "or give the layer less at once: smaller patches or tiles",
                slug="smaller-input",
            ),
            Remedy("see what else holds the device", "nvidia-smi", slug="see-device-users"),
        ),
        moment=index,
        rules_out=("growth", "matching-driver"),
    )


_GUESSED = regex(r"(?i)memory\?.{0,200}_STATUS_(?:EXECUTION_FAILED|INTERNAL_ERROR)")


def _as_guessed(case: Case, moment: Moment, index: int, library: str) -> Finding:
    """A call that failed while it ran, where the program that caught the error asks whether it was memory."""
    assert moment.request
    what = "the program that caught it asks whether memory ran out: most likely it did, which is not proven"
    return Finding(
        severity=Severity.CAUSE,
        headline=f"a call of {library} failed while it ran, and {what}",
        because=what,
        evidence=(Evidence("the message", moment.request.failed.line),),
        remedies=(
            Remedy(
                "give it less at once: a shorter sequence or a smaller complex, fewer rows of an alignment,"
                " a smaller image; what fits a smaller input and fails with this one lacks memory",
                slug="smaller-input",
            ),
            *(_MORE_ROOM_OF_JAX if framework_of(case) == JAX else ()),
            Remedy(
                "see whether another process holds the device, and, where small inputs fail as well, whether"
                f" {library} and the driver match",
                "nvidia-smi",
                slug="see-device-users",
            ),
        ),
        moment=index,
        rules_out=("growth", "matching-driver", "smaller-batch"),
    )


_MORE_ROOM_OF_JAX = (
    Remedy(
        "or let JAX use host RAM, too, which is slower",
        "export TF_FORCE_UNIFIED_MEMORY=1 XLA_PYTHON_CLIENT_MEM_FRACTION=4.0",
        slug="more-unified-memory",
    ),
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
            remedies.cudnn_workspace(
                f"raise the limit of a workspace above {human(need)}, if the device has so much left",
                -(-need // GIB) * 1024,
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
    shared = board(case)
    if shared:
        what += f"; CPU and GPU of this board, {shared[0]}, share its RAM, which other programs may hold"
    of_jax = framework_of(case) == JAX
    built = "jaxlib" if of_jax else framework_name(case)
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        evidence=(Evidence("the message", moment.request.failed.line),),
        remedies=(
            *(what_helps(shared[0])[:1] if shared else ()),
            Remedy(
                f"see whether cuDNN and CUDA are those that this {built} was built with, and run something"
                " small: where that fails, too, the versions are the cause",
                f"pip list | grep -i -E '{'jax' if of_jax else 'tensorflow'}|nvidia|cudnn'",
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


class _Reason(NamedTuple):
    """Why a library that did not start most likely lacked no memory."""

    why: str
    evidence: Evidence
    had_memory: bool = False
    """Whether the library itself says that there was memory."""
    remedy: Remedy | None = None
    """What to do first, where the reason says more than that versions do not match."""


_NO_MATCH = "most likely its version does not match the driver, the GPU or the framework"


def _newer_gpu(case: Case, library: str) -> _Reason | None:
    """That all GPUs that the text names are newer than the CUDA of its TensorFlow."""
    told = case.capture.surroundings
    devices = [each for each in told.devices if each.model or each.capability] or told.named_devices
    kinds = [generation(each.model, each.capability) for each in devices]
    known = [each for each in kinds if each is not None]
    if framework_of(case) != TENSORFLOW or not known or len(known) < len(kinds):
        return None
    kind = min(known, key=lambda each: each.capability)
    if case.api.newest >= kind.release:
        return None
    first, line = ".".join(map(str, kind.release)), devices[0].line
    where = f", {line.place}" if line else ""
    return _Reason(
        f"{library} failed on a GPU ({kind.name}{where}) that is newer than the CUDA of this TensorFlow: CUDA"
        f" {kind.cuda} is the first that knows it, TensorFlow {first} the first that is built with that; most"
        " likely memory is not what lacks",
        Evidence("the GPU", line),
        remedy=Remedy(
            f"take a TensorFlow of {first} or newer with its CUDA and cuDNN (for code of TensorFlow 1 on"
            " Ampere NVIDIA's own build of 1.15), or run this on a GPU that is older",
            f"pip install 'tensorflow-gpu>={first}'   # nvidia-tensorflow for 1.15",
            slug="newer-release",
        ),
    )


def _another_reason(case: Case, library: str, handle: bool) -> _Reason | None:
    """What the text shows against a lack of memory: much was free, room was left outside the pool, or the
    text names versions that do not match.
    """
    if free := _much_was_free(library, case):
        return free
    told = case.capture.surroundings
    if told.shows("growth helps"):
        return None
    if line := told.shows("other versions cured"):
        return _Reason(
            f"{library} could not start, and {line.place} says that another driver, CUDA or cuDNN ended it:"
            " most likely the versions did not match, and no memory was lacking",
            Evidence("what ended it", line),
            remedy=None
            if ended_by(case)
            else Remedy(
                f"make the change of versions that ended it there ({line.place})", slug="matching-driver"
            ),
        )
    if not handle:
        return None
    if line := told.shows("versions that do not match"):
        return _Reason(
            f"{library} could not start, and {line.place} names versions that do not match: most likely that"
            " is the cause, rather than memory",
            Evidence("versions are named", line),
        )
    if setting := _room_is_left(case):
        name, value, line = setting
        return _Reason(
            f"{library} could not start although {name}={value} ({line.place}) leaves room outside"
            f" {framework_name(case)}'s pool: {_NO_MATCH}",
            Evidence("room is left for it", line),
        )
    if small := _small_program(case):
        on_board = board(case)
        return _Reason(
            f"{library} could not start in a program that makes hardly anything ({small.place}):"
            f" {_NO_MATCH}, or another process holds the device",
            Evidence("the program", small),
            remedy=_OF_A_JETSON if on_board and on_board[0] == JETSON else None,
        )
    return None


_MOST_STATEMENTS, _LARGE = 4, 1000
_MODULES = frozenset({"jax", "jnp", "np", "numpy", "print"})
_OF_A_JETSON = Remedy(
    "a Jetson's GPU is part of its board, and wheels of CUDA's libraries that pip brings are mostly built for"
    " cards: take a JAX that is built for this JetPack, and let it find JetPack's own CUDA",
    "pip list | grep nvidia   # of pip; JetPack's: dpkg -l | grep -E 'cuda|cudnn|cusolver'",
    slug="build-for-this-board",
)


def _small_program(case: Case) -> Line | None:
    """The line of a quoted program of JAX that is nothing but imports and a call of small arrays."""
    told = case.capture.surroundings
    if framework_of(case) != JAX or not told.shows("using JAX"):
        return None
    import ast  # only where there is code

    program = list(told.program())
    nodes = [node for each in program for node in each.nodes]
    figures = [each.value for each in nodes if isinstance(each, ast.Constant) and isinstance(each.value, int)]
    names = [each for each in nodes if isinstance(each, ast.Name)]
    known = _MODULES | {each.id for each in names if isinstance(each.ctx, ast.Store)}
    calls = [each for each in program if not isinstance(each.node, ast.Import | ast.ImportFrom)]
    simple = all(isinstance(each.node, ast.Expr | ast.Assign) for each in calls)
    if not calls or not simple or len(program) > _MOST_STATEMENTS or not {each.id for each in names} <= known:
        return None
    if max(figures, default=_LARGE) >= _LARGE:
        return None
    return calls[-1].line_of(calls[-1].node)


def _leaving_room(case: Case) -> Iterator[tuple[str, str, Line]]:
    """The settings that leave memory outside the pool."""
    told = case.capture.surroundings
    small_parts = [part.line for part in part_for_jax.every(told) if part.value < part_for_jax.USUAL]
    for name, value, line in told.settings:
        small = name == part_for_jax.VARIABLE and any(each is line for each in small_parts)
        if f"{name}={value.lower()}" in _LEAVES_ROOM or small:
            yield name, value, line


def _has_helped(case: Case, line: Line) -> bool:
    """Whether a line says that what it sets ended the failure."""
    ended = ended_by(case)
    helped = _HELPED.search(line.text) or (ended is not None and ended[1] == line)
    return bool(helped) and not _IN_VAIN.search(line.text)


def _room_is_left(case: Case) -> tuple[str, str, Line] | None:
    """The setting that leaves memory outside the pool already."""
    return next((each for each in _leaving_room(case) if not _has_helped(case, each[2])), None)


def _room_helped(case: Case) -> bool:
    """Whether a setting that leaves memory outside the pool ended the failure."""
    return any(_has_helped(case, line) for _, _, line in _leaving_room(case))


_HELPED = regex(r"(?i)\b(?:work(?:s|ed)|fix(?:es|ed)|solve[sd]|resolve[sd]|help(?:s|ed)|did it|trick)\b")
_IN_VAIN = regex(r"(?i)n't\b|\b(?:not|no|nothing|never|still|same|neither)\b")


_LEAVES_ROOM = {
    f"XLA_PYTHON_CLIENT_{setting}"
    for setting in ("PREALLOCATE=false", "PREALLOCATE=0", "ALLOCATOR=platform", "ALLOCATOR=cuda_async")
}


def _much_was_free(library: str, case: Case) -> _Reason | None:
    """What was free as the library's own line says, where that is half of the device or more."""
    line = case.capture.surroundings.shows("memory free beside a library")
    match = _FREE_BESIDE.search(line.text) if line else None
    if line is None or match is None:
        return None
    free, total = int(match["free"]), int(match["total"])
    if not total or not total // 2 <= free <= total:
        return None
    why = (
        f"{library} could not start although {human(free)} of {human(total)} were free ({line.place}): no"
        f" memory was lacking, so {_NO_MATCH}"
    )
    return _Reason(why, Evidence("what was free", line), had_memory=True)


_ROOM_FOR_A_HANDLE = GIB
"""Libraries take some hundred megabytes with their handle and code: with more free it is hardly memory."""


def _some_was_free(case: Case) -> tuple[int, int, Line] | None:
    """What was free as the library's own line says, of how much, where a handle has room in it."""
    if case.capture.surroundings.shows("growth helps"):
        return None
    line = case.capture.surroundings.shows("memory free beside a library")
    match = _FREE_BESIDE.search(line.text) if line else None
    if line is None or match is None or not _ROOM_FOR_A_HANDLE <= int(match["free"]) <= int(match["total"]):
        return None
    return int(match["free"]), int(match["total"]), line


def _undecided(case: Case, moment: Moment, index: int, library: str, some: tuple[int, int, Line]) -> Finding:
    """A handle that was refused with room for it: two causes, and what tells them apart."""
    assert moment.request
    free, total, line = some
    why = (
        f"{library} could not start although {human(free)} of {human(total)} was free ({line.place}), which"
        " is enough for its handle: a lack of memory is not proven, and a version that does not match the"
        " driver, the GPU or the framework is at least as likely"
    )
    return Finding(
        severity=Severity.CAUSE,
        headline=why,
        because=why,
        evidence=(Evidence("the message", moment.request.failed.line), Evidence("what was free", line)),
        remedies=(
            _which_of_both(case),
            Remedy(
                f"let {library}, CUDA and the driver be those that this {framework_name(case)} was built"
                " with, and let no other copy of them stand in LD_LIBRARY_PATH",
                "pip list | grep -i -E 'jax|tensorflow|nvidia|cudnn'; nvidia-smi; echo $LD_LIBRARY_PATH",
                slug="matching-driver",
            ),
        ),
        moment=index,
    )


def _which_of_both(case: Case) -> Remedy:
    """The test that decides between memory and a version that does not match."""
    if situation(case, case.moments[0]).program == exla.ELIXIR:
        return next(iter(exla.smaller_pool(case)))
    return Remedy(
        f"see which it is: let {framework_name(case)} take memory as needed instead of all at start for one"
        " run. Where it fails all the same, it is not memory",
        code_snippets.growth(case.api),
        slug="growth",
    )


def _of_ranks(moment: Moment) -> str:
    """That several processes of one job found no room for a handle: most likely they share a GPU."""
    ranks = moment.incident.ranks if moment.incident else ()
    if len(ranks) < _SEVERAL or not of_handle(moment):
        return ""
    return f"; {len(ranks)} processes of one job tell of it, so see first that no two have one GPU"


_SEVERAL = 2


def _taken_at_start(case: Case) -> str:
    """What XLA's client took of the device when it started, and how little the library then found."""
    told = case.capture.surroundings
    pool, free = told.shows("a pool at start"), told.shows("memory free beside a library")
    taken = _TAKEN.search(pool.text) if pool else None
    left = _FREE_BESIDE.search(free.text) if free else None
    said = []
    if pool and taken:
        said.append(f"the pool took {human(int(taken['bytes']))} when it started ({pool.place})")
    if free and left:
        said.append(f"{human(int(left['free']))} of {human(int(left['total']))} was free then ({free.place})")
    return f": {', and '.join(said)}" if said else ""


_TAKEN = regex(r"backend allocating (?P<bytes>\d{1,18}) bytes")


def _for_another_reason(case: Case, moment: Moment, index: int, library: str, reason: _Reason) -> Finding:
    """A library that did not start although there was, or should have been, memory for it."""
    assert moment.request
    return Finding(
        severity=Severity.CAUSE,
        headline=reason.why,
        because=reason.why,
        evidence=(Evidence("the message", moment.request.failed.line), reason.evidence),
        remedies=(
            *((reason.remedy,) if reason.remedy else ()),
            Remedy(
                f"let {library}, CUDA and the driver be those that this {framework_name(case)} was built"
                " with, and let no other copy of them stand in LD_LIBRARY_PATH",
                "pip list | grep -i -E 'jax|tensorflow|nvidia|cudnn'; nvidia-smi; echo $LD_LIBRARY_PATH",
                slug="matching-driver",
            ),
            _IF_THEY_MATCH if _room_is_left(case) else _more_room(case),
        ),
        moment=index,
        rules_out=("see-device-users", "smaller-batch") if reason.had_memory else ("smaller-batch",),
    )


_IF_THEY_MATCH = Remedy(
    "if they match, see whether another process holds the device",
    "nvidia-smi",
    slug="see-device-users",
)


def _more_room(case: Case) -> Remedy:
    return Remedy(
        "if they match, leave more room outside the pool: it may have been taken a moment later",
        code_snippets.growth(case.api),
        slug="growth",
    )


_BOTH_AS_NEEDED = Remedy(
    "let TensorFlow take memory as needed (its model took nearly all of the GPU when it started), or hide the"
    " GPU from it, and it computes on the CPU: before its model is made",
    "tf.config.experimental.set_memory_growth(tf.config.list_physical_devices('GPU')[0], True)",
    slug="tensorflow-off-the-gpu",
)
_OF_MATRICES = ("cuSOLVER", "cuSPARSE", "hipSOLVER")


def _tensorflow_beside(case: Case) -> Line | None:
    """The line that shows TensorFlow in the process of a program of JAX."""
    told = case.capture.surroundings
    line = told.shows("jax: a model of TensorFlow beside") or told.shows("jax: TensorFlow beside")
    return line if framework_of(case) == JAX else None


def _of_tensorflow_beside(case: Case) -> str:
    line = _tensorflow_beside(case)
    sharing = share_one(case)
    if line is None and sharing and framework_of(case) == JAX:
        each = processes_on_one_device.each_takes(case)
        return f"; {sharing.place} tells of several processes on one GPU: {each}"
    return f"; {line.place} shows TensorFlow in the same process, which takes most of a GPU" if line else ""


def _remedies(case: Case, moment: Moment, library: str, handle: bool) -> Iterator[Remedy]:
    told = case.capture.surroundings
    if framework_of(case) == JAX and share_one(case) and not _tensorflow_beside(case):
        yield from processes_on_one_device.parts(case, share_one(case))
        return
    if _of_ranks(moment):
        yield ONE_EACH
    if told.shows("jax: a model of TensorFlow beside") and framework_of(case) == JAX:
        yield _BOTH_AS_NEEDED
    elif _tensorflow_beside(case):
        yield OFF_THE_GPU
    if told.shows("jax: updated before") and not told.works_in:
        yield remedies.RELEASES_BEFORE
    if _refused_a_pool(moment)[0]:
        yield _SEE_WHO
    if situation(case, moment).program == "TensorFlow Serving":
        yield Remedy(
            "leave room outside the pool: give the server a part of the GPU (its flag"
            " --per_process_gpu_memory_fraction=0.4), of several servers on one GPU each its own, or let it"
            " take memory as needed (the variable TF_FORCE_GPU_ALLOW_GROWTH=true)",
            slug="growth",
        )
    elif situation(case, moment).program == exla.ELIXIR:
        yield from exla.smaller_pool(case)
    elif room := _part_of_its_own(case):
        yield Remedy(
            f"its pool leaves room already ({room.place}), so look at what the process finds of the driver:"
            " in a container whether the GPU and its driver's libraries are there, and whether others hold"
            " the GPU",
            "nvidia-smi   # in the container, too: docker run --gpus all ...",
            slug="see-device-users",
        )
    elif not told.shows("jax: a flag of the pool tried"):
        yield Remedy(
            f"let {framework_name(case)} take memory as needed instead of all at start, so that room is left"
            " outside its pool: the libraries allocate their own memory there",
            code_snippets.growth(case.api),
            slug="growth",
        )
    if not _refused_a_pool(moment)[0]:
        yield Remedy(
            "see whether another process (a notebook that still runs, another server) holds the device",
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
        yield remedies.cudnn_workspace("cap the workspace that cuDNN may ask for")
        yield remedies.DEFAULT_ALGORITHM
    yield Remedy(
        f"if it fails at the very first call of a small model on an empty device, suspect a {library} or"
        f" driver version that does not match {framework_name(case)}",
        slug="matching-driver",
    )


def _refused_a_pool(moment: Moment) -> tuple[str, tuple[Evidence, ...]]:
    """That the driver refused TensorFlow itself little before: others held the GPU as it began."""
    refused = moment.incident.driver_failures if moment.incident else ()
    size, line = max(refused, key=lambda each: each[0].bytes, default=(None, None))
    if size is None or line is None or size.bytes >= _A_POOL:
        return "", ()  # a pool that is made asks for nearly all that is free, and then for less and less
    told = (
        f"; the driver had refused TensorFlow {human_size(size)} ({line.place}): unless its pool grew to"
        " there, others held nearly all of the GPU before (an earlier session or notebook, another process)"
    )
    return told, (Evidence("refused before", line),)


_A_POOL = GIB
_SEE_WHO = Remedy(
    "end what holds the GPU first (an earlier notebook's kernel, a session that was not closed, another"
    " process), and start this one anew",
    "nvidia-smi",
    slug="see-device-users",
)
_MOST_WITH_ROOM = 0.8


def _part_of_its_own(case: Case) -> Line | None:
    """The line that has TensorFlow take a part of the GPU alone."""
    part = case.capture.surroundings.setting("per_process_gpu_memory_fraction")
    return (
        part[1] if part and framework_of(case) == TENSORFLOW and float(part[0]) <= _MOST_WITH_ROOM else None
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
