"""The rules that need a time axis: each on a timeline that triggers it, and on one that differs in just that."""

from __future__ import annotations

import pytest

from tests.builders import capture, row, timeline
from tfmemlens import pipeline
from tfmemlens.model.capture import Capture

FILTER = "gradients/net/conv_grad/Conv2DBackpropFilter"
INPUT = "gradients/net/conv_grad/Conv2DBackpropInput"
RELU, READER = "net/a/Relu", "gradients/net/a/Relu_grad/ReluGrad"
EDGE = ((RELU, READER),)

CASES: dict[str, tuple[Capture, Capture]] = {
    "temporary-at-the-peak": (
        capture(timeline(row("net/a/Relu", 10, 0, 9), row(FILTER, 30, 4, 5, scratch=True))),
        capture(timeline(row("net/a/Relu", 40, 0, 9), row(FILTER, 10, 4, 5, scratch=True))),
    ),
    "two-backward-workspaces": (
        capture(timeline(row(FILTER, 30, 4, 6, scratch=True), row(INPUT, 20, 5, 7, scratch=True))),
        capture(timeline(row(FILTER, 30, 4, 6, scratch=True), row(INPUT, 20, 6.5, 7, scratch=True))),
    ),
    "host-device-copies": (
        capture(timeline(row("edge_12_net/a/Relu", 20, 0, 9), row("net/b/Relu", 80, 0, 9))),
        capture(timeline(row("edge_12_net/a/Relu", 5, 0, 9), row("net/b/Relu", 95, 0, 9))),
    ),
    "kept-for-backward": (
        capture(timeline(row(RELU, 30, 0, 9), row("net/b/Relu", 20, 3, 4), ran=((RELU, 0, 1), (READER, 8, 9))), edges=EDGE),
        capture(timeline(row(RELU, 30, 0, 9), row("net/b/Relu", 20, 3, 4), ran=((RELU, 0, 1), (READER, 2, 2.5))), edges=EDGE),
    ),
}


@pytest.mark.parametrize("rule", CASES)
def test_the_rule_fires(rule: str) -> None:
    assert rule in {finding.rule for finding in pipeline.report(CASES[rule][0]).findings}


@pytest.mark.parametrize("rule", CASES)
def test_the_rule_stays_silent_on_the_near_miss(rule: str) -> None:
    assert rule not in {finding.rule for finding in pipeline.report(CASES[rule][1]).findings}
