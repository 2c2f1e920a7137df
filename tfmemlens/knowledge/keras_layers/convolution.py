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


def padding_of(asked: LayerCall) -> str:
    """`same`, `valid`, `causal`, `full`, under the name that the dialect gives it."""
    return str(asked.get("padding", "border_mode", default="valid")).lower()


def kernel_of(asked: LayerCall, rank: int) -> tuple[int, ...]:
    """The kernel's sizes; Keras 1 names each."""
    if asked.get("kernel_size") is not None:
        return tuple_of(asked.config["kernel_size"], rank, "kernel_size")
    if asked.get("filter_length") is not None:
        return tuple_of(asked.config["filter_length"], rank, "filter_length")
    names = ("nb_row", "nb_col") if rank == 2 else ("kernel_dim1", "kernel_dim2", "kernel_dim3")
    if rank < len(names):
        raise UnsupportedLayer("its setting 'kernel_size' is missing")
    return tuple(asked.size(name) for name in names)


def strides_of(asked: LayerCall, rank: int) -> tuple[int, ...]:
    """The strides."""
    return tuple_of(asked.get("strides", "subsample", "subsample_length", default=1), rank, "strides")


def dilation_of(asked: LayerCall, rank: int) -> tuple[int, ...]:
    """The dilation."""
    return tuple_of(asked.get("dilation_rate", "atrous_rate", default=1), rank, "dilation_rate")


def _filters(asked: LayerCall) -> int:
    return asked.size("filters", "nb_filter")


def has_bias(asked: LayerCall) -> bool:
    """Whether a bias is added."""
    return bool(asked.config.get("use_bias", asked.config.get("bias", True)))


def grid_after(asked: LayerCall, rank: int) -> tuple[tuple[int | None, ...], int]:
    """The output's grid, and the input's channels."""
    space, channels = asked.grid(rank)
    sizes = zip(space, kernel_of(asked, rank), strides_of(asked, rank), dilation_of(asked, rank), strict=True)
    return (
        tuple(
            window(size, kernel, stride, padding_of(asked), dilation)
            for size, kernel, stride, dilation in sizes
        ),
        channels,
    )


def _conv(rank: int) -> Rule:
    def rule(asked: LayerCall) -> LayerSpecs:
        space, channels = grid_after(asked, rank)
        filters, kernel = _filters(asked), kernel_of(asked, rank)
        groups = asked.size("groups", default=1)
        weights = [asked.weight("kernel", *kernel, channels // groups, filters)]
        patch = times(*kernel, channels // groups)
        if has_bias(asked):
            weights.append(asked.weight("bias", filters))
        formula = f"({patch}+1)*{filters}" if has_bias(asked) else f"{patch}*{filters}"
        if asked.config.get("lora_rank"):
            rank_of_lora = asked.size("lora_rank")
            weights[0] = asked.weight("kernel", *kernel, channels // groups, filters, trainable=False)
            weights += [
                asked.weight("lora_kernel_a", *kernel, channels // groups, rank_of_lora),
                asked.weight("lora_kernel_b", rank_of_lora, filters),
            ]
            formula += f"+({patch}+{filters})*{rank_of_lora}"
        return asked.told(asked.placed(space, filters), weights, formula)

    return rule


def _transposed(rank: int) -> Rule:
    def rule(asked: LayerCall) -> LayerSpecs:
        space, channels = asked.grid(rank)
        filters, kernel = _filters(asked), kernel_of(asked, rank)
        extra = asked.get("output_padding")
        extras = tuple_of(extra, rank, "output_padding", 0) if extra is not None else (None,) * rank
        columns = zip(space, kernel, strides_of(asked, rank), dilation_of(asked, rank), extras, strict=True)
        grid = [
            _widened(size, side, stride, dilation, padding_of(asked), more)
            for size, side, stride, dilation, more in columns
        ]
        weights = [asked.weight("kernel", *kernel, filters, channels)]
        if has_bias(asked):
            weights.append(asked.weight("bias", filters))
        patch = times(*kernel, channels)
        return asked.told(
            asked.placed(grid, filters),
            weights,
            f"({patch}+1)*{filters}" if has_bias(asked) else f"{patch}*{filters}",
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
    def rule(asked: LayerCall) -> LayerSpecs:
        space, channels = grid_after(asked, rank)
        kernel, multiplier = kernel_of(asked, rank), asked.size("depth_multiplier", default=1)
        made = channels * multiplier
        weights = [asked.weight("kernel", *kernel, channels, multiplier)]
        if has_bias(asked):
            weights.append(asked.weight("bias", made))
        return asked.told(
            asked.placed(space, made),
            weights,
            f"({times(*kernel)}+1)*{made}" if has_bias(asked) else times(*kernel, made),
        )

    return rule


def _separable(rank: int) -> Rule:
    def rule(asked: LayerCall) -> LayerSpecs:
        space, channels = grid_after(asked, rank)
        kernel, filters, multiplier = (
            kernel_of(asked, rank),
            _filters(asked),
            asked.size("depth_multiplier", default=1),
        )
        made = channels * multiplier
        weights = [
            asked.weight("depthwise_kernel", *kernel, channels, multiplier),
            asked.weight("pointwise_kernel", *(1,) * rank, made, filters),
        ]
        if has_bias(asked):
            weights.append(asked.weight("bias", filters))
        point = f"({made}+1)*{filters}" if has_bias(asked) else times(made, filters)
        return asked.told(asked.placed(space, filters), weights, f"{times(*kernel, made)}+{point}")

    return rule


def _local(rank: int) -> Rule:
    def rule(asked: LayerCall) -> LayerSpecs:
        space, channels = grid_after(asked, rank)
        kernel, filters = kernel_of(asked, rank), _filters(asked)
        patch, positions = channels, 1
        for size in kernel:
            patch *= size
        for place in space:
            positions *= place or 0
        weights: list[WeightSpec] = [asked.weight("kernel", positions or None, patch, filters)]
        if has_bias(asked):
            weights.append(asked.weight("bias", *space, filters))
        return asked.told(
            asked.placed(space, filters),
            weights,
            f"{positions}*({patch}+1)*{filters}" if has_bias(asked) else times(positions, patch, filters),
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
