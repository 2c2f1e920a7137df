"""The layers of a described model as CSV: one row a layer, bytes for the whole batch unless the column says
otherwise.
"""

from __future__ import annotations

import csv
import io

from tfmemlens.escaping import inert
from tfmemlens.model.report import Report
from tfmemlens.model.tensor import format_shape
from tfmemlens.renderers.view import View

_COLUMNS = (
    "layer class_name output_shape calls params trainable_params formula param_bytes gradient_bytes"
    " slot_bytes activation_bytes_per_sample activation_bytes kept_bytes_per_sample workspace_bytes kept"
    " problem"
).split()


def render(report: Report, view: View = View()) -> str:
    """The table."""
    del view  # a table has all columns
    text = io.StringIO()
    writer = csv.DictWriter(text, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    for layer in report.case.layers:
        if told := layer.prediction:
            row = {name: getattr(told, name) for name in _COLUMNS if hasattr(told, name)}
            writer.writerow(
                {
                    **{
                        name: inert(value) if isinstance(value, str) else value for name, value in row.items()
                    },
                    "layer": inert(layer.layer),
                    "output_shape": format_shape(layer.outputs[0].shape) if layer.outputs else None,
                    "params": layer.parameters,
                    "trainable_params": told.trainable_parameters,
                    "formula": layer.formula or None,
                    "param_bytes": layer.parameter_bytes,
                    "slot_bytes": layer.slot_bytes,
                    "kept": told.why or None,
                }
            )
    return text.getvalue()
