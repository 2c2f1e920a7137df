"""Convolutions on a GPU: cuDNN's workspaces by algorithm, the limit TensorFlow sets, and the copies the
kernel makes itself.

cuDNN publishes no formula: the workspaces are orders of magnitude, from what each algorithm must hold
(documentation, not measured here). TensorFlow's own part is read in conv_ops.cc (1.15) and gpu_utils.cc: the
limit, the transposed copies, the padded input.
"""

from __future__ import annotations

import math

from tfmemlens.knowledge.convolution.cpu_backward import asymmetric_padding
from tfmemlens.knowledge.convolution.sizes import (
    image_patches_bytes,
    output_bytes,
    output_shape,
    patch,
    positions,
)
from tfmemlens.model.convolution import Convolution, ConvolutionKind, ConvolutionSetting, Need, Workspace
from tfmemlens.model.finding import Certainty
from tfmemlens.units import GIB, human, rough

LIMIT_VARIABLE = "TF_CUDNN_WORKSPACE_LIMIT_IN_MB"
TILE = 32
"""Side of the tiles of FFT_TILING."""


def default_limit_bytes(version: tuple[int, int]) -> int:
    """What a workspace may take unless TF_CUDNN_WORKSPACE_LIMIT_IN_MB says otherwise: 4 GiB in TF 1 (read in
    1.8 and 1.15), 8 GiB in 2.21.

    Where in TF 2 it grew is not known; the smaller figure is given before 2.21.
    """
    return (8 if version >= (2, 21) else 4) * GIB


def workspaces(conv: Convolution) -> tuple[Workspace, ...]:
    """The forward algorithms with what each would ask for, smallest first; `applies` is False where cuDNN has
    no such kernel for these sizes.
    """
    if conv.kind is ConvolutionKind.DEPTHWISE:
        return ()
    if len(conv.kernel) == 3:
        return (_implicit(conv), _precomputed(conv), _gemm(conv))
    algorithms = (
        _implicit(conv),
        _precomputed(conv),
        _gemm(conv),
        _fft(conv),
        _fft_tiling(conv),
        _winograd(conv),
        _winograd_nonfused(conv),
    )
    return tuple(sorted(algorithms, key=lambda workspace: (not workspace.applies, workspace.bytes)))


def _implicit(_: Convolution) -> Workspace:
    return Workspace("IMPLICIT_GEMM", 0, "patches are formed in registers")


def _precomputed(conv: Convolution) -> Workspace:
    return Workspace(
        "IMPLICIT_PRECOMP_GEMM",
        4 * (positions(conv) + patch(conv)),
        "a table of indices: 4 bytes x (positions + patch)",
    )


def _gemm(conv: Convolution) -> Workspace:
    size = image_patches_bytes(conv)
    return Workspace(
        "GEMM",
        size,
        f"explicit im2col of one {'volume' if len(conv.kernel) == 3 else 'image'}: {positions(conv):,} x"
        f" {patch(conv):,} x {conv.item_bytes} bytes",
    )


def _plain(conv: Convolution) -> bool:
    return all(stride == 1 for stride in conv.strides) and all(dilation == 1 for dilation in conv.dilations)


def _spectra(conv: Convolution, height: int, width: int, tiles: int = 1) -> int:
    """Half spectra (complex) of input, weights and output."""
    planes = tiles * conv.batch * (conv.channels + conv.out_channels) + conv.channels * conv.out_channels
    return planes * height * (width // 2 + 1) * 2 * conv.item_bytes


def _fft(conv: Convolution) -> Workspace:
    height, width = (
        _power_of_two(side + kernel - 1) for side, kernel in zip(conv.input[1:-1], conv.kernel, strict=True)
    )
    applies = _plain(conv) and max(conv.input[1:-1]) <= 256
    return Workspace(
        "FFT",
        _spectra(conv, height, width),
        f"half spectra of input, weights and output at {height} x {width}",
        applies,
    )


def _fft_tiling(conv: Convolution) -> Workspace:
    step = [max(TILE - kernel + 1, 1) for kernel in conv.kernel]
    tiles = math.prod(-(-side // each) for side, each in zip(output_shape(conv)[1:-1], step, strict=True))
    applies = _plain(conv) and max(conv.kernel) <= TILE
    return Workspace(
        "FFT_TILING",
        _spectra(conv, TILE, TILE, tiles),
        f"half spectra of {tiles:,} tiles of {TILE} x {TILE}",
        applies,
    )


def _winograd(conv: Convolution) -> Workspace:
    size = conv.channels * conv.out_channels * 16 * conv.item_bytes
    return Workspace(
        "WINOGRAD", size, "transformed weights, 16 for each 3 x 3", _plain(conv) and conv.kernel == (3, 3)
    )


def _winograd_nonfused(conv: Convolution) -> Workspace:
    tiles = math.prod(-(-side // 4) for side in output_shape(conv)[1:-1])
    side = conv.kernel[0] + 3
    planes = conv.batch * tiles * (conv.channels + conv.out_channels) + conv.channels * conv.out_channels
    applies = _plain(conv) and conv.kernel in ((3, 3), (5, 5))
    return Workspace(
        "WINOGRAD_NONFUSED",
        planes * side * side * conv.item_bytes,
        f"{tiles:,} transformed tiles of {side} x {side} of input and output",
        applies,
    )


def _power_of_two(size: int) -> int:
    return 1 << max(size - 1, 0).bit_length()


def likely_workspace(conv: Convolution, limit_bytes: int) -> tuple[int, str]:
    """The largest workspace that fits the limit: autotune takes the fastest algorithm, whatever its
    memory.
    """
    fitting = [
        workspace for workspace in workspaces(conv) if workspace.applies and workspace.bytes <= limit_bytes
    ]
    largest = max(fitting, key=lambda workspace: workspace.bytes, default=Workspace("IMPLICIT_GEMM", 0, ""))
    return largest.bytes, largest.algorithm


def layout_temporaries_bytes(conv: Convolution) -> int:
    """What Conv2D copies itself when it is given NHWC and computes NCHW: input, output and weights
    (conv_ops.cc, `LaunchConv2DOp`).
    """
    return conv.input_bytes + output_bytes(conv) + conv.kernel_bytes


def padded_input_bytes(conv: Convolution) -> int:
    """A copy of the input with one more row or column, which asymmetric SAME padding forces; nothing where
    the padding is symmetric.
    """
    extra = asymmetric_padding(conv)
    if not any(extra):
        return 0
    sides = [side + more for side, more in zip(conv.input[1:-1], extra, strict=True)]
    return conv.batch * math.prod(sides) * conv.channels * conv.item_bytes


def need(conv: Convolution, setting: ConvolutionSetting) -> Need:
    """What a pass may take beside its tensors: at most the workspace of the hungriest algorithm that the
    limit allows.
    """
    if conv.kind is ConvolutionKind.DEPTHWISE:
        return Need(0, True, Certainty.ESTIMATE, "TensorFlow's own depthwise kernels take no workspace")
    limit = default_limit_bytes(setting.version)
    size, algorithm = likely_workspace(conv, limit)
    padded = padded_input_bytes(conv)
    text = f"some {rough(size)} for cuDNN's {algorithm} (limit {human(limit)})"
    if padded:
        text += f", and {human(padded)} for a copy of the input, which {_sides(conv)} SAME padding forces"
    return Need(
        size + padded,
        True,
        Certainty.ESTIMATE,
        text,
        note="an order of magnitude: autotune decides by speed when the shape is first seen",
    )


def _sides(conv: Convolution) -> str:
    return "asymmetric" if any(asymmetric_padding(conv)) else "symmetric"
