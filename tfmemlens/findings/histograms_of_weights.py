"""TensorBoard's histograms of all weights need a matrix of each.

What it means: `tf.summary.histogram` deals a tensor's values out to 30 buckets by a one-hot matrix of
float64: 240 bytes for each number. Of a layer of 100 million weights that is 24 GB, in host RAM or on the
device, whatever the batch. Keras writes histograms of all weights after an epoch with `histogram_freq=1`.
When it fires: a OneHot, or an op without a name, of float64 with 30 columns and a million rows or more; or
old Keras's callback with a `histogram_freq` failed at an epoch's end: it runs the whole validation set in one
call.
What to do: switch the histograms off, or write those of small layers only.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.rows import requests, tensor_text
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.patterns import regex

BASIS = Basis.SHAPE
EXPLAINS = "the failing tensor"

_BUCKETS, _LEAST_ROWS = 30, 1_000_000


_WRITES = regex(r"\bTensorBoard\([^\n]{0,200}\bhistogram_freq ?= ?[1-9]")


def _of_validation(case: Case) -> Iterator[Finding]:
    """Keras before 2.0.9 feeds all validation samples at once to write histograms after an epoch."""
    code = case.capture.surroundings.code
    writes = next((line for line in code if _WRITES.search(line.text)), None)
    for index, moment, request in list(requests(case))[:1]:
        frames = request.failed.frames
        at_end = any("callbacks.py" in frame.place and frame.name == "on_epoch_end" for frame in frames)
        feeds = any("callbacks.py" in frame.place and ".sess.run(" in frame.text for frame in frames)
        if writes is None or not (at_end and feeds):
            continue
        what = (
            f"most likely TensorBoard's histograms ({writes.place}): after an epoch this Keras runs the whole"
            " validation set in one call for them, whatever the batch"
        )
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=what,
            explains=request.failed.tensor_bytes,
            evidence=(Evidence(f"requested: {tensor_text(moment)}", request.failed.line),),
            remedies=(
                Remedy(
                    "write no histograms, or validate on fewer samples, or take a Keras that feeds them in"
                    " batches (2.0.9); the batch of the training plays no part",
                    "TensorBoard(log_dir='logs', histogram_freq=0)",
                    slug="histograms-off",
                ),
            ),
            rules_out=("smaller-batch", "in-pieces", "truncate", "swap-to-host"),
            moment=index,
        )


def check(case: Case) -> Iterator[Finding]:
    yield from _of_validation(case)
    for index, moment, request in requests(case):
        failed = request.failed
        shape = failed.shape or ()
        op = failed.op or request.owner.op
        if op not in ("OneHot", None) or len(shape) != 2 or failed.dtype != "float64":
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
