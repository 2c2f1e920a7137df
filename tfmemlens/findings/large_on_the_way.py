"""The program makes something large on the way to something small, and another order never makes it.

What it means: a product keeps an axis that the next line sums over: `einsum("nkc,nkf->nkcf", a, b)` and then
`reduce_mean(m, axis=1)`. A penalty multiplies a kernel [n,k] with its own transpose so that the result is
[n,n], where [k,k] is as good. A table is normalised whole before a few of its rows are looked up. Rows are
repeated before a network that computes the same for each copy. Maps are resized and joined at full depth
before a 1x1 convolution reduces them. What is made on the way is written out, and its gradient is as large.
When it fires: the program shows both steps, and what failed agrees with the first: its line, its number of
sides or the op that it makes; the square of a kernel's longer side; as many rows as the table has; the batch
times the repetitions. Where dropout or noise makes each copy another one, a network sees no copies.
What to do: the same steps in another order: an einsum that sums over the axis itself, the product on the
shorter side, the lookup before what is computed of its rows, the network before the repetition, a 1x1
convolution of each map before it is resized.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.on_the_way import on_the_way
from tfmemlens.findings.support.rows import alike, requests, tensor_text
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Severity

BASIS = Basis.SHAPE
EXPLAINS = "the failing tensor, and held ones of the same size"


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in list(requests(case))[:1]:
        found = on_the_way(case, moment, request)
        if found is None:
            continue
        yield Finding(
            severity=Severity.CAUSE,
            headline=found.what,
            because=found.what,
            explains=max(alike(moment), found.explains or 0) or None,
            evidence=(
                Evidence("the line", found.line),
                Evidence(f"requested: {tensor_text(moment)}", request.failed.line),
            ),
            remedies=(found.remedy,),
            moment=index,
            of_code=True,
            rules_out=found.rules_out,
        )
