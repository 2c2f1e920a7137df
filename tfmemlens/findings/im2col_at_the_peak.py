"""At the peak of a step a convolution's gradient holds an im2col buffer: patches of its input, copied out.

What it means: without oneDNN, TensorFlow's CPU kernels for the gradients of a convolution copy every patch of
some images into a matrix, [images, positions, kernel area * channels]. They take as many images as 30 MiB
hold, and one at least, whatever the batch: a batch of one small image pays for several, and a large image's
buffer does not shrink with the batch.
When it fires: at a traced moment such a gradient (or the forward pass of a transposed convolution) holds
a temporary buffer of at least a MiB and 5 %, and the trace or the graph tells the layer's kernel.
What to do: fewer positions or channels at that layer, one gradient after the other, or oneDNN, which builds
no such matrix. Source: conv_grad_filter_ops.cc, conv_grad_input_ops.{cc,h}; measured to the byte in
TensorFlow 1.10, 1.15 and 2.21.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tfmemlens.findings.support.convolutions import GRADIENT, KnownConvolution, known
from tfmemlens.findings.support.remedies import onednn
from tfmemlens.findings.support.rows import Row, held, of_kind, row_name
from tfmemlens.knowledge.convolution import most_bytes
from tfmemlens.knowledge.convolution.col_buffer import TARGET_TEXT, of_convolution
from tfmemlens.model.attribution import Kind, Phase
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.convolution import Convolution, ConvolutionKind
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.model.tensor import ITEM_BYTES, format_shape
from tfmemlens.units import MIB, human, percent, round_up

BASIS = Basis.TRACED
EXPLAINS = "the buffer"

SHARE = 0.05


class _Buffer(NamedTuple):
    images: int
    layer: KnownConvolution
    stated: bool
    """Whether the trace itself gives the buffer's shape."""
    item_bytes: int

    @property
    def positions(self) -> int:
        return self.layer.positions or 0

    @property
    def bytes(self) -> int:
        return self.images * self.positions * self.layer.patch * self.item_bytes


def check(case: Case) -> Iterator[Finding]:
    for index, moment in enumerate(case.moments):
        if moment.timeline is None or "GPU" in moment.timeline.device.upper():
            continue
        for row in of_kind(moment, Kind.WORKSPACE):
            if row.allocation.total_bytes < max(MIB, SHARE * held(moment)) or not _may_unroll(row):
                continue
            buffer = _buffer(case, row)
            if buffer:
                yield _finding(moment, index, row, buffer)


def _may_unroll(row: Row) -> bool:
    name = f"{row.allocation.node} {row.allocation.op} {row.owner.op}"
    return bool(GRADIENT.search(name)) or "transpose" in name.lower()


def _buffer(case: Case, row: Row) -> _Buffer | None:
    """The buffer by its stated shape, else by the layer's sizes and TensorFlow's rule, if that is what was
    allocated.
    """
    allocation = row.allocation
    item = ITEM_BYTES.get(allocation.dtype or "float32", 4)
    shape = allocation.shape
    if shape is not None and len(shape) == 3 and all(shape):
        images, positions, patch = (size or 0 for size in shape)
        layer = known(case, allocation.node, row.owner, patch)
        if layer is None:
            return None
        return _Buffer(
            images, layer if layer.positions == positions else layer._replace(grid=(positions,)), True, item
        )
    layer = known(case, allocation.node, row.owner)
    if layer is None or layer.grid is None or layer.batch is None:
        return None
    for images in _counts(layer, row, item):
        buffer = _Buffer(images, layer, False, item)
        if (
            0 < buffer.bytes <= allocation.size_bytes <= max(2 * buffer.bytes, buffer.bytes + 128 * MIB)
        ):  # BFC leaves up to 128 MiB in a chunk
            return buffer
    return None


