"""`The caller indicates that this is not a failure`: TensorFlow did without.

What it means: cuDNN offered an algorithm that wanted a big workspace; it could not be had, and a slower one
with less was taken. The line is printed at most ten times per process. It is no cause of a crash.
When it fires: the log has such lines. Without a real failure, or an error behind them, they
are the whole story; beside one they are a hint that memory was scarce.
What to do: nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.last_line import ended_after, helps, speaks_of_memory
from tfmemlens.findings.support.remedies import FIND_THE_NAN
from tfmemlens.findings.support.situation import framework_name
from tfmemlens.findings.support.traceback_place import in_short
from tfmemlens.findings.support.unseen_end import unseen_end
from tfmemlens.model.capture import SoftWarning, Surroundings
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import human_size, parse_size

BASIS = Basis.FIGURES
EXPLAINS = "no bytes"


def check(case: Case) -> Iterator[Finding]:
    told = case.capture.surroundings
    soft = warnings_of(told)
    if not soft:
        return
    largest = max(soft, key=lambda warning: warning.size.bytes)
    alone = not (case.moments or told.elsewhere or told.foreign or told.without_figures)
    text = (
        f"{len(soft)} warning{'s' if len(soft) > 1 else ''} that an allocation failed harmlessly, the largest"
        f" for {human_size(largest.size)}"
    )
    helps = told.shows("a smaller batch helps") if alone else None
    if helps:
        yield _of_a_batch(text, largest.line, helps)
        return
    if alone and (end := ended_after(told, soft[-1].line)):
        yield _ended(text, largest.line, *end)
        return
    nan = told.shows("no number") if alone else None
    other = f"; that the loss is nan ({nan.place}) has another cause than memory" if nan else ""
    empty = empty_result(told) if alone and not nan else None
    if empty:
        other = (
            f"; that nothing is found in the input ({empty.place}) most likely has another cause than memory"
        )
    whole = f"{text}: no failure, {framework_name(case)} chose a slower plan with less workspace{other}"
    helping = (FIND_THE_NAN,) if nan else ()
    if empty:
        helping = (_SEE_THE_SCORES,)
    going = _goes_on(told) if alone else None
    unseen = unseen_end(told) if alone and not (nan or empty or going) else None
    if unseen:
        whole = (
            f"no message of a failure is in this text: {text}, for which {framework_name(case)} chose a"
            f" slower plan, which ends no run; {unseen.words}"
        )
        helping = (unseen.remedy,)
    if going and not nan:
        whole += f", and the program goes on ({going.place})"
    yield Finding(
        severity=Severity.FACTOR if alone and (nan or not going) else Severity.NOTE,
        headline=whole if alone else text,
        evidence=(
            Evidence("the largest of them", largest.line),
            *((Evidence("the loss is no number", nan),) if nan else ()),
            *((Evidence("nothing is found", empty),) if empty else ()),
            *((Evidence("its end", unseen.line),) if unseen else ()),
            *((Evidence("it goes on", going),) if going and not nan else ()),
        ),
        remedies=helping,
    )


_SEE_THE_SCORES = Remedy(
    "ignore the warning, and look at the scores: where all are below the threshold the model is trained too"
    " little, or with other labels or input; where there are none, see how the program ended",
    "print(scores.max(), labels)   # then: min_score_thresh=0.2; echo $? after it",
    slug="see-the-scores",
)


def empty_result(told: Surroundings) -> Line | None:
    """The line that says that a model found nothing, where no word says that the program ended by force."""
    ends = ("ended in words", "killed in words", "raising an exception", "a smaller batch helps")
    if told.raised or told.kernel_died or any(map(told.shows, ends)):
        return None
    return told.shows("an empty result")


_SIZE = regex(
    r"(?i)(?:trying to allocate |\bGPU_\d{1,2}_bfc\)[^\n]{0,90}?)(?P<size>\d[\d.]{0,8})"
    r" ?(?P<unit>[KMGT]i?B)\b"
)


def warnings_of(told: Surroundings) -> tuple[SoftWarning, ...]:
    """The warnings of a log, or the one that a sentence quotes."""
    return told.soft_warnings or _quoted(told)


def _quoted(told: Surroundings) -> tuple[SoftWarning, ...]:
    """The warning that a sentence quotes."""
    line = told.shows("a warning quoted")
    match = _SIZE.search(line.text) if line else None
    if line is None or match is None:
        return ()
    return (SoftWarning(parse_size(f"{match['size']}{match['unit'][0].upper()}iB"), "", line),)


_MAY_BE_OF_MEMORY = regex(r"\bXlaRuntimeError\b|\bInternalError\b|\b(?:INTERNAL|UNKNOWN):")
"""Errors of the framework's own, which a trial without room may end in: what to mend they do not say."""


def _ended(text: str, warning: Line, who: str, end: Line) -> Finding:
    """The program ended in an error after them, which they do not tell of."""
    says = "it speaks of memory" if speaks_of_memory(end) else "it says nothing of memory"
    return Finding(
        severity=Severity.NOTE,
        headline=(
            f"no out-of-memory message was found, and the program ended in an error of {who}:"
            f" `{in_short(end)}` ({end.place}); {says}. Before it stand {text}"
        ),
        evidence=(Evidence("its end", end), Evidence("the largest warning", warning)),
        remedies=() if _MAY_BE_OF_MEMORY.search(end.text) else helps(who, end),
    )


def _goes_on(told: Surroundings) -> Line | None:
    """The line that says that the program goes on, or that shows steps or epochs after the last warning."""
    if told.shows("ended in words"):
        return None
    last = (told.soft_warnings or _quoted(told))[-1].line
    later = (line for _, line in told.steps if line.source == last.source and line.number > last.number)
    return told.shows("going on in words") or next(later, None)


def _of_a_batch(text: str, warning: Line, helps: Line) -> Finding:
    """The text says that a smaller batch ends what it calls the error: then there was one besides."""
    what = (
        f"{text}; but {helps.place} says that a smaller batch helps, so the step most likely needs more than"
        " the GPU has, and the message of the failure is not here"
    )
    return Finding(
        severity=Severity.FACTOR,
        headline=what,
        evidence=(Evidence("the largest of them", warning), Evidence("a smaller batch helps", helps)),
        remedies=(
            Remedy(
                "keep the smaller batch; gradient accumulation (one update for several batches) has the"
                " effect of the larger one",
                slug="smaller-batch",
            ),
            Remedy(
                "to make room for the larger one: 16-bit activations (mixed precision), smaller inputs, a"
                " smaller model",
                slug="smaller-model",
            ),
        ),
    )
