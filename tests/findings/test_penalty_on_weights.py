"""An L2 penalty on a whole table: no batch, and no gradient of a lookup."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tests.findings.test_what_is_no_batch import explained

RULE = "penalty-on-weights"


@pytest.mark.parametrize(
    ("shape", "node", "fires"),
    [
        ("300000,64", "gradients/L2Loss_grad/mul", True),
        ("300000,64", "ads/embeddings/Regularizer/Square", True),
        ("300000,64", "L2Loss_3", True),
        ("4999,640", "gradients/L2Loss_grad/mul", False),  # few rows
        ("5000,6400", "gradients/L2Loss_grad/mul", False),  # wider than it is long
        ("20000,64", "gradients/L2Loss_grad/mul", False),  # 4.9 MiB
        ("300000,64", "gradients/Mean_grad/mul", False),
        ("32,300,64,64", "gradients/L2Loss_grad/mul", False),  # a reconstruction
    ],
)
def test_it_fires_for_tables_under_a_penalty(shape: str, node: str, fires: bool) -> None:
    report = explained(oom(shape, node))
    assert (RULE in {each.rule for each in report.findings}) is fires
    if fires:
        assert report.findings[0].rule == RULE
        slugs = [action.remedy.slug for action in report.actions]
        assert slugs[0] == "penalty-on-rows" and "smaller-batch" not in slugs


def test_it_saves_at_most_the_tensor() -> None:
    report = explained(oom("300000,64", "gradients/L2Loss_grad/mul"))
    assert report.actions[0].remedy.saves_bytes == 300_000 * 64 * 4
