"""The batch that a program states as a constant."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.findings.support import remedies

LOG = """  File "train.py", line 9, in <module>
    net.fit(x, y, batch_size=BATCH)
tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor with\
 shape[96,24,24000] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc
"""
CODE = """import tensorflow as tf
{} = {}
net = tf.keras.Sequential([tf.keras.layers.Dense(24000, name="next_word")])
net.fit(x, y, batch_size=BATCH)
"""


@pytest.mark.parametrize(
    "name, value, batch",
    [("BATCH", 96, 96), ("train_batch_size", 96, 96), ("BATCH", 95, None), ("WIDTH", 96, None)],
)
def test_a_constant_that_leads_the_shape(name: str, value: int, batch: int | None) -> None:
    case = pipeline.explain(f"{CODE.format(name, value)}\nTraceback (most recent call last):\n{LOG}").case
    request = case.moments[0].request
    assert request is not None and request.failed.shape == (96, 24, 24000)
    assert remedies._batch_of_program(case, request) == batch


CLIPS = """batch {}, {} frames of 160x160
tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor with\
 shape[192,80,80,64] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc
    [[{{{{node training/Adam/gradients/time_distributed_1/Relu_grad/ReluGrad}}}}]]
"""


@pytest.mark.parametrize("batch, frames", [(8, 24), (6, 32)])
def test_a_batch_times_a_length_leads_the_shape(batch: int, frames: int) -> None:
    report = pipeline.explain(CLIPS.format(batch, frames))
    lower = next(each.remedy.text for each in report.actions if each.remedy.slug == "smaller-batch")
    assert f"{batch} -> {batch // 2}" in lower
    assert not any("192 ->" in each.remedy.text for each in report.actions)
    fewer = next(each.remedy.text for each in report.actions if each.remedy.slug == "shorter-sequences")
    assert f"{frames} -> {frames // 2}" in fewer and "pad" not in fewer


def test_a_product_that_is_not_the_first_side_is_no_batch_times_a_length() -> None:
    report = pipeline.explain(CLIPS.format(8, 20))
    assert not any("8 -> 4" in each.remedy.text for each in report.actions)
