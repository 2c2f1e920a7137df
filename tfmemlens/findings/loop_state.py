"""A loop keeps something for every iteration.

What it means: the backward pass of a while loop (dynamic_rnn, Keras RNN layers, tf.scan) needs the values of
every iteration, so each is kept on a stack. The bytes grow with the number of steps: a sequence ten times as
long needs ten times as much.
When it fires: nodes inside a loop are listed several times (one line per live iteration), or stacks and
tensor arrays hold at least 10 %.
What to do: shorter sequences, buckets, truncated back-propagation; on GPU in TF 1 `swap_memory=True`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.rows import Row, held, of_kind, quote, total
from tfmemlens.model.attribution import Kind
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Certainty, Finding, Remedy, Severity
from tfmemlens.units import human, percent

BASIS = Basis.MEASURED
EXPLAINS = "what the loop keeps of its iterations"


def check(case: Case) -> Iterator[Finding]:
    for index, moment in enumerate(case.moments):
        stacks = of_kind(moment, Kind.LOOP_STACK)
        if not stacks or total(stacks) < 0.1 * held(moment):
            continue
        node, times, per_step = _most_alive(stacks)
        share = total(stacks) / max(held(moment), 1)
        yield Finding(
            severity=Severity.CAUSE if share >= 0.3 else Severity.FACTOR,
            headline=(
                f"{percent(total(stacks), held(moment))} of {human(held(moment))} are what a loop keeps of"
                f" its iterations: {node} is alive {times} times, {human(per_step)} each"
            ),
            because=(
                f"a loop keeps every iteration for the backward pass: {node} is alive {times} times with"
                f" {human(per_step)} each"
            ),
            explains=total(stacks),
            evidence=tuple(quote(row) for row in stacks[:3]),
            detail=(
                "The report has one line per execution of a node, so a name that stands there k times ran k"
                " times; the lines are not k outputs of one run."
            ),
            remedies=(
                remedies.of_change(
                    case,
                    index,
                    "smaller-input",
                    "halve the sequence (truncated back-propagation, or cut and bucket the data): the stack"
                    " halves",
                    total(stacks) // 2,
                    Certainty.ESTIMATE,
                ),
                *remedies.offered(case, moment, "smaller-batch"),
                _swap(total(stacks)),
            ),
            moment=index,
        )


def _most_alive(stacks: list[Row]) -> tuple[str, int, int]:
    """The node with the most live executions: its name, how many, bytes of one."""
    executions: Counter[str] = Counter()
    for row in stacks:
        executions[row.allocation.node or ""] += row.allocation.count
    node, times = executions.most_common(1)[0]
    return node, times, total([row for row in stacks if (row.allocation.node or "") == node]) // times


def _swap(size: int) -> Remedy:
    return Remedy(
        "move the stacks to host RAM until the backward pass (GPU only)",
        "tf.nn.dynamic_rnn(cell, x, swap_memory=True)   # also tf.while_loop(..., swap_memory=True)",
        size,
        Certainty.BOUND,
        slug="swap-to-host",
    )
