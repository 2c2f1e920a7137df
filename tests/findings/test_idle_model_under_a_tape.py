"""A model that is called under the tape of another."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.findings.logs import CPU, dump_by_size, oom
from tests.findings.test_retraced_code import program
from tfmemlens import pipeline
from tfmemlens.findings.support.idle_under_tape import idle_call

MIB = 1 << 20
HOST = "bfc_cpu_allocator_for_gpu"
HEAD = """
import keras, tensorflow as tf
from keras import layers
tutor = keras.Sequential([keras.Input((9,)), layers.Dense(1800)])
pupil = keras.Sequential([keras.Input((9,)), layers.Dense(5)])
"""
STEP = """
def step(x):
    {before}
    with tf.GradientTape() as tape:
        {under}
        loss = f(pupil(x), soft)
    return tape.gradient(loss, {weights})
"""
OBJECT = """
class Trainer:
    def __init__(self, large, small):
        self.large, self.small = large, small
    def soft(self, x, logits):
        return tf.nn.softmax(self.large({given}))
    def step(self, x):
        with tf.GradientTape() as tape:
            logits = self.small(x)
            loss = f(logits, self.soft(x, logits))
        return tape.gradient(loss, self.small.trainable_variables)
both = Trainer(tutor, pupil)
"""
WEIGHTS = "pupil.trainable_variables"


def of_step(before: str = "", under: str = "soft = tutor(x)", weights: str = WEIGHTS) -> str:
    return HEAD + STEP.format(before=before or "pass", under=under or "pass", weights=weights)


@pytest.mark.parametrize(
    ("code", "model"),
    [
        (of_step(), "tutor"),
        (of_step(before="soft = tutor(x)", under=""), None),
        (of_step(weights="tutor.trainable_variables"), "pupil"),
        (of_step(weights="weights"), None),  # nobody knows whose
        (of_step(under="soft = tutor(pupil(x))"), None),  # the gradient goes through it
        (of_step(under="h = pupil(x)\n        soft = tutor(h)"), None),
        (of_step(before="tutor.trainable = False"), None),
        (HEAD + OBJECT.format(given="x"), "self.large"),
        (HEAD + OBJECT.format(given="logits"), None),
    ],
)
def test_a_call_that_no_gradient_needs(code: str, model: str | None) -> None:
    found = idle_call(program(code))
    assert (found and found.model) == model


@pytest.mark.parametrize(("line", "first"), [("soft = tutor(x)", True), ("loss = f(pupil(x), soft)", False)])
def test_it_is_called_outside_where_its_call_failed(tmp_path: Path, line: str, first: bool) -> None:
    code = of_step()
    (tmp_path / "run.py").write_text(code)
    number = next(at for at, text in enumerate(code.split("\n"), 1) if text.strip() == line)
    frame = f'Traceback (most recent call last):\n  File "run.py", line {number}, in step\n    {line}\n'
    full = dump_by_size(64 * 48 * 4, 380, (22, 12 * MIB), (8, MIB), allocator=HOST)
    log = tmp_path / "log.txt"
    log.write_text(full + frame + oom("64,48", "Mean", on=CPU, by=HOST))
    found = pipeline.explain(log)
    assert ("`tutor` runs under the tape of line 9" in found.verdict) is first
    assert ("22 blocks of 12.00 MiB" in found.verdict) is first
    assert "outside-the-tape" in [each.remedy.slug for each in found.actions[: 1 if first else 3]]
