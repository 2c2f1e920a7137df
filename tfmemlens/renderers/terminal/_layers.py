"""The table of a described model: like `model.summary()`, with memory, and with what stays for the backward
pass.
"""

from __future__ import annotations

from tfmemlens.model.case import Case
from tfmemlens.model.layers import LayerSummary, LayerTotals
from tfmemlens.model.report import Report
from tfmemlens.model.tensor import format_shape
from tfmemlens.renderers.terminal._blocks import fitting, narrowed, paragraph, shorten
from tfmemlens.renderers.view import View
from tfmemlens.units import human

_HEAD = ("layer", "class", "output", "parameters", "per sample")


def bar(report: Report) -> str:
    """What a prediction may be off by, and what limit the step needs; empty for a measurement."""
    moment = report.case.moments[0] if report.case.moments else None
    if moment is None or not moment.predicted:
        return ""
    predicted = human(moment.attribution.table.total_bytes)
    if moment.error_bar is None:
        return f"Predicted: {predicted}; too many layers are unknown to say how exact that is."
    low, high = moment.error_bar
    if moment.is_range:
        return f"Predicted: {human(low)} to {human(high)}; no GPU was measured to confirm it."
    needed = moment.needed_limit
    limit = (
        f" A memory limit to run it: about {human(needed.bytes)}; with {human(needed.high_bytes)} nearly all"
        " models that were measured ran."
        if needed
        else ""
    )
    return f"Predicted peak: {predicted}, most likely between {human(low)} and {human(high)}.{limit}"


def table(case: Case, view: View) -> list[str]:
    """Two lines a layer: what it makes, and what it owns and keeps."""
    layers = [layer for layer in case.layers if layer.prediction]
    if not layers:
        return []
    cells = [_HEAD, *map(_row, layers)]
    narrow = narrowed(cells, view.width - 2, {0: 10, 1: 8})
    rows = fitting((cells, narrow, [[*row[:1], *row[2:]] for row in narrow]), view.width, _HEAD[3:])
    lines = [rows[0]]
    told: dict[str, str] = {}
    for layer, row in zip(layers, rows[1:], strict=True):
        detail = _detail(layer)
        full = paragraph(detail, view.width, "      ") if detail else []
        first = told.setdefault(detail, layer.layer)
        lines += [row, *(full if first == layer.layer or len(full) < 2 else [f"      as {first}"])]
    return lines + _totals(layers, view)


def _row(layer: LayerSummary) -> tuple[str, ...]:
    told = layer.prediction
    assert told
    shape = layer.outputs[0].shape if layer.outputs else None
    text = format_shape((None, *shape[1:]) if shape else None).replace("?", "N", 1) if shape else "?"
    uses = f" x{told.calls}" if told.calls > 1 else ""
    size = human(told.activation_bytes_per_sample) if told.activation_bytes else "-"
    return (
        shorten(layer.layer, 24),
        f"{shorten(told.class_name, 18)}{uses}",
        text,
        f"{layer.parameters:,}" if layer.parameters else "-",
        size,
    )


def _detail(layer: LayerSummary) -> str:
    told = layer.prediction
    assert told
    facts = [f"{layer.parameters:,} = {layer.formula}"] if layer.formula else []
    named = (
        ("weights", layer.parameter_bytes),
        ("gradient", told.gradient_bytes),
        ("slots", layer.slot_bytes),
        ("temporary buffers", told.workspace_bytes),
    )
    sizes = [f"{name} {human(size)}" for name, size in named if size]
    if told.problem:
        return "; ".join([*facts, ", ".join(sizes), told.problem]).strip("; ")
    return "; ".join(part for part in (*facts, ", ".join(sizes), told.why) if part)


def _totals(layers: list[LayerSummary], view: View) -> list[str]:
    totals = LayerTotals.of(layers)
    text = (
        f"in all {totals.parameters:,} parameters, {totals.trainable_parameters:,} of them trainable: weights"
        f" {human(totals.parameter_bytes)}, gradients {human(totals.gradient_bytes)}, slots"
        f" {human(totals.slot_bytes)}; outputs of layers take"
        f" {human(totals.activation_bytes_per_sample)} per sample, {human(totals.kept_bytes_per_sample)} of"
        " it kept for the backward pass"
    )
    return ["", *paragraph(text, view.width, "  ")]
