"""All rows are ranked against all columns in one call.

What it means: `tf.argsort(scores)` and `tf.math.top_k` of [users, items] write the sorted numbers and their
indices, each as large as the scores, beside the scores themselves; a second argsort (the rank of each item)
does so again. Each row is ranked by itself, so nothing needs them all at once.
When it fires: the op that failed sorts, or its line does, and what was asked for is a matrix with hundreds of
rows and of columns.
What to do: blocks of rows. Where only the rank of one column is wanted, count what is above it: no sort.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.phase import other_than_training
from tfmemlens.findings.support.rows import alike, requests, tensor_text
from tfmemlens.findings.support.sorted_rows import sorted_rows
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.units import human

BASIS = Basis.SHAPE
EXPLAINS = "the failing tensor, and held ones of the same size"

_BLOCK = 256


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in list(requests(case))[:1]:
        found = sorted_rows(case, request)
        need = request.failed.tensor_bytes
        if found is None or not need:
            continue
        rows, columns = found.rows, found.columns
        place = f" ({found.place})" if found.place else ""
        phase = "evaluation" if other_than_training(case, request) or found.evaluates else "it"
        what = (
            f"`{found.function}`{place} ranks {columns:,} numbers in each of {rows:,} rows at once: sorted"
            f" numbers and their indices take {human(need)} each, beside the scores"
        )
        block = min(_BLOCK, rows // 2)
        once = "; no training batch plays a part" if phase == "evaluation" else ""
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=what,
            explains=max(alike(moment), _ARRAYS * need),
            evidence=(Evidence(f"requested: {tensor_text(moment)}", request.failed.line),),
            remedies=(
                Remedy(
                    f"rank {block} rows at a time, scores included, and keep each block's result alone"
                    f" ({human(need // rows * block)} instead of {human(need)}); results stay the same{once}",
                    f"for at in range(0, {rows}, {block}):\n"
                    f"    part = scores_of(users[at : at + {block}])   # yours\n"
                    "    out.append(rank_of(part).numpy())",
                    saves_bytes=need - need // rows * block,
                    certainty=Certainty.EXACT,
                    of_one_tensor=True,
                    slug="rank-in-blocks",
                ),
                Remedy(
                    "within a block: for the rank of one column (hit rate, NDCG) count what is above it"
                    " instead of sorting",
                    "rank = tf.math.count_nonzero(part > target[:, None], axis=1)   # target: its score",
                    slug="count-instead-of-sort",
                ),
            ),
            moment=index,
            of_code=True,
            rules_out=(
                *("smaller-vocabulary", "sampled-loss", "smaller-prediction-batch", "smaller-batch"),
                *("sparse-labels-alone", "part-of-positions", "in-blocks", "lower-constant"),
            ),
        )


_ARRAYS = 2
"""Sorted numbers and their indices."""
