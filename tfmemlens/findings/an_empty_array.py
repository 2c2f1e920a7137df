"""Another error of the same program says that an array is empty.

What it means: a program whose data were not read computes with arrays of no rows. Then it fails now for
shapes that do not fit, now for memory, where a size is what happened to be in a variable: the shapes tell the
cause.
When it fires: beside a request for memory the text has an error of shapes, one of which has a dimension of 0.
What to do: print the shapes of what is fed, and mend what reads it.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.situation import TENSORFLOW, framework_of, situation
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import RequestKind

BASIS = Basis.MEASURED
EXPLAINS = "the request: a size of it is most likely wrong, too"

_KINDS = (RequestKind.TENSOR, RequestKind.DUMP)
_OF_PYTHON = "print(x.shape, y.shape)   # just before the call that fails"
_RULED_OUT = (
    *("smaller-batch", "smaller-input", "smaller-model", "read-the-log", "find-the-layers", "in-blocks"),
    *("growth", "see-device-users"),
)


def check(case: Case) -> Iterator[Finding]:
    line = case.capture.surroundings.shows("an empty array")
    moment = case.moments[0] if case.moments else None
    if line is None or moment is None or moment.request is None or framework_of(case) != TENSORFLOW:
        return
    if moment.request.failed.kind not in _KINDS or moment.request.failed.shape is not None:
        return
    what = (
        f"{line.place} shows an array without rows (a dimension of 0), so most likely the data were not read,"
        " and the size that was asked for is as wrong: mend that error first"
    )
    yield Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        explains=moment.request.needed_bytes,
        evidence=(Evidence("the other error", line),),
        remedies=(
            Remedy(
                "print the shapes of all that is fed, and check the path of the data and the loop that reads"
                " it: one of them has 0 rows",
                None if situation(case).program else _OF_PYTHON,
                slug="compare-shapes",
            ),
        ),
        rules_out=_RULED_OUT,
    )
