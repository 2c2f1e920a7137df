"""The failing tensor is a re-ordered copy of a volume: Conv3D's gradient before TensorFlow 1.12 makes it.

What it means: up to 1.11 the CPU kernel of Conv3DBackpropFilter pads the output gradient and copies it and
the whole input batch with their axes in another order, for Eigen. These copies are as large as the
activations of the layer. From 1.12 it unrolls patches instead, volume by volume.
When it fires: such a gradient asks for a 5-D tensor whose leading axes are no kernel's.
What to do: smaller volumes, or patches of them. A newer TensorFlow takes another buffer there, not a smaller
one: `tfmemlens conv` sizes both. Source: measured in TensorFlow 1.10 and 1.11 (copies) and 1.12 and 1.13
(patches).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.rows import place, requests, tensor_text
from tfmemlens.knowledge.convolution import is_shuffled_volume
from tfmemlens.knowledge.convolution.cpu_backward import FIRST_3D_BUFFER
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.what_if import Shrunk

BASIS = Basis.SHAPE
EXPLAINS = "the failing copy"


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in requests(case):
        failed = request.failed
        if (
            failed.tensor_bytes is None
            or case.api.newest >= FIRST_3D_BUFFER
            or not is_shuffled_volume(failed.shape)
        ):
            continue
        if not re.search(
            r"Conv3DBackpropFilter", f"{failed.op or ''} {request.owner.op or ''} {failed.node or ''}"
        ):
            continue
        yield Finding(
            severity=Severity.CAUSE,
            headline=(
                f"the failing {tensor_text(moment)} is a re-ordered copy of a volume that a 3-D convolution's"
                " gradient makes for itself"
            ),
            because="a 3-D convolution's gradient copies its operands with their axes in another order",
            explains=failed.tensor_bytes,
            evidence=(
                Evidence(
                    f"requested by the weight gradient of {place(moment) or 'an unnamed layer'}", failed.line
                ),
            ),
            detail=(
                "Before 1.12 this kernel holds a padded copy of the output gradient and a copy of its whole"
                " input batch while it runs."
            ),
            remedies=(
                remedies.of_change(
                    case,
                    index,
                    "halve depth, height and width of this layer's input: an eighth",
                    Shrunk("smaller-input", failed.tensor_bytes, axes=3),
                ),
                remedies.of_change(
                    case,
                    index,
                    "half the batch: these copies hold all of it",
                    Shrunk("smaller-batch", failed.tensor_bytes),
                ),
                Remedy(
                    "split the volume into patches, with the overlap that the kernels need",
                    slug="split-volume",
                ),
            ),
            moment=index,
        )
