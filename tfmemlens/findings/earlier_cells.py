"""Earlier runs of the same cell still hold memory in this notebook's kernel.

What it means: a notebook keeps every model that a name, an output or an exception refers to, and TensorFlow's
pool gives nothing back before the kernel ends. A cell that ran twice may fail the third time.
When it fires: the text shows that an earlier cell made the same call, and a weight was being created; a
factor, where a small weight failed in a cell whose number is three or more and nothing says what was in use.
What to do: restart the kernel and run the cell once; else delete the old model and clear Keras's state.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tfmemlens.findings.support.rows import on_host, requests
from tfmemlens.model.attribution import Kind
from tfmemlens.model.case import Case, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, human

BASIS = Basis.SHAPE
EXPLAINS = "all but the request, where that is small"
_SMALL_BYTES = GIB
"""A weight of this size fails only where something else holds the device."""


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in list(requests(case))[:1]:
        earlier = _same_call_before(case)
        need = request.needed_bytes or 0
        if request.owner.kind not in (Kind.PARAMETER, Kind.OPTIMIZER_SLOT) or need > _SMALL_BYTES:
            continue
        if not earlier:
            if moment.balance.in_use is None and moment.balance.limit is None and not on_host(moment):
                yield from _in_a_late_cell(request, index)
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
            remedies=_REMEDIES,
            moment=index,
        )


_REMEDIES = (
    Remedy(
        "restart the kernel, and run the cell once: only the end of the process gives the pool back",
        slug="restart-kernel",
    ),
    Remedy(
        "or delete the old model first, and everything that refers to it",
        "del model; tf.keras.backend.clear_session(); gc.collect()",
        slug="clear-session",
    ),
)
_CELL = regex(r"\A(?:<ipython-input-|(?:Cell )?In ?\[)(?P<number>\d+)")
_LATE = 3


def _in_a_late_cell(request: Request, index: int) -> Iterator[Finding]:
    """A weight that is no load for a GPU failed in a kernel that ran cells before."""
    places = [frame.place for frame in request.failed.frames] + [request.failed.source or ""]
    numbers = [int(match["number"]) for place in places if (match := _CELL.search(place))]
    if not numbers or max(numbers) < _LATE:
        return
    need = human(request.needed_bytes or 0)
    because = (
        f"a weight of {need} found no room in cell {max(numbers)} of a notebook: if that cell ran before, the"
        " model of that run may still hold the device"
    )
    yield Finding(
        severity=Severity.FACTOR,
        headline=because,
        because=because,
        basis=Basis.NAME,
        evidence=(Evidence("the request", request.failed.line),),
        remedies=_REMEDIES,
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
