"""Depthwise convolutions on the CPU: strips of one kernel's size per thread, never a patch matrix.

Source: depthwise_conv_op.cc, depthwise_conv_grad_op.cc. Strips and weights are padded to whole vector
registers. Exact with one thread; with more, strips that overlap in time depend on the scheduler. Measured in
TF 1.10, 1.15 and 2.21: `sample_traces/convolution/measured.csv`.
"""

from __future__ import annotations

import math

from tfmemlens.model.convolution import Convolution, ConvolutionSetting, Need
from tfmemlens.model.finding import Certainty

REGISTER_BYTES = 32
"""A vector register of TensorFlow's wheels, which are built for AVX."""


def _padded(conv: Convolution) -> int:
    lanes = max(REGISTER_BYTES // conv.item_bytes, 1)
    return -(-conv.out_channels // lanes) * lanes


def strip_bytes(conv: Convolution) -> int:
    """[kernel area, output channels padded to whole registers]."""
    return math.prod(conv.kernel) * _padded(conv) * conv.item_bytes


def padded_weights_bytes(conv: Convolution) -> int:
    """A copy of the weights where the output channels do not fill whole registers, else nothing."""
    return strip_bytes(conv) if conv.out_channels != _padded(conv) else 0


def forward(conv: Convolution, setting: ConvolutionSetting) -> Need:
    """Padded weights and a strip for each thread that works on rows."""
    return _need(conv, setting, padded_weights_bytes(conv), strip_bytes(conv), "padded weights")


def input_gradient(conv: Convolution, setting: ConvolutionSetting) -> Need:
    """Padded weights, and for each thread a strip and a row of results."""
    return _need(
        conv,
        setting,
        padded_weights_bytes(conv),
        strip_bytes(conv) + _padded(conv) * conv.item_bytes,
        "padded weights",
    )


def filter_gradient(conv: Convolution, setting: ConvolutionSetting) -> Need:
    """Weights once for each image of the batch, and a strip for each thread."""
    return _need(
        conv, setting, conv.batch * strip_bytes(conv), strip_bytes(conv), f"{conv.batch} images x weights"
    )


def _need(conv: Convolution, setting: ConvolutionSetting, fixed: int, strip: int, what: str) -> Need:
    del conv
    strips = 1 if setting.threads < 2 else setting.threads + 1  # the calling thread takes part
    formula = f"{what} {fixed:,} + {strips} strip{'s' if strips > 1 else ''} x {strip:,} bytes"
    return Need(fixed + strips * strip, True, Certainty.EXACT if strips == 1 else Certainty.BOUND, formula)
