"""One image or mask for each detected box: as many as the detector may return, at the crop's full size.

What it means: the first dimension counts boxes, not samples. Masks that are pasted back into the whole image
have the image's height and width each.
Of a single image the gradient of each slice is as large as the map it is cut from.
When it fires: CropAndResize, an op of masks and boxes, or a layer of a detector's second stage asks for a
tensor [boxes, height, width, channels] (or with the channels second).
What to do: fewer boxes, smaller crops or images; paste masks one at a time, on the host.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.rows import alike, place, requests, tensor_text
from tfmemlens.findings.support.situation import situation
from tfmemlens.findings.support.tool_settings import tool
from tfmemlens.knowledge.kernel_shapes import like_a_kernel
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.what_if import Shrunk
from tfmemlens.patterns import regex
from tfmemlens.units import MIB, human

BASIS = Basis.SHAPE
EXPLAINS = "the failing tensor, and held tensors of the same size"

_CROPS = regex(r"CropAndResize(?:_\d+)?\Z|roi_?align|roi_?pool", re.IGNORECASE)
_SECOND_STAGE = regex(
    r"second_?stage|mrcnn|(?:\b|_)rois?(?:\b|_)|proposals?(?:\b|_)|mask_head", re.IGNORECASE
)
"""Layers that see one crop for each box."""
_MAPS, _MANY_BOXES, _FLOAT_BYTES = (7, 14, 15, 17, 28, 30, 56), 32, 4
"""Sides of the maps that such detectors crop."""
_NO_BATCH = 100
"""So many are boxes rather than images, unless they are a multiple that people choose for batches."""


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in requests(case):
        shape = request.failed.shape
        if not shape or len(shape) != 4 or not all(shape):
            continue
        need = request.failed.tensor_bytes or _FLOAT_BYTES * prod(size or 1 for size in shape)
        if need < 16 * MIB:
            continue
        name = request.failed.node or request.failed.op or ""
        if shape[0] == 1:  # one image: how many boxes there are is not in the shape
            if _SLICED.search(name) and _IN_A_CROP.search(name):
                yield _of_one_image(case, index, moment, shape, need)
            continue
        cut = bool(_CROPS.search(name))
        if (
            request.fixed
            or like_a_kernel(shape)
            or not (cut or _SECOND_STAGE.search(name) or _of_a_detector(case, name, shape))
        ):
            continue
        boxes, height, width, last = (size or 1 for size in shape)
        if not cut and height > last == width:
            height = last
        what = f"{boxes:,} boxes are cut out or pasted back at {height} x {width} each"
        if not cut:
            what = (
                f"{boxes:,} boxes, of all images of the batch together, go through the second stage at once,"
                f" each with a map of {height} x {width}"
            )
        yield Finding(
            severity=Severity.CAUSE,
            headline=f"{what}: {human(need)}",
            because=what,
            explains=alike(moment),
            evidence=(Evidence(f"requested: {tensor_text(moment)} at {place(moment)}", request.failed.line),),
            remedies=(
                remedies.of_tensor(
                    case,
                    f"keep fewer boxes, as proposals or as results: {boxes:,} -> {max(boxes // 2, 1):,}"
                    f"{_settings(case)}",
                    Shrunk("fewer-boxes", need),
                ),
                remedies.of_tensor(
                    case,
                    f"smaller {'images or ' if cut else ''}crops: half the height and width make a quarter of"
                    " this",
                    Shrunk("smaller-input", need, axes=2),
                ),
                *((_MASKS,) if cut and "mask" in name.lower() else ()),
            ),
            moment=index,
            rules_out=() if situation(case, moment).training else ("smaller-batch", "smaller-batch-guess"),
        )


_SLICED = regex(r"StridedSliceGrad|Slice(?:_\d+)?_grad|strided_slice(?:_\d+)?_grad")
_IN_A_CROP = regex(r"(?<![a-z])rois?(?![a-z])|crop|proposal", re.IGNORECASE)


def _of_one_image(
    case: Case, index: int, moment: Moment, shape: tuple[int | None, ...], need: int
) -> Finding:
    """The gradient of one box's slice: as large as the map that all boxes are cut from."""
    what = (
        f"it is the gradient of one slice that is cut out of a map of one image ({shape[1]} x {shape[2]}),"
        " and each slice has a gradient as large as the whole map"
    )
    return Finding(
        severity=Severity.CAUSE,
        headline=f"{what}: {human(need)}",
        because=what,
        explains=alike(moment),
        evidence=(
            Evidence(f"requested: {tensor_text(moment)} at {place(moment)}", moment.request.failed.line),
        )
        if moment.request
        else (),
        remedies=(
            Remedy(f"cut out fewer boxes in one step{_settings(case)}", slug="fewer-boxes"),
            remedies.of_tensor(
                case,
                "smaller images: half the height and width make a quarter of this",
                Shrunk("smaller-input", need, axes=2),
            ),
        ),
        moment=index,
        rules_out=("smaller-batch", "smaller-batch-guess"),
    )


def _of_a_detector(case: Case, name: str, shape: tuple[int | None, ...]) -> bool:
    """Whether the text speaks of a detector in two stages, and a tensor without a name has the small square
    maps of its boxes, many of them.
    """
    boxes, one, two, three = (size or 1 for size in shape)
    side = two if two == three else one
    square = two in (one, three)
    if name or not square or side not in _MAPS:
        return False
    if case.capture.surroundings.shows("detecting in two stages"):
        return boxes >= _MANY_BOXES
    known = tool(case)  # of one stage or of two
    return bool(known and known[0].boxes) and boxes >= _NO_BATCH and boxes % _MANY_BOXES != 0


_MASKS = Remedy("paste masks into the image one at a time, on the host", slug="masks-on-host")


def _settings(case: Case) -> str:
    """What well-known detectors call the number of boxes."""
    known = tool(case)
    return f" ({known[0].boxes})" if known and known[0].boxes else ""
