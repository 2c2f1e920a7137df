"""Bytes against kernel size, drawn with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfmemlens.model.convolution import ConvolutionReport, Variation
from tfmemlens.model.tensor import format_shape
from tfmemlens.units import GIB, KIB, MIB

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LINES = (
    ("patch_matrix_bytes", "patch matrix, if it were written out", "#9aa3ad", ":"),
    ("forward_bytes", "forward, beside the tensors", "#d55e00", "-"),
    ("backward_filter_bytes", "weight gradient", "#0072b2", "-"),
    ("backward_input_bytes", "input gradient", "#56b4e9", "--"),
    ("output_bytes", "output", "#009e73", "-."),
)


def figure(report: ConvolutionReport) -> Figure:
    """A sheet with one line for each thing that takes memory; both axes logarithmic."""
    from tfmemlens.renderers.pictures._sheet import legend_outside, sheet

    rows = sorted(
        (
            line
            for line in report.table
            if line.batch == report.convolution.batch and len(set(line.kernel)) == 1
        ),
        key=lambda line: line.kernel,
    )
    page = sheet((9, 4.8), _title(report))
    axes = page.subplots()
    for name, label, color, style in _LINES:
        points = [(line.kernel[0], size) for line in rows if (size := _size(line, name))]
        if points:
            axes.plot(*zip(*points, strict=True), style, color=color, label=label, marker="o", markersize=4)
    axes.set(xscale="log", yscale="log", xlabel="kernel side (pixels)", ylabel="bytes")
    sides = [line.kernel[0] for line in rows]
    axes.set_xticks(sides, [str(side) for side in sides], minor=False)
    axes.minorticks_off()
    low, high = axes.get_ylim()
    ticks = [
        power for power in (KIB, 32 * KIB, MIB, 32 * MIB, GIB, 32 * GIB, 1024 * GIB) if low <= power <= high
    ]
    axes.set_yticks(ticks, [_tick(power) for power in ticks])
    axes.grid(alpha=0.3)
    legend_outside(axes)
    return page


def _size(line: Variation, name: str) -> int | None:
    value: int | None = getattr(line, name)
    return value


def _tick(count: int) -> str:
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if count >= unit:
            return f"{count // unit} {name}"
    return f"{count} B"


def _title(report: ConvolutionReport) -> str:
    conv, setting = report.convolution, report.setting
    return (
        f"{conv.kind} of {format_shape(conv.input)}, {conv.filters} filters, in TensorFlow"
        f" {'.'.join(map(str, setting.version))} on the {setting.device.upper()}"
    )
