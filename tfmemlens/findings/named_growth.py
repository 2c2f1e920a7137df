"""Memory grows, as words say, and the text names what most likely grows.

What it means: whoever tells that memory rises with each epoch or call mostly shows why: the loop that builds
a model in each turn, `use_multiprocessing=True`, an Estimator that is called again and again, the warning of
retracing, the validation after which it is more. Or the words tell what is done again and again: trials,
folds, models that are loaded, requests, episodes, predictions, epochs.
When it fires: a line of prose speaks of memory that grows (of retracing, of data sets that are made again
and again, or of a later trial, fold or model, where no message stands beside it: that runs out), the program
is TensorFlow's, and the text shows one of these. Beside a message only where host RAM ran out, or where the
quoted code itself shows it. Where the code shows it, words that do not say that it grows are enough.
What to do: make once what is made anew, or clear it; what ends with its process frees everything.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings import copies_of_workers
from tfmemlens.findings.support.contrasted import difference, most_likely, stated_cause, what_ended_it
from tfmemlens.findings.support.flat_readings import denies_growth
from tfmemlens.findings.support.grower import Grower
from tfmemlens.findings.support.rows import on_host, requests
from tfmemlens.findings.support.told_again import ONE_AFTER_ANOTHER
from tfmemlens.findings.support.two_frameworks import two_frameworks
from tfmemlens.findings.support.what_grows import grower, grower_of_code
from tfmemlens.findings.support.which_memory import named_by, whose
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Severity
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

BASIS = Basis.NAME
EXPLAINS = "no bytes: words say that it grows, and not by how much"


def check(case: Case) -> Iterator[Finding]:
    told = case.capture.surroundings
    if told.foreign or told.without_figures or told.elsewhere:
        return
    if not told.shows("growing in words") and any(True for _ in copies_of_workers.check(case)):
        return  # processes side by side, and no models one after another
    if not told.shows("growing in words") and any(True for _ in two_frameworks(case)):
        return
    anew = told.shows("retracing in words") or told.shows("data sets made anew")
    in_words = not case.moments and (anew or any(_is_told_with_it(told, each) for each in _ONE_AFTER_ANOTHER))
    said = told.shows("growing in words") or (_ran_out(told) if in_words else None)
    found = grower(case) if said else None
    if said is None and not case.moments and (ended := _in_the_end(told)):
        said, found = ended, grower_of_code(case)
    if said is None and not (case.moments or _ends_otherwise(case)):
        said = next(filter(None, map(told.shows, _IN_OTHER_WORDS)), None)
        found = grower_of_code(case) if said else None
    if said is None or found is None:
        return
    if denies_growth(case, said):
        return  # its figures stay flat
    if not case.moments:
        where = whose(case, said)
        what = next((words for name, words in _WHAT.items() if told.shows(name) == said), "ran out")
        yield _finding(
            case,
            said,
            found,
            f"the text says in words that {where} {what} ({said.place}{named_by(case, said, where)})",
        )
        return
    for index, moment, _ in list(requests(case))[:1]:
        if on_host(moment) or found.sure:
            yield _finding(case, said, found, f"memory grows ({said.place})", index)


_ONE_AFTER_ANOTHER = ("failing late", *(f"again at each {unit}" for unit in ONE_AFTER_ANOTHER))
"""Where a later one runs out, memory grew: the first would have, too."""


def _is_told_with_it(told: Surroundings, fact: str) -> bool:
    """Whether words tell it; that a server gets requests, only in the sentence that tells of the failure: how
    many it was sent is its load, and no growth.
    """
    line = told.shows(fact)
    return line is not None and (fact != "again at each request" or line == _ran_out(told))


_WHAT = {
    "growing in words": "grows",
    "kept in words": "is not given back",
    "running short": "ran out",
    "much memory in words": "is full or much used",
    "memory at issue": "is the trouble",
}


def _ends_otherwise(case: Case) -> bool:
    """Whether words or an error tell an end of their own, so that code alone does not say what went wrong."""
    told = case.capture.surroundings
    return told.raised is not None or any(map(told.shows, _ENDS))


def _in_the_end(told: Surroundings) -> Line | None:
    """A line that says that memory ran out, or that it was killed for it, after it went well for a while."""
    lines = filter(None, map(told.shows, ("running short", "killed in words")))
    return next((line for line in lines if _AFTER_A_WHILE.search(line.text)), None)


_AFTER_A_WHILE = regex(
    r"(?i)\b(?:in the end|at the end of each|eventually|finally|sooner or later|at some point|ultimately"
    r"|after (?:a|some|a few|several|many|\d+) (?:while|time|hours?|minutes?|days?|turns|rounds"
    r"|iterations))\b"
)
_ENDS = ("running short", "killed in words", "taking the whole GPU", "more than expected")
_IN_OTHER_WORDS = ("kept in words", "much memory in words", "memory at issue")
"""Words that do not say that it grows, of memory all the same."""


def _ran_out(told: Surroundings) -> Line | None:
    return next(
        filter(None, map(told.shows, ("running short", "kept in words", "much memory in words"))), None
    )


def _finding(case: Case, said: Line, found: Grower, head: str, moment: int = 0) -> Finding:
    differs = difference(case, found)
    guess = most_likely(case, found, differs)
    if cause := stated_cause(case):
        guess = f'{cause[1].place} names the cause: "{cause[0]}"; most likely {found.what}'
    return Finding(
        severity=Severity.CAUSE,
        headline=f"{head}; {guess}",
        because=f"memory grows ({said.place}); {guess}",
        evidence=tuple(
            Evidence(fact, line)
            for line, fact in {said: "what the text says", found.line: "what grows, most likely"}.items()
        ),
        remedies=(
            *filter(None, (what_ended_it(case), differs.remedy if differs else None)),
            *found.remedies,
        ),
        moment=moment,
    )
