"""cuFFT was refused its scratch: XLA lets one transform have 4 GiB of it, whatever the device has.

What it means: a batched Fourier transform needs memory to work in beside its input and output, about as much
as the array itself. XLA gives it up to a limit of its own and ends the process beyond it.
When it fires: the text has XLA's message that a plan of cuFFT exceeds the limit.
What to do: transform fewer rows in one call, or in 32 bits.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.patterns import regex
from tfmemlens.units import human

BASIS = Basis.MEASURED
EXPLAINS = "what the transform asks for"

_REFUSED = regex(
    r"Allocating (?P<bytes>\d{1,18}) bytes exceeds the memory limit of (?P<limit>\d{1,18}) bytes"
)


def check(case: Case) -> Iterator[Finding]:
    line = case.capture.surroundings.shows("scratch of cuFFT")
    match = _REFUSED.search(line.text) if line else None
    if line is None or match is None:
        return
    need, limit = int(match["bytes"]), int(match["limit"])
    because = (
        f"a Fourier transform needs {human(need)} of scratch in one call, and XLA gives cuFFT {human(limit)}"
        " at most, whatever the GPU has"
    )
    yield Finding(
        severity=Severity.CAUSE,
        headline=because,
        because=because,
        explains=need,
        evidence=(Evidence("the message", line),),
        remedies=(
            _fewer_rows(case, -(-need // limit)),
            Remedy(
                "or in 32 bits: half of it",
                "jax.config.update('jax_enable_x64', False)",
                slug="single-precision-jax",
            ),
        ),
    )


_CALL = regex(r"\belem_count: (?P<numbers>\d{1,12})\b.{0,200}\bbatch_count: (?P<rows>\d{1,12})\b")


def _fewer_rows(case: Case, parts: int) -> Remedy:
    """So many calls for one, by the number of transforms that cuFFT's own line states."""
    line = case.capture.surroundings.shows("a call of cuFFT")
    match = _CALL.search(line.text) if line else None
    rows = int(match["rows"]) if match else 0
    if match is None or rows < 2 * parts:
        return Remedy(
            "transform fewer rows in one call",
            "y = jnp.concatenate([jnp.fft.rfft(part) for part in jnp.array_split(x, 8)])",
            slug="in-blocks",
        )
    return Remedy(
        f"transform fewer rows in one call: it has {rows:,} of {int(match['numbers']):,} numbers; in {parts}"
        " calls the scratch of each stays below the limit",
        f"y = jnp.concatenate([jnp.fft.rfft(part) for part in jnp.array_split(x, {parts})])",
        slug="in-blocks",
    )
