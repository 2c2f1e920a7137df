"""Large requests of host RAM that TensorFlow warned of before the failure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tfmemlens.findings.support.kills import (
    another_program,
    was_killed,
)
from tfmemlens.findings.support.situation import JAX, TORCH_XLA, framework_of
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Evidence, Remedy
from tfmemlens.model.incident import RequestKind
from tfmemlens.model.line import Line
from tfmemlens.units import GIB, Size, human_size


def large_before(case: Case, kind: RequestKind) -> Iterator[Evidence]:
    """The largest request that TensorFlow warned of beforehand."""
    large = case.capture.surroundings.large_host_requests
    if large and kind is RequestKind.HOST:
        size, line = max(large, key=lambda request: request[0].bytes)
        yield Evidence(f"before it TensorFlow requested {human_size(size)} at once", line)


def large_in_a_step(case: Case) -> Line | None:
    """The line of a large request that was warned of while steps were running: its second and later ones
    make no data set, which is converted once.
    """
    large = case.capture.surroundings.large_host_requests
    running = [line for size, line in large if case.capture.surroundings.progress_before(line)]
    return running[-1] if len(running) > 1 else None


_LARGE_ALONE = 4 * GIB
"""One tensor that fills many machines."""
_LEAST_STATED, _LEAST_OF_INDICES = 1000, 100_000


class _Large(NamedTuple):
    """One large request right before a kill, and a number of the program's that it is a multiple of."""

    words: str
    stated: tuple[int, Line] | None


def one_large(case: Case, moment: Moment) -> _Large | None:
    """The last large request of host RAM before the process was killed, where no step ran meanwhile."""
    told, failed = case.capture.surroundings, moment.request.failed.line if moment.request else None
    if not was_killed(moment) or another_program(moment) or not told.large_host_requests or failed is None:
        return None
    size, line = told.large_host_requests[-1]
    later = [each.line.number for each in told.progress] + [each.number for _, each in told.steps]
    after = line.source == failed.source and line.number < failed.number
    if size.bytes < _LARGE_ALONE or not after or any(line.number < at < failed.number for at in later):
        return None
    stated = _stated_factor(told, size.bytes)
    by = f", {stated[0]:,} of {stated[1].place} times another number" if stated else ""
    words = f"; right before it one tensor of {human_size(size)} was asked for ({line.place}{by})"
    return _Large(words, stated)


def _stated_factor(told: Surroundings, size: int) -> tuple[int, Line] | None:
    """The largest number of the quoted code of which the bytes are a multiple; of one-hot rows it may be one
    more than that.
    """
    code = {line.number for line in told.code}
    numbers = {
        (number, stated.line)
        for stated in told.sizes
        for number in stated.sizes
        if stated.line.number in code and number >= _LEAST_STATED
    }
    fits = [
        (number, line)
        for number, line in numbers
        if not size % number or (number >= _LEAST_OF_INDICES and not size % (number - 1))
    ]
    return max(fits, key=lambda each: each[0], default=None)


def of_one_large(found: _Large) -> Remedy:
    """What to look at first."""
    if found.stated:
        number, line = found.stated
        return Remedy(
            f"see whether {number:,} in `{line.text.strip()[:_LONGEST_LINE]}` ({line.place}) is the number"
            " that is meant there: the tensor grows with it",
            slug="find-the-size",
        )
    return Remedy(
        "find what makes one tensor of this size, from the shapes of what the last calls are given, and make"
        " that smaller or go through it in parts",
        slug="find-the-size",
    )


_LONGEST_LINE = 80


def last_large(case: Case) -> str:
    """What a message without a figure most likely was about: the last large request that was warned of."""
    large = case.capture.surroundings.large_host_requests
    if not large:
        return "the message does not say how much was requested"
    size, line = large[-1]
    times = sum(size == other for other, _ in large)
    many = f", the last of {times} of this size" if times > 1 else ""
    asked = f"before it {_who_asked(line)} requested {human_size(size)} at once ({line.place}{many})"
    return f"its message states no amount; {asked}"


def _who_asked(line: Line) -> str:
    """Who warned of it: TensorFlow of its own requests, an allocator of all that the process makes."""
    return "the process" if "tcmalloc" in line.text else "TensorFlow"


_NO_RAM = 16 << 40
"""More than any machine of those that train has: no data and no model are meant by such a number."""


def without_sense(case: Case, moment: Moment) -> tuple[Size, Line] | None:
    """A request that no data explain: the one that failed, or one right before a failure without a figure."""
    failed = moment.request.failed if moment.request else None
    if failed is None or failed.kind is not RequestKind.HOST or was_killed(moment):
        return None
    if failed.size and failed.line and not failed.shape and failed.size.bytes >= _NO_RAM:
        return failed.size, failed.line
    if failed.size:
        return None
    large = case.capture.surroundings.large_host_requests
    return large[-1] if large and large[-1][0].bytes >= _NO_RAM else None


def why_without_sense(found: tuple[Size, Line]) -> str:
    """That RAM is not what lacks there."""
    size, line = found
    return (
        f"{human_size(size)} were requested at once ({line.place}), which no machine has, so the size is"
        " wrong: native libraries that do not fit together read it from a wrong place, or a shape in the"
        " program is wrong"
    )


_SMALLEST = {
    JAX: "python -X faulthandler -c 'import jax; print(jax.numpy.sqrt(2))'",
    TORCH_XLA: "python -X faulthandler -c 'import torch_xla'",
}


def of_libraries(case: Case) -> Iterator[Remedy]:
    """What tells the two apart, and what helps against either."""
    yield Remedy(
        "see whether an import or one small operation ends so, too: then native libraries do not fit"
        " together",
        _SMALLEST.get(framework_of(case) or ""),
        slug="find-the-crash",
    )
    yield Remedy(
        "then make a fresh environment of releases that belong together (jax with jaxlib and libtpu; torch"
        " with torch_xla and libtpu), with nothing that brings such a library and is not used, and no"
        " allocator in LD_PRELOAD; or go back to the releases that worked",
        "pip list | grep -i -E 'jax|libtpu|torch|tensorflow'; env -u LD_PRELOAD python train.py",
        slug="matching-driver",
    )
    yield Remedy(
        "where only a call of your own ends so, print the shapes that go into it", slug="find-the-size"
    )
