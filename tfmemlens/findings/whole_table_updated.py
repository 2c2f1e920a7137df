"""An optimizer works on a whole embedding table although a batch touches few of its rows.

What it means: the gradient of a lookup is sparse, and Adam has no sparse update: it decays both of its slots
and the table as a whole, op by op, each time with temporaries as large as the table. SGD, Adagrad and lazy
variants of Adam touch the rows of the batch only.
When it fires: at the peak of a traced step, temporaries [rows, width] of one variable's update, not of a
fused update op, hold at least a tenth.
What to do: an optimizer with sparse updates for this table.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from tfmemlens.findings.support import code_snippets
from tfmemlens.findings.support.rows import Row, held, quote, rows, total
from tfmemlens.model.attribution import Phase
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Basis, Certainty, Finding, Remedy, Severity
from tfmemlens.patterns import regex
from tfmemlens.units import human, percent

BASIS = Basis.TRACED
EXPLAINS = "the temporaries of the update"

_UPDATE = regex(r"(?:\A|/)update_(?P<variable>.+)/(?!(?:Resource)?(?:Sparse)?Apply)[^/]+\Z")
_ROWS = 1000


def check(case: Case) -> Iterator[Finding]:
    for index, moment in enumerate(case.moments):
        for variable, temporaries in _updates(moment).items():
            size, width = (temporaries[0].allocation.shape or (0, 0))[:2]
            if total(temporaries) < 0.1 * held(moment) or len(temporaries) < 2:
                continue
            yield Finding(
                severity=Severity.CAUSE if total(temporaries) > 0.3 * held(moment) else Severity.FACTOR,
                headline=(
                    f"the update of {variable} works on all {size:,} rows at once:"
                    f" {human(total(temporaries))} of temporaries,"
                    f" {percent(total(temporaries), held(moment))} of the peak"
                ),
                because=(
                    f"the optimizer updates the whole table {variable}, {size:,} x {width}, although a batch"
                    " touches few rows"
                ),
                explains=total(temporaries),
                evidence=tuple(quote(row) for row in temporaries[:3]),
                remedies=(
                    Remedy(
                        "use an optimizer with sparse updates for the table, such as SGD, Adagrad or a lazy"
                        " Adam",
                        code_snippets.lazy_adam(case.api),
                        saves_bytes=total(temporaries),
                        certainty=Certainty.BOUND,
                        slug="sparse-updates",
                    ),
                    Remedy(
                        "look up fewer distinct tables per step, or split the table over devices",
                        slug="shard-arguments",
                    ),
                ),
                moment=index,
            )


def _updates(moment: Moment) -> dict[str, list[Row]]:
    """Per variable the temporaries of its update that are as large as it."""
    by_variable: dict[str, list[Row]] = defaultdict(list)
    if moment.timeline is None:
        return by_variable
    for row in rows(
        moment, lambda row: row.owner.phase is Phase.OPTIMIZER and row.allocation.start_micros is not None
    ):
        shape = row.allocation.shape
        if (
            shape
            and len(shape) == 2
            and (shape[0] or 0) >= _ROWS
            and (update := _UPDATE.search(row.allocation.node or ""))
        ):
            by_variable[update["variable"]].append(row)
    return {
        variable: of_it
        for variable, of_it in by_variable.items()
        if len({row.allocation.shape for row in of_it}) == 1
    }
