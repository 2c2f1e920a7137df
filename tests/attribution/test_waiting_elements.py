"""Elements of an input pipeline that no message names as such."""

from __future__ import annotations

import pytest

from tests.findings.logs import MIB
from tests.findings.test_chunks_without_names import chunks, explained, failing

BRIGHT = "ArithmeticOptimizer/AddOpsRewrite_adjust_brightness"


def text(node: str, shape: str, many: int, other: int = 1, before: str = "") -> str:
    size = 4
    for side in shape.split(","):
        size *= int(side)
    size = -(-size // 256) * 256
    return (
        before + chunks(size, (many, size), (1, other * MIB), op=node) + failing(shape, node, "cwise_ops.h")
    )


@pytest.mark.parametrize(
    ("log", "waits"),
    [
        (text(BRIGHT, "8,96,96,3", 60), True),
        (text("resize/ResizeBilinear", "24,80,80,1", 60), True),
        (text("truediv", "640,640,3", 16), True),
        (text("truediv", "640,640,3", 15), False),  # too few
        (text("truediv", "8,96,96,3", 60), True),
        (text("truediv", "8,96,96,32", 60), False),  # a layer's outputs have as many channels
        (text("enc/block/truediv", "128,128,3", 60), False),
        (text("gradient_tape/resize/ResizeBilinearGrad", "8,96,96,3", 60), False),
        (text("while/body/resize/ResizeBilinear", "8,96,96,3", 60), False),
        (text(BRIGHT, "8,96,96,3", 20, other=90), False),  # less than half of all
        (text(BRIGHT, "8,96,96,3", 60, before="step 2: loss 0.5\nstep 3: loss 0.5\n"), False),
        (text("net/conv/BiasAdd", "8,96,96,3", 60), False),
    ],
)
def test_many_blocks_of_one_image_wait_in_the_pipeline(log: str, waits: bool) -> None:
    report = explained(log)
    moment = report.case.moments[0]
    assert moment.request is not None and moment.request.failed.pipeline is waits
    assert ("most likely elements that the input pipeline keeps" in report.verdict) is waits
    if waits:
        assert moment.incident is not None and not moment.incident.request.pipeline
        assert moment.request.batch is None
        assert report.actions[0].remedy.slug == "smaller-pipeline"
