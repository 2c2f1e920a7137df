"""The program's own lines make tensors whose shapes the code tells, and these are what fills the device.

What it means: without a list of owners nobody knows whose blocks a dump counts. The code does: followed from
its inputs, its calls and operators make tensors of known shapes, some of them again in each turn of a loop.
When it fires: the program stands beside the message and records gradients; no list names owners. Either
tensors of the shape that failed are made by its lines, several times in a step or beside others as large, or
what failed is less than a twentieth of the limit. What the lines told of make in a step is a quarter of the
limit or more.
What to do: let the line that makes most make less at once; else a smaller batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.code_tensors import (
    CodeTensor,
    LineTensors,
    batch_of_the_code,
    by_line,
    code_tensors,
    of_the_size,
    rows_through_a_net,
)
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.findings.support.rows import attributed, device_limit, enumerated, on_host, requests
from tfmemlens.findings.support.situation import TENSORFLOW, framework_of
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.tensor import format_shape
from tfmemlens.patterns import regex
from tfmemlens.units import MIB, human, rough

BASIS = Basis.SHAPE
EXPLAINS = "what the lines told of make in a step"
HEDGED = (Severity.CAUSE,)

_LEAST_SHARE, _BYSTANDER = 0.25, 0.05
"""Of the limit."""
_LEAST_BYTES, _MOST_LINES = 16 * MIB, 3
_TWICE, _BESIDE = 2, 0.5
_RECORDS = regex(r"GradientTape\(|\.fit\(|\.fit_generator\(|\.minimize\(|train_on_batch|tf\.gradients\(")
_JOINS = ("stack", "concat", "concatenate")


def check(case: Case) -> Iterator[Finding]:
    program = case.capture.surroundings.program()
    if framework_of(case) != TENSORFLOW or not program:
        return
    code = code_lines(case.capture.surroundings)
    if not any(_RECORDS.search(line.text) for line in code):
        return
    for index, moment, request in list(requests(case))[:1]:
        limit, need = device_limit(case, moment), request.needed_bytes
        if limit is None or need is None or attributed(moment) or request.fixed or _of_host(moment):
            continue
        batch = batch_of_the_code(case, moment)
        shape = request.failed.shape
        if shape and any(each.asked for each in code_tensors(program, shape[0], shape)):
            batch = shape[0]
        tensors = code_tensors(program, batch, shape)
        asked = by_line(of_the_size(tensors))
        whole = sum(each.total_bytes for each in asked)
        if rows_through_a_net(request, asked):
            continue  # rows-at-once tells of them
        if whole >= max(_LEAST_SHARE * limit.bytes, _TWICE * asked[0].largest.bytes if asked else 0) > 0:
            yield _asked(case, index, moment, request, asked, by_line(tensors))
        elif need <= _BYSTANDER * limit.bytes:
            largest = [each for each in by_line(tensors) if each.total_bytes >= _LEAST_BYTES][:_MOST_LINES]
            if sum(each.total_bytes for each in largest) >= _LEAST_SHARE * limit.bytes:
                yield _bystander(case, index, moment, request, largest)


def _of_host(moment: Moment) -> bool:
    return on_host(moment) and moment.balance.limit is None


def _asked(
    case: Case,
    index: int,
    moment: Moment,
    request: Request,
    asked: Sequence[LineTensors],
    lines: Sequence[LineTensors],
) -> Finding:
    """Lines that make what failed, in a loop or several times."""
    first, whole = asked[0], sum(each.total_bytes for each in asked)
    times = first.largest.made.times
    if len(asked) == 1 and len(first.tensors) == 1:
        joined = _joined(first, lines)
        what = f"by the code, {_told(first)} makes {times:,} such tensors in a step, {human(whole)} in all"
        if joined:
            what += f", and {joined.line.place} joins them: then both exist"
    else:
        count = sum(each.made.times for line in asked for each in line.tensors)
        named = enumerated([_told(each) for each in asked[:_MOST_LINES]])
        more = ", and others" if len(asked) > _MOST_LINES else ""
        what = f"by the code, a step makes {count} tensors of this size, {human(whole)}: {named}{more}"
    return _finding(case, index, moment, request, asked, what, whole)


def _joined(first: LineTensors, lines: Sequence[LineTensors]) -> LineTensors | None:
    """The line that joins what another makes in each turn."""
    whole = first.largest.total_bytes
    return next(
        (
            each
            for each in lines
            if each.line != first.line and each.largest.made.op in _JOINS and each.largest.bytes == whole
        ),
        None,
    )


def _bystander(
    case: Case, index: int, moment: Moment, request: Request, largest: Sequence[LineTensors]
) -> Finding:
    """Lines that make most, where what failed is next to nothing."""
    told = [
        f"{format_shape(each.largest.shape)}{_often(each.largest)} at {_told(each)},"
        f" {rough(each.total_bytes)}"
        for each in largest
        if each.total_bytes >= _BESIDE * largest[0].total_bytes
    ]
    whole = sum(each.total_bytes for each in largest)
    what = f"what failed is small: by the code, most of what a step makes is {enumerated(told)}"
    return _finding(case, index, moment, request, largest, what, whole)


def _often(tensor: CodeTensor) -> str:
    return f" {tensor.made.times:,} times" if tensor.made.times > 1 else ""


def _told(each: LineTensors) -> str:
    """The line, with the layer or the function that makes the largest there."""
    made = each.largest.made
    function = made.code.partition("(")[0]
    if each.largest.of_layer or (made.op != "operator" and _NAME.fullmatch(function)):
        return f"{each.line.place} (`{made.op if each.largest.of_layer else function}`)"
    return each.line.place


_NAME = regex(r"[A-Za-z_][\w.]{0,60}")


def _finding(
    case: Case,
    index: int,
    moment: Moment,
    request: Request,
    lines: Sequence[LineTensors],
    what: str,
    explains: int,
) -> Finding:
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        explains=explains,
        evidence=(
            Evidence("the request", request.failed.line),
            *(
                Evidence(
                    f"{format_shape(each.largest.shape)}{_often(each.largest)}: {rough(each.total_bytes)}",
                    each.line,
                )
                for each in lines[:_MOST_LINES]
            ),
        ),
        remedies=tuple(_remedies(case, moment, lines[0])),
        moment=index,
    )


def _remedies(case: Case, moment: Moment, first: LineTensors) -> Iterator[Remedy]:
    place, largest = first.line.place, first.largest
    if largest.made.op in _FILLS:
        yield Remedy(
            f"{place} fills a tensor with one value: give it sides of 1 where all are the same, and let the"
            " op that reads it broadcast them",
            "mask = tf.linalg.band_part(tf.ones([1, length, length]), -1, 0)",
            slug="broadcast-a-fill",
        )
    elif largest.made.op == "one_hot":
        yield Remedy(
            f"{place} makes a whole row for each index: where it picks values, gather them, or give a"
            " sparse loss the indices and the logits",
            "tf.nn.sparse_softmax_cross_entropy_with_logits(labels=ids, logits=logits)",
            slug="sparse-labels",
        )
    elif largest.of_layer:
        yield from remedies.offered(case, moment, "recompute")
    elif largest.made.times > 1:
        yield Remedy(
            f"let each turn of {place} end in something small before the next (sum, score or reduce its"
            f" piece), and compute it again in the backward pass{_HOW}",
            slug="in-blocks",
        )
    else:
        yield Remedy(
            f"let {place} make less at once: go over one of its sides in blocks, reduce each block, and"
            f" compute it again in the backward pass{_HOW}",
            slug="in-blocks",
        )
    yield from remedies.offered(case, moment, "smaller-batch")


_HOW = " (tf.recompute_grad in TensorFlow 2), so that none is kept"
_FILLS = ("ones", "zeros", "fill", "full", "ones_like", "zeros_like", "band_part", "broadcast_to")
