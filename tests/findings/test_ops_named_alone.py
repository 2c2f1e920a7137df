"""The op that failed, where its head is all that was pasted of the message."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report

FRAMES = (
    '  File "fit.py", line 12, in <module>\n    net = build(images)\n'
    '  File "/opt/project/nets.py", line 48, in {function}\n    y = layer(y)\n'
)


def read(op: str, frames: str = FRAMES.format(function="build")) -> Report:
    return pipeline.explain(
        f"# ResourceExhaustedError when I start fit.py\n\nCaused by op '{op}', defined at:\n{frames}"
    )


def slugs(report: Report) -> list[str]:
    return [action.remedy.slug for action in report.actions]


@pytest.mark.parametrize(
    "op", ["head/truncated_normal/TruncatedNormal", "head/fc/kernel/Initializer/random_uniform/RandomUniform"]
)
def test_a_weights_first_value_has_no_batch(op: str) -> None:
    report = read(op)
    assert "a weight's first value" in report.verdict
    assert slugs(report)[0] == "see-device-users"
    assert "smaller-batch" not in slugs(report)


@pytest.mark.parametrize("op", ["head/conv_3/Conv2D", "drop/random_uniform/RandomUniform", "noise/truncated"])
def test_another_op_may_have_one(op: str) -> None:
    report = read(op)
    assert f"the op that failed is `{op}`" in report.verdict
    assert "first value" not in report.verdict
    assert "smaller-batch" in slugs(report)


def test_a_function_of_the_model_is_no_evaluation() -> None:
    report = read("net/conv/Conv2D", FRAMES.format(function="inference"))
    assert "smaller-evaluation-batch" not in slugs(report)
    told = pipeline.explain("# ResourceExhaustedError\n\nI train in TF 1.4 and get OOM during validation.\n")
    assert "smaller-evaluation-batch" in slugs(told)


def test_what_runs_the_cells_is_no_place() -> None:
    frames = '  File "/usr/lib/python3/dist-packages/zmq/eventloop/stream.py", line 450, in _handle\n'
    assert "stream.py" not in read("net/conv/Conv2D", frames).verdict
    assert "nets.py:48" in read("net/conv/Conv2D").verdict
