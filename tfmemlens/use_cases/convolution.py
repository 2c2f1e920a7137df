"""A convolution and its setting from what the user typed. Every mistake is a UsageError with a hint."""

from __future__ import annotations

import os
import re

from tfmemlens.errors import UsageError
from tfmemlens.knowledge.convolution import onednn as onednn_versions
from tfmemlens.knowledge.convolution.examination import examine, fits
from tfmemlens.model.convolution import (
    Convolution,
    ConvolutionKind,
    ConvolutionReport,
    ConvolutionSetting,
)
from tfmemlens.model.tensor import format_shape, numpy_dtype, parse_shape
from tfmemlens.units import parse_limit

_ALIASES = {
    "conv2d": "conv",
    "conv2d_transpose": "transposed",
    "conv3d_transpose": "transposed",
    "deconv": "transposed",
    "depthwise_conv2d": "depthwise",
}
_DTYPES = ("float16", "bfloat16", "float32", "float64")


def size_convolution(
    input_size: str,
    kernel: str,
    *,
    kind: str | None = None,
    padding: str = "same",
    strides: str = "1",
    dilations: str = "1",
    dtype: str = "float32",
    tf: str = "2.21",
    threads: str | None = None,
    device: str = "cpu",
    onednn: bool | None = None,
    l3: str | None = None,
) -> ConvolutionReport:
    """What a convolution takes, each option as the command line has it. Raises UsageError."""
    conv = _convolution(input_size, kernel, kind, padding, strides, dilations, dtype)
    return examine(conv, _setting(tf, threads, device, onednn, l3))


def _convolution(
    size: str, weights: str, kind_name: str | None, padding: str, strides: str, dilations: str, dtype: str
) -> Convolution:
    shape = _sizes(size, "--input", "200x321x481x1 (batch, height, width, channels), or five sizes in 3-D")
    if len(shape) not in (4, 5):
        raise UsageError(
            f"--input has {len(shape)} sizes",
            "write batch x height x width x channels, such as 200x321x481x1; a depth before the height"
            " in 3-D",
        )
    kind = _kind(kind_name, len(shape))
    rank = len(shape) - 2
    kernel, filters = _kernel(weights, kind, shape)
    conv = Convolution(
        kind,
        shape,
        kernel,
        filters,
        _per_axis(strides, "--strides", rank),
        _per_axis(dilations, "--dilations", rank),
        _choice(padding, "--padding", ("same", "valid")),
        _dtype(dtype),
    )
    if conv.padding == "valid" and kind is not ConvolutionKind.TRANSPOSED and not fits(conv):
        raise UsageError(
            f"a kernel of {'x'.join(map(str, kernel))} does not fit into {format_shape(shape)} without"
            " padding",
            "--padding same, or a smaller kernel",
        )
    return conv


def _setting(
    tf: str, threads: str | None, device_name: str, asked: bool | None, l3: str | None
) -> ConvolutionSetting:
    version = _version(tf)
    device = _choice(device_name, "--device", ("cpu", "gpu"))
    default = device == "cpu" and version >= onednn_versions.FIRST_BY_DEFAULT
    chosen = default if asked is None else asked
    if chosen and version < onednn_versions.FIRST:
        raise UsageError(
            f"TensorFlow {tf} has no oneDNN in its stock wheels", "it came with 2.5; leave --onednn out"
        )
    return ConvolutionSetting(version, _threads(threads), device, chosen and device == "cpu", _bytes(l3))


def _sizes(text: str, option: str, example: str) -> tuple[int, ...]:
    try:
        sizes = parse_shape(text)
    except ValueError:
        raise UsageError(f"{option} {text!r} is no shape", f"write {example}") from None
    known = tuple(size for size in sizes if size is not None)
    if len(known) != len(sizes) or not known or min(known) < 1:
        raise UsageError(f"{option} {text!r} needs sizes of 1 or more", f"write {example}")
    return known


