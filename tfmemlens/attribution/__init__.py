"""Who held it: from a capture to a case, with an owner for every byte."""

from __future__ import annotations

from tfmemlens.attribution.balance import balance, holders, rounded_request
from tfmemlens.attribution.frontend import api_of
from tfmemlens.attribution.omissions import omissions
from tfmemlens.attribution.owners import attribute_request, attribute_table
from tfmemlens.attribution.tensors import name_tensors
from tfmemlens.model.capture import Capture
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.incident import Incident


def attribute(capture: Capture) -> Case:
    """The case: one moment for each failure, in the order of the capture."""
    moments = tuple(_failure(capture, incident) for incident in capture.incidents)
    return Case(capture, moments, api_of(capture))


def _failure(capture: Capture, incident: Incident) -> Moment:
    table = holders(incident)
    attribution = attribute_table(table)
    owner = attribute_request(incident.request)
    request = Request(incident.request, owner, rounded_request(incident))
    books = balance(incident, table, request.needed_bytes)
    return Moment(
        attribution, books, name_tensors(attribution, incident.request, owner, capture.hints), incident, request, omissions=omissions(incident, books)
    )
