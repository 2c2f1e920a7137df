"""TensorBoard's histograms of all weights need a matrix of each.

What it means: `tf.summary.histogram` deals a tensor's values out to 30 buckets by a one-hot matrix of
float64: 240 bytes for each number. Of a layer of 100 million weights that is 24 GB, in host RAM or on the
device, whatever the batch. Keras writes histograms of all weights after an epoch with `histogram_freq=1`.
When it fires: a OneHot of float64 with 30 columns and a million rows or more.
What to do: switch the histograms off, or write those of small layers only.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.rows import requests, tensor_text
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity

BASIS = Basis.SHAPE
EXPLAINS = "the failing tensor"

_BUCKETS, _LEAST_ROWS = 30, 1_000_000


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in requests(case):
        failed = request.failed
        shape = failed.shape or ()
        if (failed.op or request.owner.op) != "OneHot" or len(shape) != 2 or failed.dtype != "float64":
            continue
        rows = shape[0] or 0
        if shape[1] != _BUCKETS or rows < _LEAST_ROWS:
            continue
        because = (
            f"most likely a histogram for TensorBoard: {rows:,} weights are dealt out to {_BUCKETS} buckets"
            " by a matrix of float64"
        )
        yield Finding(
            severity=Severity.CAUSE,
            headline=because,
            because=because,
            explains=failed.tensor_bytes,
            evidence=(Evidence(f"requested: {tensor_text(moment)}", failed.line),),
            remedies=(
                Remedy(
                    "switch the histograms off, or write those of small layers only; no batch changes this",
                    "tf.keras.callbacks.TensorBoard(log_dir, histogram_freq=0)",
                    slug="histograms-off",
                ),
            ),
            rules_out=("single-precision", "smaller-batch", "in-pieces"),
            moment=index,
        )
