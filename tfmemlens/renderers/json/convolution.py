"""The JSON document of `tfmemlens conv`: schema `tfmemlens.convolution/1`. Sizes are bytes; unknown is null.
Additions are fine, renames are not.
"""

from __future__ import annotations

from dataclasses import asdict

from tfmemlens.model.convolution import ConvolutionReport, Need
from tfmemlens.renderers.json._text import written
from tfmemlens.renderers.view import View

SCHEMA = "tfmemlens.convolution/1"


def render(report: ConvolutionReport, view: View = View()) -> str:
    """The report as JSON text."""
    del view  # a document has all figures
    conv, setting = report.convolution, report.setting
    value = {
        "schema": SCHEMA,
        "kind": conv.kind.value,
        "input": {"shape": conv.input, "dtype": conv.dtype, "bytes": conv.input_bytes},
        "kernel": {
            "shape": conv.kernel_shape, "size": conv.kernel, "filters": conv.filters,
            "bytes": conv.kernel_bytes,
            "strides": conv.strides, "dilations": conv.dilations, "padding": conv.padding,
        },
        "setting": {
            "tensorflow": ".".join(map(str, setting.version)), "device": setting.device,
            "threads": setting.threads, "onednn": setting.onednn,
            "l3_bytes": setting.l3_bytes,
        },
        "output": {"shape": report.output, "bytes": report.output_bytes},
        "flops": report.flops,
        "patch_matrix_bytes": report.patch_matrix_bytes,
        "forward": _need(report.forward),
        "backward_filter": _need(report.backward_filter),
        "backward_input": _need(report.backward_input),
        "workspaces": [asdict(workspace) for workspace in report.workspaces],
        "alternatives": [
            {**asdict(option), "certainty": option.certainty.value} for option in report.alternatives
        ],
        "table": [asdict(line) for line in report.table],
        "verdict": report.verdict,
        "notes": report.notes,
    }  # fmt: skip
    return written(value)


def _need(need: Need) -> dict[str, object]:
    return {**asdict(need), "certainty": need.certainty.value}