def _counts(layer: KnownConvolution, row: Row, item: int) -> tuple[int, ...]:
    conv = _convolution(layer, {8: "float64", 2: "float16"}.get(item, "float32"))
    if len(layer.weights) == 5:  # as many volumes as fill an L3 cache of unknown size
        return (row.allocation.size_bytes // max((layer.positions or 0) * layer.patch * item, 1),)
    many = of_convolution(conv).images_of_filter_gradient()
    of = GRADIENT.search(f"{row.allocation.node} {row.allocation.op}")
    return (many,) if of and of["of"] == "Filter" else (many, 1)


def _convolution(layer: KnownConvolution, dtype: str) -> Convolution:
    kernel = layer.weights[:-2]
    kind = ConvolutionKind.CONV if len(kernel) == 2 else ConvolutionKind.CONV3D
    ones = (1,) * len(kernel)
    return Convolution(
        kind,
        (layer.batch or 1, *(layer.grid or ones), layer.weights[-2]),
        kernel,
        layer.weights[-1],
        ones,
        ones,
        "same",
        dtype,
    )


def _finding(moment: Moment, index: int, row: Row, buffer: _Buffer) -> Finding:
    where = row.owner.layer if row.owner.layer and not GRADIENT.search(row.owner.layer) else "a convolution"
    shape = (buffer.images, buffer.positions, buffer.layer.patch)
    images = (
        f"{buffer.images}"
        f" {'volume' if len(buffer.layer.weights) == 5 else 'image'}{'s' if buffer.images > 1 else ''}"
    )
    size = row.allocation.size_bytes
    return Finding(
        severity=Severity.FACTOR,
        headline=(
            f"{human(size)}, {percent(size, held(moment))} of the peak, is the im2col buffer of {where}'s"
            f" {_pass(row)}: {images} x ({buffer.layer.grid_text()}) x ({buffer.layer.kernel_text()})"
        ),
        explains=size,
        evidence=(
            Evidence(f"{row_name(row)}: {human(size)}{_inside(size, buffer.bytes)}"),
            Evidence(
                f"{buffer.layer.source} has the weights {format_shape(buffer.layer.weights)}; so the buffer"
                f" is {format_shape(shape)}{_how(size, buffer)}"
            ),
        ),
        detail=_detail(buffer),
        remedies=tuple(_remedies(buffer, _is_forward(row))),
        moment=index,
    )


def _is_forward(row: Row) -> bool:
    """A transposed convolution runs as an input gradient under a name of its own; an eager gradient has its
    op's name and no phase to trust.
    """
    return row.owner.phase is Phase.FORWARD and not GRADIENT.search(row.allocation.node or "")


def _pass(row: Row) -> str:
    match = GRADIENT.search(f"{row.allocation.node} {row.allocation.op}")
    if match is None or _is_forward(row):
        return "transposed convolution"
    return "weight gradient" if match["of"] == "Filter" else "input gradient"


def _inside(size: int, needed: int) -> str:
    return f", a block in which the buffer takes {human(needed)}" if size > round_up(needed) else ""


def _how(size: int, buffer: _Buffer) -> str:
    if buffer.stated:
        return ", as the trace states"
    return (
        ", to the byte"
        if size == round_up(buffer.bytes) or size == buffer.bytes
        else ", by TensorFlow's rule"
    )


def _detail(buffer: _Buffer) -> str:
    batch = buffer.layer.batch
    if buffer.images == 1:
        noun = "volume" if len(buffer.layer.weights) == 5 else "image"
        return (
            "A smaller batch does not help here: the kernel unrolls"
            f" {noun} by {noun}, and this is one {noun}."
        )
    image = human(buffer.bytes // buffer.images)
    if len(buffer.layer.weights) == 5:
        return (
            "The kernel takes as many volumes at once as fill the processor's L3 cache, whatever the batch:"
            f" {buffer.images} of {image} each."
        )
    text = (
        f"The kernel takes as many images at once as its target of {TARGET_TEXT} asks for, whatever the"
        f" batch:"
        f" {buffer.images} of {image} each."
    )
    if batch and batch < buffer.images:
        text += (
            f" The batch has {batch}, so {percent(buffer.images - batch, buffer.images)} of the buffer is"
            " never used, and a smaller batch changes nothing."
        )
    return text


def _remedies(buffer: _Buffer, forward: bool) -> Iterator[Remedy]:
    axes, channels = len(buffer.layer.weights) - 2, buffer.layer.weights[-2]
    smaller = most_bytes(buffer.positions >> axes, buffer.layer.patch, buffer.item_bytes)
    if axes == 3:
        yield Remedy(
            "halve the sides of this layer's input, or split the volume into patches: an eighth of the"
            " positions",
            slug="smaller-layer-input",
        )
    elif buffer.bytes > smaller:
        text = "halve the sides of this layer's input: a quarter of the positions"
        yield Remedy(
            text,
            saves_bytes=buffer.bytes - smaller,
            certainty=Certainty.ESTIMATE,
            slug="smaller-layer-input",
        )
    narrow = most_bytes(buffer.positions, buffer.layer.patch // 4, buffer.item_bytes)
    if channels >= 32 and axes == 2 and not forward and buffer.bytes > narrow:
        text = f"reduce its {channels} input channels to {channels // 4} with a 1x1 convolution before it"
        yield Remedy(
            text, saves_bytes=buffer.bytes - narrow, certainty=Certainty.ESTIMATE, slug="fewer-channels"
        )
    if forward and axes == 2:
        text = (
            "where it doubles the sides, compute it as a convolution to 4 times the channels and"
            " depth_to_space(2): its forward pass builds no such matrix"
        )
        yield Remedy(text, saves_bytes=buffer.bytes, certainty=Certainty.BOUND, slug="depth-to-space")
    yield onednn(buffer.bytes)
