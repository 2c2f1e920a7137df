"""Two convolution gradients run at the same time, each with its own workspace.

What it means: the gradients for the filter and for the input of one convolution do not depend on each other,
so TensorFlow's executor runs them side by side on two threads. Both workspaces are alive at once.
When it fires: at a moment where temporary buffers of two or more convolution gradients are alive; or two of
them fail in one log.
What to do: run ops one after another (inter_op_parallelism_threads=1): the peak falls by the smaller of the
two, and the step takes longer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tfmemlens.findings.support import code_snippets
from tfmemlens.findings.support.rows import enumerated, failures, of_kind
from tfmemlens.model.attribution import Kind
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import MIB, human

BASIS = Basis.TRACED
EXPLAINS = "the workspaces together"

_GRADIENT = regex(r"Backprop(?:Filter|Input)")


def check(case: Case) -> Iterator[Finding]:
    for index, moment in enumerate(case.moments):
        if moment.timeline is not None:
            yield from _alive(case, moment, index)
    yield from _failing(case)


def _alive(case: Case, moment: Moment, index: int) -> Iterator[Finding]:
    gradients = [
        row
        for row in of_kind(moment, Kind.WORKSPACE)
        if _GRADIENT.search(row.allocation.node or "") and row.allocation.total_bytes >= MIB
    ]
    if len({row.allocation.node for row in gradients}) >= 2:
        pairs: list[tuple[str, int, Line | None]] = [
            (row.allocation.node or "", row.allocation.total_bytes, None) for row in gradients
        ]
        yield _finding(case, pairs, index, Basis.TRACED)


def _failing(case: Case) -> Iterator[Finding]:
    """Two ops that failed for lack of a workspace were both running."""
    pairs: dict[str, tuple[int, Line | None]] = {}
    for _, moment in failures(case):
        request = moment.request
        if (
            request
            and request.owner.kind is Kind.WORKSPACE
            and request.failed.node
            and _GRADIENT.search(request.failed.node)
        ):
            pairs.setdefault(request.failed.node, (request.failed.tensor_bytes or 0, request.failed.line))
    layers = {re.split(r"_grad/", node)[0] for node in pairs}
    if len(pairs) >= 2 and len(layers) < len(pairs):
        yield _finding(case, [(node, size, line) for node, (size, line) in pairs.items()], 0, Basis.SHAPE)


def _finding(case: Case, pairs: list[tuple[str, int, Line | None]], index: int, basis: Basis) -> Finding:
    pairs = sorted(pairs, key=lambda pair: -pair[1])
    smaller = sum(size for _, size, _ in pairs[1:])
    return Finding(
        severity=Severity.FACTOR,
        headline=(
            f"{len(pairs)} convolution gradients hold their workspaces at the same time:"
            f" {_sizes([size for _, size, _ in pairs])}"
        ),
        explains=sum(size for _, size, _ in pairs),
        basis=basis,
        evidence=tuple(Evidence(f"{node}: {human(size)}", line) for node, size, line in pairs[:3]),
        remedies=(
            Remedy(
                "run ops one after another, so that only one such buffer lives at a time (the step takes"
                " longer)",
                code_snippets.one_op_at_a_time(case.api),
                smaller,
                Certainty.BOUND,
                slug="one-op-at-a-time",
            ),
        ),
        moment=index,
    )


def _sizes(sizes: list[int]) -> str:
    """`19.00 MiB, 12.56 MiB and 1.00 MiB`; of many the largest two and the rest together."""
    told = (
        [human(size) for size in sizes]
        if len(sizes) <= 3
        else [*(human(size) for size in sizes[:2]), f"{human(sum(sizes[2:]))} in the others"]
    )
    return enumerated(told)
