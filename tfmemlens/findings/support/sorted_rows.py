"""A matrix whose rows are sorted, or the best of each taken, all at once."""

from __future__ import annotations

from typing import NamedTuple

from tfmemlens.findings.support.situation import TENSORFLOW, framework_of
from tfmemlens.model.case import Case, Request
from tfmemlens.patterns import regex

_SORTS = regex(r"\b(?P<function>(?:(?:tf|K|ops|keras)\.(?:\w{1,12}\.)*)?(?:argsort|top_k|sort|in_top_k))\(")
_OP = regex(r"(?:\A|/)(?:TopKV2|TopK|ArgSort|Sort)(?:_\d+)?\Z")
_EVALUATES = regex(r"(?i)eval|valid|metric|test|rank|on_epoch_end|on_test|hit|ndcg|recall")
_LEAST_SIDE = 256


class SortedRows(NamedTuple):
    """How many rows of how many columns are sorted, by which function, and where."""

    function: str
    place: str
    rows: int
    columns: int
    evaluates: bool


def sorted_rows(case: Case, request: Request) -> SortedRows | None:
    """Such a matrix that failed; None of another op, and of few rows or columns."""
    failed = request.failed
    shape = failed.shape or ()
    if len(shape) != 2 or framework_of(case) != TENSORFLOW or request.fixed:
        return None
    rows, columns = (side or 0 for side in shape)
    if min(rows, columns) < _LEAST_SIDE:
        return None
    match = _SORTS.search(failed.source_text or "")
    by_op = _OP.search(failed.op or "") or _OP.search(failed.node or "")
    if match is None and not by_op:
        return None
    names = " ".join((failed.source_text or "", *(frame.name for frame in failed.frames)))
    function = match["function"] if match else (failed.op or (failed.node or "").rpartition("/")[2])
    place = (failed.source or "").replace("\\", "/").rpartition("/")[2]
    return SortedRows(function, place, rows, columns, bool(_EVALUATES.search(names)))
