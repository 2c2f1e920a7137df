"""The request alone is larger than the device can ever hold.

What it means: no batch of other changes helps while this one tensor is asked for; freeing everything else
would not be enough.
When it fires: the request exceeds the allocator's limit (or `--limit`, or the device's memory that TensorFlow
logged); without any of these, when it exceeds 192 GiB, more than any single accelerator had.
What to do: shrink this tensor. Its own dimensions say which knob turns it: the first is nearly always the
batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from tfmemlens.findings import attention_scores, im2col_buffer, pairwise_broadcast
from tfmemlens.findings.smaller_pool import asks_by_a_wrong_figure
from tfmemlens.findings.support import far_too_much, phase, remedies
from tfmemlens.findings.support.batch_bound import batch_bound, in_words, of_traced, traced_below
from tfmemlens.findings.support.own_constant import own_batch
from tfmemlens.findings.support.phase import is_jacobian
from tfmemlens.findings.support.rows import device_limit, on_host, place, requests, tensor_text
from tfmemlens.findings.support.situation import JAX, TENSORFLOW, framework_of, situation
from tfmemlens.findings.support.tf_code.pairs import pairs_in_code
from tfmemlens.findings.support.tiny_pools import left_by_others
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import RequestKind
from tfmemlens.model.what_if import Shrunk
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, IMPOSSIBLE, Size, human, human_size
from tfmemlens.values import replace

BASIS = Basis.MEASURED
EXPLAINS = "the request"

_OF_A_MATRIX = regex(r"MatMul|OneHot|Random|Normal|Uniform|Fill|Variable|Const|Assign|Apply|Identity")
"""Ops that make or hold a layer's weights, or a one-hot: element-wise ones combine what is there."""
_WRAPPED = (
    "no memory has so much, so the size itself is wrong: a dimension is negative, or their product ran over"
    " 64 bits"
)
_WITH_COPIES = 6
"""What comes of such a tensor (a bias added, a mask, the best of each row) is as large again."""
_LARGEST_DEVICE = Size.exactly(192 * GIB)


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in requests(case):
        need = request.needed_bytes
        known = device_limit(case, moment)
        limit = known or _LARGEST_DEVICE
        if known is None and on_host(moment):
            continue
        if need is None or need <= limit.high or request.failed.kind in (RequestKind.TPU, RequestKind.XLA):
            continue
        if asks_by_a_wrong_figure(request) or (known and _is_the_pool(moment, request, known)):
            continue
        what = f"the device's limit of {human_size(limit)}" if known else "any single device's memory"
        state = moment.incident.state if moment.incident else None
        one = "tensor" if request.failed.shape is not None else "request"
        where = f" at {place(moment)}" if place(moment) else ""
        of_pairs = [finding for finding in pairwise_broadcast.check(case) if finding.moment == index]
        yield Finding(
            severity=Severity.CAUSE,
            headline=f"one {one} of {human(need)}{where} is larger than {what}: it can never fit",
            because=_WRAPPED
            if need >= IMPOSSIBLE
            else f"this one {one}{_size_beside(request)} is larger than {what}",
            explains=need,
            evidence=(
                Evidence(f"requested: {tensor_text(moment)}", request.failed.line),
                *(
                    (Evidence(f"limit: {human_size(known)}", state.line_of("limit") if state else None),)
                    if known
                    else ()
                ),
            ),
            remedies=tuple(_dimension_remedies(case, index, need, limit.bytes, of_pairs)),
            moment=index,
        )


_ROUNDED = 1.01
"""The pool's size is logged in MB, and what the driver is asked for in bytes."""


def _is_the_pool(moment: Moment, request: Request, limit: Size) -> bool:
    """Whether the driver refused the pool that TensorFlow makes at its start: all of its limit at once, or
    regions of which each is nine tenths of the one before. No op asked for any of it.
    """
    need = request.needed_bytes or 0
    if request.failed.kind is not RequestKind.DRIVER:
        return False
    lines = moment.incident.tellings if moment.incident else ()
    sizes = [int(match["bytes"]) for line in lines if (match := _OF_THE_DRIVER.search(line.text))]
    falls = any(0.89 < after / before < 0.91 for before, after in pairwise(sizes))
    return need <= _ROUNDED * limit.high or (falls and need <= 2 * limit.high)


