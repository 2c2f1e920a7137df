"""Why TensorFlow ran out of memory, which of your layers holds it, and what helps.

    report = tfmemlens.explain("train.log")              # a log, a dump, or the pasted text
    report.verdict, report.actions, report.to_frame()    # what happened, what to do, who held the memory
    report.save("report.html")                           # the page; in a notebook the report shows itself
    trace = tfmemlens.read("run_metadata.pb")            # a traced step
    trace.peak_bytes, trace.timeline(), trace.at("12.5ms"), trace.by("layer"), trace.plot()
    tfmemlens.estimate("model.keras", batch=64)          # a step that never ran
    tfmemlens.fit("run_metadata.pb", limit="11GiB").fit.largest_batch
    tfmemlens.diff("before.pb", "after.pb").change_bytes
    trace = tfmemlens.trace_step(step, batch)            # one call of a step; with tfmemlens.watch(): a block

`%load_ext tfmemlens` gives notebooks `%memlens FILE`, and `%%memlens`, which runs a cell and explains its
failure.

Sizes are bytes, and limits may be texts such as "11GiB"; times are microseconds. What goes wrong is a
TfmemlensError, with a hint.

>>> tfmemlens.explain("OOM when allocating tensor with shape[8,256,256,64] and type float").verdict
'Out of memory while allocating [8,256,256,64] float32 (128.00 MiB)...'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfmemlens.errors import TfmemlensError

__version__ = "0.1.0"
__all__ = [
    "TfmemlensError",
    "__version__",
    "conv",
    "diff",
    "estimate",
    "explain",
    "fit",
    "fleet",
    "keras",
    "layout",
    "profile",
    "read",
    "session_hook",
    "trace_step",
    "watch",
]

if TYPE_CHECKING:
    from tfmemlens import fleet, keras
    from tfmemlens.api import conv, diff, estimate, explain, fit, layout, profile, read
    from tfmemlens.api.recording import session_hook, trace_step, watch


def __getattr__(name: str) -> object:
    """The API, imported when first used: `import tfmemlens` itself stays cheap."""
    if name in ("session_hook", "trace_step", "watch"):
        from tfmemlens.api import recording

        return getattr(recording, name)
    if name in ("fleet", "keras"):
        from importlib import import_module

        return import_module(f"tfmemlens.{name}")
    if name in __all__:
        from tfmemlens import api

        return getattr(api, name)
    if name in ("load_ipython_extension", "unload_ipython_extension"):  # what `%load_ext` asks for
        from tfmemlens.api import notebook

        return getattr(notebook, name)
    raise AttributeError(f"module 'tfmemlens' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
