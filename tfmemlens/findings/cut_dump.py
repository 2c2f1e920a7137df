"""Of the allocator's dump only a part is here: its statistics, or a stretch of its chunks.

What it means: the head of a dump names the request, its chunks show what is free and in how many pieces, its
statistics the limit and what is in use. What one part says can be judged; what is missing decides the rest: a
full pool refuses any request, and where much was free the request was larger than that, the free memory lay
in pieces, or the device had no more to give.
Where next to nothing was in use, the request was larger than the device, or the pool is tiny.
When it fires: statistics without chunks that do not explain the failure by themselves, chunks without a
request and without a limit, or a head that names the request alone.
What to do: read the whole dump, above all the lines before the part that is here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from tfmemlens.findings.support import exla, remedies
from tfmemlens.findings.support.board import board
from tfmemlens.findings.support.cut_bins import of_bins, short_of_it
from tfmemlens.findings.support.kills import was_killed
from tfmemlens.findings.support.prose_advice import of_a_server
from tfmemlens.findings.support.rows import (
    LEAST_OF_A_DEVICE,
    NEARLY_FULL,
    attributed,
    held,
    on_host,
    requests,
)
from tfmemlens.findings.support.situation import (
    JAX,
    TENSORFLOW,
    framework_of,
    only_infers,
    situation,
)
from tfmemlens.findings.support.tiny_pools import hardly_used, left_by_others
from tfmemlens.findings.support.told_mechanism import through_a_loop
from tfmemlens.knowledge.device_names import GPU
from tfmemlens.model.allocation import Allocation
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import RequestKind
from tfmemlens.units import GIB, MIB, human, human_size, percent

BASIS = Basis.FIGURES
EXPLAINS = "what is in use of a full pool, else what is not; or the largest blocks of one size"

_IDLE = 0.02
"""Share of the limit below which a pool is as good as empty."""
_MOSTLY_FULL = 0.8
"""Share of the limit from which on what is in use matters more than the pieces of what is not."""
_FULL = 0.95
"""Share of the limit above which a pool has no room worth naming."""
_WHOLE = Remedy(
    "explain the whole log: the lines before this part name the request, and say what is free in which"
    " pieces",
    "python train.py 2> train.log; tfmemlens explain train.log",
    slug="read-the-log",
)
_REST = Remedy(
    "explain the whole log: the lines behind this part say what was in use and of which sizes, and the"
    " exception names the tensor",
    "python train.py 2> train.log; tfmemlens explain train.log",
    slug="read-the-log",
)
_ENDED = Remedy(
    "see who holds the device, and end what you do not need (an earlier run, a notebook's kernel)",
    "nvidia-smi",
    slug="see-device-users",
)
_OWN_LIMIT = Remedy(
    "if nobody does, raise the limit that the program sets (memory_limit, per_process_gpu_memory_fraction)",
    slug="raise-own-limit",
)
_FIND_THE_SIZE = Remedy(
    "find the size: the line `ran out of memory trying to allocate` above this part, or the exception below"
    " it, states the bytes or the shape; give a whole data set in batches (tf.data, a generator), and follow"
    " a size without sense to the line that computes it",
    slug="find-the-size",
)
_USERS = Remedy("see who else holds the device", "nvidia-smi", slug="see-device-users")


def check(case: Case) -> Iterator[Finding]:
    for number, (index, moment, request) in enumerate(requests(case)):
        if left_by_others(moment) and board(case):
            continue  # what the board's other programs left of its one RAM
        if left_by_others(moment):
            yield _of_a_tiny_pool(index, moment)
            continue
        if number:
            continue
        incident = moment.incident
        if incident is None or attributed(moment):
            continue
        if hardly_used(moment):
            yield _of_a_hardly_used_pool(index, moment)
            continue
        if moment.balance.missing:
            continue
        if request.failed.kind is RequestKind.PROFILE or was_killed(moment):
            continue  # an account, of which nothing is cut
        state = incident.state
        if _is_idle(case, moment, request):
            yield _of_idle(index, moment)
            continue
        dumped = state.pool is None and (incident.chunks is not None or incident.size_classes)
        if on_host(moment) and "host" in (request.failed.allocator or ""):
            continue
        if state.limit and state.in_use and state.limit.bytes and state.free is None:
            yield _of_statistics(case, index, moment, request)
        elif dumped and not state.limit and request.needed_bytes is None and len(moment.attribution.table):
            yield _of_chunks(case, index, moment)
        elif _is_head_alone(moment, request) and not _is_all_of_jax(case):
            yield _of_a_head(case, index, moment)


def _of_a_tiny_pool(index: int, moment: Moment) -> Finding:
    assert moment.incident and moment.incident.state.limit
    state = moment.incident.state
    assert state.limit
    because = (
        f"TensorFlow's pool may take only {human_size(state.limit)} of this GPU: most likely another process"
        " held nearly all of it when this one started"
    )
    return Finding(
        severity=Severity.CAUSE,
        headline=because,
        because=because,
        explains=state.limit.bytes,
        evidence=(Evidence(f"limit: {human_size(state.limit)}", state.line_of("limit")),),
        remedies=(_ENDED, _OWN_LIMIT),
        moment=index,
        rules_out=("record-a-step",),
    )


def _of_a_hardly_used_pool(index: int, moment: Moment) -> Finding:
    books = moment.balance
    assert books.in_use and books.free and moment.request
    used = max(books.in_use.bytes, moment.attribution.table.total_bytes)
    pool = human(used + books.free.bytes)
    because = (
        f"what this dump lists is a pool of {pool}, nearly all of it free: no network fills so little, so"
        " either another process held most of this GPU when this one started, or most of the dump is not here"
    )
    return Finding(
        severity=Severity.FACTOR,
        headline=because,
        because=because,
        explains=0,
        evidence=(Evidence(f"free: {human_size(books.free)} of {pool}", moment.request.failed.line),),
        remedies=(_ENDED, _REST),
        moment=index,
    )


def _is_idle(case: Case, moment: Moment, request: Request) -> bool:
    """Whether next to nothing was in use of a GPU's pool, and the request is not known."""
    state = moment.incident.state if moment.incident else None
    if state is None or not (state.limit and state.in_use and state.limit.bytes) or on_host(moment):
        return False
    of_gpu = "host" not in (request.failed.allocator or "") and situation(case, moment).device in (None, GPU)
    return of_gpu and request.needed_bytes is None and state.in_use.bytes <= _IDLE * state.limit.bytes


