"""Slices that a loop takes of a tensor have gradients as large as the whole of it."""

from __future__ import annotations

import pytest

from tests.findings.logs import dump_by_size, oom
from tfmemlens import pipeline
from tfmemlens.model.finding import Finding
from tfmemlens.model.report import Report
from tfmemlens.units import MIB

RULE = "gradients-of-slices"
CODE = """\
import tensorflow as tf
proj = tf.keras.layers.Dense(192)
cell = tf.keras.layers.GRUCell(128)
@tf.function
def step(x):
    with tf.GradientTape() as tape:
        z = proj(x)
        h = tf.zeros((64, 128))
        for t in range(160):
            h, _ = cell(z[:, t], [h])
        loss = tf.reduce_mean(h)
    return tape.gradient(loss, proj.trainable_variables)
step(tf.random.normal([64, 160, 12]))
"""
WHOLE = 64 * 160 * 192 * 4
NODE = "gradient_tape/gru_cell_187/MatMul_1"


def explained(code: str = CODE, blocks: int = 62, size: int = WHOLE, node: str = NODE) -> Report:
    full = dump_by_size(128 * 384 * 4, 600, (blocks, size), (1, 100 * MIB))
    return pipeline.explain(f"{code}\n{full}{oom('128,384', node)}")


def told(report: Report) -> Finding | None:
    return next((each for each in report.findings if each.rule == RULE), None)


def test_the_line_the_tensor_and_the_blocks_are_told() -> None:
    finding = told(explained())
    assert finding is not None
    assert "takes 160 slices (`z[:, t]`) of a tensor [64,160,192]" in finding.headline
    assert "62 blocks of 7.50 MiB" in finding.headline
    assert finding.explains == 62 * WHOLE
    remedy = finding.remedies[0]
    assert remedy.slug == "unstack-once" and "tf.unstack(z, axis=1)" in (remedy.code or "")
    assert remedy.saves_bytes == 61 * WHOLE


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(("z = proj(x)", "z = x"), id="no weight stands behind it"),
        pytest.param(("z[:, t]", "z[:, 0]"), id="one and the same slice"),
        pytest.param(("range(160)", "range(7)"), id="few turns"),
        pytest.param(("range(160)", "tf.range(160)"), id="a loop of the graph"),
        pytest.param(("z[:, t]", "tf.unstack(z, axis=1)[t]"), id="unstacked"),
        pytest.param(("z = proj(x)", "z = tf.stop_gradient(proj(x))"), id="stopped"),
    ],
)
def test_near_misses(change: tuple[str, str]) -> None:
    assert change[0] in CODE
    assert told(explained(CODE.replace(*change))) is None


@pytest.mark.parametrize(("blocks", "size"), [(7, WHOLE), (62, 2 * WHOLE), (62, WHOLE - 4096)])
def test_blocks_of_its_size_have_to_be_there(blocks: int, size: int) -> None:
    assert told(explained(blocks=blocks, size=size)) is None


@pytest.mark.parametrize(
    ("node", "fires"),
    [
        ("gradients/strided_slice_113_grad/StridedSliceGrad", True),
        ("gradient_tape/decoder/strided_slice_12/StridedSliceGrad", True),
        ("decoder/strided_slice_12", False),
    ],
)
def test_without_the_program_the_name_of_what_failed_tells(node: str, fires: bool) -> None:
    full = dump_by_size(WHOLE, 600, (62, WHOLE), (1, 100 * MIB))
    finding = told(pipeline.explain(f"{full}{oom('64,160,192', node)}"))
    assert (finding is not None) is fires
    assert finding is None or finding.headline.startswith("a loop takes slices of a tensor [64,160,192]")
