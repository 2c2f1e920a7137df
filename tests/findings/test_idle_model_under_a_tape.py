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


OWN = """
class Net({base}):
    pass
class Trainer:
    def __init__(self):
        self.large, self.small, self.head = Net(9{kept}), Net(3), layers.Dense(4)
        self.large = Net(9{kept})
        self.small = Net(3)
    def step(self, x):
        with tf.GradientTape() as tape:
            loss = f(self.head(self.small(x)), self.large(x))
        weights = self.small.trainable_variables + self.head.trainable_variables
        return tape.gradient(loss, weights)
"""


SEVERAL = """
def body(width, name):
    i = keras.Input((9,))
    return keras.Model(i, layers.Dense(width)(i), name=name)
class Distiller:
    def __init__(self):
        self.pupil = body(5, "pupil")
        self.{list} = [body(1800, f"tutor{{k}}") for k in range(3)]
        for each in self.{list}: each.trainable = False
    def soft(self, x):
        return tf.add_n([t({given}) for t in self.{list}])
    def step(self, x):
        with tf.GradientTape() as tape:
            logits = self.pupil(x)
            loss = f(logits, self.soft(x))
        return tape.gradient(loss, self.{trained}.trainable_variables)
"""


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
        (of_step(before="tutor.trainable = False"), "tutor"),  # as much is kept: measured
        (HEAD + OWN.format(base="keras.Model", kept=""), "self.large"),
        (HEAD + OWN.format(base="tf.Module", kept=""), "self.large"),
        (HEAD + OWN.format(base="Base", kept=""), None),  # of whatever it is
        (HEAD + OWN.format(base="keras.Model", kept=", trainable=False"), "self.large"),
        (HEAD + OBJECT.format(given="x"), "self.large"),
        (HEAD + OBJECT.format(given="logits"), None),
        (HEAD + SEVERAL.format(list="tutors", given="x", trained="pupil"), "self.tutors"),
        (HEAD + SEVERAL.format(list="tutors", given="self.pupil(x)", trained="pupil"), None),
        (HEAD + SEVERAL.format(list="tutors", given="x", trained="other"), "self.pupil"),
    ],
)
def test_a_call_that_no_gradient_needs(code: str, model: str | None) -> None:
    found = idle_call(program(code))
    assert (found and found.model) == model


def test_of_several_the_statement_of_the_tape_is_moved() -> None:
    found = idle_call(program(HEAD + SEVERAL.format(list="tutors", given="x", trained="pupil")))
    assert found is not None and found.several
    assert found.call.text.strip() == "return tf.add_n([t(x) for t in self.tutors])"
    assert found.under.text.strip() == "loss = f(logits, self.soft(x))"


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


@pytest.mark.parametrize(("sides", "told"), [(64, True), (32, False)])
def test_what_it_made_is_larger_than_what_failed_below_it(tmp_path: Path, sides: int, told: bool) -> None:
    """Of a request below a MiB nobody can tell."""
    code = of_step()
    (tmp_path / "run.py").write_text(code)
    line = "loss = f(pupil(x), soft)"
    number = next(at for at, text in enumerate(code.split("\n"), 1) if text.strip() == line)
    frame = f'Traceback (most recent call last):\n  File "run.py", line {number}, in step\n    {line}\n'
    full = dump_by_size(4 * sides * sides * 64, 380, (22, 12 * MIB), (8, MIB), allocator=HOST)
    log = tmp_path / "log.txt"
    log.write_text(full + frame + oom(f"4,{sides},{sides},16", "Conv2D", on=CPU, by=HOST))
    assert ("22 blocks that are larger than what failed" in pipeline.explain(log).verdict) is told


def test_a_graph_keeps_only_what_its_gradient_needs(tmp_path: Path) -> None:
    code = of_step()
    (tmp_path / "run.py").write_text(code)
    frame = 'Traceback (most recent call last):\n  File "run.py", line 9, in step\n    soft = tutor(x)\n'
    told = "{{function_node __inference_step_77}} " + oom("64,48", "Mean", on=CPU, by=HOST)
    log = tmp_path / "log.txt"
    log.write_text(frame + told)
    assert "idle-model-under-a-tape" not in {each.rule for each in pipeline.explain(log).findings}


def test_outputs_of_several_sizes_are_its_own_among_others(tmp_path: Path) -> None:
    code = of_step()
    (tmp_path / "run.py").write_text(code)
    number = next(at for at, text in enumerate(code.split("\n"), 1) if text.strip() == "soft = tutor(x)")
    frame = (
        f'Traceback (most recent call last):\n  File "run.py", line {number}, in step\n    soft = tutor(x)\n'
    )
    full = dump_by_size(12 * MIB, 500, (16, 12 * MIB), (20, 6 * MIB), (60, 3 * MIB), allocator=HOST)
    log = tmp_path / "log.txt"
    log.write_text(full + frame + oom("32,32,32,96", "Mul", on=CPU, by=HOST))
    verdict = pipeline.explain(log).verdict
    assert "`tutor` runs under the tape" in verdict
    assert "96 blocks of outputs' sizes (492.00 MiB) are in use, its own among them" in verdict
