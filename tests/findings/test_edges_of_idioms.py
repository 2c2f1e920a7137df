"""How large, and of how many dimensions, what was asked for must be before a line of code explains it."""

from __future__ import annotations

from types import SimpleNamespace as Made
from typing import Any

import pytest

from tests.findings.test_edges_of_support import at
from tests.findings.test_support import asked
from tfmemlens.findings import what_the_code_makes
from tfmemlens.findings.support.tf_code import TABLE, Agreement, Of
from tfmemlens.model.incident import Frame, RequestKind
from tfmemlens.values import replace

MIB = 1 << 20
ANY = (1, 2, 3, 4, 5, 6)
LIMITS: dict[str, tuple[tuple[int, ...], int, int]] = {
    "slices-of-arrays": (ANY, 0, 64),
    "rows-of-segments": ((2, 3), 0, 32),
    "array-as-tensor": (ANY, 500, 32),
    "whole-set-called": ((2, 3, 4, 5), 200, 32),
    "all-images-called": ((3, 4, 5), 1000, 32),
    "whole-set-fed": (ANY, 500, 32),
    "images-at-once": (ANY, 200, 32),
    "data-set-as-list": (ANY, 0, 0),
    "padded-batch": ((3, 4, 5), 0, 32),
    "global-batch-on-each-replica": ((2, 3, 4, 5), 0, 32),
    "indicator-column": (ANY, 0, 64),
    "gradient-penalty": (ANY, 0, 1),
    "outer-tape": (ANY, 0, 1),
    "persistent-tape": (ANY, 0, 1),
    "gram-matrix": ((2,), 4096, 32),
    "gathered-rows": (ANY, 1000, 256),
    "square-factored": ((2, 3), 0, 256),
    "crops-of-proposals": ((4, 5), 0, 32),
    "crops-of-boxes": ((4, 5), 0, 32),
    "embedding-table": ((2,), 0, 32),
    "sampled-loss-weights": ((2,), 0, 32),
    "variable-of-that-size": (ANY, 0, 64),
    "tensor-of-that-size": (ANY, 0, 64),
    "logits": ((2, 3), 0, 64),
    "copy-of-a-model": (ANY, 0, 1),
    "broadcast-whole": ((3, 4, 5, 6), 0, 32),
    "pairs-of-rows": ((3, 4, 5, 6), 0, 32),
    "pairs-of-numbers": ((2,), 0, 32),
    "covariance": ((2,), 1024, 32),
    "replay-buffer": (ANY, 1000, 32),
    "saving": (ANY, 0, 0),
    "converting": (ANY, 0, 0),
}
"""Dimensions, the least first one, and MiB; of all others any, none and 32."""
KEEPING = {
    "attention-in-decoder", "cache", "conv-lstm", "converting", "copy-of-a-model", "data-set-as-list",
    "deque-of-steps", "gradient-penalty", "gradients-of-examples", "histograms", "loop-of-the-graph",
    "models-in-a-list", "moving-average", "outer-tape", "persistent-tape", "predict-in-a-loop",
    "prefetch-many", "rnn-over-time", "saving", "shuffle-buffer", "queue-of-batches", "worker-processes",
}  # fmt: skip
"""What keeps memory beside what was asked for."""
AXES = {
    "one-hot": -1, "logits": -1, "padded-batch": 0, "embedding-table": 0, "variable-of-that-size": 0,
    "tensor-of-that-size": 0, "replay-buffer": 0,
}  # fmt: skip
"""The dimension that a stated number must be; any of all others."""
TIMES = {"global-batch-on-each-replica": 2, "crops-of-proposals": 1}


@pytest.mark.parametrize("idiom", TABLE, ids=lambda idiom: idiom.slug)
def test_what_such_a_line_keeps_and_which_number_of_it_counts(idiom: Any) -> None:
    assert idiom.keeps is (idiom.slug in KEEPING)
    assert (idiom.axis, idiom.times) == (AXES.get(idiom.slug), TIMES.get(idiom.slug, 0))


