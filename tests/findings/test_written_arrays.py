"""What the turns of a loop write into a TensorArray, and how much a container of a program may hold."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.findings.logs import CPU, dump_by_size, oom
from tfmemlens import pipeline
from tfmemlens.findings.support.kept_code import kept
from tfmemlens.findings.support.written_arrays import keeps_for_no_gradient, written_array
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program, Statement
from tfmemlens.model.report import Report

MIB = 1 << 20
HOST = "bfc_cpu_allocator_for_gpu"
DECODING = """
import tensorflow as tf
words = tf.TensorArray(tf.int32, 60)
scores = tf.TensorArray(tf.float32, 60)
def body(t, words, scores):
    logp = step(t)
    scores = scores.write(t, {value})
    total = best(logp)
    return t + 1, words.write(t, total), scores
_, words, scores = tf.while_loop(cond, body, [0, words, scores], back_prop={gradient})
found = tf.reduce_max(scores.stack(), -1)
"""


def program(code: str) -> Program:
    lines = tuple(Line(at, text, "run.py") for at, text in enumerate(code.splitlines(), 1))
    return Program(tuple(Statement(node, lines) for node in ast.parse(code).body))


@pytest.mark.parametrize(
    ("value", "shape", "name"),
    [
        ("tf.reshape(logp, [32, 8, 24000])", (32, 8, 24000), "scores"),
        ("tf.reshape(logp, [256, 24000])", (32, 8, 24000), None),  # of two sides
        ("logp", (32, 8, 24000), None),  # either of the two
    ],
)
def test_which_array_is_written(value: str, shape: tuple[int, ...], name: str | None) -> None:
    found = written_array(program(DECODING.format(value=value, gradient=False)), shape)
    assert (found and found.name) == name
    if found:
        assert found.line.number == 7 and found.read and found.read.number == 11


def test_one_array_alone_needs_no_shape() -> None:
    code = DECODING.format(value="logp", gradient=False).replace("words.write(t, total)", "words")
    found = written_array(program(code), None)
    assert found and found.name == "scores"


@pytest.mark.parametrize(("gradient", "none"), [("False", True), ("True", False), ("flag", False)])
def test_whether_a_loop_keeps_for_a_gradient(gradient: str, none: bool) -> None:
    assert keeps_for_no_gradient(program(DECODING.format(value="logp", gradient=gradient))) is none


def decoded(folder: Path, gradient: str) -> Report:
    code = DECODING.format(value="tf.reshape(logp, [32, 8, 24000])", gradient=gradient)
    if gradient == "True":
        code += "train = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(found))\n"
    (folder / "run.py").write_text(code)
    need = 32 * 8 * 24000 * 4
    log = folder / "log.txt"
    log.write_text(
        dump_by_size(need, 700, (20, need), (1, 180 * MIB), allocator=HOST)
        + 'Traceback (most recent call last):\n  File "run.py", line 8, in body\n    total = best(logp)\n'
        + oom("32,8,24000", "while/add", on=CPU, by=HOST)
    )
    return pipeline.explain(log)


def test_the_array_is_told_and_what_to_write_instead(tmp_path: Path) -> None:
    page = decoded(tmp_path, "False")
    assert "what each iteration of a loop writes into `scores` (line 7 of run.py)" in page.verdict
    assert page.actions[0].remedy.slug == "write-less"
    assert "line 11 of run.py reads it" in page.actions[0].remedy.text


def test_with_a_gradient_its_state_is_kept_as_well(tmp_path: Path) -> None:
    page = decoded(tmp_path, "True")
    assert "`scores`" not in page.verdict
    assert "write-less" not in [each.remedy.slug for each in page.actions]


MEMORY = """
import collections
class Stack:
    def __init__(self, env, k=4):
        self.frames = collections.deque(maxlen=k)
    def step(self, a):
        self.frames.append(preprocess(a))
class Replay:
    def __init__(self, size):
        self.data = collections.deque(maxlen=size)
    def add(self, s):
        self.data.append(s)
BUFFER = 100_000
memory = Replay({size})
stack = Stack(env{k})
for t in range(9000):
    memory.add(stack.step(t))
