"""The failing tensor is no tensor of the model: it is the patch matrix of a convolution's gradient on the CPU.

What it means: without oneDNN, TensorFlow's CPU kernels for Conv2DBackpropFilter and Conv2DBackpropInput copy every k x k patch of an image into
one matrix, [images, out_height*out_width, k_height*k_width*in_channels], and multiply that. The forward pass of a transposed
convolution is such a BackpropInput, too. One image at a time is unrolled once an image's matrix exceeds 30 MiB, so a smaller batch
does not make the buffer smaller. Both gradients of a layer often run at the same time, each with its own buffer.
When it fires: a convolution gradient (or transposed convolution) asks for a tensor of that shape.
What to do: fewer output positions (stride, smaller input), a smaller kernel, fewer input channels (1x1 bottleneck), or kernels
without this matrix: oneDNN (TF_ENABLE_ONEDNN_OPTS=1), or a GPU.
Source: conv_grad_filter_ops.cc, conv_grad_input_ops.{cc,h}; measured in TensorFlow 1.10, 1.15 and 2.21.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tfmemlens.costs.convolution import ColBuffer, col_buffer_of, volume_kernels_of
from tfmemlens.findings._rows import failures, place, tensor_text
from tfmemlens.model.attribution import Kind
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.units import MIB, human

_TARGET = 30 * MIB


def check(case: Case) -> Iterator[Finding]:
    for index, moment in failures(case):
        assert moment.request
        failed = moment.request.failed
        buffer = col_buffer_of(failed.shape)
        if moment.request.owner.kind is not Kind.WORKSPACE or buffer is None or failed.tensor_bytes is None:
            continue
        noun = "one image"
        volumes = volume_kernels_of(buffer.patch) if _volume(moment) else ()
        if volumes:
            side, channels = volumes[0]
            noun = "one volume"
            what = f"{buffer.positions:,} output positions x ({side} x {side} x {side} kernel x {channels} channels)"
        else:
            height, width, channels = buffer.kernels[0]
            what = f"{buffer.grids[0][0]} x {buffer.grids[0][1]} output positions x ({height} x {width} kernel x {channels} channels)"
        yield Finding(
            severity=Severity.CAUSE,
            headline=f"the failing {tensor_text(moment)} is the im2col buffer of a convolution's gradient: {what}",
            because=f"a convolution's gradient on the CPU unrolls {noun if buffer.images == 1 else f'{buffer.images} images'} into a patch matrix, {what}",
            bytes=failed.tensor_bytes,
            weight=0.75,
            evidence=(
                Evidence(f"asked for by {_op(moment)} of {place(moment) or 'an unnamed layer'}", failed.line),
                *(() if volumes else _other_readings(buffer)),
            ),
            detail=_detail(buffer, failed.tensor_bytes),
            remedies=tuple(_remedies(case, moment, buffer, failed.tensor_bytes)),
            moment=index,
        )


def _volume(moment: Moment) -> bool:
    assert moment.request
    failed = moment.request.failed
    return "3d" in f"{failed.kernel or ''}{failed.op or ''}{failed.node or ''}".lower()


def _op(moment: Moment) -> str:
    assert moment.request
    failed, owner = moment.request.failed, moment.request.owner
    kernel = (failed.kernel or "").rpartition("/")[2]
    if kernel.startswith("conv_grad_filter"):
        return "Conv2DBackpropFilter"
    if kernel.startswith("conv_grad_input"):
        return "Conv2DBackpropInput"
    return failed.op or owner.op or "a convolution gradient"


def _other_readings(buffer: ColBuffer) -> tuple[Evidence, ...]:
    others = [f"{height} x {width} x {channels}" for height, width, channels in buffer.kernels[1:]]
    if not others:
        return ()
    return (Evidence(f"{buffer.patch:,} columns could also be {' or '.join(others)} (kernel height x width x channels)"),)


def _detail(buffer: ColBuffer, size: int) -> str:
    image = size // buffer.images
    if buffer.images == 1 and image > _TARGET // 2:
        return (
            "No smaller batch shrinks it: the kernel unrolls image by image, and this is one image. It grows with height x width x kernel area x channels. "
            f"The other gradient of the same layer often runs at the same time and takes another {human(size)}."
        )
    return f"The kernel takes as many images at once as its target of 30 MiB allows ({buffer.images} here, {human(image)} each), whatever the batch."


def _remedies(case: Case, moment: Moment, buffer: ColBuffer, size: int) -> Iterator[Remedy]:
    height, width, channels = buffer.kernels[0]
    if _volume(moment):
        yield Remedy("halve depth, height and width of this layer's input: an eighth of the positions", saves_bytes=size * 7 // 8, certainty=Certainty.EXACT)
        yield Remedy("split the volume into patches, with the overlap that the kernels need")
        return
    yield Remedy(
        "halve height and width of this layer's input (stride or pooling before it): a quarter of the positions",
        saves_bytes=size * 3 // 4,
        certainty=Certainty.EXACT,
    )
    if height == width and height > 3 and "ranspose" not in (moment.request.failed.node or "" if moment.request else ""):
        yield Remedy(
            f"replace the {height} x {width} kernel by {(height - 1) // 2} layers of 3 x 3, which see as far",
            saves_bytes=size - size * 9 // (height * width),
            certainty=Certainty.EXACT,
        )
    if channels >= 32:
        yield Remedy(
            f"reduce the {channels} input channels to {channels // 4} with a 1x1 convolution before it", saves_bytes=size * 3 // 4, certainty=Certainty.EXACT
        )
    if case.api.newest >= (2, 5):
        yield Remedy(
            "let oneDNN compute the convolutions: its kernels build no such matrix (the default on Linux x86 from TF 2.9)",
            "export TF_ENABLE_ONEDNN_OPTS=1",
            size,
            Certainty.BOUND,
        )
    if re.match(r"1\b", str(case.api.oldest[0])):
        yield Remedy(
            "run both gradients one after another, so that only one buffer lives at a time",
            "config = tf.ConfigProto(inter_op_parallelism_threads=1)",
            size,
            Certainty.BOUND,
        )
