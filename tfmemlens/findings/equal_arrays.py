"""Many arrays of one shape are alive at once, as the program's own print of them shows.

What it means: a table of weights exists once, and with Adam's moments three times. Six of one shape are two
states: one that is trained, and one that a cell or a function made before and something still holds.
When it fires: a JAX program printed its live arrays (shape, dtype, bytes), four or more lines are the same,
and these arrays take half of what was asked for or more.
What to do: let go of the old state before a new one is made; run the notebook's cells once after a restart.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from tfmemlens.findings.support.rows import on_host, requests
from tfmemlens.findings.support.situation import JAX, framework_of
from tfmemlens.model.capture import StatedSize
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.tensor import format_shape
from tfmemlens.patterns import regex
from tfmemlens.units import human

BASIS = Basis.MEASURED
EXPLAINS = "the arrays of the shape"

_LEAST_COUNT = 4
_OF_A_STATE = 3
"""A weight, and Adam's two moments of it."""
_ITEM_BYTES = {"float64": 8, "int64": 8, "float32": 4, "int32": 4, "bfloat16": 2, "float16": 2, "uint8": 1}
_DTYPE = regex(r"\b(?:b?float(?:16|32|64)|u?int(?:8|32|64))\b")
_FIGURE = regex(r"(?<![\w.])\d[\d,_]{3,}(?![\w.])")


def check(case: Case) -> Iterator[Finding]:
    if framework_of(case) != JAX:
        return
    shown = [(each, size) for each in case.capture.surroundings.sizes if (size := _bytes(each))]
    counted = Counter(each.line.text.strip() for each, _ in shown)
    for index, moment, request in list(requests(case))[:1]:
        alike = [each for each in shown if counted[each[0].line.text.strip()] >= _LEAST_COUNT]
        if not alike or on_host(moment):
            continue
        first, size = max(alike, key=lambda each: each[1] * counted[each[0].line.text.strip()])
        many = counted[first.line.text.strip()]
        if many * size < (request.needed_bytes or 0) / 2:
            continue
        states, rest = divmod(many, _OF_A_STATE)
        of = f": as many as of {states} states, each with Adam's two moments" if not rest else ""
        because = f"{many} arrays of {format_shape(first.sizes)} are alive, {human(many * size)} together{of}"
        yield Finding(
            severity=Severity.CAUSE,
            headline=because,
            because=because,
            explains=many * size,
            evidence=(Evidence(f"one of {many} lines that are alike", first.line),),
            remedies=(
                Remedy(
                    "let go of the old state before the new one is made; of a notebook: restart it, and run"
                    " each cell once",
                    "del state   # then: state = create_state(key)",
                    slug="drop-references",
                ),
            ),
            moment=index,
        )


def _bytes(stated: StatedSize) -> int | None:
    """The bytes that a line states behind a shape and its dtype; None of a line that states none."""
    dtype = _DTYPE.search(stated.line.text)
    size = math.prod(stated.sizes) * _ITEM_BYTES.get(dtype[0], 0) if dtype else 0
    figures = (int(each.replace(",", "").replace("_", "")) for each in _FIGURE.findall(stated.line.text))
    return size if size and size in figures else None
