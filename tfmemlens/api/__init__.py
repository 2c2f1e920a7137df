"""What `import tfmemlens` offers to Python code and notebooks."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from os import PathLike
from typing import Any

from tfmemlens import pipeline
from tfmemlens.errors import UsageError
from tfmemlens.model.capture import Hints
from tfmemlens.model.report import Report
from tfmemlens.model.settings import MODES, StepSettings
from tfmemlens.model.tensor import parse_shape


class Explanation(Report):
    """A report that shows itself: `print(explanation)`, or a cell's last value in a notebook."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.verdict}>"

    def __str__(self) -> str:
        from tfmemlens import renderers

        return renderers.render(self, "report")

    def _repr_html_(self) -> str:
        return f"<pre style='white-space:pre-wrap'>{escape(str(self))}</pre>"


def explain(
    source: str | PathLike[str] | Iterable[str | PathLike[str]],
    *,
    input_shape: str | tuple[int, ...] | None = None,
    batch: int | None = None,
    limit_bytes: int | None = None,
) -> Explanation:
    """Explain why memory ran out, from a path (also a glob or a directory), several paths, or the pasted text
    itself.

    `input_shape` is the shape of one input batch, (2, 720, 1280, 9) or "2x720x1280x9"; `limit_bytes` the
    device's memory.
    Raises UnreadableInput (a TfmemlensError) when there is nothing to read, ValueError for a malformed shape.
    """
    shape = parse_shape(input_shape) if isinstance(input_shape, str) else input_shape
    report = pipeline.explain(source, Hints(shape, batch, limit_bytes))
    return Explanation(report.case, report.findings, report.verdict, actions=report.actions)


def estimate(
    model: str | PathLike[str] | Any,
    *,
    batch: int = 32,
    optimizer: str | None = None,
    dtype: str | None = None,
    mode: str = "training",
    device: str = "cpu",
    input_shape: str | tuple[int, ...] | None = None,
    sequence: int | None = None,
    limit_bytes: int | None = None,
    threads: int | None = None,
    l3_bytes: int | None = None,
    onednn: bool | None = None,
    jit: bool | None = None,
) -> Explanation:
    """Predict a step of a model: a path (.keras, architecture JSON, H5, SavedModel) or a Keras model object,
    built or not.

    `optimizer` and `dtype` (a policy such as "mixed_float16") are the model's own unless given, `mode` is
    "training" or "inference", `device` "cpu" or "gpu". `input_shape` leaves the batch out: (224, 224, 3) or
    "224x224x3"; `sequence` is the length of sequences whose length the model leaves open; `limit_bytes` the
    device's memory. `threads`, `l3_bytes`, `onednn` and `jit` (XLA) say where it runs; None: as the model was
    compiled, else this machine.

    `fits` and `error_bar` of the report are the answer for programs. Raises UnreadableInput, UsageError or
    Unpredictable (all TfmemlensError), ValueError for a malformed shape.
    """
    if mode not in MODES:
        raise UsageError(f"the mode {mode} is not known", f"one of {', '.join(MODES)}")
    shape = parse_shape(input_shape) if isinstance(input_shape, str) else input_shape
    settings = StepSettings(
        batch,
        optimizer,
        dtype,
        mode == "training",
        device,
        limit_bytes,
        {"": shape} if shape else {},
        workers=threads,
        sequence=sequence,
        l3_bytes=l3_bytes,
        onednn=onednn,
        jit=jit,
    )
    from tfmemlens.use_cases.estimate import estimate as predict
    from tfmemlens.use_cases.estimate import estimate_live

    is_live = hasattr(model, "to_json") or hasattr(model, "trainable_variables")
    report = pipeline.report((estimate_live if is_live else predict)(model, settings))
    return Explanation(report.case, report.findings, report.verdict, actions=report.actions)
