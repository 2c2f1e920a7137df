"""Each slice that a loop takes of a tensor has a gradient as large as the whole tensor.

What it means: `z[:, t]` in a loop that Python runs is an op for each turn. Its gradient is a tensor of zeros
with the slice in its place, as large as all of `z`; where a graph is built, those of all turns wait for each
other until they are added up. Steps times the whole of `z`, whatever the loop computes.
When it fires: the program indexes a tensor that weights stand behind eight times or more, by the turn of a
loop, and eight blocks or more of its size are in use, a tenth of all; or, without the program, the gradient
of a slice failed, and as many blocks have its size.
What to do: unstack the tensor once before the loop, whose gradient is one tensor.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.code_tensors import batch_of_the_code, bound
from tfmemlens.findings.support.rows import all_in_use, attributed, on_host, requests, rows
from tfmemlens.findings.support.situation import TENSORFLOW, framework_of
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.model.tensor import format_shape, tensor_bytes
from tfmemlens.patterns import regex
from tfmemlens.units import MIB, human, percent, round_up
from tfmemlens.values import dataclass

BASIS = Basis.SHAPE
EXPLAINS = "the blocks that are as large as the whole tensor"

_MANY, _LEAST_SHARE = 8, 0.1
_SLACK = 1.02
"""A block may be a little larger than what lies in it."""
_OF_A_SLICE = regex(
    r"(?:^|/)(?:strided_slice(?:_\d+)?_grad/|strided_slice(?:_\d+)?/StridedSliceGrad)|^StridedSliceGrad"
)
_EIGHT_MIB = 8 * MIB


@dataclass(frozen=True, slots=True)
class _Whole:
    """A tensor that is cut in many slices."""

    bytes: int
    shape: tuple[int, ...]
    dtype: str
    line: Line | None
    code: str
    times: int
    axis: int


def check(case: Case) -> Iterator[Finding]:
    if framework_of(case) != TENSORFLOW:
        return
    for index, moment, request in list(requests(case))[:1]:
        if attributed(moment) or request.fixed or (on_host(moment) and moment.balance.limit is None):
            continue
        for whole in (*_of_the_code(case, moment, request), *_of_what_failed(request)):
            count = _blocks(moment, whole.bytes)
            if count >= _MANY and count * whole.bytes >= max(_LEAST_SHARE * all_in_use(moment), _EIGHT_MIB):
                yield _finding(case, index, moment, request, whole, count)
                break


def _of_the_code(case: Case, moment: Moment, request: Request) -> Iterator[_Whole]:
    program = case.capture.surroundings.program()
    if not program:
        return
    from tfmemlens.knowledge.keras_program.sliced import sliced

    batch = batch_of_the_code(case, moment)
    for each in sliced(program):
        if each.times < _MANY or each.whole.shape is None:
            continue
        shape = bound(each.whole.shape, batch, request.failed.shape)
        size = tensor_bytes(shape, each.whole.dtype or "float32") if shape else None
        if shape and size:
            dtype = each.whole.dtype or "float32"
            yield _Whole(size, shape, dtype, each.line, each.code, each.times, each.axis)


def _of_what_failed(request: Request) -> Iterator[_Whole]:
    """The gradient of a slice that failed, by its name."""
    failed = request.failed
    shape = tuple(side for side in failed.shape or () if side is not None)
    size = failed.tensor_bytes
    if size and shape and _OF_A_SLICE.search(failed.node or failed.op or ""):
        yield _Whole(size, shape, failed.dtype or "float32", None, "", 0, 1)


def _blocks(moment: Moment, size: int) -> int:
    """How many blocks in use are as large as the whole tensor."""
    least = round_up(size)
    alike = rows(moment, lambda row: least <= row.allocation.size_bytes <= _SLACK * least)
    return sum(row.allocation.count for row in alike)


def _finding(case: Case, index: int, moment: Moment, request: Request, whole: _Whole, count: int) -> Finding:
    held = count * whole.bytes
    of = f"of a tensor {format_shape(whole.shape)}"
    which = f"a loop takes slices {of}"
    if whole.line:
        which = f"{whole.line.place} takes {whole.times:,} slices (`{whole.code}`) {of}"
    what = (
        f"{which}, and the gradient of each slice is as large as the whole tensor: most likely these are the"
        f" {count} blocks of {human(whole.bytes)} that are in use, {percent(held, all_in_use(moment))} of all"
    )
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        explains=held,
        evidence=(
            *((Evidence("the slices", whole.line),) if whole.line else ()),
            Evidence("the request", request.failed.line),
        ),
        detail="A dump has no names; that these are gradients of slices is likely by their size, not proved.",
        remedies=(_unstacked(whole, held), *remedies.offered(case, moment, "smaller-batch")),
        moment=index,
        rules_out=("look-for-lists", "keep-numbers", "shorter-sequences"),
    )


def _unstacked(whole: _Whole, held: int) -> Remedy:
    name = whole.code.partition("[")[0] if whole.line else "z"
    name = name if name.isidentifier() else "z"
    return Remedy(
        "unstack the tensor once before the loop, and take its parts in it: the gradient of all is then one"
        " tensor (of slices that are wider than one step: `tf.split`)",
        f"parts = tf.unstack({name}, axis={whole.axis})   # in the loop: parts[t] in place of the slice",
        saves_bytes=held - whole.bytes,
        certainty=Certainty.BOUND,
        slug="unstack-once",
    )
