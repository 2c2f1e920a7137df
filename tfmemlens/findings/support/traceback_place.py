"""Where a traceback leads, of a text that quotes no message of memory below it."""

from __future__ import annotations

import re

from tfmemlens.model.capture import EVALUATION_FRAME, LIBRARY_FRAME, OWN_FRAME, SCRIPT_FRAME, Surroundings
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

_FRAME = regex(
    r"\bFile \"(?:[^\"\n]*/)?(?P<file>[^\"\n/]{1,80})\", line (?P<number>\d+), in (?P<name>\S{0,60})"
)


_NODE = regex(r"(?:Detected at node '?|\[\[\{\{node )([\w/.-]{1,400})")
_STARTS_CELLS = regex(r"[/\\](?:ipykernel|tornado|zmq|traitlets|IPython)[/\\]|[/\\]runpy\.py\b")
_ARROW = regex(r"\s*-{2,}> ?\d{1,5} +(?P<code>\S.*)")
_LONGEST_CODE, _LONGEST_ERROR = 60, 110


def _at_most(text: str, most: int = _LONGEST_CODE) -> str:
    text = text.strip()
    return text if len(text) <= most else f"{text[:most]}\u2026"


def of_the_node(told: Surroundings) -> str:
    """The op that a message names whose other lines are not here."""
    node = told.shows("naming a node")
    detected = _NODE.search(node.text) if node else None
    if node is None or detected is None:
        return ""
    name = detected[1]
    copy = ", a copy that TensorFlow's layout pass added" if "LayoutOptimizer" in name else ""
    return f"; it was detected at the node `{_at_most(name)}` ({node.place}){copy}"


_CAUSED = regex(r"Caused by op u?'(?P<node>[^'\n]{1,400})'")


def of_the_op(told: Surroundings) -> str:
    """The op that failed, of TensorFlow 1, whose message is not here; and whether it is a weight's first
    value, for which no step has run.
    """
    line = told.shows("naming the op that failed")
    match = _CAUSED.search(line.text) if line else None
    if line is None or match is None:
        return ""
    first = told.shows("the first value of a weight")
    what = ", a weight's first value: no batch has a part in that" if first == line else ""
    return f"; the op that failed is `{_at_most(match['node'])}` ({line.place}){what}"


def of_the_traceback(told: Surroundings, deepest: bool = False) -> str:
    """Where a traceback leads whose exception is not here: in the file that it begins in, and the program's
    last frame behind it, else a library's. A frame that evaluates goes before what it calls, unless the
    deepest is wanted.
    """
    if node := of_the_node(told):
        return node
    evaluates = None if deepest else told.shows(EVALUATION_FRAME)
    line = evaluates or told.shows(OWN_FRAME) or told.shows(LIBRARY_FRAME)
    if line and _STARTS_CELLS.search(line.text):
        return ""  # what runs a notebook's cells is the place of nothing
    arrow = _ARROW.match(line.text) if line else None
    if line and arrow:
        return f"; a traceback leads to `{_at_most(arrow['code'])}` ({line.place})"
    match = _FRAME.search(line.text) if line else None
    if line is None or match is None:
        return ""
    script = told.shows(SCRIPT_FRAME)
    over = _FRAME.search(script.text) if script and script.number < line.number else None
    first = f"{_as_a_place(over)}, and to " if over and over["file"] != match["file"] else ""
    return f"; a traceback leads to {first}{_as_a_place(match)} ({line.place}){_of_an_evaluation(told, line)}"


def _of_an_evaluation(told: Surroundings, line: Line) -> str:
    """That the frame evaluates, or one above it."""
    evaluates = told.shows(EVALUATION_FRAME)
    above = _FRAME.search(evaluates.text) if evaluates else None
    if evaluates == line:
        return ", an evaluation"
    return f", called in an evaluation, `{above['name']}`" if above else ""


def another_error(told: Surroundings) -> Line | None:
    """The error that ends the traceback of the text, where it is of another kind than a lack of memory."""
    raised, frame = told.raised, told.shows(OWN_FRAME) or told.shows(LIBRARY_FRAME)
    if raised is None:
        return None
    ends = frame is not None and raised.source == frame.source and raised.number >= frame.number
    if not ends and not _OF_AN_OP.search(raised.text):
        return None
    return None if _MAY_BE_MEMORY.search(raised.text) or not _SAYS_WHAT.search(raised.text) else raised


_MAY_BE_MEMORY = regex(
    r"(?i)memory|alloc|\bOOM|exhaust|resource|\bkill|\bsignal|\bSIG[A-Z]{3,4}\b|\bexit|\bdied\b|interrupt"
    r"|unavailable|aborted|closed|cancel"
)
"""An error with one of these may tell of a lack of memory, or of a process that ended for one."""
_SAYS_WHAT = regex(r"(?:Error|Exception)(?: \(see above for traceback\))?: \S.{8}")
_OF_AN_OP = regex(r"Error \(see above for traceback\): ")
"""How TensorFlow 1 ends a run at an op that failed, whose frames may be left out."""


def _as_a_place(frame: re.Match[str]) -> str:
    name = f" in `{frame['name']}`" if not frame["name"].startswith(("<", "...")) and frame["name"] else ""
    return f"{frame['file']}:{frame['number']}{name}"


def in_short(error: Line, most: int = _LONGEST_ERROR) -> str:
    """The error, cut where it is long."""
    return _at_most(error.text, most)


def of_a_cut_traceback(told: Surroundings) -> str:
    """Where a traceback leads whose end was not pasted, and that it was not."""
    own = told.shows(OWN_FRAME)
    place = of_the_traceback(told) if own else ""
    return f"{place}, and its end, which names the error, is not in the text" if place else ""
