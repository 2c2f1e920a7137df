"""A loop over time under one tape: what its turns made is counted where a dump shows many equal blocks."""

from __future__ import annotations

import pytest

from tests.findings.logs import dump_by_size
from tfmemlens import pipeline
from tfmemlens.model.finding import Finding

KIB, MIB = 1 << 10, 1 << 20
CODE = """
with tf.GradientTape() as tape:
    for t in range({turns}):
        logits, state = model(x[:, t], state)
        total += loss(y[:, t], logits)
grads = tape.gradient(total, model.trainable_variables)
"""
TURNS = ((5000, 48 * KIB), (700, 225 * KIB), (3, 8 * MIB))


def finding(*sizes: tuple[int, int], turns: str = "steps", allocator: str = "GPU_0_bfc") -> Finding | None:
    text = CODE.format(turns=turns) + dump_by_size(225 * KIB, 420, *sizes, allocator=allocator)
    found = [each for each in pipeline.explain(text).findings if each.rule == "loop-under-a-tape"]
    return found[0] if found else None


def test_equal_blocks_are_what_the_turns_made() -> None:
    found = finding(*TURNS)
    assert found and found.explains == 5000 * 48 * KIB + 700 * 225 * KIB
    assert "(5,000 blocks of 48.0 KiB and 700 blocks of 225.0 KiB are held)" in found.headline
    assert "each iteration of the loop" in found.headline


@pytest.mark.parametrize(
    "sizes",
    [
        ((40, 9 * MIB), (49, MIB)),  # fewer than turns would leave
        ((60, MIB), (7, 50 * MIB)),  # little of what is in use
    ],
)
def test_few_blocks_count_for_nothing(sizes: tuple[tuple[int, int], ...]) -> None:
    found = finding(*sizes, turns="90")
    assert found and found.explains is None and "blocks" not in found.headline
    assert "each of the 90 iterations" in found.headline


RANKING = """class Ranking(tf.keras.losses.Loss):
    def __call__(self, y, scores):
        total = tf.zeros_like(scores)
        for i in range(len(y)):
            gap = scores - scores[i]
            total += tf.nn.softplus(gap)
        return tf.reduce_sum(total * y)

with tf.GradientTape() as tape:
    loss = Ranking()(y, net(x))
"""
FAILED = """Traceback (most recent call last):
  File "rank.py", line {number}, in __call__
    {failing}
  File "/opt/tf/lib/python3.8/site-packages/tensorflow/python/ops/gen_math_ops.py", line 10399, in sub
    _ops.raise_from_not_ok_status(e, name)
tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor with \
shape[{shape}] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc [Op:Sub]
"""


def of_items(code: str, failing: str, shape: str = "30000") -> Finding | None:
    text = "tf 2.5, eager\n" + code + FAILED.format(number=77, failing=failing, shape=shape)
    found = [each for each in pipeline.explain(text).findings if each.rule == "loop-under-a-tape"]
    return found[0] if found else None


@pytest.mark.parametrize("failing", ["gap = scores - scores[i]", "total += tf.nn.softplus(gap)"])
def test_a_loop_over_items_whose_turn_failed(failing: str) -> None:
    found = of_items(RANKING, failing)
    assert found and "keeps what each iteration of the loop in line 5 makes" in found.headline
    assert [remedy.slug for remedy in found.remedies] == ["in-blocks", "own-gradient"]


@pytest.mark.parametrize(
    ("code", "failing", "shape"),
    [
        (RANKING, "return tf.reduce_sum(total * y)", "30000"),  # behind the loop
        (
            RANKING.replace("tf.GradientTape() as tape", "strategy.scope()"),
            "gap = scores - scores[i]",
            "30000",
        ),
        (RANKING.replace("range(len(y))", "self.heads"), "gap = scores - scores[i]", "30000"),
        (RANKING, "gap = scores - scores[i]", "30000,30000"),  # too large itself
    ],
)
def test_a_loop_over_items_is_no_cause_otherwise(code: str, failing: str, shape: str) -> None:
    assert of_items(code, failing, shape) is None
