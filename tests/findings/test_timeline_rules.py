"""The rules that need a time axis: each on a timeline that triggers it, and on one that differs in just
that.
"""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from tests.builders import MIB, capture, row, timeline
from tests.conftest import SAMPLES
from tfmemlens import pipeline
from tfmemlens.model.allocation import Allocation
from tfmemlens.model.capture import Capture
from tfmemlens.model.graph import Graph, Node
from tfmemlens.renderers.terminal import report as terminal

FILTER = "gradients/net/conv_grad/Conv2DBackpropFilter"
INPUT = "gradients/net/conv_grad/Conv2DBackpropInput"
RELU, READER = "net/a/Relu", "gradients/net/a/Relu_grad/ReluGrad"
EDGE = ((RELU, READER),)


def shaped(node: str, *shape: int) -> Allocation:
    """An output of this shape that is gone before the peak."""
    return replace(row(node, math.prod(shape) * 4 / MIB, 0, 1), shape=shape)


def on_cpu(*rows: Allocation) -> Capture:
    """A step on the CPU."""
    return capture(replace(timeline(*rows), device="/job:localhost/replica:0/task:0/device:CPU:0"))


UNROLLED = (
    shaped("net/conv", 8, 256, 256, 64),
    row("net/a/Relu", 500, 2, 9),
    row(FILTER, 144, 4, 5, scratch=True),
)

UPDATES = ("Adam/update_words/table/mul_2", "Adam/update_words/table/ReadVariableOp_2")
FUSED = ("Adam/update_words/table/ApplyAdam", "Adam/update_words/table/SparseApplyAdam")

CASES: dict[str, tuple[Capture, Capture]] = {
    "whole-table-updated": (
        capture(timeline(*(replace(row(node, 20, 0, 9), shape=(80_000, 64)) for node in UPDATES))),
        capture(timeline(*(replace(row(node, 20, 0, 9), shape=(80_000, 64)) for node in FUSED))),
    ),
    "im2col-at-the-peak": (
        on_cpu(*UNROLLED, shaped(FILTER, 3, 3, 64, 64)),
        on_cpu(*UNROLLED, shaped(FILTER, 5, 5, 64, 64)),  # this kernel's buffer would take 400 MiB
    ),
    "patch-extraction": (
        capture(
            timeline(
                replace(
                    row("net/ExtractImagePatches", 16 * 112 * 112 * 147 * 4 / MIB, 0, 9),
                    shape=(16, 112, 112, 147),
                )
            )
        ),
        capture(
            timeline(
                replace(
                    row("net/ExtractImagePatches", 16 * 112 * 112 * 149 * 4 / MIB, 0, 9),
                    shape=(16, 112, 112, 149),
                )
            )
        ),
    ),
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
        capture(
            timeline(row(RELU, 30, 0, 9), row("net/b/Relu", 20, 3, 4), ran=((RELU, 0, 1), (READER, 8, 9))),
            edges=EDGE,
        ),
        capture(
            timeline(row(RELU, 30, 0, 9), row("net/b/Relu", 20, 3, 4), ran=((RELU, 0, 1), (READER, 2, 2.5))),
            edges=EDGE,
        ),
    ),
}


@pytest.mark.parametrize("rule", CASES)
def test_the_rule_fires(rule: str) -> None:
    assert rule in {finding.rule for finding in pipeline.report(CASES[rule][0]).findings}


@pytest.mark.parametrize("rule", CASES)
def test_the_rule_stays_silent_on_the_near_miss(rule: str) -> None:
    assert rule not in {finding.rule for finding in pipeline.report(CASES[rule][1]).findings}


def test_the_buffer_of_a_gradient_is_named_to_the_byte() -> None:
    found = next(
        finding
        for finding in pipeline.report(CASES["im2col-at-the-peak"][0]).findings
        if finding.rule == "im2col-at-the-peak"
    )
    assert "1 image x (256 x 256 positions) x (3 x 3 kernel x 64 channels)" in found.headline
    assert "[1,65536,576], to the byte" in found.evidence[1].fact
    assert found.explains == 144 * MIB
    assert found.remedies[0].saves_bytes == 144 * MIB * 3 // 4


