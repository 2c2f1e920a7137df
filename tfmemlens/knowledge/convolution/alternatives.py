"""Other ways to compute a convolution, each with the bytes it takes at once, by the formulas of the
passes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from tfmemlens.knowledge.convolution import cpu_forward, gpu, onednn
from tfmemlens.knowledge.convolution.passes import passes
from tfmemlens.knowledge.convolution.sizes import output_bytes, output_shape, padding_of
from tfmemlens.model.convolution import Alternative, Convolution, ConvolutionKind, ConvolutionSetting
from tfmemlens.model.finding import Certainty
from tfmemlens.units import MIB, human
from tfmemlens.values import replace

MIN_SHARE_SAVED = 0.05
"""A saving below this share is not offered."""
NEW_NAMES = (1, 13)
"""First version with `tf.signal.rfft2d` and its like; before they were `tf.spectral.rfft2d`."""
_ONEDNN = "oneDNN's kernels, which build no patch matrix"


def alternatives(conv: Convolution, setting: ConvolutionSetting) -> tuple[Alternative, ...]:
    """What would take less, the largest saving first: for the forward pass, and for the two gradients
    together.
    """
    options = (
        _on_gpu(conv, setting)
        if setting.device == "gpu"
        else (*_forward(conv, setting), *_backward(conv, setting))
    )
    return tuple(sorted(options, key=lambda option: -option.saves_bytes))


def forward_bytes(conv: Convolution, setting: ConvolutionSetting) -> int:
    """Temporaries of the forward pass."""
    return passes(conv, setting).forward.temporary_bytes or 0


def backward_bytes(conv: Convolution, setting: ConvolutionSetting) -> int:
    """Temporaries of both gradients, which run side by side."""
    needs = passes(conv, setting)
    return (needs.filter_gradient.temporary_bytes or 0) + (needs.input_gradient.temporary_bytes or 0)


def _option(
    applies_to: str,
    now: int,
    then: int,
    text: str,
    code: str | None = None,
    certainty: Certainty = Certainty.EXACT,
) -> Iterator[Alternative]:
    if now - then >= MIN_SHARE_SAVED * now and now - then > 0:
        yield Alternative(applies_to, text, code, then, now - then, certainty)


def _forward(conv: Convolution, setting: ConvolutionSetting) -> Iterator[Alternative]:
    need = passes(conv, setting).forward
    now, untracked = need.temporary_bytes or 0, not need.tracked
    if now < MIB:
        return
    how = Certainty.ESTIMATE if untracked else Certainty.EXACT
    if untracked and setting.version < cpu_forward.FIRST_THREAD_LOCAL:
        newer = replace(setting, version=cpu_forward.FIRST_THREAD_LOCAL)
        yield from _option(
            "forward",
            now,
            forward_bytes(conv, newer),
            "TensorFlow 1.14 or newer: its Eigen keeps no slabs",
            "pip install tensorflow==1.15.5",
            how,
        )
    if untracked:
        yield from _option(
            "forward",
            now,
            0,
            "one intra-op thread: no slabs, and about as many times slower as there were threads",
            _threads(setting),
            Certainty.ESTIMATE,
        )
    if conv.batch > 1:
        single = max(forward_bytes(replace(conv, input=(1, *conv.input[1:])), setting), output_bytes(conv))
        text = (
            f"one {_noun(conv)} at a time (the {human(output_bytes(conv))} of results exist twice for a"
            " moment)"
        )
        yield from _option("forward", now, single, text, _map_fn(conv), how)
    yield from _other_arithmetic(conv, setting, now, how)
    if conv.kind is ConvolutionKind.TRANSPOSED and len(conv.kernel) == 2:
        yield from _sub_pixel(conv, setting, now)


def _sub_pixel(conv: Convolution, setting: ConvolutionSetting, now: int) -> Iterator[Alternative]:
    """Each input position computes its own stride x stride outputs as channels, which are then moved."""
    area = math.prod(conv.strides)
    kernel = tuple(-(-side // stride) for side, stride in zip(conv.kernel, conv.strides, strict=True))
    plain = replace(
        conv,
        kind=ConvolutionKind.CONV,
        kernel=kernel,
        filters=conv.filters * area,
        strides=(1, 1),
        padding="same",
    )
    if len(set(conv.strides)) == 1 and conv.strides[0] > 1:
        text = (
            f"a {kernel[0]} x {kernel[1]} convolution to {conv.filters * area} channels and"
            f" depth_to_space({conv.strides[0]}): no patches are written out"
        )
        move = "tf.nn.depth_to_space" if setting.version >= NEW_NAMES else "tf.depth_to_space"
        code = f"y = {move}(tf.nn.conv2d(x, w, [1, 1, 1, 1], 'SAME'), {conv.strides[0]})"
        yield from _option(
            "forward", now, forward_bytes(plain, setting) + output_bytes(conv), text, code, Certainty.ESTIMATE
        )
    if setting.version >= onednn.FIRST and not setting.onednn:
        other = replace(setting, onednn=True)
        yield from _option(
            "forward",
            now,
            forward_bytes(conv, other),
            _ONEDNN,
            "export TF_ENABLE_ONEDNN_OPTS=1",
            Certainty.ESTIMATE,
        )


def _other_arithmetic(
    conv: Convolution, setting: ConvolutionSetting, now: int, how: Certainty
) -> Iterator[Alternative]:
    if (
        conv.kind is ConvolutionKind.CONV
        and max(conv.kernel) >= 11
        and all(dilation == 1 for dilation in conv.dilations)
    ):
        single = fft_bytes(replace(conv, input=(1, *conv.input[1:])))
        text = (
            f"an FFT convolution, image by image ({human(fft_bytes(conv))} for the whole batch): its memory"
            " does not depend on the kernel"
        )
        yield from _option("forward", now, single, text, _fft_code(conv, setting), Certainty.ESTIMATE)
    if conv.kind is ConvolutionKind.CONV and min(conv.kernel) > 1:
        yield from _separable(conv, setting, now)
    yield from _thinner("forward", conv, setting, now, how)


def _separable(conv: Convolution, setting: ConvolutionSetting, now: int) -> Iterator[Alternative]:
    first = replace(
        conv, kernel=(conv.kernel[0], 1), strides=(conv.strides[0], 1), dilations=(conv.dilations[0], 1)
    )
    second = replace(
        conv,
        input=output_shape(first),
        kernel=(1, conv.kernel[1]),
        strides=(1, conv.strides[1]),
        dilations=(1, conv.dilations[1]),
    )
    then = max(forward_bytes(first, setting), forward_bytes(second, setting)) + output_bytes(first)
    text = (
        f"separable kernels, {conv.kernel[0]} x 1 and then 1 x {conv.kernel[1]} ({human(output_bytes(first))}"
        " between them): where the kernels have rank 1"
    )
    yield from _option("forward", now, then, text, None, Certainty.ESTIMATE)


def _thinner(
    applies_to: str, conv: Convolution, setting: ConvolutionSetting, now: int, how: Certainty
) -> Iterator[Alternative]:
    """A smaller grid or a smaller kernel: the same for both directions."""
    take = forward_bytes if applies_to == "forward" else backward_bytes
    if (
        conv.kind is not ConvolutionKind.TRANSPOSED
        and all(stride == 1 for stride in conv.strides)
        and math.prod(output_shape(conv)[1:-1]) > 1
    ):
        strided = replace(conv, strides=tuple(2 for _ in conv.strides))
        yield from _option(
            applies_to,
            now,
            take(strided, setting),
            f"stride 2: {'an eighth' if len(conv.kernel) == 3 else 'a quarter'} of the positions",
            None,
            how,
        )
    side = conv.kernel[0]
    if (
        len(set(conv.kernel)) == 1
        and 3 < side <= 15
        and side % 2
        and conv.kind is not ConvolutionKind.TRANSPOSED
    ):
        small = replace(conv, kernel=tuple(3 for _ in conv.kernel))
        text = f"{(side - 1) // 2} layers of {' x '.join('3' for _ in conv.kernel)}, which see as far"
        yield from _option(applies_to, now, take(small, setting), text, None, how)


def _backward(conv: Convolution, setting: ConvolutionSetting) -> Iterator[Alternative]:
    needs = passes(conv, setting)
    sizes = [need.temporary_bytes or 0 for need in (needs.filter_gradient, needs.input_gradient)]
    now = sum(sizes)
    if now < MIB:
        return
    yield from _option(
        "backward",
        now,
        max(sizes),
        "one gradient after the other, so that their buffers do not live together",
        _one_op_at_a_time(setting),
        Certainty.BOUND,
    )
    if setting.version >= onednn.FIRST and not setting.onednn:
        other = replace(setting, onednn=True)
        yield from _option(
            "backward",
            now,
            backward_bytes(conv, other),
            _ONEDNN,
            "export TF_ENABLE_ONEDNN_OPTS=1",
            Certainty.ESTIMATE,
        )
    yield from _thinner("backward", conv, setting, now, Certainty.EXACT)
    if conv.channels >= 32 and conv.kind in (ConvolutionKind.CONV, ConvolutionKind.CONV3D):
        narrow = replace(conv, input=(*conv.input[:-1], conv.channels // 4))
        text = f"a 1x1 convolution before it, from {conv.channels} to {conv.channels // 4} channels"
        yield from _option("backward", now, backward_bytes(narrow, setting), text)
    yield from _tiles(conv, setting, now)


def _tiles(conv: Convolution, setting: ConvolutionSetting, now: int) -> Iterator[Alternative]:
    """Crops overlap by what the kernel reaches, so that their outputs tile the whole output."""
    grid = output_shape(conv)[1:-1]
    if conv.kind is not ConvolutionKind.CONV or min(grid) < 16:
        return
    needs = [
        (-(-out // 2) - 1) * stride + (kernel - 1) * dilation + 1
        for out, stride, kernel, dilation in zip(grid, conv.strides, conv.kernel, conv.dilations, strict=True)
    ]
    tile = replace(conv, input=(conv.batch, *needs, conv.channels), padding="valid")
    text = f"train on crops of {needs[0]} x {needs[1]}, a quarter of the output each"
    yield from _option("backward", now, backward_bytes(tile, setting), text)


def _on_gpu(conv: Convolution, setting: ConvolutionSetting) -> Iterator[Alternative]:
    now = passes(conv, setting).forward.temporary_bytes or 0
    if now < MIB:
        return
    padded = gpu.padded_input_bytes(conv)
    small, name = gpu.likely_workspace(conv, 64 * MIB)
    text = (
        f"a lower limit for cuDNN's workspace ({name} then fits); slower where it was the fastest that needed"
        " more"
    )
    yield from _option(
        "each pass", now, small + padded, text, f"export {gpu.LIMIT_VARIABLE}=64", Certainty.ESTIMATE
    )
    yield from _option(
        "each pass",
        now,
        padded,
        "algorithms without a workspace only",
        "export TF_CUDNN_USE_AUTOTUNE=0 " + gpu.LIMIT_VARIABLE + "=0",
        Certainty.ESTIMATE,
    )
    if padded and any(kernel % 2 == 0 for kernel in conv.kernel):
        odd = replace(conv, kernel=tuple(kernel + 1 - kernel % 2 for kernel in conv.kernel))
        then = passes(odd, setting).forward.temporary_bytes or 0
        yield from _option(
            "each pass",
            now,
            min(then, now - padded),
            "an odd kernel: SAME padding is then symmetric, without a padded copy",
            None,
            Certainty.ESTIMATE,
        )
    if conv.batch > 1:
        half = replace(conv, input=(conv.batch // 2, *conv.input[1:]))
        then = passes(half, setting).forward.temporary_bytes or 0
        yield from _option(
            "each pass",
            now,
            then,
            f"half the batch ({conv.batch} -> {conv.batch // 2})",
            None,
            Certainty.ESTIMATE,
        )


def fft_bytes(conv: Convolution) -> int:
    """What the code below holds for the whole batch: half spectra (complex64) of input, weights, products and
    sums, and two real copies.

    Measured in TF 1.10 on [10,321,481,2], 31 x 31 x 3: 110 MiB beside the output, 98 by this formula; one
    image 16 and 13.
    """
    height, width = _padded_sides(conv)
    products = conv.batch * conv.channels * conv.filters
    planes = conv.batch * (conv.channels + conv.filters) + conv.channels * conv.filters + products
    real = conv.batch * (conv.channels + conv.filters) * height * width
    return (planes * height * (width // 2 + 1) * 2 + real) * conv.item_bytes


def _padded_sides(conv: Convolution) -> tuple[int, int]:
    height, width = (side + sum(pads) for side, pads in zip(conv.input[1:-1], _pads(conv), strict=True))
    return height, width


def _pads(conv: Convolution) -> list[tuple[int, int]]:
    axes = zip(conv.input[1:-1], conv.kernel, conv.strides, conv.dilations, strict=True)
    return [padding_of(*axis, conv.padding) for axis in axes]


def _fft_code(conv: Convolution, setting: ConvolutionSetting) -> str:
    """Convolution theorem, channels first; conj because conv2d correlates; strides by leaving results out."""
    signal, conj = (
        ("tf.signal", "tf.math.conj") if setting.version >= NEW_NAMES else ("tf.spectral", "tf.conj")
    )
    height, width = _padded_sides(conv)
    rows, columns = height - conv.kernel[0] + 1, width - conv.kernel[1] + 1
    pad = f"x = tf.pad(x, {[[0, 0], *map(list, _pads(conv)), [0, 0]]})\n" if conv.padding == "same" else ""
    steps = (
        f"[:, :, :{rows}, :{columns}]"
        if set(conv.strides) == {1}
        else f"[:, :, :{rows}:{conv.strides[0]}, :{columns}:{conv.strides[1]}]"
    )
    return (
        f"{pad}sx = {signal}.rfft2d(tf.transpose(x, [0, 3, 1, 2])[:, :, None], [{height}, {width}])\n"
        f"sw = {conj}({signal}.rfft2d(tf.transpose(w, [2, 3, 0, 1]), [{height}, {width}]))\n"
        f"y = {signal}.irfft2d(tf.reduce_sum(sx * sw, 1), [{height}, {width}]){steps}  # channels first"
    )


def _noun(conv: Convolution) -> str:
    return "volume" if len(conv.kernel) == 3 else "image"


def _map_fn(conv: Convolution) -> str:
    op = {
        ConvolutionKind.TRANSPOSED: "conv2d_transpose",
        ConvolutionKind.CONV3D: "conv3d",
        ConvolutionKind.DEPTHWISE: "depthwise_conv2d",
    }.get(conv.kind, "conv2d")
    shape = f", {[1, *output_shape(conv)[1:]]}" if conv.kind is ConvolutionKind.TRANSPOSED else ""
    strides = [1, *conv.strides, 1]
    return (
        f"y = tf.map_fn(lambda x: tf.nn.{op}(x[tf.newaxis], w{shape}, {strides},"
        f" '{conv.padding.upper()}')[0], images, parallel_iterations=1)"
    )


def _threads(setting: ConvolutionSetting) -> str:
    if setting.version < (2, 0):
        return "sess = tf.Session(config=tf.ConfigProto(intra_op_parallelism_threads=1))"
    return "tf.config.threading.set_intra_op_parallelism_threads(1)"


def _one_op_at_a_time(setting: ConvolutionSetting) -> str:
    if setting.version < (2, 0):
        return "sess = tf.Session(config=tf.ConfigProto(inter_op_parallelism_threads=1))"
    return "tf.config.threading.set_inter_op_parallelism_threads(1)"
