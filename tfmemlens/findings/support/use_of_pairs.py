"""What a matrix of all pairs of rows goes into: a covariance is factorised whole, similarities are ranked one
row after the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Remedy
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, human

_FACTORISED = regex(
    r"\bMultivariateNormal\(|\bcholesky\(|\bcho_(?:factor|solve)\(|\bGaussianProcess\(|\bgpjax\b|\btinygp\b"
    r"|\bcov\w*\s*=\s*(?:\w+\.)*\w*kernel\w*\("
)
_RANKED = regex(r"\b(?:approx_max_k|approx_min_k|top_k|argpartition|argsort|argmax|argmin)\(")
OF_ROWS = ("in-blocks", "in-pieces", "smaller-batch", "gradient-accumulation", "compile-the-call")
"""What makes no covariance smaller that is factorised."""
_PART = 6
_USUAL_BYTES = 16 * GIB
"""What a device has where the text names none."""
_ROUND = 1000


def is_factorised(case: Case) -> bool:
    """Whether a factorisation or a distribution with a covariance stands in the code, and nothing ranks."""
    return _shows(case, factorised=True) and not _shows(case, factorised=False)


def is_ranked(case: Case) -> bool:
    """Whether the best of each row are taken, and nothing is factorised."""
    return _shows(case, factorised=False) and not _shows(case, factorised=True)


_PAIRED = ("jax: a matrix of pairs", "jax: pairs by broadcasting", "jax: pairs in words")


def are_meant(case: Case) -> bool:
    """Whether words or code of the text are of those who combine every row with every other."""
    told = case.capture.surroundings
    used = is_factorised(case) or is_ranked(case)
    return used or any(told.shows(fact) for fact in _PAIRED)


def _shows(case: Case, *, factorised: bool) -> bool:
    pattern = _FACTORISED if factorised else _RANKED
    requests = [moment.request for moment in case.moments if moment.request]
    frames = [frame.text for request in requests for frame in request.failed.frames]
    texts = [*frames, *(line.text for line in code_lines(case.capture.surroundings))]
    return any(pattern.search(text) for text in texts)


def rows_that_fit(side: int, need: int, room: int) -> int:
    """Of how many rows all pairs take half of the device, where those of all rows need so much."""
    return int(side * math.sqrt(room / 2 / need))


def fewer_rows(side: int, fit: int | None = None, need: int | None = None) -> Remedy:
    """What a Gaussian process takes instead of all pairs of its rows; no more than fit, where that is
    known, else than a usual device holds of them, where they need so much.
    """
    few = max(side // _PART // _ROUND * _ROUND, min(side // 2, _ROUND))
    if fit is None and need:
        fit = rows_that_fit(side, need, _USUAL_BYTES)
    if fit is not None and 0 < fit < few:
        few = fit // _ROUND * _ROUND or fit
    takes = f" (all pairs of {few:,} take {human(need * few**2 // side**2)})" if need else ""
    return Remedy(
        f"an exact Gaussian process or kernel method needs all pairs of its {side:,} rows, whatever the"
        " batch: take a part of the rows, inducing points, or a low-rank approximation (Nystrom, random"
        f" features); half of the rows take a quarter{takes}",
        f"few = jax.random.choice(key, {side}, ({few},), replace=False)\nx, y = x[few], y[few]",
        slug="subsampling",
    )


def of_meant_pairs(case: Case, side: int, need: int, fit: int | None = None) -> Iterator[Remedy]:
    """Where every row with every row is meant: what its use allows, both where nothing tells the use."""
    if not is_ranked(case):
        yield fewer_rows(side, fit, need)
    if not is_factorised(case):
        yield Remedy(
            "distances, or a sum over the rows: go through them in blocks, and reduce each block at once",
            "y = jax.lax.map(f, x, batch_size=256)   # f of one row against all others",
            slug="in-blocks",
        )


_OF_EACH_OTHER = regex(r"(?:cross_entropy\w*\(|\blogits?\w*\s*=)[^#]*(?:@\s*\w+\.T\b|transpose_b\s*=\s*True)")
_NUMBERED = regex(r"\blabels?\w*\s*=[^#]*\b(?:a?range)\(")


def compares_samples(case: Case) -> str:
    """Why parts of a batch are not the batch: a loss whose classes are the samples themselves; else empty."""
    lines = code_lines(case.capture.surroundings)
    pairs = next((line for line in lines if _OF_EACH_OTHER.search(line.text)), None)
    if pairs is None or not any(_NUMBERED.search(line.text) for line in lines):
        return ""
    return (
        f"the loss compares all samples of a batch with each other ({pairs.place}), so half of them take a"
        " quarter there, and accumulation over parts has fewer negatives"
    )
