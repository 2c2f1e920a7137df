"""Steps of a TensorFlow program that make something large on the way to something small."""

from __future__ import annotations

from tfmemlens.findings.support.on_the_way.contraction import contracted_late
from tfmemlens.findings.support.on_the_way.copies import repeated_before_a_net
from tfmemlens.findings.support.on_the_way.facts import OnTheWay
from tfmemlens.findings.support.on_the_way.gram import gram_of_the_longer_side
from tfmemlens.findings.support.on_the_way.joined_maps import joined_before_reduced
from tfmemlens.findings.support.on_the_way.upsampled import enlarged_before_reduced
from tfmemlens.findings.support.on_the_way.whole_table import transformed_whole
from tfmemlens.findings.support.situation import TENSORFLOW, framework_of
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.incident import RequestKind

__all__ = ["OnTheWay", "on_the_way"]

_KINDS = (RequestKind.TENSOR, RequestKind.DUMP)


def on_the_way(case: Case, moment: Moment, request: Request) -> OnTheWay | None:
    """The first such step that what failed agrees with; trees are read only where there is a program."""
    failed = request.failed
    if failed.kind not in _KINDS or not failed.shape or failed.creating or framework_of(case) != TENSORFLOW:
        return None
    program = case.capture.surroundings.program()
    if not program:
        return None
    return (
        contracted_late(program, request)
        or gram_of_the_longer_side(program, request)
        or transformed_whole(case, program, moment, request)
        or repeated_before_a_net(case, program, moment, request)
        or joined_before_reduced(case, program, request)
        or enlarged_before_reduced(program, request)
    )
