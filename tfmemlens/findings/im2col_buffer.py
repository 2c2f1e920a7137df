"""The failing tensor is the patch matrix of a convolution's gradient on the CPU, no tensor of the model.

What it means: without oneDNN, TensorFlow's CPU kernels for Conv2DBackpropFilter and Conv2DBackpropInput copy
every k x k patch of an image into one matrix, [images, out_height*out_width, k_height*k_width*in_channels],
and multiply that. The forward pass of a transposed convolution is such a BackpropInput, too. One image at a
time is unrolled once an image's matrix exceeds 30 MiB, so a smaller batch does not make the buffer smaller.
Both gradients of a layer often run at the same time, each with its own buffer.
When it fires: a convolution gradient (or transposed convolution) asks for a tensor of that shape.
What to do: fewer output positions (stride, smaller input), a smaller kernel, fewer input channels (1x1
bottleneck), or kernels without this matrix: oneDNN (TF_ENABLE_ONEDNN_OPTS=1), or a GPU. Source:
conv_grad_filter_ops.cc, conv_grad_input_ops.{cc,h}; measured in TensorFlow 1.10, 1.15 and 2.21.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tfmemlens.findings.support import code_snippets, remedies
from tfmemlens.findings.support.convolutions import KnownConvolution, known
from tfmemlens.findings.support.program_lines import code_lines, settings_by_name
from tfmemlens.findings.support.remedies import onednn
from tfmemlens.findings.support.rows import device_limit, failures, place, tensor_text
from tfmemlens.knowledge.convolution import (
    ColBuffer,
    col_buffer_of,
    filters_of,
    is_likely,
    is_one_image,
    most_bytes,
    volume_kernels_of,
)
from tfmemlens.knowledge.convolution.col_buffer import TARGET_BYTES, TARGET_TEXT
from tfmemlens.model.attribution import Kind, Phase
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import FailedRequest
from tfmemlens.model.tensor import ITEM_BYTES, format_shape
from tfmemlens.patterns import regex
from tfmemlens.units import human

BASIS = Basis.SHAPE
EXPLAINS = "the failing buffer"
_SMALL_PART, _NEARLY_ALL = 0.1, 0.85
"""Of the limit: so small a buffer, where so much was in use, is only what met the end."""


class _Reading(NamedTuple):
    """The failing shape as a buffer: its sizes, and what is known or likely of the kernel."""

    buffer: ColBuffer
    bytes: int
    item_bytes: int
    kernel: tuple[int, ...]
    channels: int
    others: tuple[str, ...]
    """Other kernels with as many columns."""
    exact: KnownConvolution | None
    """What a trace or a graph beside the failure says."""
    forward: bool
    """Whether this is the forward pass of a transposed convolution."""
    of_input: bool
    one_axis: bool
    """Whether it is a convolution along one axis, whose kernel is no square."""

    @property
    def volume(self) -> bool:
        return len(self.kernel) == 3

    @property
    def image_bytes(self) -> int:
        return self.bytes // self.buffer.images

    @property
    def factored(self) -> bool:
        """Whether the columns are known, or likely, to be a certain square kernel over certain channels."""
        return bool(self.exact) or self.volume or is_likely(self.kernel, self.channels)

    def text(self) -> str:
        grid = self.exact.grid if self.exact else None
        if grid is None and not self.volume:
            grid = self.buffer.grids[0]
        places = (
            " x ".join(f"{side:,}" if self.volume else str(side) for side in grid)
            if grid
            else f"{self.buffer.positions:,}"
        )
        where = "input" if self.forward else "output"
        if self.one_axis:
            return (
                f"{self.buffer.positions:,} {where} positions x {self.buffer.patch:,} values each (the"
                " kernel's length x its channels)"
            )
        if not self.factored:
            return f"{self.buffer.positions:,} {where} positions x {self.buffer.patch:,} values each"
        return (
            f"{places} {where} positions x ({' x '.join(map(str, self.kernel))} kernel x {self.channels}"
            f" {'output ' if self.forward else ''}channels)"
        )


def check(case: Case) -> Iterator[Finding]:
    for index, moment in failures(case):
        reading = _read(case, moment)
        if reading is None:
            continue
        assert moment.request
        noun = "one volume" if reading.volume else "one image"
        if reading.buffer.images > 1:
            noun = f"{reading.buffer.images} {noun.split()[1]}s"
        unrolls = f"unrolls {noun} into a patch matrix"
        if reading.volume and reading.buffer.images > 1:
            unrolls = (
                f"makes a patch matrix with room for {noun}, as many as fill the processor's L3 cache,"
                " whatever the batch"
            )
        what, owner = (
            reading.text(),
            ("a transposed convolution" if reading.forward else "a convolution's gradient"),
        )
        yield Finding(
            severity=Severity.FACTOR if _is_last_straw(case, moment, reading.bytes) else Severity.CAUSE,
            headline=f"the failing {tensor_text(moment)} is the im2col buffer of {owner}: {what}",
            because=f"{owner} on the CPU {unrolls}, {what}",
            explains=reading.bytes,
            evidence=(
                Evidence(
                    f"requested by {_op(moment)} of {place(moment) or 'an unnamed layer'}",
                    moment.request.failed.line,
                ),
                *_certainty(reading),
            ),
            detail=_detail(reading),
            remedies=tuple(_remedies(case, moment, reading)),
            moment=index,
        )


def _is_last_straw(case: Case, moment: Moment, size: int) -> bool:
    """Whether so small a part of the device failed since nearly all of it was taken before."""
    limit, in_use = device_limit(case, moment), moment.balance.in_use
    if limit is None or in_use is None:
        return False
    return size < _SMALL_PART * limit.bytes and in_use.bytes >= _NEARLY_ALL * limit.bytes


def _read(case: Case, moment: Moment) -> _Reading | None:
    assert moment.request
    failed, owner = moment.request.failed, moment.request.owner
    buffer = col_buffer_of(failed.shape)
    if owner.kind is not Kind.WORKSPACE or buffer is None or failed.tensor_bytes is None:
        return None
    exact = known(case, failed.node, owner, buffer.patch)
    if exact and exact.positions not in (None, buffer.positions):
        exact = exact._replace(grid=None)
    kernel: tuple[int, ...] = buffer.kernels[0][:2]
    channels = buffer.kernels[0][2]
    others = tuple(f"{height} x {width} x {count}" for height, width, count in buffer.kernels[1:])
    volumes = volume_kernels_of(buffer.patch) if _volume(moment) else ()
    side = _side_in_code(failed.source_text)
    stated = [each for each in volumes if each[0] == side]
    volumes = tuple(stated) or volumes
    if exact:
        kernel, channels = exact.weights[:-2], exact.weights[-2]
    elif volumes:
        kernel, channels, others = (
            (volumes[0][0],) * 3,
            volumes[0][1],
            tuple(f"{side} x {side} x {side} x {count}" for side, count in volumes[1:]),
        )
    of_input = "Input" in _op(moment) or "transpose" in _op(moment).lower()
    forward = owner.phase is Phase.FORWARD and of_input and not _in_a_gradient(failed)
    return _Reading(
        buffer,
        failed.tensor_bytes,
        ITEM_BYTES[failed.dtype or "float32"],
        kernel,
        channels,
        others,
        exact,
        forward,
        of_input,
        not exact and "1d" in f"{failed.op or ''}{failed.node or ''}{failed.forward_node or ''}".lower(),
    )


_KERNEL = regex(
    r"(?i)\bconv3d\(\s*(?:[^,()]{1,60}(?:\([^()]{0,60}\))?,\s*){1,2}?(?:kernel_size\s*=\s*)?"
    r"(?:\(\s*)?(?P<side>\d{1,2})\s*[,)]"
)


_TAKES_A_GRADIENT = regex(
    r"\.(?:gradient|jacobian|batch_jacobian|get_gradients|minimize)\(|\btf\.gradients\("
)


def _in_a_gradient(failed: FailedRequest) -> bool:
    """Whether a gradient was being taken, as the failing line or TensorFlow's own frames show: an op of eager
    code has no name that tells.
    """
    if _TAKES_A_GRADIENT.search(failed.source_text or ""):
        return True
    return any(frame.name.endswith("Grad") or "nn_grad.py" in frame.place for frame in failed.frames)


def _side_in_code(text: str | None) -> int | None:
    """The side of the cubic kernel that the failing line states: 3 of `conv3d(x, 16, 3)`."""
    match = _KERNEL.search(text or "")
    return int(match["side"]) if match else None


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


def _certainty(reading: _Reading) -> Iterator[Evidence]:
    """What makes the kernel certain, or what else it could be."""
    if reading.exact:
        yield Evidence(
            f"{reading.exact.source} has the weights of this layer: {format_shape(reading.exact.weights)}, so"
            " the kernel is certain"
        )
        return
    if reading.one_axis:
        return
    if reading.others:
        axes = (
            "kernel depth x height x width x channels"
            if reading.volume
            else "kernel height x width x channels"
        )
        yield Evidence(
            f"{reading.buffer.patch:,} columns could also be {' or '.join(reading.others[:2])} ({axes})"
        )
    filters = (
        None
        if reading.volume
        else filters_of(
            reading.buffer.images, reading.buffer.positions, reading.buffer.patch, reading.item_bytes
        )
    )
    if filters and filters[1] <= 4 * filters[0]:
        low, high = filters
        count = f"{low}" if low == high else f"{low} to {high}"
        yield Evidence(
            f"{reading.buffer.images} images at once: only a layer of {count} filters makes the kernel take"
            " so many"
        )


def _detail(reading: _Reading) -> str:
    image, size = reading.image_bytes, reading.bytes
    if reading.buffer.images == 1 and (image > TARGET_BYTES // 2 or reading.of_input):
        noun = "volume" if reading.volume else "image"
        other = (
            ""
            if reading.forward
            else (
                " The other gradient of the same layer often runs at the same time and takes"
                f" {'another' if image > TARGET_BYTES else 'at least'} {human(size)}."
            )
        )
        grows = "It grows with height x width x kernel area x channels."
        back = (
            " The weight gradient takes as much in the backward pass."
            if reading.forward and image > TARGET_BYTES
            else ""
        )
        return (
            "A smaller batch does not help here: the kernel unrolls"
            f" {noun} by {noun}, and this is one {noun}."
            f" {grows}{other}{back}"
        )
    if reading.volume:
        return (
            "The kernel takes as many volumes at once as fill the processor's L3 cache"
            f" ({reading.buffer.images} here, {human(image)} each), whatever the batch: neither a batch of"
            " fewer volumes nor a smaller volume makes it smaller."
        )
    many = (
        f"The kernel takes as many images at once as its target of {TARGET_TEXT} allows"
        f" ({reading.buffer.images}"
        f" here, {human(image)} each), whatever the batch"
    )
    return f"{many}: a batch of fewer images makes it no smaller."


def _dense(reading: _Reading) -> Iterator[Remedy]:
    """What computes a kernel of one position without a buffer."""
    if set(reading.kernel) != {1} or reading.forward:
        return
    yield Remedy(
        "a 1 x 1 x 1 convolution without strides is a matrix product over the channels: a Dense layer"
        " computes it without this buffer (a layer with a larger kernel at this size needs a larger one, and"
        " keeps it)",
        "x = tf.keras.layers.Dense(filters)(x)",
        reading.bytes,
        Certainty.BOUND,
        slug="dense-for-1x1x1",
    )


def _remedies(case: Case, moment: Moment, reading: _Reading) -> Iterator[Remedy]:
    size, patch = reading.bytes, reading.buffer.patch
    if reading.volume and reading.buffer.images > 1:
        yield onednn(size)
        yield Remedy(
            f"give the network smaller volumes (patches, crops{_named_side(case, reading)}): the buffer stays"
            " as large as the cache, and what the layers keep beside it shrinks, to an eighth with half of"
            " each side",
            slug="split-volume",
        )
        if (remedies.batch_of(case, moment) or 0) > 1:
            yield from remedies.fewer_samples(case, moment)
        yield Remedy(
            "or fewer channels in the layers at full resolution, which also hold what stands beside it",
            slug="fewer-channels",
        )
        yield Remedy(
            "or train where the processor's L3 cache is smaller: the buffer is as large as the cache",
            slug="smaller-cache",
        )
        yield from _dense(reading)
        return
    if reading.volume:
        yield Remedy(
            "halve depth, height and width of this layer's input: an eighth of the positions",
            saves_bytes=size * 7 // 8,
            certainty=Certainty.BOUND,
            slug="smaller-layer-input",
        )
        yield Remedy(
            "split the volume into patches, with the overlap that the kernels need", slug="split-volume"
        )
        yield from _dense(reading)
        return
    limit = device_limit(case, moment)
    alone = not reading.forward and (limit is None or size <= limit.bytes)  # whether one such buffer fits
    text, part = _fewer_positions(reading)
    yield from _thinner(reading, "smaller-layer-input", text, reading.buffer.positions // part, patch)
    if reading.one_axis or not reading.factored:
        yield onednn(size)
        if not reading.one_axis and alone:
            yield _one_op_at_a_time(case, size)
        return
    side = reading.kernel[0]
    if set(reading.kernel) == {side} and side > 3 and not reading.forward:
        text = f"replace the {side} x {side} kernel by {(side - 1) // 2} layers of 3 x 3, which see as far"
        yield from _thinner(reading, "smaller-kernel", text, reading.buffer.positions, patch * 9 // side**2)
    if reading.channels >= 32 and not reading.forward:
        text = (
            f"reduce the {reading.channels} input channels to {reading.channels // 4} with a 1x1 convolution"
            " before it"
        )
        yield from _thinner(reading, "fewer-channels", text, reading.buffer.positions, patch // 4)
    if reading.forward:
        move = "tf.nn.depth_to_space" if case.api.newest >= (1, 13) else "tf.depth_to_space"
        yield Remedy(
            "where it doubles the sides, compute it as a convolution to 4 times the channels and"
            " depth_to_space(2): its forward pass builds no such matrix",
            f"y = {move}(tf.nn.conv2d(x, w, strides=[1, 1, 1, 1], padding='SAME'), 2)   # w: [k, k, c,"
            f" {4 * reading.channels}]",
            size,
            Certainty.BOUND,
            slug="depth-to-space",
        )
    yield onednn(size)
    if alone:
        yield _one_op_at_a_time(case, size)


def _named_side(case: Case, reading: _Reading) -> str:
    """`; patch: 64 -> 32`, where the program names the side of a cube of so many positions."""
    for name, (number, line) in settings_by_name(code_lines(case.capture.surroundings)).items():
        if number**3 == reading.buffer.positions:
            return f"; `{name}`, {line.place}: {number} -> {number // 2}"
    return ""


def _fewer_positions(reading: _Reading) -> tuple[str, int]:
    """How to make the layer's input smaller, and by what its positions are divided then."""
    if reading.one_axis:
        return "halve the length of this layer's input (stride or pooling before it)", 2
    if not reading.factored:
        return (
            "halve the positions of this layer's input, such as its length (stride or pooling before it)",
            2,
        )
    text = "halve height and width of this layer's input (stride or pooling before it): a quarter of"
    return f"{text} the positions", 4


def _one_op_at_a_time(case: Case, size: int) -> Remedy:
    return Remedy(
        "run one op at a time, so that the two gradients of a convolution do not hold such a buffer at once",
        code_snippets.one_op_at_a_time(case.api),
        size,
        Certainty.BOUND,
        slug="one-op-at-a-time",
    )


def _thinner(reading: _Reading, slug: str, text: str, positions: int, patch: int) -> Iterator[Remedy]:
    """Fewer positions or columns: exact while one image stays one image, else as many images as 30 MiB take
    may come instead.
    """
    image = positions * patch * reading.item_bytes
    stays_one = reading.buffer.images == 1 and is_one_image(
        positions, patch, reading.of_input, reading.item_bytes
    )
    then = image if stays_one else most_bytes(positions, patch, reading.item_bytes)
    if 0 < then < reading.bytes:
        yield Remedy(
            text,
            saves_bytes=reading.bytes - then,
            certainty=Certainty.EXACT if stays_one else Certainty.ESTIMATE,
            slug=slug,
        )
