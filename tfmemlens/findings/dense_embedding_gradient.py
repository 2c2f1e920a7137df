"""The gradient of an embedding was made dense: as large as the whole table.

What it means: only the looked-up rows have a gradient, and TensorFlow passes it on as IndexedSlices. Clipping
by norm, adding to another gradient, a second use of the table, or some optimizers turn it into a dense tensor
of [vocabulary, width] each step.
When it fires: a gradient or update op of an embedding asks for (or holds) a tensor of at least 5,000 rows.
What to do: keep it sparse: clip by value on the slices, use an optimizer with sparse updates, do not tie the
table to the output layer. Keras 3's optimizers make it dense themselves: there one without slots helps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tfmemlens.findings.support import code_snippets, remedies
from tfmemlens.findings.support.penalised_table import penalised_table
from tfmemlens.findings.support.rebuilt_table import rebuilt_table
from tfmemlens.findings.support.rows import alike, place, requests, tensor_text
from tfmemlens.findings.support.weights import optimizer_of
from tfmemlens.model.attribution import Phase
from tfmemlens.model.case import Case, Request
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.model.what_if import Shrunk
from tfmemlens.patterns import regex
from tfmemlens.units import MIB, human

BASIS = Basis.SHAPE
EXPLAINS = "the failing gradient, and held tensors of the same size"

_NAMES = regex(
    r"embed|lookup|UnsortedSegmentSum|segment_reduction|IndexedSlices|ScatterNd|word2vec|Gather",
    re.IGNORECASE,
)


_MADE = regex(r"/Assign(?:_\d+)?$")
"""A variable or a slot gets its first value, or one of a checkpoint: no gradient is there yet."""
_OWN_SEGMENTS = regex(r"\bsegment_(?:sum|mean|max|min|prod)\(|\bunsorted_segment_\w{3,8}\(")
"""The program's own line groups rows by itself."""
_EMBEDDING = regex(r"embed|lookup|word2vec", re.IGNORECASE)


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in requests(case):
        failed, owner = request.failed, request.owner
        shape = failed.shape
        name = f"{failed.node or ''} {failed.op or ''} {failed.forward_node or ''} {failed.kernel or ''}"
        if (
            not shape
            or len(shape) != 2
            or not all(shape)
            or (failed.tensor_bytes or 0) < MIB
            or not _NAMES.search(name)
        ):
            continue
        rows, width = (size or 1 for size in shape)
        if (
            rows < 5000
            or rows <= width
            or owner.phase not in (Phase.GRADIENT, Phase.OPTIMIZER)
            or "Initializer" in name
            or _OWN_SEGMENTS.search(failed.source_text or "")
            or _MADE.search(failed.node or "")
            or penalised_table(case, request)
            or rebuilt_table(case, request)
        ):
            continue  # of a table under a penalty, penalty-on-weights tells what makes it dense
        need = failed.tensor_bytes or 0
        table = "the embedding" if _EMBEDDING.search(name) else "a gathered table, such as an embedding"
        comma = "," if "," in table else ""
        yield Finding(
            severity=Severity.CAUSE,
            headline=(
                f"the gradient of {table}, at {place(moment)}, is dense: {rows:,} x {width} ="
                f" {human(need)} each step"
            ),
            because=(
                f"the gradient of {table}{comma} is dense, {rows:,} x {width}, although a batch touches few"
                " rows"
            ),
            explains=alike(moment),
            evidence=(Evidence(f"requested: {tensor_text(moment)}", failed.line),),
            remedies=tuple(_remedies(case, request, need)),
            moment=index,
        )


def _remedies(case: Case, request: Request, need: int) -> Iterator[Remedy]:
    """Nobody is told to clip otherwise where the optimizer makes it dense and nothing shows clipping."""
    clips = "clip" in (request.failed.node or "") or case.capture.surroundings.clipping
    if clips or request.owner.phase is Phase.GRADIENT:
        yield Remedy(
            "keep the gradient as IndexedSlices: clip by value or per slice instead of clip_by_norm over a"
            " converted tensor",
            saves_bytes=need,
            certainty=Certainty.BOUND,
            slug="keep-slices",
        )
    slots = optimizer_of(request)
    if case.api.oldest > (2, 15) and slots and request.owner.phase is Phase.OPTIMIZER:
        title, count = slots
        kept = "one" if count == 1 else "two"
        yield remedies.of_tensor(
            case,
            f"use an optimizer that keeps no slots, such as SGD: {title} keeps {kept} as large as the table"
            " (Keras 3 makes the gradient dense for either)",
            Shrunk("lighter-optimizer", need, 1, 0, count=count, certainty=Certainty.ESTIMATE),
        )
    else:
        yield Remedy(
            "use an optimizer with sparse updates for the table, such as SGD, Adagrad or a lazy Adam",
            code_snippets.lazy_adam(case.api),
            saves_bytes=need,
            certainty=Certainty.BOUND,
            slug="sparse-updates",
        )
    on_cpu = "with tf.device('/cpu:0'): table = tf.get_variable('embedding', [vocab, width])"
    yield Remedy("place the table on the CPU", on_cpu if case.api.is_tf1 else None, slug="table-on-host")
