"""A fully connected layer with a very large kernel.

What it means: a Dense layer behind Flatten has height x width x channels x units weights. Its gradient is as
large as the kernel, and Adam's two slots are, too: four times the kernel in all, whatever the batch.
When it fires: the failing tensor is a matrix of at least 32 MiB whose rows are the inputs of a fully
connected layer: a weight gradient, an update, or the kernel itself.
What to do: pool or stride before Flatten (GlobalAveragePooling2D removes nearly all of it), or make the layer
narrower.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tfmemlens.findings.support.rows import alike, place, requests, tensor_text
from tfmemlens.model.attribution import Kind, Phase
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import FailedRequest
from tfmemlens.patterns import regex
from tfmemlens.units import MIB, human

BASIS = Basis.SHAPE
EXPLAINS = "the failing tensor, and held tensors of the same size"

_WEIGHT_GRADIENT = regex(
    r"MatMul(?:_\d+)?(?:_grad)?/(?:MatMul_1|MatMul_\d*[13579])\Z|zeros_like|(?:Mul|L2Loss|Square)\w*_grad|L2Loss|AddN",
    re.IGNORECASE,
)
_INITIALIZER = regex(
    r"(?:kernel|weights?|fc\d*/w|\bw\d*)(?:/|\Z)|truncated_normal|random_(?:uniform|normal)|Initializer",
    re.IGNORECASE,
)
_LAYER = regex(
    r"dense|fc\d*|fully|linear|MatMul|output|Adam|training|Variable|kernel|logits|\bw\d*\b", re.IGNORECASE
)


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in requests(case):
        shape, need = request.failed.shape, request.failed.tensor_bytes
        if not shape or len(shape) != 2 or need is None or need < 32 * MIB:
            continue
        inputs, units = (size or 1 for size in shape)
        if inputs >= 256 and units >= 16 and _of_weights(request) and _fully_connected(request.failed):
            yield _finding(index, moment, request.failed, inputs, units, need)


def _of_weights(request: Request) -> bool:
    """Whether the tensor is a weight, its gradient or its update."""
    failed, owner = request.failed, request.owner
    name = failed.node or failed.op or ""
    if (
        owner.phase is Phase.OPTIMIZER
        or owner.kind in (Kind.PARAMETER, Kind.OPTIMIZER_SLOT)
        or _INITIALIZER.search(name)
    ):
        return True
    if owner.phase is Phase.GRADIENT and _WEIGHT_GRADIENT.search(name):
        return True
    return failed.node is None and failed.op in (
        "RandomUniform",
        "TruncatedNormal",
        "RandomStandardNormal",
        "Fill",
    )


def _fully_connected(failed: FailedRequest) -> bool:
    name = failed.node or failed.op or ""
    layer = failed.updating or _LAYER.search(f"{name} {failed.forward_node or ''}")
    return bool(layer) and not re.search(r"embed|lookup", name, re.IGNORECASE)


def _finding(
    index: int, moment: Moment, failed: FailedRequest, inputs: int, units: int, need: int
) -> Finding:
    sure = (
        re.search(r"dense|fc|fully|linear", failed.node or failed.op or "", re.IGNORECASE)
        or inputs < 20 * units
    )
    what = (
        "a fully connected kernel"
        if sure
        else "a weight matrix (an embedding table, or the kernel of a fully connected layer)"
    )
    return Finding(
        severity=Severity.CAUSE,
        headline=(
            f"{what} of {inputs:,} x {units:,} = {human(need)}; with gradient and Adam's slots four times"
            f" that, {human(4 * need)}"
        ),
        because=(
            f"{what} of {inputs:,} x {units:,} takes {human(need)}, and its gradient and optimizer slots as"
            " much again each"
        ),
        explains=alike(moment),
        evidence=(Evidence(f"requested: {tensor_text(moment)} at {place(moment)}", failed.line),),
        detail=_image(inputs),
        remedies=(
            Remedy(
                "pool before the layer: global average pooling leaves only the channels as inputs",
                "x = tf.keras.layers.GlobalAveragePooling2D()(x)   # instead of Flatten()",
                4 * need,
                Certainty.BOUND,
                slug="pool-first",
            ),
            Remedy(
                f"make the layer narrower: {units:,} -> {max(units // 2, 1):,} units halves kernel, gradient"
                " and slots",
                saves_bytes=2 * need,
                certainty=Certainty.ESTIMATE,
                slug="narrower-layer",
            ),
        ),
        moment=index,
    )


def _image(inputs: int) -> str:
    """The feature map that Flatten may have seen."""
    for channels in (512, 256, 128, 64, 32, 16, 2048, 1024):
        side = round((inputs / channels) ** 0.5)
        if side > 1 and side * side * channels == inputs:
            return (
                f"{inputs:,} inputs are, for instance, a flattened {side}x{side} map of {channels} channels."
            )
    return ""
