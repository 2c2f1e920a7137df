"""A loop over time runs under one tape, which keeps what every iteration made.

What it means: `for t in range(T): state = cell(x[:, t], state)` inside a tape is an unrolled recurrent net:
all of its turns stay alive until the gradient is taken, and memory grows with T. The turn that fails asks for
little. The same holds for a loop over items in a loss that is written by hand.
When it fires: the text quotes such code, an op of TensorFlow's failed for less than a tenth of what was in
use (or for 64 MiB, where that is not known), and no list names who held the memory. Of a loop whose turns do
not go on from each other, only where the failing line stands in it.
What to do: take the gradient of shorter pieces and stop it between them, or compute turns again; of items,
compute all of them with a few ops instead of a loop.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.kept import TRUNCATE, loop_of_a_tape
from tfmemlens.findings.support.many_alike import many_alike
from tfmemlens.findings.support.rows import attributed, on_host, requests
from tfmemlens.findings.support.situation import TENSORFLOW, framework_of
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import RequestKind
from tfmemlens.model.line import Line
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
    for index, moment, request in list(requests(case))[:1]:
        trains = request.failed.kind is RequestKind.TENSOR and not request.failed.pipeline
        if framework_of(case) != TENSORFLOW or attributed(moment):
            continue
        if on_host(moment) and not trains:
            continue
        in_use, need = moment.balance.in_use, request.needed_bytes
        if need is None or need > (_SMALL_PART * in_use.bytes if in_use else _SMALL_BYTES):
            if need is not None and (several := _calls_models(case, request)):
                yield _of_calls(case, index, moment, *several)
            continue
        over_time = case.capture.surroundings.over_time
        shown = over_time or _around(case, request.failed.source_text)
        if shown is None:
            continue
        tape, loop = shown
        match = _TURNS.search(loop.text)
        many = "each iteration"
        if match and match["turns"].isdecimal():
            many = f"each of the {match['turns']} iterations"
        what = (
            f"the tape of {tape.place} keeps what {many} of the loop in {loop.place}"
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
                *((TRUNCATE,) if over_time else (_WITHOUT_THE_LOOP, _OWN_GRADIENT)),
                *(remedies.offered(case, moment, "smaller-batch", "recompute") if over_time else ()),
            ),
            moment=index,
            rules_out=() if over_time else ("smaller-input", "smaller-batch"),
        )


def _calls_models(case: Case, request: Request) -> tuple[Line, Line, Line] | None:
    """The tape, the loop under it, and the line of its turns that calls a model in training; None without."""
    taped = loop_of_a_tape(case, request)
    if taped is None:
        return None
    turns = (line for line in _turn(case.capture.surroundings, taped.loop) if _IN_TRAINING.search(line.text))
    line = next(turns, None)
    return (taped.tape, taped.loop, line) if line else None


_IN_TRAINING = regex(r"\w\([^#\n]{0,120}\btraining\s*=\s*True\b")


def _of_calls(case: Case, index: int, moment: Moment, tape: Line, loop: Line, call: Line) -> Finding:
    """Each turn calls a model: the tape holds the activations of all calls at once, whatever one takes."""
    what = (
        f"the loop of {loop.place} calls a model in each turn ({call.place}), and the tape of {tape.place}"
        " keeps the activations of all turns until the gradient is taken"
    )
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        evidence=(Evidence("the tape", tape), Evidence("the call in each turn", call)),
        remedies=(_EACH_CALL_AGAIN, *remedies.offered(case, moment, "smaller-batch")),
        moment=index,
    )


_EACH_CALL_AGAIN = Remedy(
    "let the backward pass compute each call again: the tape then keeps what goes into a call, and one"
    " call's activations at a time; or, where the loss is a sum over the turns, take each turn's gradient"
    " with a tape"
    " of its own, and add them up",
    "out = tf.recompute_grad(lambda p: model(p, training=True))(part)",
    slug="own-gradient",
)
_WITHOUT_THE_LOOP = Remedy(
    "compute the items with a few ops instead of a loop: where all at once is too large, a block of rows at a"
    " time, each with a tape of its own whose gradients are added up",
    "with tf.GradientTape() as tape: part = loss(x, x[i:i + 256])",
    slug="in-blocks",
)
_OWN_GRADIENT = Remedy(
    "or let the backward pass compute each turn again: the tape then keeps what goes into a turn, and nothing"
    " that it makes; or give the whole loop a gradient of its own (tf.custom_gradient)",
    "turn = tf.recompute_grad(turn)   # what one turn computes, as a function",
    slug="own-gradient",
)


def _around(case: Case, failing: str | None) -> tuple[Line, Line] | None:
    """A tape and a loop under it in which the failing line stands, by its text: quoted code and a traceback
    number their lines differently.
    """
    told = case.capture.surroundings
    if not failing or not any("GradientTape(" in line.text for line in told.code):
        return None
    from tfmemlens.findings.support.taped_loop import taped_loop  # reads trees

    found = taped_loop(told.program())
    if found is None or not any(line.text.strip() == failing.strip() for line in _turn(told, found.loop)):
        return None
    return found.tape, found.loop


def _turn(told: Surroundings, loop: Line) -> Iterator[Line]:
    """The lines of a loop's body."""
    outer = _indent(loop)
    for line in told.code:
        if line.source == loop.source and line.number > loop.number:
            if _indent(line) <= outer:
                return
            yield line


def _indent(line: Line) -> int:
    return len(line.text) - len(line.text.lstrip())


def _of_many_turns(moment: Moment) -> tuple[int | None, str]:
    """What blocks take of which there are as many as turns, and that in words; nothing where it is little."""
    kept, told = many_alike(moment, _MANY)
    in_use = moment.balance.in_use
    much = told and in_use and kept >= _GOOD_PART * in_use.bytes
    return (kept, f" ({told})") if much else (None, "")
