"""Gradients that dominate are told with the layer that has most of them."""

from __future__ import annotations

from tests.findings.logs import report
from tfmemlens import pipeline


def test_the_layer_with_most_gradients_is_named() -> None:
    rows = (
        "60.00MiB from gradients/net/wide/MatMul_grad/MatMul_1",
        "9.00MiB from gradients/net/thin/MatMul_grad/MatMul_1",
    )
    verdict = pipeline.explain(report(*rows, "20.00MiB from net/in/Relu")).verdict
    assert "are gradients, most in net/wide." in verdict
