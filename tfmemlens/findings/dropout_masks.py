"""Random numbers and masks of dropout take as much as the activations they drop.

What it means: in TF 1 and Keras 2 dropout draws a float32 number for each element and keeps a float mask
until the backward pass: up to two extra copies of the layer's output. Newer code keeps a mask of one byte per
element.
When it fires: dropout ops hold at least 5 % of the bytes, or the failing op draws dropout's random numbers.
What to do: drop channels instead of elements (SpatialDropout, `noise_shape`), apply dropout where tensors are
small.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.rows import Row, held, place, quote, requests, rows, tensor_text, total
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.patterns import regex
from tfmemlens.units import MIB, human, percent

BASIS = Basis.MEASURED
EXPLAINS = "the masks, or the one that was requested"

_MASK = regex(
    r"dropout.*/(?:random_uniform|RandomUniform|GreaterEqual|Cast|Floor|mul|Mul|SelectV2|truediv"
    r"|stateless_random_uniform)",
    re.IGNORECASE,
)


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in requests(case):
        failed = request.failed
        masks = rows(moment, _is_mask)
        asking = bool(_MASK.search(failed.node or "")) and (failed.tensor_bytes or 0) >= MIB
        if not asking and total(masks) < 0.05 * max(held(moment), 1):
            continue
        size = total(masks) or failed.tensor_bytes or 0
        what = (
            f"dropout holds {human(size)}, {percent(size, held(moment))}"
            if masks
            else f"dropout at {place(moment)} asks for {tensor_text(moment)}"
        )
        yield Finding(
            severity=Severity.FACTOR,
            headline=f"{what}: random numbers and masks as large as the activations",
            explains=size,
            basis=Basis.MEASURED if masks else Basis.SHAPE,
            evidence=(
                *(quote(row) for row in masks[:2]),
                *((Evidence(f"requested: {tensor_text(moment)}", failed.line),) if asking else ()),
            ),
            remedies=(
                *(() if masks else remedies.offered(case, moment, "smaller-batch")),
                Remedy(
                    "drop whole channels: the mask is then one number per channel",
                    "tf.keras.layers.SpatialDropout2D(rate)   # or noise_shape=[batch, 1, 1, channels]",
                    size,
                    Certainty.BOUND,
                    slug="drop-channels",
                ),
            ),
            moment=index,
        )


def _is_mask(row: Row) -> bool:
    return bool(_MASK.search(row.allocation.node or ""))
