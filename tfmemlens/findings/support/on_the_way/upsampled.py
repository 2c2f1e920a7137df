"""A map that is enlarged at full depth before a 1x1 convolution reduces its channels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tfmemlens.findings.support.code_tensors import fits, tensors_made
from tfmemlens.findings.support.on_the_way.facts import OnTheWay
from tfmemlens.model.case import Request
from tfmemlens.model.finding import Certainty, Remedy
from tfmemlens.model.program import Program
from tfmemlens.patterns import regex

if TYPE_CHECKING:
    from tfmemlens.knowledge.keras_program.tensors import TensorMade

_ENLARGES = regex(
    r"(?i)\A(?:UpSampling[123]D|Resizing|resize\w*|resize_(?:bilinear|nearest_neighbor|images))\Z"
)
_PASSED = regex(r"(?i)\A(?:dropout|spatialdropout\wd|identity)\Z")
"""What leaves a map as it is; of an activation the order matters."""
_ONE = r"(?:\(\s*1(?:\s*,\s*1){1,2}\s*\)|1)\s*[,)]"
_OF_ONE_POSITION = regex(
    rf"(?i)\bconv[123]d\((?:[^,()]{{1,60}},){{1,2}}\s*(?:kernel_size\s*=\s*)?{_ONE}"
    rf"|\bconv[123]d\([^\n]*kernel_size\s*=\s*{_ONE}|\A[\w.]*\bdense\("
)
_LEAST_TIMES = 2
_RULED_OUT = (
    *("lower-constant", "lower-setting", "smaller-batch", "smaller-input", "narrower-layer"),
    *("batch-for-the-block", "gradient-accumulation", "setting-of-this-size"),
)


def enlarged_before_reduced(program: Program, request: Request) -> OnTheWay | None:
    """The enlarged map that failed, or its gradient, where the next that reads it is a 1x1 convolution of at
    most half its channels.
    """
    shape = request.failed.shape or ()
    if len(shape) not in (4, 5):
        return None
    made = tensors_made(program)
    for at, map_ in enumerate(made):
        if not _ENLARGES.match(map_.op) or not fits(map_, shape) or map_.shape[-1] is None:
            continue
        reduced = _next(made[at + 1 :], map_.shape)
        channels = reduced.shape[-1] if reduced else None
        if reduced and channels and _LEAST_TIMES * channels <= map_.shape[-1]:
            return _told(request, map_, reduced, channels)
    return None


def _next(made: Sequence[TensorMade], shape: tuple[int | None, ...]) -> TensorMade | None:
    """The 1x1 convolution that reads a map of this shape first."""
    for each in made:
        if each.reads != shape:
            continue
        if _PASSED.match(each.op):
            continue
        return each if _OF_ONE_POSITION.search(each.code) else None
    return None


def _told(request: Request, map_: TensorMade, reduced: TensorMade, channels: int) -> OnTheWay:
    depth, need = map_.shape[-1] or 1, request.needed_bytes or 0
    less = need - need * channels // depth
    return OnTheWay(
        f"{map_.line.place} (`{map_.op}`) enlarges a map at its full depth of {depth:,} channels before the"
        f" 1x1 convolution of {reduced.line.place} reduces them to {channels:,}, and its gradient is as large"
        " again",
        map_.line,
        Remedy(
            f"reduce the channels first, and enlarge what is left ({channels:,} instead of {depth:,}"
            " channels): a convolution of one position and an interpolation give the same in either order,"
            " bias and all, where no activation stands between them",
            f"x = enlarge(reduce(x))   # swap {map_.line.place} and {reduced.line.place}",
            saves_bytes=less,
            certainty=Certainty.ESTIMATE,
            of_one_tensor=True,
            slug="reduce-before-resizing",
        ),
        rules_out=_RULED_OUT,
    )
