"""Lines of the program whose tensors fill the device."""

from __future__ import annotations

import pytest

from tests.findings.logs import dump_by_size, oom
from tfmemlens import pipeline
from tfmemlens.model.finding import Finding
from tfmemlens.model.report import Report
from tfmemlens.units import MIB

RULE = "tensors-of-the-code"
HEAD = """\
import tensorflow as tf
w = tf.Variable(tf.random.normal([256, 256]))
def loss_of(x):
    scale = tf.matmul(x, w)
    full = scale[:, :, None] * scale[:, None, :]
    cov = full + tf.eye(256)
    return tf.reduce_mean(tf.linalg.logdet(cov))
x = tf.random.normal([2048, 256])
with tf.GradientTape() as tape:
    loss = loss_of(x)
grads = tape.gradient(loss, [w])
"""
LOG = """Traceback (most recent call last):
  File "fit.py", line 11, in <module>
    grads = tape.gradient(loss, [w])
"""
REST = ((140, 3 * MIB), (130, 5 * MIB), (110, 7 * MIB))
NODE = "gradients/AddV2_grad/Sum"


def explained(code: str = HEAD, shape: str = "2048,256,256", limit: int = 3000, need: int = 512) -> Report:
    full = dump_by_size(need * MIB, limit, (2, 512 * MIB), *REST, (1, (limit - 2864) * MIB))
    return pipeline.explain(f"{code}\n{full}{LOG}{oom(shape, NODE)}")


def told(report: Report) -> Finding | None:
    return next((each for each in report.findings if each.rule == RULE), None)


def test_tensors_of_the_size_that_failed_are_counted_by_their_lines() -> None:
    finding = told(explained())
    assert finding is not None
    assert "a step makes 2 tensors of this size, 1.00 GiB" in finding.headline
    assert "line 5" in finding.headline
    assert "line 6" in finding.headline
    assert finding.explains == 2 * 2048 * 256 * 256 * 4
    assert finding.remedies[0].slug == "in-blocks"
    assert [each.line.number for each in finding.evidence[1:] if each.line] == [5, 6]


def test_what_failed_may_be_a_bystander() -> None:
    finding = told(explained(shape="512,512", need=1))
    assert finding is not None
    assert finding.headline.startswith("what failed is small: by the code, most of what a step makes is")
    assert "[2048,256,256] at line 5, 510 MiB" in finding.headline


def test_a_fill_is_to_be_broadcast() -> None:
    code = HEAD.replace("scale[:, :, None] * scale[:, None, :]", "tf.ones([2048, 256, 256])")
    code = code.replace("full + tf.eye(256)", "full * 2.0")
    finding = told(explained(code, shape="512,512", need=1))
    assert finding is not None
    assert finding.remedies[0].slug == "broadcast-a-fill"


LOOP = HEAD.replace(
    "    cov = full + tf.eye(256)\n    return tf.reduce_mean(tf.linalg.logdet(cov))",
    "    parts = []\n    for k in range(6):\n        parts.append(tf.roll(full, k, 1))\n"
    "    return tf.reduce_mean(tf.stack(parts))",
)


def test_turns_of_a_loop_are_one_line() -> None:
    finding = told(explained(LOOP, limit=5600))
    assert finding is not None
    assert "a step makes 7 tensors of this size, 3.50 GiB" in finding.headline
    assert "line 8 (`tf.roll`)" in finding.headline


@pytest.mark.parametrize(
    ("full", "advised"),
    [
        ("scale[:, :, None] * scale[:, None, :]", "in-blocks"),
        ("tf.one_hot(tf.zeros([2048, 256], tf.int32), 256)", "sparse-labels"),
    ],
)
def test_the_advice_is_for_what_the_line_does(full: str, advised: str) -> None:
    code = HEAD.replace("scale[:, :, None] * scale[:, None, :]", full)
    finding = told(explained(code))
    assert finding is not None
    assert finding.remedies[0].slug == advised


@pytest.mark.parametrize(
    ("code", "shape", "limit"),
    [
        (HEAD.replace("GradientTape", "NoTape"), "2048,256,256", 3000),  # nothing is kept
        (HEAD, "2048,255,256", 3000),  # of another size, and large
        (HEAD, "2048,256,256", 16000),  # little of the limit
        (HEAD.replace("full + tf.eye(256)", "tf.zeros([3, 3])"), "2048,256,256", 3000),  # made once
    ],
)
def test_what_the_code_does_not_explain(code: str, shape: str, limit: int) -> None:
    assert told(explained(code, shape, limit)) is None


CRF = """\
import tensorflow as tf
x = tf.placeholder(tf.float32, [None, 120, 96])
unary = tf.layers.dense(x, 96)
trans = tf.get_variable("trans", [96, 96])
alpha = unary[:, 0]
for t in range(1, 120):
    scores = alpha[:, :, None] + trans[None] + unary[:, t][:, None, :]
    alpha = tf.reduce_logsumexp(scores, 1)
train = tf.train.AdamOptimizer().minimize(tf.reduce_mean(alpha))
with tf.Session() as sess:
    sess.run(train)
"""


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("alpha[:, :, None] + trans[None] + unary[:, t][:, None, :]", "tensors-of-the-code"),
        ("tf.matmul(q, k) + alpha[:, :, None]", "attention-scores"),
    ],
)
def test_a_sum_over_states_is_no_attention(line: str, rule: str) -> None:
    code = CRF.replace("alpha[:, :, None] + trans[None] + unary[:, t][:, None, :]", line)
    place = f'  File "crf.py", line 7, in <module>\n    scores = {line}\n'
    full = dump_by_size(9 * MIB // 4, 260, (97, 9 * MIB // 4), (1, 30 * MIB))
    report = pipeline.explain(
        f"{code}\n{full}Traceback (most recent call last):\n{place}{oom('64,96,96', 'add_9')}"
    )
    found = [each.rule for each in report.findings]
    assert rule in found and ("attention-scores" in found) is (rule == "attention-scores")
