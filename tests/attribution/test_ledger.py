"""What the page's sliders multiply rows by."""

from __future__ import annotations

from tests.findings.logs import oom, report
from tfmemlens import pipeline
from tfmemlens.attribution.moments.ledger import ledger_of

HELD = (
    "100.00MiB from net/a/Relu",
    "60.00MiB from net/conv/Conv2D-0-0-TransposeNCHWToNHWC-LayoutOptimizer",
    "40.00MiB from gradients/net/b/Conv2D_grad/Conv2DBackpropFilter",
    "20.00MiB from net/conv/kernel/Adam_1",
)


def test_each_lever_leaves_its_share_of_the_rows_that_it_touches() -> None:
    moment = pipeline.explain(oom("64,256,256,2") + report(*HELD)).case.moments[0]
    ledger = ledger_of(moment)
    left = {
        lever.slug: (lever.factor, sum(size for size, touched in zip(ledger.table.size_bytes, lever.touches, strict=True) if touched) >> 20)
        for lever in ledger.scaling.levers
    }  # fmt: skip
    assert left == {"layout": (0.0, 60), "half": (0.5, 160), "recompute": (0.5, 100), "slots": (0.0, 20)}
