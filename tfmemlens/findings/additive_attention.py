"""Additive attention makes a vector for each pair of a query and a key, where others make a number.

What it means: the score `v' tanh(W q + U k)` of all queries at once adds every query to every key: [batch,
queries, keys, units]. The sum and its tanh are kept for the backward pass, and their gradients are as large
again. A layer of one unit reads it flattened, as [batch x queries x keys, units].
When it fires: the program writes that sum (`expand_dims(q, 2) + expand_dims(k, 1)`), its tanh and a score of
it, and the failure is at one of their lines, or the only such sum's in an op that is named for attention.
What to do: a score by product, which makes a number for each pair; or the queries in blocks.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.additive_scores import additive_scores
from tfmemlens.findings.support.rows import alike, requests, tensor_text
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.units import human

BASIS = Basis.SHAPE
EXPLAINS = "the failing tensor, its tanh and both gradients, as far as blocks in use are so large"

_FEWEST_UNITS = 8
_ALIVE = 2
"""The sum's tanh is kept while a gradient of the same size is made."""


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in list(requests(case))[:1]:
        found = additive_scores(case, request)
        need, shape = request.failed.tensor_bytes, request.failed.shape or ()
        if found is None or not need or (shape[-1] or 0) < _FEWEST_UNITS:
            continue
        units = shape[-1] or 1
        scores = need // units
        pairs = " x ".join(f"{side:,}" for side in shape[:-1] if side)
        what = (
            f"additive attention ({found.made_at.place}) adds every `{found.query}` to every `{found.key}`:"
            f" {units:,} numbers for each of {pairs} pairs, in the forward pass, kept"
            " for the backward pass, and in gradients of the same size"
        )
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=what,
            explains=max(alike(moment), _ALIVE * need),
            evidence=(
                Evidence("the sum", found.made_at),
                Evidence("the score", found.scored_at),
                Evidence(f"requested: {tensor_text(moment)}", request.failed.line),
            ),
            remedies=(
                Remedy(
                    "score by a product, which makes one number for each pair"
                    f" ({human(scores)} instead of {human(need)}); another attention, to be trained anew",
                    f"score = tf.matmul({found.query}, {found.key}, transpose_b=True) / {units} ** 0.5",
                    saves_bytes=need - scores,
                    certainty=Certainty.EXACT,
                    of_one_tensor=True,
                    slug="score-by-product",
                ),
                Remedy(
                    "or go through the queries in blocks, and compute each block again in the backward pass"
                    " (tf.recompute_grad), so that one block's sum is alive at a time; a smaller batch or"
                    " shorter sequences help in proportion",
                    slug="blockwise-attention",
                ),
            ),
            moment=index,
            of_code=True,
            rules_out=("constant-shapes", "large-tensors-first", "in-blocks", "matrix-product"),
        )
