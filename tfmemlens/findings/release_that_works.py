"""The text says that another release of a library works: most likely the release is to blame.

What it means: the same program runs with one release and fails, or grows, with another. What changed is in
the library, and no change of the program is as sure as the release that works.
When it fires: prose says that a release of a library works, and names another, or a newer one, that does not;
memory ran out or grows. Not where a message tells more and the one that works is TensorFlow 1.
What to do: pin the release that works, report it, and look in the list of changes for what can be switched
off.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.situation import JAX, TORCH_XLA, framework_of
from tfmemlens.knowledge.releases import numbers_of
from tfmemlens.model.capture import WorkingRelease
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity

BASIS = Basis.NAME
EXPLAINS = "the request"


def check(case: Case) -> Iterator[Finding]:
    told = case.capture.surroundings
    works = told.works_in
    failed = case.moments or told.shows("growing in words") or told.shows("running short")
    if not failed or told.elsewhere or told.foreign:
        return
    if works is None:
        yield from _updated(case)
        return
    if case.moments and _is_far(works):
        return
    request = case.moments[0].request if case.moments else None
    other = f", unlike {works.other}" if works.other else ""
    said = f"{works.line.place} says that {works.package} {works.release} works{other}"
    if works.mends:
        said = f"{works.line.place} says that {works.package} {works.release} and newer have it mended"
    yield Finding(
        severity=Severity.CAUSE,
        headline=f"{said}: most likely the library changed, not the program",
        because=f"{said}, so most likely the library changed, and not the program",
        explains=request.needed_bytes if request else None,
        evidence=(Evidence("what the text says", works.line),),
        remedies=(Remedy(_in_words(works), _pinned(works), slug="release-that-works"),),
        moment=0,
        rules_out=_OF_THE_PROGRAM,
    )


_OF_THE_PROGRAM = ("in-pieces",)
"""What makes the call smaller, which another release runs as it is."""


def _updated(case: Case) -> Iterator[Finding]:
    """It began when a release changed, and none is named that works."""
    line = case.capture.surroundings.shows("jax: updated before")
    if line is None or framework_of(case) not in (JAX, TORCH_XLA):
        return
    yield Finding(
        severity=Severity.FACTOR,
        headline=(
            f"{line.place} says that it began with an update: most likely a library changed, not the program"
        ),
        evidence=(Evidence("what the text says", line),),
        remedies=(remedies.RELEASES_BEFORE,),
        moment=0,
    )


def _is_far(works: WorkingRelease) -> bool:
    """Whether going back to it changes much of the program: TensorFlow 1 for one that is written for 2."""
    first, other = works.release.partition(".")[0], (works.other or "").partition(".")[0]
    return works.package == "tensorflow" and bool(other) and int(first) < int(other)


def _in_words(works: WorkingRelease) -> str:
    if works.mends:
        return f"use {works.package} {works.release} or newer, which the text says ends it"
    used = f"use {works.package} {works.release}, which the text says works"
    return used if _is_newer(works) else f"{used}; report the other, whose list of changes may name an option"


def _is_newer(works: WorkingRelease) -> bool:
    """Whether the one that works came later than the other."""
    return works.other is not None and numbers_of(works.release) > numbers_of(works.other)


_TOGETHER = {"jax": ("jax", "jaxlib"), "jaxlib": ("jax", "jaxlib"), "tf": ("tensorflow",)}
"""What pip calls a package that people name so, with what it needs in the same release."""
_NUMBERED_ALIKE = numbers_of("0.3.0")
"""The first release of JAX whose jaxlib has the same number, or nearly so."""


def _pinned(works: WorkingRelease) -> str | None:
    """How to install it. None where pip may not know the name."""
    if works.source:
        return f"pip install {works.source}"
    if works.package != works.package.lower():
        return None
    if works.mends:
        return f"pip install '{works.package}>={works.release}'"
    apart = works.package in ("jax", "jaxlib") and numbers_of(works.release) < _NUMBERED_ALIKE
    packages = (works.package,) if apart else _TOGETHER.get(works.package, (works.package,))
    return "pip install " + " ".join(f"'{package}=={works.release}'" for package in packages)