def test_the_forward_pass_of_a_transposed_convolution_has_one_too() -> None:
    node, weights = "up/conv2d_transpose", "up/weights"
    attributes = {"strides": (1, 2, 2, 1), "padding": "SAME"}
    graph = Graph(
        {
            node: Node(
                node,
                "Conv2DBackpropInput",
                ("up/shape", f"{weights}/read", "net/Relu"),
                attributes=attributes,
            ),
            f"{weights}/read": Node(f"{weights}/read", "Identity", (weights,)),
            weights: Node(weights, "VariableV2", attributes={"shape": (5, 5, 64, 32)}),
        }
    )
    output = replace(row(node, 4 * 256 * 256 * 64 * 4 / MIB, 4, 9), shape=(4, 256, 256, 64))
    steps = replace(on_cpu(output, row(node, 100, 4, 5, scratch=True)), graph=graph)
    found = next(
        finding for finding in pipeline.report(steps).findings if finding.rule == "im2col-at-the-peak"
    )
    assert (
        "up's transposed convolution: 1 image x (128 x 128 positions) x (5 x 5 kernel x 64 channels)"
        in found.headline
    )
    assert "the graph has the weights [5,5,64,32]" in found.evidence[1].fact


def test_on_a_gpu_it_is_no_im2col_buffer() -> None:
    steps = timeline(*UNROLLED, shaped(FILTER, 3, 3, 64, 64))
    assert "im2col-at-the-peak" not in {finding.rule for finding in pipeline.report(capture(steps)).findings}


def test_patches_are_named_by_the_graph() -> None:
    """196 may be 14 x 14 of one channel; the graph's ksizes say 7 x 7 of four."""
    node = "net/ExtractImagePatches"
    steps = capture(timeline(replace(row(node, 4 * 64 * 64 * 196 * 4 / MIB, 0, 9), shape=(4, 64, 64, 196))))
    graph = Graph({node: Node(node, "ExtractImagePatches", attributes={"ksizes": (1, 7, 7, 1)})})
    found = next(
        finding
        for finding in pipeline.report(replace(steps, graph=graph)).findings
        if finding.rule == "patch-extraction"
    )
    assert "patches of 7 x 7 pixels of 4 channels for each of 4 images" in found.headline
    assert "the graph has the kernel: 7 x 7" in found.evidence[1].fact


def test_a_forward_pass_alone_keeps_nothing_for_a_backward_pass() -> None:
    report = pipeline.explain(SAMPLES / "run_metadata/2.21-inference.pb")
    page = terminal.render(report)
    assert any("alive at once in the forward pass" in finding.headline for finding in report.findings)
    for word in ("backward", "gradient accumulation", "checkpointing"):
        assert word not in page


def test_the_update_of_a_whole_table_is_told_and_that_of_a_fused_op_is_not() -> None:
    found = pipeline.explain(SAMPLES / "run_metadata/2.21-sparse-adam.pb").findings
    assert "wide/table works on all 5,000 rows" in next(
        finding.headline for finding in found if finding.rule == "whole-table-updated"
    )
    for quiet in ("2.21-embedding.pb", "2.21-gan.pb", "1.15-keras-fit.pb"):
        assert all(
            finding.rule != "whole-table-updated"
            for finding in pipeline.explain(SAMPLES / "run_metadata" / quiet).findings
        )


def test_convolutions_are_advised_only_where_one_holds_the_scratch() -> None:
    for finding in pipeline.explain(SAMPLES / "run_metadata/2.21-sparse-adam.pb").findings:
        assert not any("convolutions" in remedy.text for remedy in finding.remedies)


@pytest.mark.parametrize(
    ("sample", "whole"),
    [
        ("fit/2.21-whole-process.xplane.pb.gz", "trace"),
        ("log_memory/2.21-lenet.log.gz", "log"),
        ("run_metadata/2.21-lenet.pb", "step"),
    ],
)
def test_events_that_may_span_several_steps_are_no_step(sample: str, whole: str) -> None:
    assert pipeline.explain(SAMPLES / sample).verdict.startswith(f"This {whole}'s peak is ")
