"""Output shapes, padding, arithmetic and the patch matrix of a convolution: sizes in, sizes out."""

from __future__ import annotations

import math

from tfmemlens.model.convolution import Convolution, ConvolutionKind
from tfmemlens.values import replace


def reach(kernel: int, dilation: int) -> int:
    """How many input pixels a kernel spans on one axis: `(kernel - 1) * dilation + 1`."""
    return (kernel - 1) * dilation + 1


def output_side(side: int, kernel: int, stride: int, dilation: int, padding: str) -> int:
    """Output positions on one axis: SAME ceil(side / stride), VALID ceil((side - reach + 1) / stride), not
    below 0.

    Source: `GetWindowedOutputSizeVerboseV2` (kernel_shape_util.cc), TF 1.10 to 2.21.
    """
    covered = side if padding == "same" else side - reach(kernel, dilation) + 1
    return max(-(-covered // stride), 0)


def padding_of(side: int, kernel: int, stride: int, dilation: int, padding: str) -> tuple[int, int]:
    """Zeros before and after one axis. SAME puts the odd one after: an even kernel pads one more at the
    bottom and right.
    """
    if padding == "valid":
        return 0, 0
    needed = max(
        (output_side(side, kernel, stride, dilation, padding) - 1) * stride + reach(kernel, dilation) - side,
        0,
    )
    return needed // 2, needed - needed // 2


def output_shape(conv: Convolution) -> tuple[int, ...]:
    """The output tensor's shape, channels last.

    A transposed convolution's is the one that Keras infers: stride * side, plus what the kernel overhangs
    where VALID.
    """
    axes = zip(conv.input[1:-1], conv.kernel, conv.strides, conv.dilations, strict=True)
    if conv.kind is ConvolutionKind.TRANSPOSED:
        sides = [
            side * stride + (max(reach(kernel, dilation) - stride, 0) if conv.padding == "valid" else 0)
            for side, kernel, stride, dilation in axes
        ]
    else:
        sides = [output_side(*axis, conv.padding) for axis in axes]
    return (conv.batch, *sides, conv.out_channels)


def output_bytes(conv: Convolution) -> int:
    """Bytes of the output tensor."""
    return math.prod(output_shape(conv)) * conv.item_bytes


def adjoint(conv: Convolution) -> Convolution:
    """The convolution whose input gradient a transposed convolution computes: from its output to its
    input.
    """
    shape = output_shape(conv)
    return replace(conv, kind=ConvolutionKind.CONV, input=shape, filters=conv.channels)


def positions(conv: Convolution) -> int:
    """Output positions of one image, where the kernel is applied; of a transposed convolution its input
    positions.
    """
    return math.prod(
        conv.input[1:-1] if conv.kind is ConvolutionKind.TRANSPOSED else output_shape(conv)[1:-1]
    )


def patch(conv: Convolution) -> int:
    """Elements of one patch: kernel area x channels it reads; of a transposed convolution channels it
    writes.
    """
    return math.prod(conv.kernel) * (
        conv.filters if conv.kind is ConvolutionKind.TRANSPOSED else conv.channels
    )


def flops(conv: Convolution) -> int:
    """Floating-point operations of the forward pass; a multiplication and an addition count as two."""
    filters = conv.channels if conv.kind is ConvolutionKind.TRANSPOSED else conv.filters
    return 2 * conv.batch * positions(conv) * patch(conv) * filters


def image_patches_bytes(conv: Convolution) -> int:
    """The im2col matrix of one image, [positions, patch]."""
    return positions(conv) * patch(conv) * conv.item_bytes


def patch_matrix_bytes(conv: Convolution) -> int:
    """The im2col matrix of the whole batch, [batch * positions, patch]: what an explicit patch extraction
    would write.

    ExtractImagePatches writes it as a tensor (extract_image_patches_op.cc); measured to the byte in TF 1.10,
    1.15 and 2.21.
    """
    return conv.batch * image_patches_bytes(conv)