def _kind(text: str | None, rank: int) -> ConvolutionKind:
    if text is None:
        return ConvolutionKind.CONV3D if rank == 5 else ConvolutionKind.CONV
    kind = ConvolutionKind(
        _choice(_ALIASES.get(text.lower(), text), "--kind", tuple(kind.value for kind in ConvolutionKind))
    )
    if kind is ConvolutionKind.CONV and rank == 5:
        return ConvolutionKind.CONV3D
    if (kind is ConvolutionKind.CONV3D and rank != 5) or (kind is ConvolutionKind.DEPTHWISE and rank != 4):
        wanted = 5 if kind is ConvolutionKind.CONV3D else 4
        raise UsageError(
            f"--kind {kind} needs an input of {wanted} sizes, not {rank}",
            "3-D inputs are batch x depth x height x width x channels",
        )
    return kind


def _kernel(text: str, kind: ConvolutionKind, shape: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    """The kernel's sides and the filters; with as many sizes as the input the channels stand between them and
    must agree.
    """
    rank, channels = len(shape) - 2, shape[-1]
    names = "x".join(("KD", "KH", "KW")[-rank:])
    hint = f"write {names}xFILTERS, such as {'x'.join('3' * rank)}x16, or {names}xCHANNELSxFILTERS"
    sizes = _sizes(text, "--kernel", f"{'x'.join('3' * rank)}x16")
    if kind is ConvolutionKind.DEPTHWISE and len(sizes) == rank:
        return sizes, 1
    if len(sizes) == rank + 1:
        return sizes[:rank], sizes[-1]
    if len(sizes) != rank + 2:
        raise UsageError(f"--kernel has {len(sizes)} sizes for an input of {rank + 2}", hint)
    first, second = sizes[rank:]
    if kind is ConvolutionKind.TRANSPOSED and second == channels:
        return sizes[:rank], first  # TensorFlow's own order: output channels before input channels
    if first != channels:
        raise UsageError(
            f"--kernel is for {first} channels, the input has {channels}",
            f"{hint}; grouped convolutions are not sized here",
        )
    return sizes[:rank], second


def _per_axis(text: str, option: str, rank: int) -> tuple[int, ...]:
    sizes = _sizes(text, option, "2, or 2x2")
    if len(sizes) == rank + 2 and sizes[0] == sizes[-1] == 1:
        sizes = sizes[1:-1]
    if len(sizes) == 1:
        return sizes * rank
    if len(sizes) != rank:
        raise UsageError(f"{option} has {len(sizes)} sizes", f"write one for all axes, or {rank}")
    return sizes


def _choice(text: str, option: str, allowed: tuple[str, ...]) -> str:
    if text.lower() not in allowed:
        raise UsageError(f"{option} {text!r} is not known", f"one of {', '.join(allowed)}")
    return text.lower()


def _dtype(text: str) -> str:
    name = numpy_dtype(text)
    if name not in _DTYPES:
        raise UsageError(
            f"--dtype {text!r} is no type that TensorFlow convolves", f"one of {', '.join(_DTYPES)}"
        )
    return name


def _version(text: str) -> tuple[int, int]:
    match = re.match(r"(\d+)\.(\d+)(?:\.|\Z|rc|-)", text.strip())
    if not match or int(match[1]) not in (0, 1, 2):
        raise UsageError(f"--tf {text!r} is no version of TensorFlow", "write 1.10 or 2.21")
    return int(match[1]), int(match[2])


def _threads(text: str | None) -> int:
    if text is None:
        return os.cpu_count() or 1
    if not text.isdecimal() or int(text) < 1:
        raise UsageError(
            f"--threads {text!r} is no number of threads", "write the intra-op threads, such as 2"
        )
    return int(text)


def _bytes(text: str | None) -> int | None:
    try:
        return parse_limit(text) if text else None
    except ValueError:
        raise UsageError(
            f"--l3 {text!r} is no size", "write 32MiB, or what `getconf LEVEL3_CACHE_SIZE` prints"
        ) from None
