"""A loop over time runs under one tape, which keeps what every iteration made.

What it means: `for t in range(T): state = cell(x[:, t], state)` inside a tape is an unrolled recurrent net:
all of its turns stay alive until the gradient is taken, and memory grows with T. The turn that fails asks for
little.
When it fires: the text quotes such code, an op of TensorFlow's failed for less than a tenth of what was in
use (or for 64 MiB, where that is not known), and no list names who held the memory.
What to do: take the gradient of shorter pieces and stop it between them, or compute turns again.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.kept import TRUNCATE
from tfmemlens.findings.support.many_alike import many_alike
from tfmemlens.findings.support.rows import attributed, on_host, requests
from tfmemlens.findings.support.situation import TENSORFLOW, framework_of
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Basis, Evidence, Finding, Severity
from tfmemlens.model.incident import RequestKind
from tfmemlens.patterns import regex
from tfmemlens.units import MIB

BASIS = Basis.NAME
EXPLAINS = (
    "blocks of equal size of which very many are held; else no bytes: how many turns were kept, nobody tells"
)

_SMALL_BYTES, _SMALL_PART = 64 * MIB, 0.1
_MANY, _GOOD_PART = 50, 0.25
"""Blocks of one size, one and more of each turn; of what is in use."""
_TURNS = regex(r"range\(\s*(?:\d+\s*,\s*)?(?P<turns>[\w.]{1,40})")


def check(case: Case) -> Iterator[Finding]:
    shown = case.capture.surroundings.over_time
    for index, moment, request in list(requests(case))[:1]:
        trains = request.failed.kind is RequestKind.TENSOR and not request.failed.pipeline
        if shown is None or framework_of(case) != TENSORFLOW or attributed(moment):
            continue
        if on_host(moment) and not trains:
            continue
        in_use, need = moment.balance.in_use, request.needed_bytes
        if need is None or need > (_SMALL_PART * in_use.bytes if in_use else _SMALL_BYTES):
            continue
        tape, loop = shown
        match = _TURNS.search(loop.text)
        many = f"{match['turns']} iterations" if match and match["turns"].isdecimal() else "iterations"
        what = (
            f"the tape of {tape.place} keeps what each of the {many} of the loop in {loop.place}"
            " makes, until the gradient is taken"
        )
        kept, blocks = _of_many_turns(moment)
        yield Finding(
            severity=Severity.CAUSE,
            headline=what + blocks,
            because=what + blocks,
            explains=kept,
            basis=Basis.SHAPE if kept else None,
            evidence=(Evidence("the tape", tape), Evidence("the loop inside it", loop)),
            remedies=(
                TRUNCATE,
                *remedies.offered(case, moment, "smaller-batch", "recompute"),
            ),
            moment=index,
        )


def _of_many_turns(moment: Moment) -> tuple[int | None, str]:
    """What blocks take of which there are as many as turns, and that in words; nothing where it is little."""
    kept, told = many_alike(moment, _MANY)
    in_use = moment.balance.in_use
    much = told and in_use and kept >= _GOOD_PART * in_use.bytes
    return (kept, f" ({told})") if much else (None, "")
