"""What the layout pass did, for the JSON document."""

from __future__ import annotations

from typing import Any

from tfmemlens.model.case import Case
from tfmemlens.model.layout import LayoutCause, LayoutCopy, LayoutStudy, LayoutTrial, PeakWithout


def parts(case: Case) -> dict[str, Any]:
    """`layout`, `copies`, `helpers`, `causes` and `trials`; nothing where no graph tells of the pass."""
    study = case.layout
    if study is None:
        return {}
    return {
        "layout": _study(study),
        "copies": [_copy(copy) for copy in study.copies],
        "helpers": [_copy(copy) for copy in study.helpers],
        "causes": [_cause(cause, study.peak) for cause in study.causes],
        "trials": [_trial(trial) for trial in case.trials],
    }


def _study(study: LayoutStudy) -> dict[str, Any]:
    peak = study.peak
    return {
        "from": study.source_format,
        "to": study.target_format,
        "copies": len(study.copies),
        "bytes": study.bytes,
        "retained_bytes": study.retained_bytes,
        "unknown_sizes": study.unknown,
        "peak_bytes": peak.bytes if peak else None,
        "peak_without_copies_bytes": peak.without_bytes if peak else None,
        "certainty": peak.certainty.value if peak else None,
    }


def _cause(cause: LayoutCause, peak: PeakWithout | None) -> dict[str, Any]:
    return {
        "cause": cause.slug,
        "because": cause.because,
        "copies": len(cause.copies),
        "bytes": cause.bytes,
        "retained_bytes": cause.retained_bytes,
        "forced_by": list(cause.forced_by),
        "remedy": cause.copies[0].remedy,
        "peak_saved_bytes": peak.saved(cause.slug) if peak else None,
    }


def _trial(trial: LayoutTrial) -> dict[str, Any]:
    return {
        "remedy": trial.remedy,
        "text": trial.text,
        "copies": len(trial.study.copies),
        "bytes": trial.study.bytes,
        "peak_bytes": trial.study.peak.bytes if trial.study.peak else None,
    }


def _copy(copy: LayoutCopy) -> dict[str, Any]:
    return {
        "node": copy.node,
        "op": copy.op,
        "direction": copy.direction,
        "source_layer": copy.source_layer,
        "shape": list(copy.tensor.shape) if copy.tensor.shape is not None else None,
        "dtype": copy.tensor.dtype,
        "bytes": copy.tensor.bytes,
        "producer": copy.producer,
        "consumers": list(copy.consumers),
        "forced_by": copy.forced_by,
        "forced_op": copy.forced_op,
        "cause": copy.cause,
        "remedy": copy.remedy,
        "also_forced_by": [{"node": node, "cause": cause} for node, cause in copy.also],
        "through": list(copy.through),
        "retained": copy.retained,
        "in_loop": copy.in_loop,
        "source_line": copy.source,
    }
