"""Why TensorFlow ran out of memory, which of your layers holds it, and what helps.

    report = tfmemlens.explain("train.log")        # a log, a dump, or the pasted text: report.verdict, report.findings, report.to_frame()
    trace = tfmemlens.read("run_metadata.pb")      # a traced step: trace.peak_bytes, trace.timeline(), trace.at("12.5ms"), trace.by("layer")
    report = tfmemlens.estimate("model.keras")     # a step that never ran
    trace = tfmemlens.trace_step(step, batch)      # one call of a step, recorded; with tfmemlens.watch(): records a block

Sizes are bytes, times microseconds. What goes wrong is a TfmemlensError, with a hint.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfmemlens.errors import TfmemlensError

__version__ = "0.1.0"
__all__ = ["TfmemlensError", "__version__", "estimate", "explain", "keras", "read", "trace_step", "watch"]

if TYPE_CHECKING:
    from tfmemlens import keras
    from tfmemlens.api import estimate, explain
    from tfmemlens.api.recording import trace_step, watch
    from tfmemlens.api.trace import read


def __getattr__(name: str) -> object:
    """The API, imported when first used: `import tfmemlens` itself stays cheap."""
    if name == "read":
        from tfmemlens.api.trace import read

        return read
    if name in ("trace_step", "watch"):
        from tfmemlens.api import recording

        return getattr(recording, name)
    if name == "keras":
        from importlib import import_module

        return import_module("tfmemlens.keras")
    if name in __all__:
        from tfmemlens import api

        return getattr(api, name)
    raise AttributeError(f"module 'tfmemlens' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