_OF_THE_DRIVER = regex(r"\((?P<bytes>\d{1,18}) bytes\) from device")


def _size_beside(request: Request) -> str:
    """Its size, where the words before do not say it: `Out of memory while allocating … (1.00 GiB)`."""
    told = request.failed.kind in (RequestKind.TENSOR, RequestKind.DUMP)
    return "" if told else f" of {human(request.needed_bytes or 0)}"


def _asked(need: int) -> str:
    if need >= IMPOSSIBLE:
        return "look for a dimension that is negative or far too large (an index, an id, a wrong unit)"
    return (
        f"in float32 it asks for {need // 4:,} numbers, as a whole data set in one batch makes them, or [n,1]"
        " against [n]"
    )


def _numbers(need: int) -> str:
    return "" if need >= IMPOSSIBLE else f": in float32 it asks for {need // 4:,} numbers"


def _is_known(case: Case) -> bool:
    """Whether the text names a program whose own settings decide how much it asks for: no size is a mistake
    there.
    """
    from tfmemlens.findings.support.own_settings import of_the_program

    known = of_the_program(case, surely_jax=True)
    return known is not None and "in-blocks" not in {each.slug for each in known.program.settings}


def _without_shape(case: Case, moment: Moment, need: int) -> Iterator[Remedy]:
    """What finds the array that is larger than its author thought."""
    request = moment.request
    if left_by_others(moment):
        return  # the request is no larger than any: what is left of the device is small
    of_an_op = request and not (request.fixed or request.failed.compiled)
    if of_an_op and framework_of(case) == TENSORFLOW:
        where = f"`{place(moment)}`" if place(moment) else "the failing op"
        yield Remedy(
            f"print the shapes that go into {where}: {_asked(need)}",
            slug="compare-shapes",
        )
    elif framework_of(case) == JAX and not _is_known(case):
        shapes = Remedy(
            f"look for an array whose size is a mistake{_numbers(need)}; shapes are known without running",
            "print(jax.eval_shape(f, *arguments))",
            slug="shapes-without-running",
        )
        if need >= far_too_much.NO_PROGRAM:
            yield shapes
            return
        yield Remedy(
            "XLA asks for all temporaries of a compiled program as one block, so that this need not be one"
            " array: let one call do far less (a micro-batch in training, else samples, rows, pairs, draws),"
            " by a library's own option where there is one (a chunk or batch size)",
            "y = jax.lax.map(f, xs, batch_size=len(xs) // 8)",
            slug="in-blocks",
        )
        if situation(case, moment).training:
            yield from remedies.offered(case, moment, "recompute")
        yield replace(shapes, text=f"or {shapes.text}")


def _of_a_count(size: int) -> Remedy:
    """A vector has no batch: its length is a number of the program's, or what a broken index came to."""
    return Remedy(
        f"find what makes a vector of {size:,} numbers: print the sizes and indices that go into the failing"
        " op; where none of the program's is near it, the kernel read a wrong number (try another build of"
        " the framework, or the CPU)",
        slug="compare-shapes",
    )


def _smaller_maps(case: Case, index: int, need: int, of_volume: bool) -> Remedy:
    """What the held rows save is no more than a part where the failed map, which becomes a quarter, too, is
    larger.
    """
    text = "halve height and width: every feature map becomes a quarter"
    axes = 2
    if of_volume:
        text, axes = "halve depth, height and width: every feature map becomes an eighth", 3
    failed = Shrunk("smaller-input", need, axes=axes)
    of_rows = remedies.of_change(case, index, text, failed)
    of_request = remedies.of_tensor(case, text, failed)
    return of_rows if (of_rows.saves_bytes or 0) >= (of_request.saves_bytes or 0) else of_request


_LEAST_SIDE, _LARGEST_IMAGE = 8, 30_000
"""Sides that can be halved, and what no image has for both."""


def _is_of_rows(request: Request | None, rows: int) -> bool:
    """Whether a layer was called with as many rows: then the matrix is what it computes of each, and no
    weight of it and no one-hot.
    """
    arguments = request.failed.arguments if request else ()
    return any(each.shape and each.shape[0] == rows for each in arguments)


