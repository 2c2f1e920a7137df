"""What an input is and what wrote it, in the words of the pages; JSON keeps the formats' own names."""

from __future__ import annotations

from collections.abc import Sequence

from tfmemlens.model.case import Api
from tfmemlens.model.report import Report

_FORMATS = {
    "oom-sentence": "OOM message",
    "oom-in-words": "failure told in words",
    "oom-report": "allocation list",
    "bfc-dump": "memory dump",
    "memory-dump": "binary memory dump",
    "xla-oom": "XLA OOM message",
    "xla-account": "memory analysis of a compiled program",
    "tpu-oom": "TPU OOM message",
    "device-stats": "JAX device statistics",
    "oom-disguise": "indirect OOM message",
    "xla-dump": "XLA dump",
    "xla-programs": "compiled programs",
    "run-metadata": "RunMetadata",
    "graph-def": "GraphDef",
    "chrome-trace": "Chrome trace",
    "xspace": "XSpace",
    "tfprof": "tfprof profile",
    "log-memory": "LOG_MEMORY log",
    "memory-profile": "memory profile",
    "device-memory-profile": "JAX device memory profile",
    "tfevents": "event file",
    "meta-graph": "MetaGraphDef",
    "saved-model": "SavedModel",
    "training-graph": "training graph",
    "nvidia-smi": "nvidia-smi table",
    "keras-1": "Keras 1 model",
    "keras-2": "Keras 2 model",
    "keras-3": "Keras 3 model",
    "keras-model": "Keras model",
    "variables": "the names and shapes of variables",
}
_MOST = 3
"""So many formats are named; of more the first two, and how many others there are."""
_FRAMEWORKS = {"jax": "JAX", "xla": "framework unknown", "torch_xla": "PyTorch/XLA"}


def described(report: Report) -> str:
    """`OOM message and memory dump, TensorFlow 2.21 or newer`."""
    source = report.case.capture.source
    formats = _listed(_few([_FORMATS.get(name, name.replace("-", " ")) for name in _ranked(source.formats)]))
    if any(moment.predicted for moment in report.case.moments):
        done = (
            "predicted, and some steps were run"
            if report.fit and report.fit.tried
            else "predicted, nothing was run"
        )
        return f"{formats or 'no known format'}; {done}"
    if not formats:
        if report.case.moments:
            return "part of an OOM message"
        if report.findings and report.case.capture.surroundings.elsewhere:
            return "another failure than a lack of memory"
        return "log without an OOM message" if report.findings else "no known format"
    if source.formats == ("nvidia-smi",) and source.framework is None:
        return formats
    if source.formats == ("oom-disguise",) and not source.version and source.framework == "tensorflow":
        return formats  # words of the system: nothing says which framework ran
    library = report.case.api.library
    framework = _FRAMEWORKS.get(source.framework or "") or _tensorflow(report.case.api)
    return f"{formats}, {library} on {framework}" if library else f"{formats}, {framework}"


def _tensorflow(api: Api) -> str:
    """`TensorFlow 1.15 to 2.4`, as far as the input betrays the version."""
    low, high = (".".join(map(str, version)) for version in (api.oldest, api.newest))
    if api.newest >= (2, 99):
        return "TensorFlow" if api.oldest <= (0, 5) else f"TensorFlow {low} or newer"
    if low == high:
        return f"TensorFlow {low}"
    return f"TensorFlow {low} to {high}" if api.oldest > (0, 5) else f"TensorFlow {high} or older"


def _ranked(formats: Sequence[str]) -> list[str]:
    """As they were read; of many those that tell of a failure first."""
    if len(formats) <= _MOST:
        return list(formats)
    known = list(_FORMATS)
    return sorted(formats, key=lambda name: known.index(name) if name in known else len(known))


def _few(names: list[str]) -> list[str]:
    return names if len(names) <= _MOST else [*names[: _MOST - 1], f"{len(names) - _MOST + 1} more kinds"]


def _listed(names: list[str]) -> str:
    *most, last = names or [""]
    return f"{', '.join(most)} and {last}" if most else last
