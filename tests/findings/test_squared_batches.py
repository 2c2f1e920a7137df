"""A tensor of every sample with every sample: the batch squared, whatever setting has the batch's value."""

from __future__ import annotations

import pytest

from tests.findings.logs import CPU, MIB, dump_by_size, oom
from tfmemlens import findings, pipeline
from tfmemlens.model.live_model import LiveModel
from tfmemlens.values import replace

PROGRAM = """\
import tensorflow as tf
SIDE = 48
class Judge(tf.keras.layers.Layer):
    def call(self, maps):
        return tf.concat([tf.repeat(maps, tf.shape(maps)[0], axis=0), self.other(maps)], axis=-1)
maps = tf.keras.Input((SIDE, SIDE, 3))
"""


@pytest.mark.parametrize(("batch", "squared"), [(48, True), (64, False), (None, False)])
def test_a_square_of_the_batch_is_no_setting(batch: int | None, squared: bool) -> None:
    host = "bfc_cpu_allocator_for_gpu"
    dump = dump_by_size(2304 * 12 * 12 * 128 * 4, 250, (1, 120 * MIB), (1, 60 * MIB), allocator=host)
    text = PROGRAM + dump + oom("2304,12,12,128", "net/judge/concat", on=CPU, by=host)
    capture = replace(pipeline.capture(text), live_model=LiveModel((), (), failed_batch=batch))
    report = findings.examine(pipeline.case(capture))
    rules = {each.rule for each in report.findings}
    assert ("whole-set-in-one-batch" not in rules) is squared
    assert not (squared and "setting-of-this-size" in rules)
    if squared:
        assert not any("2,304 ->" in each.remedy.text for each in report.actions)
