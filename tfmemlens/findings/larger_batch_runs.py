"""The text says that a larger batch runs: how much memory a batch takes is not what fails.

What it means: memory grows with the batch. Where 4096 fails and more than that runs, the shape is at fault:
the last batch of a data set is uneven, a kernel or a shader has no code for just this size, or another
algorithm is chosen for it.
When it fires: a sentence says that batches above the one that fails run, or names one that does.
What to do: keep to a size that runs, and give all batches one shape.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.situation import TENSORFLOW, framework_of
from tfmemlens.findings.support.tried import failed_batches
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

BASIS = Basis.NAME
EXPLAINS = "no bytes: the writer's own test"

_RULED_OUT = (
    "smaller-batch",
    "gradient-accumulation",
    "smaller-input",
    "smaller-model",
    "growth",
    "tidy",
    "tidy-textures",
    "count-tensors",
    "tell-which",
)
"""What helps where memory is short."""
_BATCHES = regex(
    r"(?i)\bbatch(?:[_ -]?sizes?)?[^.!?;\d]{0,12}(?P<first>\d{1,6})\b\W{0,4}(?:(?:and|or|but)\b\W{0,3})?"
    r"(?:(?P<instead>instead of|rather than|up from)\b\W{0,2})?"
    r"(?:batch(?:[_ -]?sizes?)?\W{0,3})?(?P<second>\d{1,6})?"
)


_ON_ANOTHER = regex(
    r"(?i)\bon (?:another|the|my|a|an|our) (?:[\w-]+ ){0,2}?"
    r"(?:GPU|machine|card|server|CPU|TPU|cluster|[A-Z]{1,3}\d{2,4}\w*)\b"
    r"|\b(?:with|using) (?:another|a|an|my) (?:[\w-]+ ){0,2}?(?:GPU|card|model|net\w*|resolution|images?)\b"
)
"""What runs there says nothing of this device or program."""


def check(case: Case) -> Iterator[Finding]:
    line = _larger(case)
    line = None if line and _ON_ANOTHER.search(line.text) else line
    told = case.capture.surroundings
    in_words = told.shows("device memory in words") and framework_of(case) == TENSORFLOW
    failed = bool(case.moments or told.elsewhere or told.without_figures or in_words)
    if line is None or not failed:
        return
    yield Finding(
        severity=Severity.CAUSE,
        headline=f"{_what(told)}{line.place} says that a larger batch runs, so memory is not what is short",
        because=f"{line.place} says that a larger batch runs, so memory is not what is short",
        evidence=(Evidence("what the text says", line),),
        remedies=(
            Remedy(
                f"keep to a batch that runs ({line.place}), and give all batches that shape, the last one"
                " of a data set, too; if it must be this size, try a newer release",
                "ds = ds.batch(batch, drop_remainder=True)",
                slug="even-batches",
            ),
        ),
        moment=0,
        rules_out=_RULED_OUT,
    )


def _what(told: Surroundings) -> str:
    """What failed, where no message of TensorFlow's tells it."""
    return f"{told.without_figures[0][0].partition(',')[0]}; " if told.without_figures else ""


def _larger(case: Case) -> Line | None:
    """The line that says that a larger batch than one that fails runs."""
    told = case.capture.surroundings
    if said := told.shows("a larger batch runs"):
        return said
    line = told.shows("batches that run")
    match = _BATCHES.search(line.text) if line else None
    if line is None or match is None:
        return None
    first, second = int(match["first"]), int(match["second"] or 0)
    run = {first} if match["instead"] else {first, second}
    stated = (value for name, value, where in told.settings if name == "batch_size" and where != line)
    failed = {*failed_batches(case), *(int(value) for value in stated if value.isdigit())}
    failed = {second} if match["instead"] else failed - run
    return line if any(0 < each < max(run) for each in failed) else None
