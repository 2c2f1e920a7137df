"""The program itself turns its maps from one memory layout to the other and back.

What it means: a model that was written for channels first, such as one ported from PyTorch, transposes a map
before a convolution that wants channels last, and transposes the result back. Each turn writes a copy of the
whole map, and in training those that the backward pass needs stay. TensorFlow's own copies have names of
their own, and a rule of their own.
When it fires: the program transposes both ways, and a map of four or five dimensions failed: in the transpose
itself, or beside at least three of the same size; or eight and more chunks of one size, of a MiB at least,
hold half of what is in use.
What to do: stay in one layout from the input on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.findings.support.rows import alike, all_in_use, attributed, requests, tensor_text
from tfmemlens.findings.support.situation import TENSORFLOW, framework_of, situation
from tfmemlens.knowledge.device_names import GPU
from tfmemlens.model.allocation import Allocation
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import MIB, human

BASIS = Basis.NAME
EXPLAINS = "the failing copy; else half of the maps of its size"

_CALL = r"\b(?:transpose\([^#]{0,80}?|Permute\(\s*(?:dims\s*=\s*)?)[\[(]\s*"
_TO_FIRST = regex(_CALL + r"(?:0\s*,\s*)?(?:3\s*,\s*1\s*,\s*2|4\s*,\s*1\s*,\s*2\s*,\s*3)\s*[\])]")
_TO_LAST = regex(_CALL + r"(?:0\s*,\s*)?2\s*,\s*3\s*,(?:\s*4\s*,)?\s*1\s*[\])]")
_TURNS = regex(r"(?i)(?:\A|/)(?:transpose|permute)(?:_\d+)?(?:/|\Z)")
_LEAST_ALIKE, _LEAST_MAPS = 4, 8


def check(case: Case) -> Iterator[Finding]:
    if framework_of(case) != TENSORFLOW:
        return
    for index, moment, request in list(requests(case))[:1]:
        need = request.failed.tensor_bytes
        if not need or request.fixed or len(request.failed.shape or ()) not in (3, 4, 5):
            continue
        turns = _turns(code_lines(case.capture.surroundings))
        if turns is None:
            continue
        map_ = len(request.failed.shape or ()) > 3
        failing = map_ and bool(_TURNS.search(request.failed.node or "") or request.failed.op == "Transpose")
        same = alike(moment) if map_ and not attributed(moment) else 0
        many = None if failing or same >= _LEAST_ALIKE * need else _most(moment)
        if not failing and same < _LEAST_ALIKE * need and many is None:
            continue
        places = _places(turns)
        what = f"the program turns its maps to channels first and back ({places})"
        because = f"{what}, and each turn writes a copy of the whole map, here {human(need)}"
        if many:
            same = many.total_bytes
            because = (
                f"{what}, and each turn writes a copy of the whole map; most likely the {many.count} blocks"
                f" of {human(many.size_bytes)} in use are maps of these layers"
            )
        yield Finding(
            severity=Severity.CAUSE,
            headline=because,
            because=because,
            explains=need if failing else same // 2,
            basis=Basis.SHAPE if failing else Basis.NAME,
            evidence=(
                *(Evidence("a turn", line) for line in turns),
                Evidence(f"requested: {tensor_text(moment)}", request.failed.line),
            ),
            remedies=tuple(_remedies(case, moment, request)),
            moment=index,
            of_code=True,
        )


def _most(moment: Moment) -> Allocation | None:
    """Chunks of one size that hold most of what is in use: maps of layers that are alike."""
    if attributed(moment):
        return None
    most = max(moment.attribution.table, key=lambda row: row.total_bytes, default=None)
    if most is None or most.count < _LEAST_MAPS or most.size_bytes < MIB:
        return None
    return most if 2 * most.total_bytes >= all_in_use(moment) else None


def _turns(code: Sequence[Line]) -> tuple[Line, Line] | None:
    """A line for each way, where the program has both."""
    first, last = _shown_by(code, _TO_FIRST), _shown_by(code, _TO_LAST)
    return (first, last) if first and last else None


def _shown_by(code: Sequence[Line], way: re.Pattern[str]) -> Line | None:
    """The first line that turns this way, one of the program's file before what a traceback quotes of it."""
    return min(
        (line for line in code if way.search(line.text)), key=lambda line: not line.source, default=None
    )


def _places(turns: tuple[Line, Line]) -> str:
    """`lines 11 and 15 of net.py`, where both stand in one file."""
    one, other = sorted(turns, key=lambda line: line.number)
    if one.number == other.number or one.source != other.source:
        return one.place if one.number == other.number else f"{one.place} and {other.place}"
    of_file = f" of {one.source}" if one.source else ""
    return f"lines {one.number} and {other.number}{of_file}"


def _remedies(case: Case, moment: Moment, request: Request) -> Iterator[Remedy]:
    yield Remedy(
        "stay in one layout: let every layer work on channels last (reduce over the axes 1 and 2); where the"
        " data come with channels first, turn the input once, and the result back at the end if need be",
        slug="one-layout",
    )
    if situation(case, moment).device == GPU and len(request.failed.shape or ()) == 4:
        yield Remedy(
            "or give the convolutions data_format='channels_first', which a GPU computes without any turn",
            "tf.keras.layers.Conv2D(64, 3, data_format='channels_first')",
            slug="channels-first",
        )
