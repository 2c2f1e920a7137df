"""The program is a well-known one, with settings of its own for what makes it need less.

What it means: who starts a program that others wrote changes its configuration or its flags, no code. The
Object Detection API resizes images by `image_resizer`, Mask R-CNN by `IMAGE_MAX_DIM`, tensor2tensor leaves
out what is longer than `max_length`.
When it fires: the text, a flag, a file's path or the failing node names such a program, and a tensor failed
that is no weight.
What to do: lower that setting.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings import sizes_of_the_text
from tfmemlens.findings.support import samples
from tfmemlens.findings.support.named_sizes import Meaning, named_sizes
from tfmemlens.findings.support.phase import PREDICTION, is_loading, other_than_training
from tfmemlens.findings.support.rows import failures, on_host
from tfmemlens.findings.support.tool_settings import Tool, tool
from tfmemlens.knowledge.kernel_shapes import like_a_kernel
from tfmemlens.model.attribution import Kind
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import RequestKind

BASIS = Basis.NAME
EXPLAINS = "no bytes"

_NO_SETTINGS = ("mixed-precision",)
"""What is a change of the program's code, which its users do not write."""
_KINDS = (RequestKind.TENSOR, RequestKind.DUMP, RequestKind.WORKSPACE)
_OF_IMAGES = (4, 5)


def check(case: Case) -> Iterator[Finding]:
    known = tool(case)
    for index, moment in list(failures(case))[:1]:
        request = moment.request
        if known is None or request is None or request.failed.kind not in _KINDS or _is_weight(request):
            continue
        used, line = known
        remedies = tuple(_remedies(case, used, moment, request))
        if not (remedies or used.images):
            continue
        yield Finding(
            severity=Severity.NOTE,
            headline=f"it is {used.name}, whose settings decide how much it needs",
            because=f"{used.name} has settings for it",
            evidence=(Evidence(f"the program is {used.name}", line),),
            remedies=remedies,
            moment=index,
            rules_out=_NO_SETTINGS,
        )


def _is_weight(request: Request) -> bool:
    """Whether a weight, its slot or its first value failed, which no such setting makes smaller."""
    failed = request.failed
    of_model = request.owner.kind in (Kind.PARAMETER, Kind.OPTIMIZER_SLOT)
    made = failed.creating or failed.updating or is_loading(request)
    return of_model or made or request.fixed or like_a_kernel(failed.shape)


def _remedies(case: Case, used: Tool, moment: Moment, request: Request) -> Iterator[Remedy]:
    """Smaller images where the tensor has their axes, shorter samples where it has not."""
    shape = request.failed.shape or ()
    if on_host(moment) and used.queues:
        yield Remedy(f"let fewer images wait in host RAM: {used.queues}", slug="smaller-pipeline")
    if samples.in_colours(shape):
        yield _FILES
        return
    ran = other_than_training(case, request)
    predicts = ran is not None and ran[0] == PREDICTION
    if used.tiles and ((len(shape) in _OF_IMAGES and shape[0] == 1) or (predicts and not shape)):
        yield Remedy(f"predict in tiles: {used.tiles}", slug="smaller-prediction-batch")
        if not shape or predicts:
            return  # what is trained on has another size
    stated = _states_it(case, used, request)
    if used.images and not stated and (len(shape) in _OF_IMAGES or not shape) and shape[:1] != (1,):
        # the advice of a smaller batch says it of one sample
        yield Remedy(f"smaller images: {used.images}", slug="tool-image-size")
    if used.model:
        yield Remedy(f"a smaller model, or less of it: {used.model}", slug="smaller-model")
    if used.lengths and len(shape) not in _OF_IMAGES[1:]:
        yield Remedy(f"shorter samples: {used.lengths}", slug="tool-sample-length")


def _states_it(case: Case, used: Tool, request: Request) -> bool:
    """Whether the text has the setting with its number, which another rule names with the line."""
    if (request.failed.tensor_bytes or 0) < sizes_of_the_text.LEAST_BYTES:
        return False
    named = named_sizes(request.failed.shape, case.capture.surroundings)
    return any(each.meaning is Meaning.IMAGE and f"`{each.name}`" in used.images for each in named)


_FILES = Remedy(
    "make the image files themselves smaller, once, before the program reads them: this is one as it was"
    " read, before any setting of the program resizes it",
    slug="smaller-image-files",
)
