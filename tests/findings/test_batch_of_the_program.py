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
