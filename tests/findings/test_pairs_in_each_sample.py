"""[b,n,n,c] is all pairs of each sample's rows where a line of the program makes them, an image elsewhere."""

from __future__ import annotations

import pytest

from tests.findings.logs import CPU, dump_by_size, oom
from tfmemlens import pipeline
from tfmemlens.model.report import Report

MIB = 1 << 20
GAP = "    gap = x[:, :, None, :] - x[:, None, :, :]\n"
CODE = (
    "import tensorflow as tf\ndef radial(x):\n{gap}    d = tf.sqrt(tf.reduce_sum(gap * gap, axis=-1))\n"
    "    return tf.exp(-tf.square(d[..., None] - centres))\n"
)
FAILED = (
    'Traceback (most recent call last):\n  File "atoms.py", line 5, in radial\n'
    "    return tf.exp(-tf.square(d[..., None] - centres))\n"
)


def report(shape: str = "16,640,640,48", node: str = "sub", gap: str = GAP) -> Report:
    held = dump_by_size(400 * MIB, 600, (1, 500 * MIB), allocator="cpu")
    return pipeline.explain(f"{CODE.format(gap=gap)}{held}{FAILED}{oom(shape, node, on=CPU, by='cpu')}")


def test_the_line_two_steps_back_makes_the_pairs() -> None:
    told = report()
    assert "every pair of 640 rows in each of 16 samples that `gap = " in told.verdict
    slugs = [action.remedy.slug for action in told.actions]
    assert slugs[:2] == ["smaller-batch", "fewer-pairs"] and "smaller-input" not in slugs
    assert "height and width" not in " ".join(action.remedy.text for action in told.actions)


@pytest.mark.parametrize(
    ("shape", "node", "gap"),
    [
        ("16,640,640,48", "sub", "    gap = x\n"),  # nothing makes pairs: an image
        ("16,640,320,48", "sub", GAP),
        ("16,32,32,4800", "sub", GAP),  # few rows
        ("16,640,640,48", "conv/Conv2D", GAP),
    ],
)
def test_near_misses(shape: str, node: str, gap: str) -> None:
    assert "every pair of" not in report(shape, node, gap).verdict
