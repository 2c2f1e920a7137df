"""The driver gave TensorFlow's or JAX's pool less than it asked for, and the run went on.

What it means: BFC asks the driver for a region, and after each refusal for 90 % of the size. So a ladder of
refusals at the start ends no run; it says that something else held part of the device, or that the pool was
to be the whole of it, of which the driver and a desktop keep some.
When it fires: the log has such refusals, steps follow them, and nothing failed.
What to do: ask for a smaller part where nearly all was asked for; else see who holds the device, before a
larger batch needs the rest.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import code_snippets, part_for_jax
from tfmemlens.findings.support.part_for_jax import Part
from tfmemlens.findings.support.situation import JAX, framework_name, framework_of
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.units import human_size

BASIS = Basis.FIGURES
EXPLAINS = "no bytes"


_NEARLY_ALL = 0.9
"""Of a GPU: more of it is seldom free, whoever else is there."""


def check(case: Case) -> Iterator[Finding]:
    refused = case.capture.surroundings.refusals
    if case.moments or not refused:
        return
    size, line = max(refused, key=lambda refusal: refusal[0].bytes)
    times = f" ({len(refused)} refusals, each for less)" if len(refused) > 1 else ""
    asked = _asked_for_all(case)
    why = "most likely something else holds part of the GPU"
    if asked:
        why = (
            f"JAX is told to take {asked.words} ({asked.line.place}), of which the driver and a desktop keep"
            " some"
        )
    yield Finding(
        severity=Severity.FACTOR,
        headline=(
            f"no failure: the driver refused the pool {human_size(size)}{times}, and the run went on"
            f" with less; {why}"
        ),
        evidence=(
            Evidence("the largest refusal", line),
            *((Evidence("the part that JAX is to take", asked.line),) if asked else ()),
        ),
        remedies=tuple(_remedies(case, asked)),
    )


def _asked_for_all(case: Case) -> Part | None:
    """The setting that lets JAX ask for nearly all of a GPU; None where it is not set so."""
    part = part_for_jax.stated(case.capture.surroundings)
    return part if part and framework_of(case) == JAX and part.value >= _NEARLY_ALL else None


def _remedies(case: Case, asked: Part | None) -> Iterator[Remedy]:
    if asked:
        yield Remedy(
            "nothing has to be done: the pool is what was left. To be rid of the lines, set a smaller part"
            " before JAX starts (75 % unless told otherwise)",
            f"export {part_for_jax.VARIABLE}=.75",
            slug="smaller-fraction",
        )
    else:
        yield Remedy(
            "see who holds the device, and end what you do not need", "nvidia-smi", slug="see-device-users"
        )
    yield Remedy(
        f"{'or ' if asked else ''}let {framework_name(case)} take memory as needed",
        code_snippets.growth(case.api),
        slug="growth",
    )
