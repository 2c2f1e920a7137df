"""Two failures, or a failure and the stated batch, disagree about the first dimension.

What it means: not every batch is equal. The last batch of an epoch, an evaluation with its own batch size, or
sequences of another length need another amount of memory, and cuDNN chooses its workspace anew for each new
shape.
When it fires: failing tensors of one op differ between failures, or the first dimension is not the batch size
that the log states.
What to do: pad or drop the odd batch; use the training batch size for evaluation; bucket sequences.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.phase import of_other_data
from tfmemlens.findings.support.rows import requests, tensor_text
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.tensor import format_shape

BASIS = Basis.SHAPE
EXPLAINS = "what the largest failing tensor has more than the smallest"


def check(case: Case) -> Iterator[Finding]:
    yield from _between_failures(case)
    yield from _against_stated(case)


def _between_failures(case: Case) -> Iterator[Finding]:
    by_node: dict[str, list[tuple[int, tuple[int | None, ...]]]] = {}
    for index, _, request in requests(case):
        failed = request.failed
        if failed.node and failed.shape and len(failed.shape) >= 2:
            by_node.setdefault(failed.node, []).append((index, failed.shape))
    for node, seen in by_node.items():
        shapes = list(dict.fromkeys(shape for _, shape in seen))
        if len(shapes) < 2 or len({len(shape) for shape in shapes}) > 1:
            continue
        lines = [request.failed.line for _, _, request in requests(case) if request.failed.node == node]
        yield Finding(
            severity=Severity.FACTOR,
            headline=(
                f"{node} failed with different shapes,"
                f" {' and '.join(format_shape(shape) for shape in shapes[:3])}: batches or lengths vary"
            ),
            explains=_spread(case, node),
            evidence=tuple(Evidence("one of the failures", line) for line in lines[:2]),
            remedies=(
                Remedy(
                    "pad or bucket to few shapes, and size the run for the longest", slug="constant-shapes"
                ),
                Remedy(
                    "drop the odd last batch", "dataset.batch(n, drop_remainder=True)", slug="even-batches"
                ),
            ),
            moment=seen[0][0],
        )


def _spread(case: Case, node: str) -> int | None:
    """What the largest of a node's failing tensors has more than the smallest."""
    sizes = [request.failed.tensor_bytes for _, _, request in requests(case) if request.failed.node == node]
    known = [size for size in sizes if size is not None]
    return max(known) - min(known) if len(known) == len(sizes) else None


def _against_stated(case: Case) -> Iterator[Finding]:
    stated = case.capture.hints.batch
    line = None
    for name, value, where in case.capture.surroundings.settings:
        if name == "batch_size" and stated is None:
            stated, line = int(value), where
    for index, moment, request in list(requests(case))[:1]:
        shape = request.failed.shape
        first = shape[0] if shape and len(shape) in (4, 5) else None
        if of_other_data(case, request):
            continue  # it has a batch of its own, and a rule that says so
        odd = stated and first and stated > 1 and first > 1 and first % stated and stated % first
        if odd and stated not in (shape or ()):
            yield Finding(
                severity=Severity.NOTE,
                headline=(
                    f"the failing tensor's first dimension is {first}, the stated batch size {stated}: this"
                    " is another batch than you think"
                ),
                evidence=(
                    Evidence(f"requested: {tensor_text(moment)}", request.failed.line),
                    Evidence(f"batch size {stated}", line),
                ),
                remedies=(
                    Remedy(
                        "look for the evaluation, prediction or last batch that feeds this many samples at"
                        " once",
                        slug="find-the-feed",
                    ),
                ),
                moment=index,
            )
