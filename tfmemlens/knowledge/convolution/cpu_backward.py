"""The gradients of convolutions on the CPU without oneDNN: an explicit im2col buffer, `col_buffer`, a
temporary that TensorFlow books.

Sources: conv_grad_filter_ops.cc, conv_grad_input_ops.{cc,h}, conv_grad_ops_3d.cc, read in TF 1.10, 1.15 and
2.21. Measured to the byte in each: `sample_traces/convolution/measured.csv`.
"""

from __future__ import annotations

import math

from tfmemlens.knowledge.convolution.col_buffer import (
    MAX_OVERHEAD,
    TARGET_TEXT,
    USUAL_L3_BYTES,
    of_convolution,
)
from tfmemlens.knowledge.convolution.sizes import output_shape, padding_of, patch, positions
from tfmemlens.model.convolution import Convolution, ConvolutionSetting, Need
from tfmemlens.model.finding import Certainty
from tfmemlens.model.tensor import format_shape
from tfmemlens.units import human
from tfmemlens.values import replace

FIRST_3D_BUFFER = (1, 12)
"""First version whose Conv3D gradients use a col_buffer (measured: 1.10 and 1.11 pad and shuffle instead,
1.12 and 1.13 have it).
"""


def filter_gradient(conv: Convolution, setting: ConvolutionSetting) -> Need:
    """What the gradient for the weights takes beside its output."""
    if len(conv.kernel) == 3:
        return _volume_filter(conv, setting)
    return _need(conv, of_convolution(conv).images_of_filter_gradient())


def input_gradient(conv: Convolution, setting: ConvolutionSetting) -> Need:
    """What the gradient for the input takes beside its output; also what the forward pass of the adjoint
    (transposed) convolution takes.
    """
    if len(conv.kernel) == 3:
        return _volume_input(conv, setting)
    return _need(conv, of_convolution(conv).images_of_input_gradient(conv.batch, setting.threads))


def _need(conv: Convolution, images: int) -> Need:
    shape = (images, positions(conv), patch(conv))
    count = math.prod(shape) * conv.item_bytes
    note = (
        "one image at a time: a smaller batch does not help here"
        if images == 1
        else (
            f"{images} images at once, for the kernel aims at {TARGET_TEXT}, whatever the batch;"
            f" {human(count // images)} an image"
        )
    )
    return Need(count, True, Certainty.EXACT, f"{format_shape(shape)} x {conv.item_bytes} bytes", shape, note)


def _volume_filter(conv: Convolution, setting: ConvolutionSetting) -> Need:
    if setting.version < FIRST_3D_BUFFER:
        padded = _padded_output_bytes(conv)
        total = padded + conv.input_bytes + conv.kernel_bytes
        formula = (
            f"padded output gradient {padded:,} + shuffled input {conv.input_bytes:,} + shuffled weights"
            f" {conv.kernel_bytes:,} bytes"
        )
        return Need(
            total,
            True,
            Certainty.EXACT,
            formula,
            note="this version pads and shuffles its operands; later ones unroll patches",
        )
    return _volume(conv, setting, None)


def _volume_input(conv: Convolution, setting: ConvolutionSetting) -> Need:
    if setting.version < FIRST_3D_BUFFER:
        padded = _padded_output_bytes(conv)
        formula = f"padded output gradient {padded:,} + reversed weights {conv.kernel_bytes:,} bytes"
        return Need(
            padded + conv.kernel_bytes,
            True,
            Certainty.EXACT,
            formula,
            note="this version pads its operands; later ones unroll patches",
        )
    return _volume(conv, setting, 1 if conv.batch == 1 else None)


def _padded_output_bytes(conv: Convolution) -> int:
    """TF <= 1.11 spreads the output gradient by the strides and pads it to input + kernel - 1 on each
    axis.
    """
    sides = [side + kernel - 1 for side, kernel in zip(conv.input[1:-1], conv.kernel, strict=True)]
    return conv.batch * math.prod(sides) * conv.filters * conv.item_bytes


def _volume(conv: Convolution, setting: ConvolutionSetting, volumes: int | None) -> Need:
    """A col_buffer of as many volumes as fill the L3 cache, unless that exceeds 25 times the tensors: then
    Eigen computes without one.
    """
    if volumes is not None or setting.l3_bytes is not None:
        return _checked(conv, volumes or of_convolution(conv).images_filling(setting.l3_bytes or 0))
    need = _checked(conv, of_convolution(conv).images_filling(USUAL_L3_BYTES))
    note = (
        f"{need.note}; for an L3 cache of {human(USUAL_L3_BYTES)}: give the processor's (--l3) for the exact"
        " figure"
    )
    return replace(need, certainty=Certainty.ESTIMATE, note=note)


def _checked(conv: Convolution, volumes: int) -> Need:
    shape = (volumes, positions(conv), patch(conv))
    elements = math.prod(shape)
    if elements // max(_tensor_elements(conv), 1) > MAX_OVERHEAD:
        formula = (
            f"{format_shape(shape)} would exceed 25 times input, weights and output: Eigen computes it"
            " without"
        )
        return Need(
            0, True, Certainty.EXACT, formula, note="no buffer: it would be more than 25 times the tensors"
        )
    note = f"{volumes} volume{'s' if volumes > 1 else ''} at once"
    return Need(
        elements * conv.item_bytes,
        True,
        Certainty.EXACT,
        f"{format_shape(shape)} x {conv.item_bytes} bytes",
        shape,
        note,
    )


def most_volumes(conv: Convolution) -> int:
    """How many volumes a Conv3D gradient may unroll at once before it falls back to Eigen, by the sizes of
    its tensors.
    """
    return ((MAX_OVERHEAD + 1) * _tensor_elements(conv) - 1) // max(positions(conv) * patch(conv), 1)


def _tensor_elements(conv: Convolution) -> int:
    return math.prod(conv.input) + math.prod(conv.kernel_shape) + math.prod(output_shape(conv))


def asymmetric_padding(conv: Convolution) -> tuple[int, ...]:
    """For each axis 1 where SAME pads one more after than before: so with even kernels, and with strides that
    do not fit.
    """
    axes = zip(conv.input[1:-1], conv.kernel, conv.strides, conv.dilations, strict=True)
    return tuple(after - before for before, after in (padding_of(*axis, conv.padding) for axis in axes))
