"""The page of `tfmemlens conv`."""

from __future__ import annotations

from collections.abc import Callable

from tfmemlens.model.convolution import Alternative, ConvolutionKind, ConvolutionReport, Need, Variation
from tfmemlens.model.finding import Certainty
from tfmemlens.model.tensor import format_shape
from tfmemlens.renderers.terminal._blocks import as_text, columns, heading, paragraph, styled
from tfmemlens.renderers.view import View
from tfmemlens.units import human, rough

_ABOUT = {Certainty.EXACT: "", Certainty.BOUND: "up to ", Certainty.ESTIMATE: "about "}
_NAMES = {
    ConvolutionKind.CONV: "convolution",
    ConvolutionKind.DEPTHWISE: "depthwise convolution",
    ConvolutionKind.TRANSPOSED: "transposed convolution",
    ConvolutionKind.CONV3D: "3-D convolution",
}


def render(report: ConvolutionReport, view: View = View()) -> str:
    """The page as text."""
    lines = [styled(line, "bold", view.color) for line in paragraph(_title(report), view.width)]
    lines += ["", *paragraph(report.verdict, view.width)]
    lines += heading("what it is", view) + _facts(report)
    lines += heading(f"extra memory, in {_setting(report)}", view) + _passes(report, view)
    if report.workspaces:
        lines += heading("cudnn's algorithms, orders of magnitude", view) + _workspaces(report)
    lines += heading("other kernels and batches", view) + _table(report)
    if report.alternatives:
        lines += heading("what would take less", view)
        for option in report.alternatives:
            lines += _alternative(option, view)
    lines += [""] + [line for note in report.notes for line in paragraph(note, view.width)]
    return as_text(lines, view)


def _title(report: ConvolutionReport) -> str:
    conv = report.convolution
    extras = []
    if any(stride > 1 for stride in conv.strides):
        extras.append(f"strides {_sides(conv.strides)}")
    if any(dilation > 1 for dilation in conv.dilations):
        extras.append(f"dilations {_sides(conv.dilations)}")
    more = f", {', '.join(extras)}" if extras else ""
    return (
        f"{_sides(conv.kernel)} {_NAMES[conv.kind]} of {format_shape(conv.input)} {conv.dtype},"
        f" {conv.padding.upper()}{more}"
    )


def _sides(sizes: tuple[int, ...]) -> str:
    return " x ".join(map(str, sizes))


def _setting(report: ConvolutionReport) -> str:
    setting = report.setting
    where = (
        "a GPU"
        if setting.device == "gpu"
        else f"the CPU, {setting.threads} thread{'s' if setting.threads > 1 else ''}"
    )
    return (
        f"TensorFlow {'.'.join(map(str, setting.version))} on"
        f" {where}{' and oneDNN' if setting.onednn else ''}"
    )


def _amount(count: int) -> str:
    """Binary units, and the decimal ones that system tools print."""
    return f"{human(count)} ({count / 1e9:,.1f} GB)" if count >= 10**9 else human(count)


def _facts(report: ConvolutionReport) -> list[str]:
    conv = report.convolution
    rows = [
        ("input", format_shape(conv.input), _amount(conv.input_bytes)),
        ("weights", format_shape(conv.kernel_shape), _amount(conv.kernel_bytes)),
        ("output", format_shape(report.output), _amount(report.output_bytes)),
        ("patch matrix", "if it were written out", _amount(report.patch_matrix_bytes)),
        ("arithmetic", "a multiplication and an addition count as two", _flops(report.flops)),
    ]
    return columns(rows)


def _flops(count: int) -> str:
    for power, name in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if count >= power:
            return f"{count / power:,.1f} {name}FLOP"
    return f"{count:,} FLOP"


def _passes(report: ConvolutionReport, view: View) -> list[str]:
    needs = [
        ("forward", report.forward),
        ("d weights", report.backward_filter),
        ("d input", report.backward_input),
    ]
    if report.setting.device == "gpu":
        needs = [("each pass", report.forward)]
    return [line for name, need in needs for line in _pass(name, need, view)]


def _pass(name: str, need: Need, view: View) -> list[str]:
    size = (
        "-"
        if need.temporary_bytes is None
        else f"{_ABOUT[need.certainty] if need.temporary_bytes else ''}{_amount(need.temporary_bytes)}"
    )
    if name == "each pass":
        size = f"some {rough(need.temporary_bytes)}" if need.temporary_bytes else "nothing"
    seen = "" if need.tracked or not need.temporary_bytes else "  untracked"
    lines = [f"  {name:<11}{size}{seen}"]
    for text in (need.formula, need.note):
        if text:
            lines += paragraph(text, view.width, " " * 13)
    return lines


def _workspaces(report: ConvolutionReport) -> list[str]:
    rows = [
        (
            workspace.algorithm,
            f"some {rough(workspace.bytes)}" if workspace.bytes else "none",
            workspace.formula if workspace.applies else "not for these sizes",
        )
        for workspace in report.workspaces
    ]
    return columns(rows)


def _table(report: ConvolutionReport) -> list[str]:
    head = ("kernel", "batch", "output", "patches", "forward", "d weights", "d input")
    return columns(
        [head, *(_row(line, rough if report.setting.device == "gpu" else human) for line in report.table)],
        right=frozenset(range(1, 7)),
    )


def _row(line: Variation, show: Callable[[int], str]) -> tuple[str, ...]:
    """One line; `show` prints the temporaries, for they may be orders of magnitude only."""
    temporaries = (line.forward_bytes, line.backward_filter_bytes, line.backward_input_bytes)
    sizes = (
        human(line.output_bytes),
        human(line.patch_matrix_bytes),
        *("-" if size is None else show(size) for size in temporaries),
    )
    return ("x".join(map(str, line.kernel)), f"{line.batch:,}", *sizes)


def _alternative(option: Alternative, view: View) -> list[str]:
    saving = f"saves {_ABOUT[option.certainty]}{human(option.saves_bytes)}, takes {human(option.bytes)}"
    lines = paragraph(
        f"{option.text} ({saving})", view.width, " " * 13, first=f"  {option.applies_to + ':':<11}"
    )
    lines += [f"             | {line}" for line in (option.code or "").splitlines()]
    return lines
