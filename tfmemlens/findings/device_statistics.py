"""The program printed its device's statistics: what is held, what the peak was, what the pool may have.

What it means: `device.memory_stats()` counts arrays that are alive (`bytes_in_use`) and the most that ever
was in use (`peak_bytes_in_use`): what lies between the two were temporaries of compiled programs, or arrays
that are gone.
When it fires: the input has such figures.
What to do: arrays that are alive are the code's own: a profile names the lines that made them. Temporaries
shrink with the batch.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.rows import failures
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import RequestKind
from tfmemlens.units import human, percent

BASIS = Basis.FIGURES
EXPLAINS = "what is in use"
_FULL = 0.9
"""The share of the limit from which a device is called nearly full."""


def check(case: Case) -> Iterator[Finding]:
    for index, moment in failures(case):
        books, request = moment.balance, moment.request
        if request is None or request.failed.kind is not RequestKind.PROFILE or len(moment.attribution.table):
            continue
        if not (books.in_use and books.limit and books.limit.bytes):
            continue
        held, limit = books.in_use.bytes, books.limit.bytes
        peak = max(books.peak.bytes if books.peak else 0, held)
        gone = peak - held
        if held >= _FULL * limit:
            what = f"arrays that are alive fill {percent(held, limit)} of it, whatever runs next"
        elif peak >= _FULL * limit and gone > held:
            what = (
                f"at its peak it was nearly full, with {human(gone)} of temporaries and arrays that are gone"
            )
        elif peak >= _FULL * limit:
            what = f"at its peak it was nearly full, mostly with {human(held)} of arrays that are still alive"
        else:
            what = f"{human(limit - peak)} were never used, so this device did not run full"
        full = peak >= _FULL * limit
        yield Finding(
            severity=Severity.FACTOR,
            headline=what,
            because=what,
            explains=held,
            evidence=tuple(
                Evidence(
                    f"{name.replace('_', ' ')}: {human(size.bytes)}", moment.incident.state.line_of(name)
                )
                for name, size in (("in_use", books.in_use), ("peak", books.peak), ("limit", books.limit))
                if size and moment.incident
            ),
            remedies=_REMEDIES[gone > held] if full else (),
            moment=index,
        )


_WHO = Remedy(
    "save who holds the device, by line of code; tfmemlens reads the file",
    "jax.profiler.save_device_memory_profile('memory.prof')",
    slug="record-a-step",
)
_SMALLER = Remedy("halve the batch: temporaries shrink with it", slug="smaller-batch")
_REMEDIES = {True: (_SMALLER, _WHO), False: (_WHO, _SMALLER)}
"""What helps, by whether temporaries are the larger part of the peak."""
