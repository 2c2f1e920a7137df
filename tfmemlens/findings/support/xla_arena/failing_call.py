"""The call that a traceback ends in, where what a program holds most of is not in the text."""

from __future__ import annotations

from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

_CALLED = regex(r"(?:\A|= |\breturn |\bawait )(?P<name>[A-Za-z_][\w.]{0,60})\(")
_TAKEN = regex(
    r"\A[\s\d>-]{0,12}(?P<name>[A-Za-z_]\w{0,40}) = [A-Za-z_][\w.]{0,60}\[:(?P<count>\d{2,6})\]\s*(?:#|\Z)"
)


def less_in_the_call(case: Case, moment: Moment) -> Remedy:
    """Less in one call, by its name and by what the code beside it gives it where they are known."""
    call = _name(moment)
    what = f"{call or 'the program'} computes all that it is given at once"
    taken = _taken(case, moment)
    given = f" ({taken[1].place} gives it {taken[2]:,} of `{taken[0]}`)" if taken else ""
    return Remedy(
        f"{what}{given}: give it a part at a time (fewer frames, images, points, sequences) or smaller ones,"
        " and join the results on the host",
        slug="in-blocks",
    )


def _name(moment: Moment) -> str | None:
    """The call of the user's last line: "`apply` (net.py:30)"."""
    failed = moment.request.failed if moment.request else None
    match = _CALLED.search(failed.source_text or "") if failed else None
    return f"`{match['name']}` ({failed.source})" if failed and match else None


def _taken(case: Case, moment: Moment) -> tuple[str, Line, int] | None:
    """How many rows a line of the quoted code takes of what the call is given, with that line."""
    failed = moment.request.failed if moment.request else None
    called = " ".join([frame.text for frame in failed.frames] if failed else ())
    for line in case.capture.surroundings.code:
        match = _TAKEN.match(line.text)
        if match and regex(rf"[(,]\s*(?:\w+=)?{match['name']}\b").search(called):
            return match["name"], line, int(match["count"])
    return None
