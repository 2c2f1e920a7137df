"""Earlier runs of the same cell still hold memory in this notebook's kernel.

What it means: a notebook keeps every model that a name, an output or an exception refers to, and TensorFlow's
pool gives nothing back before the kernel ends. A cell that ran twice may fail the third time.
When it fires: the text shows that an earlier cell made the same call, and a weight was being created.
What to do: restart the kernel and run the cell once; else delete the old model and clear Keras's state.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tfmemlens.findings.support.rows import requests
from tfmemlens.model.attribution import Kind
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.units import GIB

BASIS = Basis.SHAPE
EXPLAINS = "all but the request, where that is small"
_SMALL_BYTES = GIB
"""A weight of this size fails only where something else holds the device."""


def check(case: Case) -> Iterator[Finding]:
    for index, _, request in list(requests(case))[:1]:
        earlier = _same_call_before(case)
        need = request.needed_bytes or 0
        if (
            not earlier
            or request.owner.kind not in (Kind.PARAMETER, Kind.OPTIMIZER_SLOT)
            or need > _SMALL_BYTES
        ):
            continue
        cells = ", ".join(f"In[{number}]" for number, _ in earlier[-3:])
        because = f"the models of earlier cells ({cells}) most likely still hold the GPU's memory"
        yield Finding(
            severity=Severity.CAUSE,
            headline=because,
            because=because,
            explains=2 * need,
            basis=Basis.MEASURED,
            evidence=tuple(Evidence(f"In[{number}] ran before", line) for number, line in earlier[-2:]),
            remedies=(
                Remedy(
                    "restart the kernel, and run the cell once: only the end of the process gives the pool"
                    " back",
                    slug="restart-kernel",
                ),
                Remedy(
                    "or delete the old model first, and everything that refers to it",
                    "del model; tf.keras.backend.clear_session(); gc.collect()",
                    slug="clear-session",
                ),
            ),
            moment=index,
        )


def _same_call_before(case: Case) -> list[tuple[int, Line]]:
    """Earlier cells that call what the failing cell calls."""
    cells = case.capture.surroundings.cells
    if len(cells) < 2:
        return []
    last = cells[-1]
    calls = set(re.findall(r"\b([A-Za-z_]\w*)\(", last[1])) - {"print", "len", "range"}
    return [
        (number, line)
        for number, code, line in cells[:-1]
        if number < last[0] and calls & set(re.findall(r"\b([A-Za-z_]\w*)\(", code))
    ]
