"""When what a list leaves out is told, and when it is more than a note."""

from __future__ import annotations

from typing import Any

import pytest

from tfmemlens.findings import many_small_allocations
from tfmemlens.model.allocation import AllocationTable
from tfmemlens.model.attribution import NOBODY, Attribution
from tfmemlens.model.capture import Capture, Source
from tfmemlens.model.case import Balance, Case, Moment, Request
from tfmemlens.model.finding import Severity
from tfmemlens.model.incident import FailedRequest, Incident
from tfmemlens.units import Size


def severity(listed: int, unlisted: int, nodes: int = 5, **kept: Any) -> Severity | None:
    books = Balance(listed=Size.exactly(listed), unlisted=Size.exactly(unlisted), unlisted_nodes=nodes)
    incident = kept.get("incident", Incident(FailedRequest()))
    request = Request(FailedRequest(), NOBODY, None)
    moment = Moment(Attribution(AllocationTable(), ()), books, incident=incident, request=request)
    found = list(many_small_allocations.check(Case(Capture(Source("x")), (moment,))))
    return found[0].severity if found else None


@pytest.mark.parametrize(
    "listed, unlisted, told",
    [
        (7000, 3001, Severity.FACTOR),
        (7000, 3000, Severity.NOTE),  # three tenths of the report, and no more
        (9889, 111, Severity.NOTE),
        (9890, 110, None),  # about what a list of 99 % leaves out
        (9999, 1, None),
    ],
)
def test_how_much_it_is(listed: int, unlisted: int, told: Severity | None) -> None:
    assert severity(listed, unlisted) is told


def test_nothing_is_left_out_of_no_list() -> None:
    assert severity(0, 5000, nodes=0) is None
    assert severity(0, 5000, incident=None) is None
