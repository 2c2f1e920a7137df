"""A GPU that is gone, or whose driver cannot work any more, and what it refuses then."""

from __future__ import annotations

from tfmemlens.findings.support.host_ram.pinned import is_dump, is_pinned
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.incident import RequestKind
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.values import dataclass

_NEXT_TO_NOTHING = 1 << 16
"""So little of RAM is free on any machine whose other programs go on."""
_AGAIN = 3
_ASKED = regex(r"\b(?P<who>alloc|allocate|size:) (?P<bytes>\d{1,15})\b")
_OF_ROCM = regex(r"(?i)\bhip(?:_|Error)|rocm")


@dataclass(frozen=True, slots=True)
class Lost:
    """Why it was refused, and whose driver it was."""

    words: str
    line: Line | None
    """What tells that the GPU is gone; None where only the refusals do."""
    rocm: bool


def lost_device(case: Case, moment: Moment) -> Lost | None:
    """What most likely is wrong with the GPU; None where memory is the better guess."""
    failed = moment.request.failed if moment.request else None
    if failed is None or failed.line is None or is_dump(moment):
        return None
    logged = case.capture.surroundings.shows("a lost device")
    rocm = _OF_ROCM.search(failed.line.text) is not None
    if failed.kind is RequestKind.DRIVER and logged:
        return Lost(_GONE.format(place=logged.place), logged, rocm)
    if failed.kind is not RequestKind.HOST or not is_pinned(failed) or failed.size is None:
        return None
    if gone := logged or case.capture.surroundings.shows("a device pulled out"):
        little = failed.size.bytes <= _NEXT_TO_NOTHING
        return Lost(_GONE.format(place=gone.place), gone, rocm) if little or logged else None
    if case.capture.surroundings.shows("growing in words") or case.capture.surroundings.large_host_requests:
        return None  # so RAM may be full indeed
    times = _times(moment)
    return Lost(_IN_A_BAD_STATE.format(times=times), None, rocm) if times >= _AGAIN else None


_GONE = (
    "{place} tells of a GPU that is not there any more; then the driver answers every request with its code"
    " of no memory, however little is asked for: most likely neither RAM nor the GPU's memory is short"
)
_IN_A_BAD_STATE = (
    "so little has room anywhere, and it was refused {times} times: most likely no RAM is short, but the"
    " driver lost its GPU or is in a bad state (an error above, a sleep of the machine), or the GPU is full"
)


def _times(moment: Moment) -> int:
    """How often so little was refused, of which two lines may tell; 0 where more was asked for, too: after a
    large request each smaller one is a try.
    """
    lines = moment.incident.tellings if moment.incident else ()
    asked = [match for line in lines if (match := _ASKED.search(line.text))]
    if any(int(match["bytes"]) > _NEXT_TO_NOTHING for match in asked):
        return 0
    by_the_driver = [match for match in asked if match["who"] != "size:"]
    return max(len(by_the_driver), len(asked) - len(by_the_driver))