@pytest.mark.parametrize("idiom", TABLE, ids=lambda idiom: idiom.slug)
def test_what_such_a_line_may_have_asked_for(idiom: Any) -> None:
    ranks, first, least = LIMITS.get(idiom.slug, (ANY, 0, 32))
    plain = replace(idiom, op=None, keeps=False)

    def fits(rank: int, first: int, need: int) -> bool:
        shape = (first, *(7 for _ in range(rank - 1)))
        return what_the_code_makes._fits(plain, asked(size=need, shape=shape, kind=RequestKind.TENSOR))

    assert tuple(rank for rank in ANY if fits(rank, max(first, 1), max(least, 1) * MIB)) == ranks
    if least:
        assert not fits(ranks[0], first, least * MIB - 1) and fits(ranks[0], first, least * MIB)
    if first:
        assert not fits(ranks[0], first - 1, least * MIB)


@pytest.mark.parametrize("idiom", TABLE, ids=lambda idiom: idiom.slug)
def test_of_what_nobody_knows_the_size_only_a_copy_fits(idiom: Any) -> None:
    plain = replace(idiom, op=None, keeps=False, ranks=(), least_first=0)
    limited = (replace(plain, ranks=(2,)), replace(plain, least_first=1))
    for kind, may in ((RequestKind.COPY, True), (RequestKind.TENSOR, False)):
        assert what_the_code_makes._fits(plain, asked(kind=kind)) is may
        of_set = (
            kind is RequestKind.COPY and "smaller-batch" in idiom.rules_out
        )  # the line itself says that it is all
        assert all(what_the_code_makes._fits(each, asked(kind=kind)) is of_set for each in limited)
    assert what_the_code_makes._fits(replace(plain, keeps=True), asked(kind=RequestKind.TENSOR))
    in_ram = Agreement.RAM in idiom.told
    assert what_the_code_makes._fits(plain, asked(kind=RequestKind.HOST)) is in_ram


@pytest.mark.parametrize("of, fits", [(Of.DATA, False), (Of.WEIGHT, True), (Of.ANY, True)])
def test_a_weight_is_no_data(of: Of, fits: bool) -> None:
    idiom = replace(TABLE[0], of=of, op=None, keeps=True)
    assert what_the_code_makes._fits(idiom, asked(kind=RequestKind.TENSOR, creating=True)) is fits
    assert what_the_code_makes._fits(idiom, asked(kind=RequestKind.TENSOR, updating=True)) is fits
    assert what_the_code_makes._fits(idiom, asked(kind=RequestKind.TENSOR))


@pytest.mark.parametrize(
    "axis, stated, agreeing, shown",
    [(0, True, None, False), (0, True, 64, True), (0, False, None, True), (None, True, None, True)],
)
def test_a_line_that_states_another_size_explains_nothing(
    axis: int | None, stated: bool, agreeing: int | None, shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(what_the_code_makes, "_agreeing", lambda *given: agreeing)
    monkeypatch.setattr(what_the_code_makes, "_stated", lambda *given: stated)
    idiom = replace(TABLE[0], told=(Agreement.LINE,), axis=axis)
    frames = [Frame("train.py:3", idiom.examples[0])]
    request = asked(size=64 * MIB, shape=(64, 9), line=at(5))
    found = what_the_code_makes._of_frames(idiom, Agreement.LINE, frames, request, {})
    assert (found is not None) is shown
    if found is not None:
        assert (found.number, found.place, found.line) == (agreeing, "train.py:3", at(5))
    assert what_the_code_makes._of_frames(idiom, Agreement.WAY, frames, request, {}) is None


def test_an_arrow_marks_the_last_line_above_the_failure() -> None:
    code = [
        at(1, "----> 3 x = one()"),
        at(4, "---> 7 y = two()"),
        at(5, "z = three()"),
        at(9, "--> 8 w = four()"),
    ]
    marked = [what_the_code_makes._marked(Made(line=line), code) for line in (at(8), at(4), None)]  # type: ignore[arg-type]
    assert [[(each.place, each.text) for each in frames] for frames in marked] == [
        [("line 4", "y = two()")], [("line 4", "y = two()")], [("line 9", "w = four()")],
    ]  # fmt: skip
    assert what_the_code_makes._marked(Made(line=None), code[2:3]) == []  # type: ignore[arg-type]