def _of_idle(index: int, moment: Moment) -> Finding:
    """A pool of which nothing was in use refuses only what is larger than all of it."""
    assert moment.incident
    state = moment.incident.state
    assert state.limit and state.in_use
    because = (
        "next to nothing was in use, so what was asked for is larger than nearly all of the device by"
        " itself: most likely a whole data set as one tensor, or a size that is a mistake"
    )
    return Finding(
        severity=Severity.CAUSE,
        headline=because,
        because=because,
        explains=state.limit.bytes,
        evidence=(
            Evidence(f"in use: {human_size(state.in_use)}", state.line_of("in_use")),
            Evidence(f"limit: {human_size(state.limit)}", state.line_of("limit")),
        ),
        remedies=(_FIND_THE_SIZE, _WHOLE),
        moment=index,
    )


_FLOAT_BYTES = 4


def _seems_to_fit(request: Request, left: int) -> bool:
    """Whether a shape that is printed without its type asks for less than is left, in float32."""
    shape = request.failed.shape
    if not shape or not all(shape):
        return False
    return _FLOAT_BYTES * math.prod(side or 0 for side in shape) <= left


def _of_statistics(case: Case, index: int, moment: Moment, request: Request) -> Finding:
    assert moment.incident
    state = moment.incident.state
    assert state.limit and state.in_use
    used, limit = state.in_use, state.limit
    left = max(limit.bytes - used.bytes, 0)
    of_limit = f"{human_size(used)} of {human_size(limit)}"
    need = request.needed_bytes
    free = max(state.peak.low - used.high, 0) if state.peak else 0
    if need is not None and need <= free:
        largest = state.largest_free_chunk
        block = f"; the largest free block listed is {human_size(largest)}" if largest else ""
        headline = because = (
            f"the pool had held {human_size(state.peak or used)} before (MaxInUse), so about {human(free)} of"
            f" it was free now, in pieces of less than {human(need)} each{block}"
        )
        advice = [remedies.REMAPPED_PAGES, remedies.FIXED_SHAPES, _WHOLE]
        if situation(case, moment).program == "TensorFlow Serving":
            advice = [*of_a_server(case), _WHOLE]
        if left < NEARLY_FULL * limit.bytes:
            headline = because = (
                f"the pool was nearly full, with {of_limit} in use, and the rest lay in pieces"
            )
            advice = [*(remedies.offered(case, moment, "smaller-batch") or _smaller(case, moment)), _WHOLE]
    elif need is not None and used.bytes >= _FULL * limit.bytes:
        headline = because = f"the pool was full, with {of_limit} in use"
        advice = [*(remedies.offered(case, moment, "smaller-batch") or _smaller(case, moment)), _WHOLE]
    elif need is not None and used.bytes >= _MOSTLY_FULL * limit.bytes:
        headline = because = f"{of_limit} was in use, and no free block had room for {human(need)}"
        advice = [*(remedies.offered(case, moment, "smaller-batch") or _smaller(case, moment))]
        advice += [] if request.batch else [_WHOLE]
    elif need is not None:
        headline = because = (
            f"{human(left)} of the {human_size(limit)} limit was not in use, so the free memory lay in"
            f" pieces or"
            " the device had no more to give"
        )
        advice = [_WHOLE, _USERS, remedies.REMAPPED_PAGES]
    elif used.bytes >= _FULL * limit.bytes and _seems_to_fit(request, left):
        headline = because = (
            f"the pool was full, with {of_limit} in use: what was left lay in pieces of less than the"
            " request, or the device had no more to give"
        )
        advice = [*(remedies.offered(case, moment, "smaller-batch") or _smaller(case, moment)), _WHOLE]
    elif used.bytes >= _FULL * limit.bytes:
        headline = f"the pool was full, with {of_limit} in use: any request above {human(left)} fails"
        because = f"the pool was full, so any request above {human(left)} fails"
        advice = [*(remedies.offered(case, moment, "smaller-batch") or _smaller(case, moment)), _WHOLE]
    else:
        headline = because = (
            f"only {percent(used.bytes, limit.bytes)} of the limit was in use, so the request was larger"
            f" than the"
            " rest, the free memory lay in pieces, or the device had no more to give"
        )
        advice = [_WHOLE, _USERS]
    if not_of_ram := _is_no_ram(case, moment):
        headline = because = f"{because}; {not_of_ram}"
    if (loop := through_a_loop(case)) and used.bytes >= _MOSTLY_FULL * limit.bytes:
        headline = because = f"{because}; most likely of {loop.what}"
    largest = state.largest_allocation
    return Finding(
        severity=Severity.FACTOR,
        headline=headline,
        because=because,
        explains=used.bytes if used.bytes >= _FULL * limit.bytes else left,
        evidence=(
            Evidence(f"in use: {human_size(used)}", state.line_of("in_use")),
            *(
                [
                    Evidence(
                        f"the largest allocation so far: {human_size(largest)}",
                        state.line_of("largest_allocation"),
                    )
                ]
                if largest
                else []
            ),
        ),
        remedies=tuple(advice),
        moment=index,
    )


