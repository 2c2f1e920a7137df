"""The page of `tfmemlens conv`."""

from __future__ import annotations

from collections.abc import Callable

from tfmemlens.model.convolution import Alternative, ConvolutionKind, ConvolutionReport, Need, Variation
from tfmemlens.model.finding import Certainty
from tfmemlens.model.tensor import format_shape
from tfmemlens.renderers.terminal._blocks import (
    as_text,
    columns,
    fitting,
    heading,
    paragraph,
    styled,
    with_texts,
)
from tfmemlens.renderers.view import View
from tfmemlens.units import human, rough
from tfmemlens.values import replace

_ABOUT = {Certainty.EXACT: "", Certainty.BOUND: "up to ", Certainty.ESTIMATE: "about "}
_NAMES = {
    ConvolutionKind.CONV: "convolution",
    ConvolutionKind.DEPTHWISE: "depthwise convolution",
    ConvolutionKind.TRANSPOSED: "transposed convolution",
    ConvolutionKind.CONV3D: "3-D convolution",
}

_HEAD = ("kernel", "batch", "output", "patches", "forward", "d weights", "d input")
_OUTPUT, _PATCHES = 2, 3
_SCREEN = 24
"""Lines of the short page at 80 columns."""


def render(report: ConvolutionReport, view: View = View()) -> str:
    """One screen, or with `full` everything."""
    return as_text(_full(report, view) if view.full else _short(report, view), view)


def _short(report: ConvolutionReport, view: View) -> list[str]:
    """What it takes, and as much of what would take less as fits."""
    lines = _head(report, view)
    lines += heading(f"extra memory: {_setting(report)}", view)
    lines += [_amounts(name, need) for name, need in _needs(report)]
    lines += heading("tensors", view) + columns(_facts(report)[:3])
    more = (
        "--full shows how each figure is computed, other kernels and batches, and all that would take less."
    )
    end = ["", *paragraph(more, view.width)]
    room = _SCREEN - len(lines) - len(end) - len(heading("", view))
    ways: list[str] = []
    for option in report.alternatives:
        told = _alternative(option, view)
        if len(ways) + len(told) > room:
            told = _alternative(replace(option, code=None), view)
        if len(ways) + len(told) > room:
            break
        ways += told
    return lines + (heading("what would take less", view) + ways if ways else []) + end


def _head(report: ConvolutionReport, view: View) -> list[str]:
    title = [styled(line, "bold", view.color) for line in paragraph(_title(report), view.width)]
    return [*title, "", *paragraph(report.verdict, view.width)]


def _full(report: ConvolutionReport, view: View) -> list[str]:
    lines = _head(report, view)
    lines += heading("what it is", view) + columns(_facts(report))
    lines += heading(f"extra memory: {_setting(report)}", view)
    lines += [line for name, need in _needs(report) for line in _pass(name, need, view)]
    if report.workspaces:
        lines += heading("cudnn's algorithms, orders of magnitude", view) + _workspaces(report, view)
    lines += heading("other kernels and batches", view) + _table(report, view)
    if report.alternatives:
        lines += heading("what would take less", view)
        for option in report.alternatives:
            lines += _alternative(option, view)
    return lines + [""] + [line for note in report.notes for line in paragraph(note, view.width)]


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
    plural = "s" if setting.threads > 1 else ""
    where = "GPU" if setting.device == "gpu" else f"CPU, {setting.threads} thread{plural}"
    return f"TensorFlow {'.'.join(map(str, setting.version))}, {where}{', oneDNN' if setting.onednn else ''}"


def _amount(count: int) -> str:
    """Binary units, and the decimal ones that system tools print."""
    return f"{human(count)} ({count / 1e9:,.1f} GB)" if count >= 10**9 else human(count)


def _facts(report: ConvolutionReport) -> list[tuple[str, ...]]:
    conv = report.convolution
    return [
        ("input", format_shape(conv.input), _amount(conv.input_bytes)),
        ("weights", format_shape(conv.kernel_shape), _amount(conv.kernel_bytes)),
        ("output", format_shape(report.output), _amount(report.output_bytes)),
        ("patch matrix", "if written out", _amount(report.patch_matrix_bytes)),
        ("arithmetic", "2 per multiply-add", _flops(report.flops)),
    ]


def _flops(count: int) -> str:
    for power, name in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if count >= power:
            return f"{count / power:,.1f} {name}FLOP"
    return f"{count:,} FLOP"


def _needs(report: ConvolutionReport) -> list[tuple[str, Need]]:
    """What each pass takes."""
    if report.setting.device == "gpu":
        return [("each pass", report.forward)]
    return [
        ("forward", report.forward),
        ("d weights", report.backward_filter),
        ("d input", report.backward_input),
    ]


def _amounts(name: str, need: Need) -> str:
    """A pass and its bytes in a line."""
    size = (
        "-"
        if need.temporary_bytes is None
        else f"{_ABOUT[need.certainty] if need.temporary_bytes else ''}{_amount(need.temporary_bytes)}"
    )
    if name == "each pass":
        size = f"some {rough(need.temporary_bytes)}" if need.temporary_bytes else "nothing"
    seen = "" if need.tracked or not need.temporary_bytes else "  untracked"
    return f"  {name:<11}{size}{seen}"


def _pass(name: str, need: Need, view: View) -> list[str]:
    lines = [_amounts(name, need)]
    for text in (need.formula, need.note):
        if text:
            lines += paragraph(text, view.width, " " * 13)
    return lines


def _workspaces(report: ConvolutionReport, view: View) -> list[str]:
    rows = [
        (
            workspace.algorithm,
            f"some {rough(workspace.bytes)}" if workspace.bytes else "none",
            workspace.formula if workspace.applies else "not for these sizes",
        )
        for workspace in report.workspaces
    ]
    return with_texts(rows, view.width)


def _table(report: ConvolutionReport, view: View) -> list[str]:
    """A line for each kernel and batch; where the terminal is narrow without patches, then without the
    output.
    """
    show = rough if report.setting.device == "gpu" else human
    rows = [_HEAD, *(_row(line, show) for line in report.table)]
    shorter = [[row[at] for at in range(len(_HEAD)) if at != _PATCHES] for row in rows]
    shortest = [[*row[:_OUTPUT], *row[_OUTPUT + 1 :]] for row in shorter]
    return fitting((rows, shorter, shortest), view.width, _HEAD[1:])


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
