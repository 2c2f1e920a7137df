"""`fit` of the JSON document: the largest batch, how it was found, and what changes would buy."""

from __future__ import annotations

from typing import Any

from tfmemlens.model.fit import BatchPrediction, Fit, TriedBatches
from tfmemlens.model.what_if import Saving


def part(fit: Fit) -> dict[str, Any]:
    """The value of `fit`, in bytes and samples."""
    return {
        "batch": fit.batch,
        "batch_source": fit.batch_source,
        "limit_bytes": fit.limit_bytes,
        "largest_batch": fit.largest_batch,
        "use_batch": fit.use_batch,
        "use_peak_bytes": fit.use_peak_bytes,
        "sure_batch": fit.sure_batch,
        "likely_low_batch": fit.likely_low_batch,
        "likely_high_batch": fit.likely_high_batch,
        "peak_bytes": fit.peak_bytes,
        "told_batch": fit.reported_batch,
        "fixed_bytes": fit.fixed_bytes if fit.predictions else None,
        "per_sample_bytes": fit.per_sample_bytes if fit.predictions else None,
        "pixel_bytes": fit.pixel_bytes,
        "sequence_bytes": fit.sequence_bytes,
        "certainty": fit.certainty.value,
        "constraint": fit.constraint,
        "runner_up": fit.runner_up,
        "predicted": fit.predicted,
        "remedies": [_remedy(each) for each in fit.savings],
        "predictions": [_prediction(each) for each in fit.predictions],
        "checks": [_prediction(each) for each in fit.checks],
        **({"tried": _tried(fit.tried)} if fit.tried else {}),
    }


def _tried(tried: TriedBatches) -> dict[str, Any]:
    return {
        "tensorflow": tried.tensorflow,
        "limit_bytes": tried.limit_bytes,
        "steps": tried.steps,
        "found": tried.found,
        "stopped": tried.stopped,
        "batches": [
            {"batch": each.batch, "ran": each.ran, "peak_bytes": each.peak_bytes} for each in tried.tried
        ],
    }


def _prediction(prediction: BatchPrediction) -> dict[str, Any]:
    return {
        "batch": prediction.batch,
        "bytes": prediction.bytes,
        "low_bytes": prediction.low_bytes,
        "high_bytes": prediction.high_bytes,
        "measured_bytes": prediction.measured_bytes,
    }


def _remedy(saving: Saving) -> dict[str, Any]:
    return {
        "remedy": saving.change,
        "text": saving.text,
        "saves_bytes": saving.best_bytes,
        "low_bytes": saving.low_bytes,
        "high_bytes": saving.high_bytes,
        "largest_batch": saving.largest_batch,
        "certainty": saving.certainty.value if saving.certainty else None,
        "basis": saving.basis.value,
    }