def _is_no_ram(case: Case, moment: Moment) -> str:
    """That a pool is a GPU's though the text speaks of RAM: TensorFlow sets a limit of an odd number of bytes
    by what was free on a device, and the pools of the host have whole MiB. Empty elsewhere.
    """
    limit = moment.incident.state.limit if moment.incident else None
    said = case.capture.surroundings.shows("host RAM in words")
    named = (moment.request.failed.allocator or moment.request.failed.device) if moment.request else None
    if said is None or limit is None or named or framework_of(case) != TENSORFLOW:
        return ""
    if limit.low != limit.high or limit.bytes % MIB == 0 or limit.bytes < GIB:
        return ""
    return f"such a limit is a GPU's, so the RAM that {said.place} speaks of is not what ran out"


def _is_head_alone(moment: Moment, request: Request) -> bool:
    """Whether a dump begins here, with what was asked for, and ends before it says what was in use."""
    incident, failed = moment.incident, request.failed
    if (
        incident is None
        or failed.kind is not RequestKind.DUMP
        or failed.shape is not None
        or request.owner.layer
    ):
        return False
    state = incident.state
    told = state.limit or state.in_use or incident.chunks or incident.size_classes
    return bool(failed.size) and not told and not len(moment.attribution.table)


def _is_all_of_jax(case: Case) -> bool:
    """Whether the exception of a program of JAX's follows, which by default logs no more of a dump than its
    head.
    """
    told = case.capture.surroundings
    return framework_of(case) == JAX and bool(told.shows("raising an exception") or told.raised)


