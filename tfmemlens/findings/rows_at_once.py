"""All rows of something go through a network at once: the rays of a picture, the points of a volume.

What it means: what is flattened to rows before a Dense layer has as many rows as there are positions,
whatever the batch of samples. Each layer's output has them all, and a tape keeps each.
When it fires: the program stands beside the message and records gradients; a layer of its own makes a tensor
of the shape that failed, two sides of which the first is 65,536 and more and no setting of a batch.
What to do: fewer rows at a time: a random part for each step, or parts whose gradients are added up.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.code_tensors import by_line, code_tensors, of_the_size, rows_through_a_net
from tfmemlens.findings.support.kept import records_gradients
from tfmemlens.findings.support.program_lines import code_lines, settings_by_name
from tfmemlens.findings.support.rows import attributed, requests, tensor_text
from tfmemlens.findings.support.situation import TENSORFLOW, framework_of
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.units import human

BASIS = Basis.MEASURED
EXPLAINS = "what the layers make of these rows in a step"

_FACTORS, _MOST_SETTINGS = (2, 3), 14
_OF_OTHERS = (
    *("smaller-batch", "smaller-input", "narrower-layer", "constant-shapes", "large-tensors-first"),
    *("batch-for-the-block", "gradient-accumulation"),
)


def check(case: Case) -> Iterator[Finding]:
    program = case.capture.surroundings.program()
    if framework_of(case) != TENSORFLOW or not program or not records_gradients(program):
        return
    for index, moment, request in list(requests(case))[:1]:
        shape = request.failed.shape or ()
        if request.fixed or attributed(moment) or not shape or shape[0] == remedies.batch_of(case, moment):
            continue
        asked = by_line(of_the_size(code_tensors(program, shape[0], shape)))
        rows_of = rows_through_a_net(request, asked)
        if not rows_of:
            continue
        whole, named = sum(each.total_bytes for each in asked), _factors(case, rows_of)
        count = sum(each.made.times for line in asked for each in line.tensors)
        told = f" ({named})" if named else ""
        what = (
            f"{rows_of:,} rows{told} go through the network at once: the layers of {asked[0].line.place} make"
            f" {count} such tensors in a step, {human(whole)}"
        )
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=what,
            explains=whole,
            evidence=(
                Evidence(f"requested: {tensor_text(moment)}", request.failed.line),
                *(Evidence("what makes them", each.line) for each in asked[:2]),
            ),
            remedies=(
                Remedy(
                    "give the network fewer rows at a time: in training a random part of them for each step,"
                    " or parts whose gradients are added up; in evaluation one part after the other",
                    "for part in tf.split(rows, 16): ...   # a tape for each part, gradients added up",
                    slug="in-blocks",
                ),
            ),
            moment=index,
            rules_out=_OF_OTHERS,
        )


def _factors(case: Case, rows_of: int) -> str:
    """The program's settings whose product the rows are; empty where none are, or several ways lead there."""
    settings = {
        name: number
        for name, (number, _) in settings_by_name(code_lines(case.capture.surroundings)).items()
        if 1 < number < rows_of and rows_of % number == 0
    }
    ways = [
        way
        for count in _FACTORS
        for way in combinations(sorted(settings)[:_MOST_SETTINGS], count)
        if math.prod(settings[name] for name in way) == rows_of
    ]
    return " x ".join(f"`{name}`" for name in ways[0]) if len(ways) == 1 else ""
