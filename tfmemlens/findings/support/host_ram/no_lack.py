"""A std::bad_alloc that no lack of RAM explains: what is known to throw it with most of the RAM free."""

from __future__ import annotations

from tfmemlens.findings.support.situation import situation
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line
from tfmemlens.values import dataclass


@dataclass(frozen=True, slots=True)
class NoLack:
    """What most likely threw it."""

    verdict: str
    words: str
    remedy: Remedy
    line: Line


_FIXED = {"2.9": "2.9.3", "2.10": "2.10.1"}
"""The first release of each that has the fix."""


def no_lack(case: Case, moment: Moment) -> NoLack | None:
    """What most likely threw it; None where RAM is the better guess."""
    failed = moment.request.failed if moment.request else None
    told = case.capture.surroundings
    if failed is None or failed.line is None or "bad_alloc" not in failed.line.text:
        return None
    if failed.size or told.large_host_requests or told.shows("growing in words"):
        return None
    return _of_the_release(case, moment)


def _of_the_release(case: Case, moment: Moment) -> NoLack | None:
    told = case.capture.surroundings
    line = told.shows("a release that aborts")
    if line is None or situation(case, moment).program != "TensorFlow Serving":
        return None
    release = next(each for each in ("2.10", "2.9") if f"{each}." in line.text)
    return NoLack(
        f"TF Serving aborted with std::bad_alloc, most likely by a bug of {release}, not for lack of RAM",
        f"TF Serving 2.9.0 to 2.9.2 and 2.10.0 ({line.place}) throw it where a model has a tensor whose rank"
        " is unknown while it is built, however small the model and however much RAM is free",
        Remedy(
            f"take another image: tensorflow/serving:{_FIXED[release]} or newer has the fix, 2.8 is before"
            " the bug. If that ends in the same way, RAM is short indeed: see what its container may use",
            slug="newer-release",
        ),
        line,
    )
