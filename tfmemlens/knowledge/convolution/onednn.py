"""Convolutions that oneDNN computes on the CPU (Linux x86: the default from TF 2.9): scratchpads, booked as
temporaries of the forward op.

oneDNN states no sizes. The bounds held for every configuration measured in TF 2.21 on a processor with
AVX-512 (`sample_traces/convolution/measured.csv`): about 12 KiB, but for images of one channel up to the
patches of one image per thread. The gradients book nothing. oneDNN computes float32 and bfloat16; others run
in TensorFlow's own kernels.
"""

from __future__ import annotations

import math

from tfmemlens.knowledge.convolution.sizes import image_patches_bytes, positions
from tfmemlens.model.convolution import Convolution, ConvolutionKind, ConvolutionSetting, Need
from tfmemlens.model.finding import Certainty
from tfmemlens.units import KIB

BASE_BYTES = 16 * KIB
FIRST_BY_DEFAULT = (2, 9)
FIRST = (2, 5)
"""First version of the stock wheels that has it, behind TF_ENABLE_ONEDNN_OPTS=1."""


def computes(conv: Convolution, setting: ConvolutionSetting) -> bool:
    """Whether oneDNN runs this convolution."""
    return setting.onednn and setting.device == "cpu" and conv.dtype in ("float32", "bfloat16")


def forward(conv: Convolution, setting: ConvolutionSetting) -> Need:
    """The scratchpad of the forward pass, at most."""
    base = (setting.threads + 1) * BASE_BYTES
    note = "booked as a temporary; the resident set grows by less"
    if conv.kind in (ConvolutionKind.CONV, ConvolutionKind.CONV3D) and conv.channels == 1:
        image = image_patches_bytes(conv)
        formula = f"{setting.threads} threads x patches of one image {image:,} + {base:,} bytes"
        return Need(setting.threads * image + base, True, Certainty.BOUND, f"at most {formula}", note=note)
    if conv.kind is ConvolutionKind.DEPTHWISE:
        image = positions(conv) * math.prod(conv.kernel) * conv.item_bytes if conv.channels == 1 else 0
        return Need(
            setting.threads * image + base,
            True,
            Certainty.BOUND,
            f"at most {setting.threads * image + base:,} bytes",
            note=note,
        )
    return Need(
        base, True, Certainty.BOUND, f"at most {setting.threads + 1} x {BASE_BYTES:,} bytes", note=note
    )


def gradient() -> Need:
    """A gradient's temporaries: none are booked."""
    return Need(
        0,
        True,
        Certainty.ESTIMATE,
        "oneDNN builds no patch matrix and books no scratchpad here",
        note="measured 0 in every configuration",
    )
