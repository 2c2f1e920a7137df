"""Patches were extracted literally: every pixel is copied once for each patch that contains it.

What it means: `tf.image.extract_patches` (ExtractImagePatches) writes [batch, rows, columns, k*k*channels]. With overlapping patches that is
up to k*k times the image, and the gradient makes it again.
When it fires: ExtractImagePatches, ExtractVolumePatches or an im2col written by hand asks for a tensor whose last dimension is
kernel area x channels.
What to do: a convolution does the same sums without the copies; or larger strides; or patches of a part of the batch at a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tfmemlens.costs.convolution import kernels_of
from tfmemlens.findings._rows import failures, place, tensor_text
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.units import human

_NAME = re.compile(r"Extract(?:Image|Volume)Patches|extract_(?:image_|volume_)?patches|im2col|unfold", re.IGNORECASE)


def check(case: Case) -> Iterator[Finding]:
    for index, moment in failures(case):
        assert moment.request
        failed = moment.request.failed
        shape = [size or 0 for size in failed.shape or ()]
        if (
            len(shape) not in (4, 5)
            or failed.tensor_bytes is None
            or not _NAME.search(f"{failed.node or ''} {failed.op or ''} {moment.request.owner.op or ''}")
        ):
            continue
        kernels = [kernel for kernel in kernels_of(shape[-1]) if kernel[0] > 1]
        if not kernels:
            continue
        height, width, channels = kernels[0]
        copies = height * width
        others = [f"{other[0]} x {other[1]} of {other[2]}" for other in kernels[1:]]
        patches = f"{height} x {width} pixels of {channels} channel{'s' if channels > 1 else ''}"
        yield Finding(
            severity=Severity.CAUSE,
            headline=f"{tensor_text(moment)} holds every patch literally: {shape[1]} x {shape[2]} patches of {patches} for each of {shape[0]} images",
            because=f"patches of {patches} are copied out literally, up to {copies} copies of each pixel",
            bytes=failed.tensor_bytes,
            weight=0.75,
            evidence=(
                Evidence(f"asked for at {place(moment) or 'an unnamed op'}", failed.line),
                *((Evidence(f"the last dimension {shape[-1]:,} could also be {' or '.join(others)} channels"),) if others else ()),
            ),
            detail=f"At stride 1 the input that it copies takes about {human(failed.tensor_bytes // copies)}.",
            remedies=(
                Remedy(
                    "use a convolution (or depthwise convolution) with the weights that the patches are multiplied by: no patch is ever stored",
                    "y = tf.nn.conv2d(images, weights, strides=1, padding='SAME')",
                    failed.tensor_bytes - failed.tensor_bytes // copies,
                    Certainty.BOUND,
                ),
                Remedy("stride the patches by 2: a quarter of them", saves_bytes=failed.tensor_bytes * 3 // 4, certainty=Certainty.EXACT),
                Remedy(
                    f"extract from one image at a time (tf.map_fn): {human(failed.tensor_bytes // max(shape[0], 1))} at once",
                    saves_bytes=failed.tensor_bytes - failed.tensor_bytes // max(shape[0], 1),
                    certainty=Certainty.EXACT,
                ),
            ),
            moment=index,
        )
