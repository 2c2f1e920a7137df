"""Earlier runs of the same cell still hold memory in this notebook's kernel.

What it means: a notebook keeps every model that a name, an output or an exception refers to, and TensorFlow's
pool gives nothing back before the kernel ends. A cell that ran twice may fail the third time.
When it fires: the text says that it fails when it is run again; or it shows that an earlier cell made the
same call, and a weight was being created; a factor, where a small weight failed in a cell whose number is
three or more and nothing says what was in use.
What to do: restart the kernel and run the cell once; else delete the old model and clear Keras's state.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tfmemlens.findings.support.rows import on_host, requests
from tfmemlens.findings.support.situation import JAX, framework_of
from tfmemlens.model.attribution import Kind
from tfmemlens.model.case import Case, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, human, human_size

BASIS = Basis.SHAPE
EXPLAINS = "all but the request, where that is small"
_SMALL_BYTES = GIB
"""A weight of this size fails only where something else holds the device."""


def check(case: Case) -> Iterator[Finding]:
    again = case.capture.surroundings.shows("failing when run again")
    for index, moment, request in list(requests(case))[:1]:
        if again and not on_host(moment):
            yield _of_a_rerun(case, request, again, index)
            continue
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


def _of_a_rerun(case: Case, request: Request, said: Line, index: int) -> Finding:
    """What the text says itself: it runs once, and fails when it is run again in the same process."""
    cell = _IN_ONE_PROCESS.search(said.text) is not None
    where = "in the same process " if cell else ""
    still = "" if cell else ": arrays of the same process, or a process that has not ended"
    because = (
        f"it fails when it is run again {where}({said.place}), so what the run before left most"
        f" likely still holds the device{still}"
    )
    incident = case.moments[index].incident
    compiler = incident.compiler if incident else None
    if compiler and compiler.free:
        because += f"; only {human_size(compiler.free)} was free"
    remedies = _OF_JAX if framework_of(case) == JAX else _REMEDIES
    return Finding(
        severity=Severity.CAUSE,
        headline=because,
        because=because,
        explains=2 * (request.needed_bytes or 0) or None,
        basis=Basis.MEASURED,
        evidence=(Evidence("what the text says", said),),
        remedies=remedies if cell else (_END_IT, *(each for each in remedies if each.slug != _END_IT.slug)),
        moment=index,
    )


_IN_ONE_PROCESS = regex(r"(?i)\b(?:cells?|notebooks?|runtime|kernel|session)\b")
_END_IT = Remedy(
    "restart the runtime or kernel, or end the process of the run before where one still holds the device,"
    " and run it once",
    slug="restart-kernel",
)
_OF_JAX = (
    Remedy(
        "delete what the run before returned, and whatever else refers to it, before the next run",
        "del results; gc.collect()   # a notebook's Out[...] and last exception keep arrays, too",
        slug="clear-the-exception",
    ),
    Remedy("or restart the kernel before each run", slug="restart-kernel"),
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
RESTART = Remedy(
    "restart the runtime and run it once: only the end of its process surely frees what earlier runs of the"
    " notebook's cells left on the device",
    slug="restart-kernel",
)
_CELL = regex(r"\A(?:<ipython-input-|(?:Cell )?In ?\[)(?P<number>\d+)")
_LATE = 3


def _in_a_late_cell(request: Request, index: int) -> Iterator[Finding]:
    """A weight that is no load for a GPU failed in a kernel that ran cells before."""
    cell = number_of_cell(request)
    if cell < _LATE:
        return
    need = human(request.needed_bytes or 0)
    because = (
        f"a weight of {need} found no room in cell {cell} of a notebook: if that cell ran before, the"
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


def number_of_cell(request: Request) -> int:
    """The number of the notebook's cell that failed, which counts every run of a cell; 0 elsewhere."""
    places = [frame.place for frame in request.failed.frames] + [request.failed.source or ""]
    return max((int(match["number"]) for place in places if (match := _CELL.search(place))), default=0)


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
