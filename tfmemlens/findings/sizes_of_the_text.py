"""The text itself names the sizes of the tensor that failed: its batch, a length, the sides of an image.

What it means: a shape in an error is read by its numbers. `[32,512,3072]` beside `max_length=512` and
`batch(32)` is a batch of 32 texts of 512 tokens, and each of these two numbers makes it smaller.
When it fires: numbers of the text, with names that tell what they count, are nearly half of the shape or more
(by their logarithms); the request is at least 8 MiB, and no weight.
What to do: lower the number that is meant to be lowered, in the line that states it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.named_sizes import Meaning, NamedSize, in_words, named_sizes
from tfmemlens.findings.support.phase import EVALUATION, PREDICTION, other_than_training
from tfmemlens.findings.support.rows import requests, tensor_text
from tfmemlens.findings.support.situation import TENSORFLOW, framework_of, situation
from tfmemlens.model.attribution import Kind
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.what_if import Shrunk
from tfmemlens.patterns import regex
from tfmemlens.units import MIB

BASIS = Basis.NAME
EXPLAINS = "the failing tensor"

LEAST_BYTES = 8 * MIB
_LEAST_PART = 0.45
"""The share of the shape's size, by its logarithm, that must be named: two sides of an image, or batch
and length."""
_LARGE_BATCH = 256
"""A batch that is lowered before samples are made smaller."""
_LARGE_BYTES = 256 * MIB
"""Of a smaller request what it saves itself says little."""


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in list(requests(case))[:1]:
        need = request.failed.tensor_bytes
        if framework_of(case) != TENSORFLOW or need is None or need < LEAST_BYTES or _is_weight(request):
            continue
        named = _of_the_op(request, named_sizes(request.failed.shape, case.capture.surroundings))
        composed = any(each.times for each in named)
        if not composed and _part(named, request.failed.shape or ()) < _LEAST_PART:
            continue
        what = in_words(named[:4])
        who = "the program" if all(each.line.source for each in named) else "the text"
        yield Finding(
            severity=Severity.FACTOR,
            headline=f"{who} names its sizes: {what}",
            because=f"{what}",
            explains=need,
            evidence=(
                Evidence(f"requested: {tensor_text(moment)}", request.failed.line),
                *(Evidence(f"{each.size} is {each.words}", each.line) for each in named[:3]),
            ),
            remedies=tuple(_remedies(case, moment, named, need)),
            moment=index,
        )


_OF_MATRICES = regex(r"(?i)einsum|batch_?mat_?mul")


def _of_the_op(request: Request, named: Sequence[NamedSize]) -> Sequence[NamedSize]:
    """Without sides of an image where matrices were multiplied, whose rows and columns are no such sides."""
    if not _OF_MATRICES.search(f"{request.failed.node} {request.failed.op}"):
        return named
    return [each for each in named if each.meaning is not Meaning.IMAGE]


def _is_weight(request: Request) -> bool:
    of_weights = request.owner.kind in (Kind.PARAMETER, Kind.OPTIMIZER_SLOT)
    return request.fixed or request.failed.creating or request.failed.updating or of_weights


_IN_THREE_DIMENSIONS = regex(r"(?i)conv_?3d|pool(?:ing)?_?3d|ops_3d|sampling_?3d")


def _is_volume(named: Sequence[NamedSize], request: Request | None) -> bool:
    """Whether it has three sides, so that half of each makes an eighth: three are named, or its op is one of
    volumes.
    """
    if sum(each.meaning is Meaning.IMAGE for each in named) > 2:
        return True
    failed = request.failed if request else None
    if failed is None or len(failed.shape or ()) != 5:
        return False
    return bool(_IN_THREE_DIMENSIONS.search(f"{failed.node} {failed.op} {failed.kernel}"))


def _part(named: Sequence[NamedSize], shape: Sequence[int | None]) -> float:
    """How much of the tensor's size the named factors make."""
    whole = sum(math.log(size) for size in shape if size)
    return sum(math.log(each.size) for each in named) / whole if whole else 0.0


_SERVERS = ("Triton", "TensorFlow Serving")
"""What serves a saved model, whose sides are as they were saved."""


def _remedies(case: Case, moment: Moment, named: Sequence[NamedSize], need: int) -> Iterator[Remedy]:
    saving = need >= _LARGE_BYTES
    told = {each.meaning: each for each in (*named, *(each.times for each in named if each.times))}
    ran = other_than_training(case, moment.request) if moment.request else None
    several = moment.request is not None and (moment.request.batch or 1) > 1
    many = ran is not None and ran[0] in (EVALUATION, PREDICTION) and several
    first = named[0] if named else None
    explains = case.capture.surroundings.shows("explaining") is not None
    large = first is not None and first.meaning is Meaning.BATCH and first.stated >= _LARGE_BATCH
    if large or explains:
        yield from remedies.offered(case, moment, "smaller-batch")
    served = situation(case, moment).program in _SERVERS
    if (image := told.get(Meaning.IMAGE)) and not (
        many or explains or served
    ):  # fewer at a time cost nothing there
        name = f"`{image.name}`" if image.name else "the image"
        part, axes = ("an eighth", 3) if _is_volume(named, moment.request) else ("a quarter", 2)
        yield remedies.of_tensor(
            case,
            f"lower {name} ({image.line.place}: {image.stated} -> {image.stated // 2}): half of each side"
            f" makes this tensor and all like it {part}",
            Shrunk("smaller-input", need if saving else None, axes=axes),
        )
    if (length := told.get(Meaning.LENGTH)) and moment.request:
        yield remedies.shorter_for(case, length, moment.request)
    if not (large or explains):
        yield from remedies.offered(case, moment, "smaller-batch")
