"""The batch that failed is larger than all batches before it.

What it means: with sequences of several lengths, or a bucket for each length, the run needs as much as its
longest batch. The step that fails is the first that saw it.
When it fires: the program prints the shape or the length of its batches, at least four of them, and the last
before the failure is a quarter larger than any before; or two shapes that differ in one size, the last four
times as large.
What to do: cap the lengths, or make batches of as many tokens rather than of as many samples.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from tfmemlens.findings.support.rows import requests
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity

BASIS = Basis.MEASURED
EXPLAINS = "the part of the request that a batch as before does not need"

_LEAST, _LARGER, _MUCH_LARGER = 4, 1.25, 4


def check(case: Case) -> Iterator[Finding]:
    for index, _, request in list(requests(case))[:1]:
        failed = request.failed.line
        lengths = [
            (sizes, line)
            for sizes, line in case.capture.surroundings.lengths
            if failed is None or line.number < failed.number
        ]
        lengths = [each for each in lengths if len(each[0]) == len(lengths[-1][0])]
        if len(lengths) < 2:
            continue
        last, line = lengths[-1]
        most, at = max(lengths[:-1], key=lambda each: math.prod(each[0]))
        few = len(lengths) <= _LEAST
        if (
            math.prod(last) < (_MUCH_LARGER if few else _LARGER) * math.prod(most)
            or (few and not _one_differs(last, most))
            or (not few and _counts_on(lengths))
        ):
            continue
        what = (
            f"this batch is {_told(last)}, and none of the {len(lengths) - 1} before was above {_told(most)}"
            if len(lengths) > 2
            else f"this batch is {_told(last)}, and the one before was {_told(most)}"
        )
        need = request.needed_bytes
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=what,
            explains=None if need is None else round(need * (1 - math.prod(most) / math.prod(last))),
            evidence=(Evidence("the batch that failed", line), Evidence("the largest before it", at)),
            remedies=(
                Remedy(
                    f"cap the length at what fits ({_told(most)} did), or cut longer samples into pieces",
                    slug="truncate-inputs",
                ),
                Remedy(
                    "make batches of as many tokens, not of as many samples: of long samples fewer",
                    "tf.data.Dataset.bucket_by_sequence_length(length, boundaries, batch_sizes)",
                    slug="tokens-in-a-batch",
                ),
            ),
            moment=index,
        )


def _counts_on(lengths: Sequence[tuple[tuple[int, ...], object]]) -> bool:
    """Whether the figures only go up, as a counter's do."""
    sizes = [math.prod(each) for each, _ in lengths]
    return sizes == sorted(set(sizes))


def _one_differs(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether two shapes of batches differ in one size only, and not in the first, the number of samples."""
    differ = [index for index, (mine, yours) in enumerate(zip(one, other, strict=True)) if mine != yours]
    return len(one) >= 2 and len(differ) == 1 and differ != [0]


def _told(sizes: tuple[int, ...]) -> str:
    return str(sizes[0]) if len(sizes) == 1 else f"({', '.join(map(str, sizes))})"
