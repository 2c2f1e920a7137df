"""What the remedies that many rules offer would save."""

from __future__ import annotations

from tests.findings.logs import oom, report
from tfmemlens import pipeline
from tfmemlens.findings.support.shared_remedies import half_precision, recompute, smaller_batch
from tfmemlens.model.report import Report

HELD = (
    "100.00MiB from net/a/Relu",
    "60.00MiB from net/b/Relu",
    "40.00MiB from gradients/net/b/Conv2D_grad/Conv2DBackpropFilter",
)
ACTIVATIONS = 160 << 20


def explained() -> Report:
    return pipeline.explain(oom("64,256,256,2") + report(*HELD))


def test_half_the_batch_saves_half_of_what_grows_with_it() -> None:
    """The gradient of a weight stays."""
    assert smaller_batch(explained().case.moments[0]).saves_bytes == ACTIVATIONS // 2


def test_half_precision_saves_half_of_the_activations() -> None:
    found = explained()
    remedy = half_precision(found.case.moments[0], found.case.api)
    assert remedy and remedy.saves_bytes == ACTIVATIONS // 2


def test_recomputing_saves_about_half_of_the_activations() -> None:
    found = explained()
    remedy = recompute(found.case.moments[0], found.case.api)
    assert remedy and remedy.saves_bytes == ACTIVATIONS // 2
