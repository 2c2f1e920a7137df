"""A program of which a whole file was read, and that trains nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.findings.logs import oom
from tfmemlens import pipeline
from tfmemlens.findings.support.situation import situation
from tfmemlens.findings.support.whole_program import takes_no_gradient
from tfmemlens.model.case import Case
from tfmemlens.model.report import Report

ANSWERS = """from __future__ import print_function
import numpy as np
import tensorflow as tf

def answer(states, beam):
    table = tf.Variable(tf.zeros([64, 30000]), trainable=False)
    return tf.matmul(states, table, name="logits")

answer(tf.zeros([2048, 64]), 16)
"""
FAILED = """Traceback (most recent call last):
  File "ask.py", line 9, in <module>
    answer(tf.zeros([2048, 64]), 16)
"""


def report(folder: Path, code: str, head: str = "") -> Report:
    (folder / "ask.py").write_text(code)
    log = folder / "log.txt"
    log.write_text(head + FAILED + oom("2048,30000", "logits"))
    return pipeline.explain(log)


def case(folder: Path, code: str, head: str = "") -> Case:
    return report(folder, code, head).case


@pytest.mark.parametrize(
    ("change", "nowhere"),
    [
        (("", ""), True),
        (("beam", "k"), True),
        (("import numpy as np", "import numpy as np\nfrom nets import head"), False),
        (("import numpy as np", "from . import head"), False),
        (("import numpy as np", "import optax"), False),
        (("answer(tf", "tf.gradients(1, 2)\nanswer(tf"), False),
        (("answer(tf", "model.fit(x)\nanswer(tf"), False),
        (("answer(tf", "def train(x): pass\nanswer(tf"), False),
        (("answer(tf", "op = tf.train.AdamOptimizer()\nanswer(tf"), False),
        (("answer(tf", "exec(open('more.py').read())\nanswer(tf"), False),
    ],
)
def test_what_may_train(tmp_path: Path, change: tuple[str, str], nowhere: bool) -> None:
    found = case(tmp_path, ANSWERS.replace(*change), "Settings(beam=16)\n")
    assert takes_no_gradient(found.capture.surroundings.program()) is nowhere
    assert (situation(found, found.moments[0]).training is False) is nowhere


def test_code_in_a_text_may_go_on(tmp_path: Path) -> None:
    text = ANSWERS + oom("2048,30000", "logits")
    assert takes_no_gradient(pipeline.explain(text).case.capture.surroundings.program()) is False


@pytest.mark.parametrize(
    ("code", "told", "first"),
    [
        (ANSWERS, "30,000 logits for each of 2,048 beams", "decode fewer sentences at once"),
        (ANSWERS.replace("beam", "k"), "in a program that does not train", "give it fewer samples"),
        (ANSWERS + "def train(): pass\n", "the loss needs several", ""),
    ],
)
def test_logits_without_a_loss(tmp_path: Path, code: str, told: str, first: str) -> None:
    found = report(tmp_path, code)
    assert told in found.verdict
    assert found.actions[0].remedy.text.startswith(first)