def _of_a_head(case: Case, index: int, moment: Moment) -> Finding:
    because = (
        "its dump ends before the lines that say what was in use, of which size and how much of the limit"
    )
    if block := short_of_it(moment):
        because = f"{block}{of_bins(moment)}"
    failed = moment.request.failed if moment.request else None
    size = failed.size if failed else None
    known = framework_of(case) == TENSORFLOW and size is not None and size.low <= _FIRST_OF_VGG <= size.high
    if known:
        because = f"the request is{_OF_VGG.lstrip(',')}; {because}"
    if loop := through_a_loop(case):
        because = f"{because}; most likely it was {loop.what}"
    return Finding(
        severity=Severity.FACTOR,
        headline=because,
        because=because,
        explains=0,
        basis=Basis.MEASURED,
        evidence=(Evidence("where the dump begins", failed.line if failed else None),),
        remedies=(*((_LAYER_OR_MAPS,) if known else ()), *_smaller(case, moment), _REST),
        moment=index,
    )


def _smaller(case: Case, moment: Moment) -> tuple[Remedy, ...]:
    """What helps a pool that is full of nobody knows what."""
    run = situation(case, moment)
    if run.program == "TensorFlow Serving":
        return _of_a_busy_server(case, moment)
    if run.program == exla.ELIXIR:
        return tuple(exla.of_a_full_pool(case))
    if run.framework != TENSORFLOW:
        return ()
    if case.capture.surroundings.shows("a batch of one"):
        return (_LESS_OF_ONE_SAMPLE,)
    if loop := through_a_loop(case):
        return loop.remedies
    text = (
        "need less in all: a smaller batch or smaller inputs; if it fails at a batch of 1, too, the model"
        " with its optimizer is too large for this pool, or something held a part of the device before"
    )
    return (Remedy(text, slug="smaller-batch"),)


_LESS_OF_ONE_SAMPLE = Remedy(
    "the batch is 1 already: smaller inputs (images, crops, sequences), recompute activations in the backward"
    " pass, or put parts of the model on other GPUs; a copy of the model on each GPU takes as much on each",
    "with tf.device('/gpu:1'): x = second_half(x)",
    slug="smaller-input",
)


def _of_a_busy_server(case: Case, moment: Moment) -> tuple[Remedy, ...]:
    """What helps where the text tells that much was asked of a server at once."""
    serves = situation(case, moment).program == "TensorFlow Serving"
    busy = case.capture.surroundings.shows("many served calls")
    return tuple(of_a_server(case)) if serves and busy else ()


def _of_chunks(case: Case, index: int, moment: Moment) -> Finding:
    most = max(moment.attribution.table, key=lambda row: row.total_bytes)
    if held(moment) < LEAST_OF_A_DEVICE:
        what = f"a part of a dump, {human(held(moment))} in {len(moment.attribution.table)} sizes of blocks"
        known = moment.request is not None and moment.request.failed.shape is not None
        tells = "neither what was requested nor what held the device"
        tells = f"tells {tells}" if not known else "does not tell what held the device"
        gpu = None if known else case.capture.surroundings.shows("a GPU named")
        of_gpu = f" (a GPU's, by {gpu.place})" if gpu else ""
        return Finding(
            severity=Severity.NOTE if known else Severity.FACTOR,
            headline=f"{what}, which {tells}",
            because=f"only a part of its dump is here{of_gpu}, which {tells}",
            explains=0,
            basis=Basis.MEASURED,
            evidence=(Evidence("the blocks", most.line),),
            remedies=(_WHOLE,),
            moment=index,
        )
    alike = [row for row in moment.attribution.table if _are_alike(row, most)]
    count, size = sum(row.count for row in alike), sum(row.total_bytes for row in alike)
    share = percent(size, held(moment))
    what = (
        f"{count} blocks of {_size_of(alike)} hold {human(size)}, {share} of the blocks that are here"
        if count > 1
        else f"one block of {human(most.size_bytes)} is {share} of the blocks that are here"
    )
    copies = _may_be_copies(case, most.size_bytes, count) if size >= _NEARLY_ALL * held(moment) else ()
    known = framework_of(case) == TENSORFLOW and _known_by_size(most.size_bytes)
    because = f"{what}; {_OF_COPIES}" if copies else f"{what}{_OF_VGG if known else ''}"
    because += _free_beside(moment, most.size_bytes)
    return Finding(
        severity=Severity.FACTOR,
        headline=f"{what}; the request and the limit are in a part of the dump that is not",
        because=because,
        explains=size,
        basis=Basis.MEASURED,
        evidence=tuple(Evidence("the blocks", row.line) for row in alike),
        remedies=(*_of_a_busy_server(case, moment), *((_LAYER_OR_MAPS,) if known else copies), _WHOLE),
        moment=index,
    )


