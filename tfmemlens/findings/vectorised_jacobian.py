"""A Jacobian is computed for all outputs at once.

What it means: `tape.jacobian` runs the backward pass once for each output. It does so in one vectorised loop
(pfor), so that each tensor of the backward pass has the number of outputs as a further first dimension.
When it fires: the failing op runs in such a loop (`loop_body/`, `/pfor`), or the failing line calls
`.jacobian(`.
What to do: fewer samples at a time, since the result has all weights once for each output; an ordinary loop,
one output after the other, makes the tensors on the way smaller.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.jacobians import FEWER_SAMPLES, one_after_the_other
from tfmemlens.findings.support.phase import is_jacobian
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.findings.support.rows import requests, tensor_text
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Severity
from tfmemlens.model.incident import RequestKind
from tfmemlens.patterns import regex

BASIS = Basis.SHAPE
EXPLAINS = "the failing tensor"


def _of_stated(case: Case, first: int) -> int | None:
    """The iterations of a first dimension that is rows times iterations, as a shape of the text has both: of
    [786432,4096] beside `y (256, 3072)` these are 3,072.
    """
    stated = {size.sizes for size in case.capture.surroundings.sizes if len(size.sizes) == 2}
    turns = {sizes[1] for sizes in stated if sizes[0] * sizes[1] == first and min(sizes) > 1}
    return turns.pop() if len(turns) == 1 else None


def _iterations(case: Case, shape: tuple[int | None, ...]) -> int | None:
    """How many iterations a tensor holds: its first dimension, but of a matrix only what the text says, for
    there rows and iterations may be one dimension.
    """
    first = shape[0] or 0
    turns = _of_stated(case, first) or (first if len(shape) > 2 else None)
    return turns if turns and turns > 1 else None


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in list(requests(case))[:1]:
        failed = request.failed
        if not is_jacobian(request) or failed.kind is not RequestKind.TENSOR or not failed.shape:
            continue
        if failed.shape[0] == 1:
            continue
        if any(_OF_MICROBATCHES.search(line.text) for line in code_lines(case.capture.surroundings)):
            continue  # an optimizer's own: `what-the-code-makes` says what it keeps
        turns = _iterations(case, failed.shape)
        many = f", most likely {turns:,}" if turns else ""
        if _FOLDED.search(failed.node or "") and not _of_stated(case, failed.shape[0] or 0):
            turns, many = _of_images(case, failed.shape[0] or 0)
        yield Finding(
            severity=Severity.CAUSE,
            headline="the failing op runs in a vectorised loop (pfor), which works on all its iterations at"
            f" once{many}: one for each output of a Jacobian",
            because=f"a vectorised loop works on all its iterations at once{many}",
            explains=failed.tensor_bytes,
            evidence=(Evidence(f"requested: {tensor_text(moment)}", failed.line),),
            remedies=(
                FEWER_SAMPLES,
                one_after_the_other(failed.tensor_bytes, turns),
            ),
            moment=index,
        )


_FOLDED = regex(r"Conv|Pool|BatchNorm|DepthwiseConv|ResizeB|ResizeN")
"""Ops on images, whose loop has samples and iterations in one dimension."""


def _of_images(case: Case, first: int) -> tuple[int | None, str]:
    """The iterations where the first dimension is outputs times images, as far as the text states how many
    images these are, and that in words.
    """
    counts = {
        size.sizes[0]
        for size in case.capture.surroundings.sizes
        if len(size.sizes) == 1 and _IMAGES.search(size.name)
    }
    fits = [count for count in counts if 1 < count < first and not first % count]
    if len(fits) > 1:
        squares = [count for count in fits if first == count**3]  # each image with each
        fits = squares or fits
    if len(fits) != 1:
        return None, f" (outputs times images: {first:,} together)"
    turns = first // fits[0]
    return turns, f", most likely {turns:,}, each with {fits[0]:,} images"


_IMAGES = regex(r"(?i)\A(?:batch\w*|bs|images?|samples?|n|pictures)\Z")


_OF_MICROBATCHES = regex(r"\bnum_microbatches\b")
