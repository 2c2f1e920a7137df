"""On a TPU, padding makes tensors several times larger than they are.

What it means: a TPU stores the last two dimensions in tiles of 8 x 128 (16 x 128 for bfloat16). A last
dimension of 4 is padded to 128: 32 times the memory. The listing shows it as `Extra memory due to padding`.
When it fires: the listed buffers, or all temporaries together, lose at least 10 % to padding, or one expands
at least twofold.
What to do: put a large dimension last, make batch and features multiples of 8 and 128, merge small
dimensions.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.rows import failures
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.model.tensor import format_shape
from tfmemlens.units import MIB, human, human_size, percent

BASIS = Basis.MEASURED
EXPLAINS = "the padding"


_LEAST_OF_A_CUT_LIST = MIB


def check(case: Case) -> Iterator[Finding]:
    for index, moment in failures(case):
        compiler = moment.incident.compiler if moment.incident else None
        padded = (
            sorted(compiler.padded, key=lambda buffer: buffer.unpadded.bytes - buffer.size.bytes)
            if compiler
            else []
        )
        lost = sum(buffer.size.bytes - buffer.unpadded.bytes for buffer in padded)
        whole = max(moment.attribution.table.total_bytes, *(buffer.size.bytes for buffer in padded), 1)
        if not padded or (lost < 0.1 * whole and padded[0].size.bytes < 2 * padded[0].unpadded.bytes):
            continue
        if compiler and compiler.cut and lost < _LEAST_OF_A_CUT_LIST:
            continue  # a core has 16 MiB of vmem and more, and far more of HBM
        worst = padded[0]
        factor = worst.size.bytes / max(worst.unpadded.bytes, 1)
        minor = worst.shape[-1] if worst.shape else None
        what = format_shape(worst.shape) if worst.shape else f"{worst.label} together"
        grows = "grows" if worst.shape else "grow"
        yield Finding(
            severity=Severity.CAUSE if lost >= 0.3 * whole else Severity.FACTOR,
            headline=(
                f"padding to TPU tiles costs about {human(lost)}, {percent(lost, whole)} of the listed"
                f" buffers; {what} {grows} {factor:.1f} times"
            ),
            because=(
                f"padding to TPU tiles alone costs about {human(lost)}; {what} {grows} {factor:.1f} times"
            ),
            explains=lost,
            evidence=tuple(
                Evidence(
                    f"{buffer.label}: {human_size(buffer.unpadded)} of data in {human_size(buffer.size)}",
                    buffer.line,
                )
                for buffer in padded[:3]
            ),
            remedies=(
                Remedy(
                    (
                        f"put a large dimension last: {minor} is padded to {-(-(minor or 1) // 128) * 128}"
                        if minor and minor % 128
                        else "make the last two dimensions multiples of 8 and 128"
                    ),
                    saves_bytes=lost,
                    certainty=Certainty.BOUND,
                    slug="aligned-shapes",
                ),
                Remedy(
                    "merge small trailing dimensions with a reshape before the heavy ops, and make batch and"
                    " features multiples of 8 and 128",
                    slug="aligned-shapes",
                ),
            ),
            moment=index,
        )
