"""The tables that memory_profiler prints: what host RAM a process had after each line of a function.

The first row is the function's own, with all that the process had before. Where a line runs in a loop, its
increments are added up.
"""

from __future__ import annotations

from tfmemlens.model.capture import ProfiledLine
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.readers.oom.rules import LineRule
from tfmemlens.units import GIB, MIB

HEAD = LineRule(
    r"\bLine # +Mem usage +Increment(?: +Occurrences)? +Line Contents",
    "Line #    Mem usage    Increment  Occurrences   Line Contents",
    "Line #    Mem usage    Increment   Line Contents",
    needs="Mem usage",
)
_ROW = regex(
    r"\A\s*\d{1,6}\s+(?P<used>\d+(?:\.\d+)?) ?(?P<unit>[MG])iB\s+(?:->)?(?P<more>-?\d+(?:\.\d+)?) ?[MG]iB"
    r"(?:\s+(?P<times>\d{1,9})(?=\s{2,}))?\s{2,}(?P<code>\S.*)\Z"
)
_OTHER = regex(r"\A\s*(?:\d{1,6}(?:\s{2,}\S.*)?|=+)?\s*\Z")
"""A line of the function that was not run, or the rule below the head."""
_UNITS = {"M": MIB, "G": GIB}
_KEEP, _LONGEST = 400, 400


class LineProfile:
    """Collects the rows below each head, without the first, which adds nothing."""

    def __init__(self) -> None:
        self.rows: list[ProfiledLine] = []
        self._in_table = self._at_first = False

    def observe(self, line: Line) -> None:
        """Note a row."""
        text = line.text
        if HEAD.search(text):
            self._in_table = self._at_first = True
            return
        if not self._in_table:
            return
        match = _ROW.match(text[:_LONGEST])
        if match is None:
            self._in_table = bool(_OTHER.match(text[:_LONGEST]))
            return
        if not self._at_first and len(self.rows) < _KEEP:
            unit = _UNITS[match["unit"]]
            self.rows.append(
                ProfiledLine(
                    round(float(match["used"]) * unit),
                    round(float(match["more"]) * unit),
                    int(match["times"] or 1),
                    match["code"].strip(),
                    line,
                )
            )
        self._at_first = False
