"""Which kernel computes a pass of a convolution in a setting, and what it takes beside the tensors."""

from __future__ import annotations

from typing import NamedTuple

from tfmemlens.knowledge.convolution import cpu_backward, cpu_forward, depthwise, gpu, onednn
from tfmemlens.knowledge.convolution.sizes import adjoint
from tfmemlens.model.convolution import Convolution, ConvolutionKind, ConvolutionSetting, Need
from tfmemlens.model.finding import Certainty


class Passes(NamedTuple):
    """The three passes of one training step."""

    forward: Need
    filter_gradient: Need
    input_gradient: Need


def passes(conv: Convolution, setting: ConvolutionSetting) -> Passes:
    """What forward and the two gradients take; the gradients do not depend on each other and often run side
    by side.
    """
    if setting.device == "gpu":
        need = gpu.need(conv, setting)
        return Passes(need, need, need)
    if onednn.computes(conv, setting):
        return _with_onednn(conv, setting)
    if conv.kind is ConvolutionKind.DEPTHWISE:
        needs = Passes(
            depthwise.forward(conv, setting),
            depthwise.filter_gradient(conv, setting),
            depthwise.input_gradient(conv, setting),
        )
    elif conv.kind is ConvolutionKind.TRANSPOSED:
        return _transposed(conv, setting)
    else:
        needs = Passes(
            cpu_forward.forward(conv, setting),
            cpu_backward.filter_gradient(conv, setting),
            cpu_backward.input_gradient(conv, setting),
        )
    return needs if not _dilated(conv) else Passes(needs.forward, _NO_DILATED_GRADIENT, _NO_DILATED_GRADIENT)


def _with_onednn(conv: Convolution, setting: ConvolutionSetting) -> Passes:
    gradient = onednn.gradient()
    if conv.kind is ConvolutionKind.TRANSPOSED:
        return Passes(gradient, gradient, onednn.forward(adjoint(conv), setting))
    return Passes(onednn.forward(conv, setting), gradient, gradient)


def _transposed(conv: Convolution, setting: ConvolutionSetting) -> Passes:
    """Forward is the input gradient of the convolution that leads back, and its own input gradient is that
    convolution.
    """
    back = adjoint(conv)
    if _dilated(conv):
        return Passes(_NO_DILATED_GRADIENT, _NO_DILATED_GRADIENT, cpu_forward.forward(back, setting))
    return Passes(
        cpu_backward.input_gradient(back, setting),
        cpu_backward.filter_gradient(back, setting),
        cpu_forward.forward(back, setting),
    )


def _dilated(conv: Convolution) -> bool:
    return any(dilation > 1 for dilation in conv.dilations)


_NO_DILATED_GRADIENT = Need(
    None,
    True,
    Certainty.EXACT,
    "not computed: without oneDNN the CPU has no kernel for it",
    note=(
        "the op fails with «do not yet support dilation rates larger than 1» (measured in 1.10, 1.15 and"
        " 2.21); tf.nn.atrous_conv2d goes through SpaceToBatchND instead, which copies input and output"
    ),
)
