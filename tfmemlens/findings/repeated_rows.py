"""The program repeats its rows before the network sees them.

What it means: `tf.repeat(x, samples, axis=0)` draws many samples of each row by dropout, follows many beams
of each sentence, or looks at many versions of each picture. Every layer's output then has so many times the
rows of the program's own batch, and whoever reads the batch in the settings does not see them.
When it fires: a call repeats or tiles the first axis of an array by a setting of the program, and the first
side of the tensor that failed is this number times another setting's.
What to do: where no gradient goes through them, take the repetitions one after the other, or fewer rows
at once: the results are the same. Where one does, fewer repetitions, or a gradient of each part, added up.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.on_the_way import on_the_way
from tfmemlens.findings.support.phase import other_than_training, runs_forward_alone
from tfmemlens.findings.support.rows import Row, requests, rows, tensor_text, total
from tfmemlens.findings.support.rows_by_repetition import RepeatedRows, Repetition, repeated_rows
from tfmemlens.findings.support.situation import TENSORFLOW, framework_of
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.what_if import Shrunk
from tfmemlens.patterns import regex
from tfmemlens.units import MIB
from tfmemlens.values import replace

BASIS = Basis.SHAPE
EXPLAINS = "the failing tensor, and blocks in use whose size is a multiple of its rows"

_LEAST_BLOCK = MIB
_ITEM = 4
"""Bytes of a number, as nets have them."""
_PARTS = 4
"""Into so many the rows are cut that stay after a loop over repetitions cannot help."""
_BEAMS = regex(r"(?i)beam|hypothes")


def check(case: Case) -> Iterator[Finding]:
    if framework_of(case) != TENSORFLOW:
        return
    for index, moment, request in list(requests(case))[:1]:
        found = repeated_rows(case, request)
        if found is None or on_the_way(case, moment, request):
            continue  # large-on-the-way tells it where a network reads the copies alone
        repeat = found.repeat
        forward = other_than_training(case, request) or runs_forward_alone(case, request)
        graded = not (forward or _BEAMS.search(repeat.name))
        positions = f", of {found.positions:,} positions each" if found.positions > 1 else ""
        what = (
            f"`{repeat.called}` ({repeat.line.place}) makes {found.each:,} rows{_named(found)} into"
            f" {found.rows // found.positions:,}{positions}: {_times(repeat)}, and what the network makes of"
            " them is so many times as large"
        )
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=what,
            explains=(request.needed_bytes or 0) + _held(moment, found.rows),
            evidence=(
                Evidence(f"requested: {tensor_text(moment)}", request.failed.line),
                Evidence("what repeats the rows", repeat.line),
                Evidence(_times(repeat), repeat.set_at),
            ),
            remedies=tuple(_remedies(case, request, found, graded)),
            moment=index,
            rules_out=("smaller-batch", "smaller-prediction-batch", "batch-for-the-block"),
        )


def _named(found: RepeatedRows) -> str:
    """The setting that the rows are by, in brackets."""
    return f" (`{found.of_name}`)" if found.of_name else ""


def _times(repeat: Repetition) -> str:
    return f"`{repeat.name}` is {repeat.times}" if repeat.name else f"each {repeat.times} times"


def _held(moment: Moment, rows_of: int) -> int:
    """Bytes of blocks in use that may hold so many rows each."""
    return total(rows(moment, lambda row: _may_be(row, rows_of)))


def _may_be(row: Row, rows_of: int) -> bool:
    size = row.allocation.size_bytes
    return row.allocation.node is None and size >= _LEAST_BLOCK and size % (_ITEM * rows_of) == 0


def _remedies(case: Case, request: Request, found: RepeatedRows, graded: bool) -> Iterator[Remedy]:
    repeat, need = found.repeat, request.needed_bytes
    if graded:
        half = max(repeat.times // 2, 1)
        what = f"`{repeat.name}`" if repeat.name else "the number of repetitions"
        text = f"lower {what} ({repeat.set_at.place}: {repeat.times} -> {half})"
        yield remedies.of_tensor(case, text, Shrunk("fewer-repetitions", need, repeat.times, half))
        yield Remedy(
            "or take the gradient for some of the repetitions at a time, and add the gradients up: the tape"
            " of one part is gone before the next, where the loss is a sum or a mean over them",
            slug="tape-per-part",
        )
        return
    fewer = max(found.each // _PARTS, 1)
    rows_at_once = Remedy(
        f"take fewer rows at once, each result is the same: {found.each:,} -> {fewer:,}{_named(found)}:"
        " all that is made of them shrinks alike",
        slug="fewer-rows-at-once",
    )
    if _BEAMS.search(repeat.name):
        yield rows_at_once
        yield Remedy(
            f"or compute what all {repeat.times} share once for each row, and let it be broadcast: the"
            " encoder's outputs, and the keys and values that are made of them",
            "scores = tf.einsum('bkhd,bthd->bkht', q, k)   # q: [rows, beam, ...], k without a beam",
            slug="broadcast-instead",
        )
        yield Remedy(f"or lower `{repeat.name}` ({repeat.set_at.place})", slug="fewer-repetitions")
        return
    one = remedies.of_tensor(
        case,
        f"take the {repeat.times} repetitions one after the other, and keep only what comes out",
        Shrunk("one-repetition-at-a-time", need, repeat.times, 1),
    )
    code = (
        f"y = tf.stack([model(x, ...) for _ in range({repeat.times})], axis=1)   # x without {repeat.called}"
    )
    yield replace(one, code=code)
    yield replace(rows_at_once, text=f"or {rows_at_once.text}")
