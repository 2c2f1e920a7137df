"""All that is to say about one convolution in one setting."""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.knowledge.convolution import gpu, onednn
from tfmemlens.knowledge.convolution.alternatives import alternatives
from tfmemlens.knowledge.convolution.passes import passes
from tfmemlens.knowledge.convolution.sizes import flops, output_bytes, output_shape, patch_matrix_bytes, reach
from tfmemlens.model.convolution import (
    Convolution,
    ConvolutionKind,
    ConvolutionReport,
    ConvolutionSetting,
    Need,
    Variation,
)
from tfmemlens.model.finding import Certainty
from tfmemlens.units import MIB, human, rough
from tfmemlens.values import replace

KERNELS = (1, 3, 5, 7, 11, 15, 31, 61)
"""Sides of the kernels in the table."""


def examine(conv: Convolution, setting: ConvolutionSetting) -> ConvolutionReport:
    """The report on a convolution."""
    needs = passes(conv, setting)
    return ConvolutionReport(
        conv,
        setting,
        output_shape(conv),
        output_bytes(conv),
        flops(conv),
        patch_matrix_bytes(conv),
        needs.forward,
        needs.filter_gradient,
        needs.input_gradient,
        gpu.workspaces(conv) if setting.device == "gpu" else (),
        alternatives(conv, setting),
        tuple(variation(each, setting) for each in variations(conv)),
        _verdict(conv, setting),
        tuple(_notes(conv, setting)),
    )


def variation(conv: Convolution, setting: ConvolutionSetting) -> Variation:
    """One line of the table."""
    needs = passes(conv, setting)
    return Variation(
        conv.kernel,
        conv.batch,
        output_bytes(conv),
        patch_matrix_bytes(conv),
        needs.forward.temporary_bytes,
        needs.filter_gradient.temporary_bytes,
        needs.input_gradient.temporary_bytes,
    )


def variations(conv: Convolution) -> Iterator[Convolution]:
    """Other kernels at this batch, then other batches with this kernel; the convolution itself is among the
    kernels.
    """
    kernels = {conv.kernel, *((side,) * len(conv.kernel) for side in KERNELS)}
    for kernel in sorted(kernels, key=lambda sides: (sum(sides), sides)):
        other = replace(conv, kernel=kernel)
        if kernel == conv.kernel or fits(other):
            yield other
    batch = conv.batch
    while batch > 1:
        batch = max(batch // (2 if batch == conv.batch else 4), 1)
        yield replace(conv, input=(batch, *conv.input[1:]))


def fits(conv: Convolution) -> bool:
    """Whether the kernel, spread by its dilation, fits into the input where it must (VALID), and is no larger
    than it.
    """
    return all(
        reach(kernel, dilation) <= side
        for side, kernel, dilation in zip(conv.input[1:-1], conv.kernel, conv.dilations, strict=True)
    )


def _verdict(conv: Convolution, setting: ConvolutionSetting) -> str:
    needs = passes(conv, setting)
    if setting.device == "gpu":
        size = needs.forward.temporary_bytes or 0
        if not size:
            return f"It needs no extra memory: {needs.forward.formula}."
        return (
            f"Each pass may need some {rough(size)} of extra memory, an order of magnitude: it depends on"
            " the algorithm that autotune finds fastest."
        )
    backward = _of_backward(needs.filter_gradient, needs.input_gradient)
    return f"{_of_forward(conv, needs.forward)} {backward}".rstrip()


def _of_forward(conv: Convolution, need: Need) -> str:
    size = need.temporary_bytes
    if size is None:
        return "The forward pass cannot run here."
    if size < MIB and conv.kind is ConvolutionKind.TRANSPOSED:
        return f"The forward pass needs {_hedge(need)}{human(size)} of extra memory."
    if size < MIB:
        return (
            "The forward pass needs almost no extra memory: the"
            f" {human(patch_matrix_bytes(conv))} of patches are never written out."
        )
    seen = "" if need.tracked else " that no report of TensorFlow shows"
    return f"The forward pass needs {_hedge(need)}{human(size)} of extra memory{seen}."


def _of_backward(weights: Need, inputs: Need) -> str:
    sizes = [need.temporary_bytes for need in (weights, inputs)]
    if sizes == [None, None]:
        return "It cannot be trained here: this device has no gradient for it."
    first, second = (size or 0 for size in sizes)
    if max(first, second) < MIB:
        return "The gradients need almost no extra memory either."
    if first == second:
        return (
            f"Training adds {_hedge(weights)}{human(first)} in the backward pass, and twice that when both"
            " gradients run at once."
        )
    return (
        f"In the backward pass the gradients take {_hedge(weights)}{human(first)} (weights) and"
        f" {_hedge(inputs)}{human(second)} (input)."
    )


def _hedge(need: Need) -> str:
    return (
        {Certainty.EXACT: "", Certainty.BOUND: "up to ", Certainty.ESTIMATE: "about "}[need.certainty]
        if need.temporary_bytes
        else ""
    )


def _notes(conv: Convolution, setting: ConvolutionSetting) -> Iterator[str]:
    if setting.device == "gpu" and conv.kind is ConvolutionKind.DEPTHWISE:
        return
    if setting.device == "gpu":
        yield (
            "Given NHWC, the kernel itself copies input, output and weights to NCHW unless the"
            f" LayoutOptimizer did so before: {human(gpu.layout_temporaries_bytes(conv))} while the op runs."
        )
        yield (
            f"The workspace limit is {human(gpu.default_limit_bytes(setting.version))} unless"
            f" {gpu.LIMIT_VARIABLE} says otherwise. With autotune (the default) the first step tries every"
            " algorithm, so it peaks higher, and runs can differ."
        )
        return
    if setting.version < (1, 8) and conv.kind is not ConvolutionKind.DEPTHWISE:
        yield "The forward rule was measured in TensorFlow 1.8 and later; in older versions it may take more."
    if onednn.computes(conv, setting):
        yield (
            "oneDNN computes this (the default from TF 2.9 on Linux x86); --no-onednn shows TensorFlow's own"
            " kernels."
        )
    needs = passes(conv, setting)
    if min(needs.filter_gradient.temporary_bytes or 0, needs.input_gradient.temporary_bytes or 0) >= MIB:
        yield (
            "The two gradients do not depend on each other: TensorFlow often runs them side by side, and then"
            " both buffers are alive."
        )
