"""Chunks that have the sizes of a known transformer's weights are the model, and no leak.

What it means: a dump has no names, but the layers of a transformer are alike, so that hundreds of chunks of
one size are its feed-forward matrices with their gradients and the optimizer's slots. Training takes four
times the weights with Adam, whatever the batch.
When it fires: at least 24 chunks of the bytes of a [width, 4 x width] matrix, and a chunk of the bytes of a
table of a known vocabulary of the same width.
What to do: a smaller model, fewer trained layers, an optimizer with fewer slots, or a larger device.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.rows import attributed, requests
from tfmemlens.knowledge.transformers import VOCABULARIES, WIDTHS, feed_forward_bytes
from tfmemlens.model.allocation import Allocation
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.units import human

BASIS = Basis.MEASURED
EXPLAINS = "the blocks of these sizes"
_LEAST = 24
"""Two such matrices in each layer of the smallest model with twelve."""
_REMEDIES = (
    Remedy(
        "use a smaller model: the base size of a family has about a third of the large one's weights",
        slug="smaller-model",
    ),
    Remedy(
        "train fewer layers: frozen ones need neither gradients nor slots",
        "encoder.trainable = False   # before compile()",
        slug="freeze-weights",
    ),
    Remedy(
        "an optimizer with fewer slots (Adafactor, plain SGD) saves up to twice the weights",
        slug="lighter-optimizer",
    ),
)


def check(case: Case) -> Iterator[Finding]:
    for index, moment, _ in list(requests(case))[:1]:
        model = None if attributed(moment) else _model(moment)
        if model is None:
            continue
        width, words, matrices, table = model
        count = sum(row.count for row in matrices)
        what = (
            f"{count} blocks of {human(matrices[0].size_bytes)} are as large as the weights [{width},"
            f"{4 * width}] of a transformer whose table of {words:,} words is here, too: the model with its"
            " gradients and slots, which no smaller batch reduces"
        )
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=what,
            explains=sum(row.total_bytes for row in (*matrices, table)),
            evidence=(
                Evidence("the matrices", matrices[0].line),
                Evidence(f"a table of {words:,} x {width}", table.line),
            ),
            detail="A dump has no names; sizes of two kinds that fit one model are likely its weights.",
            remedies=_REMEDIES,
            rules_out=("look-for-lists", "keep-numbers"),
            moment=index,
        )


def _model(moment: Moment) -> tuple[int, int, list[Allocation], Allocation] | None:
    """The width and the vocabulary that two sizes of chunks fit, with the chunks."""
    table = list(moment.attribution.table)
    sizes = {row.size_bytes: row for row in table}
    for width in WIDTHS:
        matrices = [row for row in table if row.size_bytes == feed_forward_bytes(width)]
        words = next((each for each in VOCABULARIES if 4 * each * width in sizes), None)
        if sum(row.count for row in matrices) >= _LEAST and words:
            return width, words, matrices, sizes[4 * words * width]
    return None