def _has_sides(sizes: Sequence[int]) -> bool:
    """Whether a tensor is a map of images or volumes: not every pair of very many rows."""
    pairs = sizes[-1] == sizes[-2] > _LARGEST_IMAGE
    return len(sizes) in (4, 5) and min(sizes[1:-1]) > _LEAST_SIDE and not pairs


def _is_of_a_network(case: Case, moment: Moment) -> bool:
    """Whether rows that are combined in pairs may be a batch: a layer, a training or a stated batch says so.
    Who only compares them wants all of them.
    """
    in_layer = moment.request is not None and moment.request.failed.keras_layer is not None
    stated = case.capture.surroundings.setting("batch_size")
    return bool(in_layer or stated or situation(case, moment).training)


def _dimension_remedies(
    case: Case, index: int, need: int, limit: int, of_pairs: Sequence[Finding] = ()
) -> Iterator[Remedy]:
    """Smaller sizes for the tensor; none where its sizes are the kernel's own, as those of a patch matrix."""
    if any(finding.moment == index for finding in im2col_buffer.check(case)):
        return
    moment = case.moments[index]
    request, bound = moment.request, batch_bound(case, moment)
    shape = request.failed.shape if request else None
    if not shape or not all(shape):
        yield from _without_shape(case, moment, need)
        return
    sizes = [size or 1 for size in shape]
    if len(sizes) == 1:
        if request and not is_jacobian(request):
            yield _of_a_count(sizes[0])
        return
    of_batch = bool(bound and remedies.batch_of(case, moment) == sizes[0] and bound.most(sizes[0]))
    paired = bool(of_pairs) or (
        request is not None and pairs_in_code(request.failed.source_text or "", len(sizes))
    )
    of_batch &= not paired or _is_of_a_network(case, moment)
    mistaken = any(remedy.slug == "one-shape" for finding in of_pairs for remedy in finding.remedies)
    if mistaken or (paired and not of_batch):
        pass  # the rule of pairs says what to change: its first dimension alone is no size of the program's
    elif request and request.batch == sizes[0] and phase.of_other_data(case, request):
        pass  # the rule of evaluation says it, for the batch of that data set
    elif own_batch(case, moment):
        pass  # a batch times a constant of the program, whose rule says which
    elif sizes[0] >= 2 and request and not request.fixed:
        batch = remedies.batch_of(case, moment)
        traced = traced_below(case, moment, batch)
        if traced and batch == sizes[0]:
            fits, first = traced.sure_batch, f"{of_traced(traced, sizes[0])}; this tensor then"
        elif bound and batch == sizes[0] and bound.most(sizes[0]):
            fits, first = bound.start(sizes[0]), f"{in_words(bound, sizes[0])}; this tensor then"
        elif bound and bound.most(sizes[0]):
            part = max(round(sizes[0] * limit / _WITH_COPIES / need), 1)
            fits = min(bound.start(sizes[0]), 1 << (part.bit_length() - 1))
            first = f"make its first dimension smaller, {sizes[0]} -> {fits} (a guess): the tensor then"
        elif limit == _LARGEST_DEVICE.bytes:
            fits = far_too_much.first_sides(need, sizes[0])
            first = f"compute it for fewer rows at a time, {sizes[0]} -> {fits} (a guess): the tensor then"
        else:
            fits = max(sizes[0] // -(-need // limit), 1)
            first = f"make its first dimension smaller, {sizes[0]} -> {fits}: the tensor then"
        yield remedies.of_tensor(
            case,
            f"{first} takes {human(need // sizes[0] * fits)}",
            Shrunk("smaller-batch", need, sizes[0], fits),
        )
    if (
        _has_sides(sizes)
        and not paired
        and not any(finding.moment == index for finding in attention_scores.check(case))
    ):
        yield _smaller_maps(case, index, need, len(sizes) == 5)
    op = request.failed.op or request.owner.op if request else None
    of_weights = (op is None or _OF_A_MATRIX.search(op)) and not _is_of_rows(request, sizes[0])
    if len(sizes) == 2 and min(sizes) > 1000 and not paired and of_weights:
        yield Remedy(
            f"a {sizes[0]} x {sizes[1]} matrix: check that it is not made by Flatten before a Dense layer, or"
            " by a one-hot of a large vocabulary",
            slug="check-the-matrix",
        )
