"""Convolutions of every kind: kernels, biases, output grids."""

from __future__ import annotations

from tfmemlens.knowledge.keras_layers._context import (
    LayerCall,
    LayerSpecs,
    Rule,
    UnsupportedLayer,
    times,
    tuple_of,
    window,
)
from tfmemlens.model.network import WeightSpec


def padding_of(call: LayerCall) -> str:
    """`same`, `valid`, `causal`, `full`, under the name that the dialect gives it."""
    return str(call.get("padding", "border_mode", default="valid")).lower()


def kernel_of(call: LayerCall, rank: int) -> tuple[int, ...]:
    """The kernel's sizes; Keras 1 names each."""
    if call.get("kernel_size") is not None:
        return tuple_of(call.config["kernel_size"], rank, "kernel_size")
    if call.get("filter_length") is not None:
        return tuple_of(call.config["filter_length"], rank, "filter_length")
    names = ("nb_row", "nb_col") if rank == 2 else ("kernel_dim1", "kernel_dim2", "kernel_dim3")
    if rank < len(names):
        raise UnsupportedLayer("its setting 'kernel_size' is missing")
    return tuple(call.size(name) for name in names)


def strides_of(call: LayerCall, rank: int) -> tuple[int, ...]:
    """The strides."""
    return tuple_of(call.get("strides", "subsample", "subsample_length", default=1), rank, "strides")


def dilation_of(call: LayerCall, rank: int) -> tuple[int, ...]:
    """The dilation."""
    return tuple_of(call.get("dilation_rate", "atrous_rate", default=1), rank, "dilation_rate")


def _filters(call: LayerCall) -> int:
    return call.size("filters", "nb_filter")


def has_bias(call: LayerCall) -> bool:
    """Whether a bias is added."""
    return bool(call.config.get("use_bias", call.config.get("bias", True)))


def grid_after(call: LayerCall, rank: int) -> tuple[tuple[int | None, ...], int]:
    """The output's grid, and the input's channels."""
    space, channels = call.grid(rank)
    sizes = zip(space, kernel_of(call, rank), strides_of(call, rank), dilation_of(call, rank), strict=True)
    return (
        tuple(
            window(size, kernel, stride, padding_of(call), dilation)
            for size, kernel, stride, dilation in sizes
        ),
        channels,
    )