"""


@pytest.mark.parametrize(
    ("size", "k", "most"),
    [
        ("BUFFER", "", {"self.frames": 4, "self.data": 100_000}),
        ("5000", ", k=8", {"self.frames": 8, "self.data": 5000}),
        ("args.size", "", {"self.frames": 4, "self.data": None}),
    ],
)
def test_how_many_entries_a_container_has_at_most(size: str, k: str, most: dict[str, int | None]) -> None:
    case = pipeline.explain(MEMORY.format(size=size, k=k) + "\n" + oom("8,8")).case
    found = {each.container: each.most for each in kept(case.capture.surroundings)}
    assert found == most


def test_a_container_of_four_holds_no_thousands_of_blocks(tmp_path: Path) -> None:
    (tmp_path / "run.py").write_text(MEMORY.format(size="BUFFER", k=""))
    log = tmp_path / "log.txt"
    frames = (
        'Traceback (most recent call last):\n  File "run.py", line 17, in <module>\n'
        "    memory.add(stack.step(t))\n"
    )
    full = dump_by_size(70 * 400 * 256 * 4, 400, (3152, 112_896), (1, 60 * MIB), allocator=HOST)
    log.write_text(full + frames + oom("70,400,256", "online/conv2d", on=CPU, by=HOST))
    assert "`self.data` (line 12 of run.py)" in pipeline.explain(log).verdict


REPORT = """
import tensorflow as tf
class Report:
    def __init__(self):
        self.items = []
    def update(self, loss, **kw):
        self.items.append(kw)
report = Report()
for step in range(150):
    loss, logits = train(step)
    report.update(loss, logits=logits)
    print("step", step)
"""


@pytest.mark.parametrize(("steps", "blocks", "told"), [(30, 14, True), (3, 14, False), (30, 6, False)])
def test_what_each_step_leaves_stands_before_a_large_block(
    tmp_path: Path, steps: int, blocks: int, told: bool
) -> None:
    (tmp_path / "run.py").write_text(REPORT)
    log = tmp_path / "log.txt"
    went = "".join(f"step {at}\n" for at in range(steps))
    frames = (
        'Traceback (most recent call last):\n  File "run.py", line 10, in <module>\n'
        "    loss, logits = train(step)\n"
    )
    full = dump_by_size(2_557_440, 430, (1, 256 * MIB), (blocks, 10_240_000), (1, 30 * MIB), allocator=HOST)
    log.write_text(went + full + frames + oom("320,8,1,999", "loss/exp", dtype="bool", on=CPU, by=HOST))
    verdict = pipeline.explain(log).verdict
    assert (f"most likely these are the {blocks} blocks of 9.77 MiB" in verdict) is told


PIPELINE = """
import os
import tensorflow as tf
BUFFER = int(os.environ.get("SHUFFLE", {size}))
train = (tf.data.Dataset.range(20000)
         .map(load)
         .shuffle(BUFFER)
         .batch(8))
net.fit(train)
"""
OF_THE_MAP = (
    "{{function_node __inference_Dataset_map_lambda_36}} OOM when allocating tensor with shape[1,320,320,3]"
    " and type float on /job:localhost/replica:0/task:0/device:CPU:0 by allocator bfc_cpu_allocator_for_gpu\n"
    "\t [[{{node resize/ResizeBilinear}}]] [Op:IteratorGetNext]\n"
)


@pytest.mark.parametrize(("size", "told"), [(4000, True), (16, False)])
def test_a_buffer_whose_size_a_name_tells(tmp_path: Path, size: int, told: bool) -> None:
    (tmp_path / "run.py").write_text(PIPELINE.format(size=size))
    log = tmp_path / "log.txt"
    frames = (
        'Traceback (most recent call last):\n  File "run.py", line 9, in <module>\n    net.fit(train)\n'
        "tensorflow.python.framework.errors_impl.ResourceExhaustedError: "
    )
    full = dump_by_size(1_228_800, 500, (160, 1_228_800), (99, 1_769_216), (51, 1_769_472), allocator=HOST)
    log.write_text(full + frames + OF_THE_MAP)
    assert ("shuffle(BUFFER), line 7 of run.py" in pipeline.explain(log).verdict) is told
