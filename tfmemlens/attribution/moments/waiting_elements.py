"""Elements that most likely wait in an input pipeline, where no message names it: one by its op or its shape,
and very many blocks of just its size.
"""

from __future__ import annotations

from tfmemlens.knowledge.images import is_frames_or_image
from tfmemlens.model.allocation import AllocationTable
from tfmemlens.model.attribution import Owner, Phase
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.incident import FailedRequest, RequestKind
from tfmemlens.patterns import regex
from tfmemlens.units import round_up

_OF_IMAGES = regex(
    r"(?:\A|_|/)(?:adjust_(?:brightness|contrast|hue|saturation|gamma|jpeg_quality)|(?:stateless_)?random_"
    r"(?:crop|brightness|contrast|hue|saturation|flip_\w+|jpeg_quality)"
    r"|decode_(?:jpeg|png|bmp|gif|image|raw|csv|wav)"
    r"|Decode(?:Jpeg|Png|Bmp|Gif|Image|Raw|CSV|Wav|PaddedRaw)|DecodeAndCropJpeg|per_image_standardization"
    r"|convert_image|resize(?:_images|_with_\w+)?|crop_to_bounding_box|pad_to_bounding_box|central_crop"
    r"|flip_(?:left_right|up_down)|rot90|rgb_to_\w+|hsv_to_rgb|grayscale_to_rgb|ParseSingleExample\w*)"
    r"(?:_\d+)?(?:/|\Z)"
)
"""What `tf.image`, `tf.io` and `tf.audio` call their ops, which the optimiser of graphs may have joined:
`ArithmeticOptimizer/AddOpsRewrite_adjust_brightness`.
"""
_OF_ONE_ELEMENT = regex(
    r"\A(?:\w+Optimizer/\w+Rewrite_)?(?:truediv|cast|mul|sub|add|div|transpose|reshape|stack|clip_by_value"
    r"|Cast|Mul|Sub|Add|RealDiv|Transpose)(?:_\d+)?(?:/\w+)?\Z",
    flags=0,
)
"""Ops of arithmetic that stand in no scope of a layer."""
_MANY, _MUCH, _A_STEP = 16, 0.5, 3


def waits_in_a_pipeline(
    request: FailedRequest, owner: Owner, table: AllocationTable, told: Surroundings
) -> bool:
    """Whether an element of an input pipeline failed on the CPU before a few steps went well: by the name of
    its op or the shape of images, and as half and more of what is in use are blocks of its size.
    """
    if request.kind is not RequestKind.TENSOR or request.pipeline or not _may_be(request, owner):
        return False
    if max((step for step, _ in told.steps), default=0) >= _A_STEP:
        return False
    size = round_up(request.tensor_bytes or 0)
    alike = [row for row in table if size and row.size_bytes == size]
    whole = sum(row.total_bytes for row in table)
    return sum(row.count for row in alike) >= _MANY and sum(row.total_bytes for row in alike) >= _MUCH * whole


def _may_be(request: FailedRequest, owner: Owner) -> bool:
    """Whether it ran on the CPU, in a graph, in no layer, in no loop and for no gradient."""
    node = request.node or ""
    if "CPU" not in (request.device or "").upper() or request.keras_layer or request.updating:
        return False
    if owner.phase is Phase.GRADIENT or owner.in_loop or not node or node == request.op:
        return False
    return bool(
        _OF_IMAGES.search(node) or (_OF_ONE_ELEMENT.match(node) and is_frames_or_image(request.shape or ()))
    )