def _conv(rank: int) -> Rule:
    def rule(call: LayerCall) -> LayerSpecs:
        space, channels = grid_after(call, rank)
        filters, kernel = _filters(call), kernel_of(call, rank)
        groups = call.size("groups", default=1)
        weights = [call.weight("kernel", *kernel, channels // groups, filters)]
        patch = times(*kernel, channels // groups)
        if has_bias(call):
            weights.append(call.weight("bias", filters))
        formula = f"({patch}+1)*{filters}" if has_bias(call) else f"{patch}*{filters}"
        if call.config.get("lora_rank"):
            rank_of_lora = call.size("lora_rank")
            weights[0] = call.weight("kernel", *kernel, channels // groups, filters, trainable=False)
            weights += [
                call.weight("lora_kernel_a", *kernel, channels // groups, rank_of_lora),
                call.weight("lora_kernel_b", rank_of_lora, filters),
            ]
            formula += f"+({patch}+{filters})*{rank_of_lora}"
        return call.specs(call.placed(space, filters), weights, formula)

    return rule


def _transposed(rank: int) -> Rule:
    def rule(call: LayerCall) -> LayerSpecs:
        space, channels = call.grid(rank)
        filters, kernel = _filters(call), kernel_of(call, rank)
        extra = call.get("output_padding")
        extras = tuple_of(extra, rank, "output_padding", 0) if extra is not None else (None,) * rank
        columns = zip(space, kernel, strides_of(call, rank), dilation_of(call, rank), extras, strict=True)
        grid = [
            _widened(size, side, stride, dilation, padding_of(call), more)
            for size, side, stride, dilation, more in columns
        ]
        weights = [call.weight("kernel", *kernel, filters, channels)]
        if has_bias(call):
            weights.append(call.weight("bias", filters))
        patch = times(*kernel, channels)
        return call.specs(
            call.placed(grid, filters),
            weights,
            f"({patch}+1)*{filters}" if has_bias(call) else f"{patch}*{filters}",
        )

    return rule


def _widened(
    size: int | None, kernel: int, stride: int, dilation: int, padding: str, extra: int | None
) -> int | None:
    """Keras's `deconv_output_length`."""
    if size is None:
        return None
    reach = (kernel - 1) * dilation + 1
    if extra is None:
        if padding == "same":
            return size * stride
        beyond = max(reach - stride, 0) if padding == "valid" else 2 - stride - reach
        return size * stride + beyond
    pad = {"same": reach // 2, "valid": 0}.get(padding, reach - 1)
    return (size - 1) * stride + reach - 2 * pad + extra


def _depthwise(rank: int) -> Rule:
    def rule(call: LayerCall) -> LayerSpecs:
        space, channels = grid_after(call, rank)
        kernel, multiplier = kernel_of(call, rank), call.size("depth_multiplier", default=1)
        made = channels * multiplier
        weights = [call.weight("kernel", *kernel, channels, multiplier)]
        if has_bias(call):
            weights.append(call.weight("bias", made))
        return call.specs(
            call.placed(space, made),
            weights,
            f"({times(*kernel)}+1)*{made}" if has_bias(call) else times(*kernel, made),
        )

    return rule


def _separable(rank: int) -> Rule:
    def rule(call: LayerCall) -> LayerSpecs:
        space, channels = grid_after(call, rank)
        kernel, filters, multiplier = (
            kernel_of(call, rank),
            _filters(call),
            call.size("depth_multiplier", default=1),
        )
        made = channels * multiplier
        weights = [
            call.weight("depthwise_kernel", *kernel, channels, multiplier),
            call.weight("pointwise_kernel", *(1,) * rank, made, filters),
        ]
        if has_bias(call):
            weights.append(call.weight("bias", filters))
        point = f"({made}+1)*{filters}" if has_bias(call) else times(made, filters)
        return call.specs(call.placed(space, filters), weights, f"{times(*kernel, made)}+{point}")

    return rule


def _local(rank: int) -> Rule:
    def rule(call: LayerCall) -> LayerSpecs:
        space, channels = grid_after(call, rank)
        kernel, filters = kernel_of(call, rank), _filters(call)
        patch, positions = channels, 1
        for size in kernel:
            patch *= size
        for place in space:
            positions *= place or 0
        weights: list[WeightSpec] = [call.weight("kernel", positions or None, patch, filters)]
        if has_bias(call):
            weights.append(call.weight("bias", *space, filters))
        return call.specs(
            call.placed(space, filters),
            weights,
            f"{positions}*({patch}+1)*{filters}" if has_bias(call) else times(positions, patch, filters),
        )

    return rule


_RANKS = {"1D": 1, "2D": 2, "3D": 3}
RULES: dict[str, Rule] = {
    **{f"{name}{suffix}": _conv(rank) for suffix, rank in _RANKS.items() for name in ("Conv", "Convolution")},
    "AtrousConvolution2D": _conv(2),
    "AtrousConvolution1D": _conv(1),
    **{
        f"{name}{suffix}{end}": _transposed(rank)
        for suffix, rank in _RANKS.items()
        for name, end in (("Conv", "Transpose"), ("Convolution", "Transpose"))
    },
    "Deconvolution2D": _transposed(2),
    "Deconvolution3D": _transposed(3),
    **{
        f"Depthwise{name}{suffix}": _depthwise(rank)
        for suffix, rank in _RANKS.items()
        for name in ("Conv", "Convolution")
    },
    **{
        f"Separable{name}{suffix}": _separable(rank)
        for suffix, rank in _RANKS.items()
        for name in ("Conv", "Convolution")
    },
    **{f"LocallyConnected{suffix}": _local(rank) for suffix, rank in _RANKS.items()},
}
