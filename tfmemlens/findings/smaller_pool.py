"""The driver gave TensorFlow's or JAX's pool less than it asked for, and the run went on.

What it means: BFC asks the driver for a region, and after each refusal for 90 % of the size. So a ladder of
refusals at the start ends no run; it says that something else held part of the device.
When it fires: the log has such refusals, steps follow them, and nothing failed.
What to do: see who holds the device, before a larger batch needs the rest.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import code_snippets
from tfmemlens.findings.support.situation import framework_name
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.units import human_size

BASIS = Basis.FIGURES
EXPLAINS = "no bytes"


def check(case: Case) -> Iterator[Finding]:
    refused = case.capture.surroundings.refusals
    if case.moments or not refused:
        return
    size, line = max(refused, key=lambda refusal: refusal[0].bytes)
    times = f" ({len(refused)} refusals, each for less)" if len(refused) > 1 else ""
    yield Finding(
        severity=Severity.FACTOR,
        headline=(
            f"no failure: the driver refused the pool {human_size(size)}{times}, and the run went on"
            f" with less;"
            " something else holds part of the GPU"
        ),
        evidence=(Evidence("the largest refusal", line),),
        remedies=(
            Remedy(
                "see who holds the device, and end what you do not need",
                "nvidia-smi",
                slug="see-device-users",
            ),
            Remedy(
                f"let {framework_name(case)} take memory as needed",
                code_snippets.growth(case.api),
                slug="growth",
            ),
        ),
    )
