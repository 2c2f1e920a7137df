"""All gradients of the weights wait for their common norm.

What it means: clipping by the global norm needs the norm over all gradients before the first weight is
updated, so the gradients of all weights are alive at once, and their clipped copies join them. Neither
depends on the batch.
When it fires: the log shows that gradients are clipped by their global norm, and a gradient of a weight, or a
tensor in the optimizer's update, failed: no larger than any weight that the code makes.
What to do: clip each gradient by its own norm or value; a smaller model.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.code_outputs import largest_weight
from tfmemlens.findings.support.rows import alike, requests, tensor_text
from tfmemlens.model.attribution import Kind, Phase
from tfmemlens.model.case import Case, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.patterns import regex
from tfmemlens.units import MIB

BASIS = Basis.NAME
EXPLAINS = "the failing gradient, and held tensors of the same size"

_OF_A_WEIGHT = regex(
    r"MatMul_1(?:_\d+)?\Z|Backprop(?:Filter|Weights)|UnsortedSegmentSum|_grad/tuple/|L2Loss|global_norm"
)
_TIMES_LARGEST = 4
"""Of the largest weight that the code makes: what is larger is no weight's gradient, though the code may load
weights that nothing tells of.
"""
CLIP_EACH = Remedy(
    "clip each gradient by its own norm or value, which waits for no other; the batch plays no part",
    "tf.keras.optimizers.Adam(clipnorm=1.0)   # not global_clipnorm; tf.clip_by_norm for each",
    slug="clip-per-variable",
)


def check(case: Case) -> Iterator[Finding]:
    clipping = case.capture.surroundings.clipping
    if clipping is None:
        return
    for index, moment, request in requests(case):
        if (request.failed.tensor_bytes or 0) < MIB or not _of_weights(request):
            continue
        largest = largest_weight(case)
        if largest and (request.failed.tensor_bytes or 0) > _TIMES_LARGEST * largest:
            continue
        yield Finding(
            severity=Severity.CAUSE,
            headline="gradients are clipped by their global norm, so those of all weights are alive at once",
            because=(
                "gradients are clipped by their global norm, so those of all weights are alive at once,"
                " whatever the batch"
            ),
            explains=alike(moment),
            evidence=(
                Evidence("clipping", clipping),
                Evidence(f"requested: {tensor_text(moment)}", request.failed.line),
            ),
            remedies=(CLIP_EACH,),
            moment=index,
        )


def _of_weights(request: Request) -> bool:
    """Whether a weight's gradient failed, or what the update makes of one."""
    owner = request.owner
    if owner.phase is Phase.OPTIMIZER:
        return owner.kind is not Kind.OPTIMIZER_SLOT
    return owner.phase is Phase.GRADIENT and bool(_OF_A_WEIGHT.search(request.failed.node or ""))
