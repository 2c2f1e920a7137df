"""A line on the way to a failure that collects the results of all runs, where these share its memory."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tfmemlens.findings.support.program_lines import file_lines
from tfmemlens.findings.support.rows import on_host
from tfmemlens.knowledge.kept_results import collects_results
from tfmemlens.knowledge.stack_frames import user_frame
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Remedy
from tfmemlens.model.incident import Frame
from tfmemlens.values import dataclass


@dataclass(frozen=True, slots=True)
class Collected:
    """`predictions = list(net.predict(input_fn))`."""

    name: str
    call: str
    frame: Frame
    place: str


def collected(case: Case, moment: Moment) -> Collected | None:
    """The innermost of the user's lines that called what failed and collects its results. On the CPU an array
    that a run returns is the tensor's own memory; from an accelerator it is a copy in host RAM.
    """
    if moment.request is None or not on_host(moment):
        return None
    failed = moment.request.failed
    ran = [failed.ran_by] if failed.ran_by else []
    for frame in (*ran, *reversed(failed.frames)):
        if user_frame(frame.place) and (found := collects_results(frame.text)):
            return Collected(*found, frame, _place(case, frame))
    return None


def _place(case: Case, frame: Frame) -> str:
    """Where the line stands in a file that was read, else as the traceback says."""
    text = frame.text.strip()
    lines = [line for line in file_lines(case.capture.surroundings) if line.text.strip() == text]
    return lines[0].place if len(lines) == 1 else frame.place


def one_by_one(case: Case, found: Collected) -> Iterator[Remedy]:
    """What keeps one result at a time."""
    loop = _only_loop(case, found)
    if loop and (code := _without_list(found)):
        yield Remedy(
            f"take the results one by one: {loop} reads each of `{found.name}` once, so no list is needed;"
            " keep nothing but numbers of each",
            code,
            slug="one-result-at-a-time",
        )
        return
    yield Remedy(
        f"go through the results of `{found.call}` one by one, and keep of each only what you want in the end"
        " (a score, a label), or write them to files in parts",
        f"for p in {found.call}(...): ...   # in the place of {found.place}"
        if found.call.endswith(".predict")
        else "for feed in feeds: total += sess.run(y, feed).mean()   # no list of arrays",
        slug="one-result-at-a-time",
    )


def _without_list(found: Collected) -> str | None:
    """The line itself, which leaves the results where they are made."""
    match = re.match(r"\s*(?P<name>[\w.]+\s*=\s*)(?:list|tuple)\((?P<rest>.*)\)\s*\Z", found.frame.text)
    balanced = match is not None and match["rest"].count("(") == match["rest"].count(")")
    return f"{match['name']}{match['rest']}   # {found.place}" if match and balanced else None


def _only_loop(case: Case, found: Collected) -> str:
    """Where the one loop stands that reads a name, if nothing else does."""
    if not found.name:
        return ""
    word = rf"(?<![\w.]){re.escape(found.name)}(?!\w|\s*=[^=])"
    lines = [line for line in file_lines(case.capture.surroundings) if re.search(word, line.text)]
    lines = [line for line in lines if collects_results(line.text) is None]
    once = rf"\bfor\s+[\w, ()]+\s+in\s+(?:enumerate\(\s*)?{re.escape(found.name)}\s*\)?\s*:"
    places = {line.place for line in lines}
    looped = len(places) == 1 and all(re.search(once, line.text) for line in lines)
    return places.pop() if looped else ""
