"""A sum of gradients of one weight: what waits for it counts, and no batch."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report


def explained(op: str, inputs: list[str]) -> Report:
    node = f"gradients/AddN_2 = {op}[N={len(inputs)}, T=DT_FLOAT]({', '.join(inputs)})"
    return pipeline.explain(
        f"Resource exhausted: OOM when allocating tensor with shape[128,70001]\n\t [[Node: {node}]]\n"
    )


_SUMMED = [f"gradients/net/MatMul_{each}_grad/tuple/control_dependency_1" for each in range(4)]


def test_gradients_that_wait_for_their_sum_are_counted() -> None:
    report = explained("AddN", _SUMMED)
    assert "the sum of 4 gradients of one weight, [128, 70001]" in report.verdict
    assert "136.72 MiB together" in report.verdict  # 4 x 128 x 70001 x 4 bytes
    assert report.actions[0].remedy.slug == "one-product"
    assert not any("batch" in each.remedy.text for each in report.actions)


@pytest.mark.parametrize(
    ("op", "inputs"),
    [
        ("AddN", _SUMMED[:2]),
        ("Mul", _SUMMED),
        ("AddN", [each.replace("dependency_1", "dependency") for each in _SUMMED]),
        ("AddN", [*_SUMMED, "gradients/net/add_grad/Reshape"]),
    ],
)
def test_other_sums_are_none_of_a_weight(op: str, inputs: list[str]) -> None:
    assert "gradients of one weight" not in explained(op, inputs).verdict