_ALIKE = 256
"""Blocks that differ by less than one part of so many are of tensors of one size: BFC gives some a little
more."""
_NEARLY_ALL = 0.9
"""Outputs of a network have sizes of every stage: blocks of one size that are nearly all are a weight's."""
_LARGE_COPY, _COPIES, _FLOAT = 64 * MIB, range(3, 17), 4
_OF_COPIES = (
    "equal ones that are nearly all are rather one large weight with its copies (a gradient, the optimizer's"
    " slots, a second network) than outputs of many layers"
)


_FIRST_OF_VGG = 25_088 * 4096 * _FLOAT
_OF_VGG = ", as large as VGG's first dense layer (25,088 x 4,096) and as 64 maps of 224 x 224 for 32 images"
_LAYER_OR_MAPS = Remedy(
    "if the model is a VGG16 or VGG19 with its dense layers, it is the first of them, its gradient or a"
    " slot, which no smaller batch shrinks: leave them out (include_top=False, then global average pooling),"
    " or take a backbone without such layers; if it is given 32 images of 224 x 224 at a time, fewer of them",
    slug="other-backbone",
)


def _known_by_size(size: int) -> bool:
    """Whether it is the size of a layer that many use, or of its usual maps."""
    return _FIRST_OF_VGG <= size <= _FIRST_OF_VGG + _FIRST_OF_VGG // _ALIKE


_WORTH_NAMING = 16 * MIB


def _free_beside(moment: Moment, size: int) -> str:
    """That the free blocks of a list are smaller than those in use, so that no other of these finds room."""
    chunks = moment.incident.chunks if moment.incident else None
    if chunks is None:
        return ""
    free = [each for each, used in zip(chunks.size_bytes, chunks.in_use, strict=True) if not used]
    largest = max(free, default=0)
    if not _WORTH_NAMING <= largest < size:
        return ""
    return f"; the largest free block in this part, {human(largest)}, has no room for another"


def _size_of(alike: list[Allocation]) -> str:
    """The size of blocks that are alike: from the least to the largest where they differ."""
    sizes = [row.size_bytes for row in alike]
    least, largest = human(min(sizes)), human(max(sizes))
    return least if least == largest else f"{least} to {largest}"


def _are_alike(row: Allocation, other: Allocation) -> bool:
    return abs(row.size_bytes - other.size_bytes) * _ALIKE <= other.size_bytes


def _may_be_copies(case: Case, size: int, count: int) -> tuple[Remedy, ...]:
    """How to find the weight of which a few large blocks of one size may be copies."""
    if size < _LARGE_COPY or count not in _COPIES or framework_of(case) != TENSORFLOW:
        return ()
    if situation(case).program or only_infers(case):
        return ()  # without a gradient and an optimizer a weight has no copies
    return (
        Remedy(
            f"look for a weight of about {size // _FLOAT:,} numbers (as float32), such as a dense layer"
            " behind Flatten or a table: each copy of it takes as much; make its input or width smaller."
            " Where no weight is as large, they are outputs of one shape, which a smaller batch shrinks",
            "for v in model.variables: print(v.name, v.shape)",
            slug="find-the-layer",
        ),
    )
