"""A line of the program that makes the sparse gradient of a table dense: `tf.convert_to_tensor(g)`."""

from __future__ import annotations

from tfmemlens.knowledge.stack_frames import user_frame
from tfmemlens.model.case import Case, Request
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

_MAKES_DENSE = regex(
    r"\bconvert_to_tensor\(\s*(?:grads?|gradients?|[a-z]\w{0,20})(?:\[\w{1,20}\])?\s*[,)]"
    r"|\bif isinstance\(\w{1,20}, (?:tf\.)?IndexedSlices\)"
)
_LEAST_ROWS = 5000


def dense_by_hand(case: Case, request: Request) -> tuple[str, Line] | None:
    """The user's line on the way to a matrix as large as a table of the program, and the line of that table;
    None of another line, or where the program takes no gradients. Trees are read only for such a line.
    """
    failed = request.failed
    shape = failed.shape or ()
    if len(shape) != 2 or (shape[0] or 0) < _LEAST_ROWS or failed.creating:
        return None
    texts = [failed.source_text or "", *(each.text for each in failed.frames if user_frame(each.place))]
    text = next((each.strip() for each in texts if _MAKES_DENSE.search(each)), None)
    program = case.capture.surroundings.program() if text else None
    if not text or not program:
        return None
    from tfmemlens.knowledge.program_shapes import made_by

    tables = {each.line for each in made_by(program) if each.role.name == "TABLE" and each.shape == shape}
    taken = any("gradient" in line.text for each in program for line in each.lines)
    return (text, tables.pop()) if len(tables) == 1 and taken else None
