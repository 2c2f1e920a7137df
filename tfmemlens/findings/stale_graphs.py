"""Several models live in one process: names carry high counters such as `training_10/Adam`.

What it means: Keras numbers what it builds in one graph. `training_10` is the eleventh compiled model (or
`fit` of one) in this process; the older ones keep their weights and optimizer slots until the session is
cleared.
When it fires: a name in the failure, or its layer, begins with `training_N/` or `sequential_N/` (N >= 2);
from N = 4 on it is a cause.
What to do: clear the session between models, or run each in a process of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.rows import failures, rows
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.patterns import regex

BASIS = Basis.NAME
EXPLAINS = "what is in use and not in the list; without a list all but one model's even part of it"

_COUNTED = regex(r"(?P<scope>training|model|sequential|functional)_(?P<number>\d+)/")
"""A name's outermost scope: inside a model, numbers count its own parts."""


def check(case: Case) -> Iterator[Finding]:
    for index, moment in failures(case):
        counted = list(_counted(moment))
        if not counted:
            continue
        number, scope, proof = max(counted, key=lambda entry: entry[0])
        if number < 2:
            continue
        yield Finding(
            severity=Severity.FACTOR if number < 4 else Severity.CAUSE,
            headline=(
                f"the name `{scope}_{number}` says that this is model or training function number"
                f" {number + 1} of this process; the earlier ones may still hold memory"
            ),
            because=(
                f"this is number {number + 1} of the models built in one process (`{scope}_{number}`), and"
                " earlier ones still hold their weights"
            ),
            explains=_held_by_others(moment, number),
            evidence=(proof,),
            remedies=(
                Remedy(
                    "forget the old models before you build the next",
                    "tf.keras.backend.clear_session()   # keras.backend.clear_session() in old Keras",
                    slug="clear-session",
                ),
                Remedy(
                    "run each fold or trial in its own process: when it ends, all its memory returns",
                    slug="own-process",
                ),
            ),
            moment=index,
        )


def _held_by_others(moment: Moment, number: int) -> int | None:
    """What models before this one may hold: what no list names, else an even share of what is in use."""
    if moment.balance.outside_report:
        return moment.balance.outside_report.bytes
    in_use = moment.balance.in_use
    return in_use.bytes * number // (number + 1) if in_use else None


def _counted(moment: Moment) -> Iterator[tuple[int, str, Evidence]]:
    assert moment.request
    failed, layer = moment.request.failed, moment.request.owner.layer
    for name, line in [
        (failed.node, failed.line),
        (f"{layer}/" if layer else None, failed.line),
        *((row.allocation.node, row.allocation.line) for row in rows(moment)[:60]),
    ]:
        if match := _COUNTED.match(name or ""):
            yield int(match["number"]), match["scope"], Evidence(f"the node {name}", line)
