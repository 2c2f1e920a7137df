"""Arrays that a quoted line asks for by its own numbers, and that no device holds."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained

WORDS = "I always run out of GPU memory here and do not see why.\n{}\n"
RULE = "array-of-a-literal"


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("a = tf.ones([1000000, 1000000])", "1,000,000 x 1,000,000 numbers, 3.64 TiB"),
        ("a = np.zeros((200000, 200000))", "200,000 x 200,000 numbers, 298.02 GiB"),
        ("a = np.zeros((200000, 200000), dtype=np.float16)", "200,000 x 200,000 numbers, 74.51 GiB"),
        ("a = jnp.eye(300_000)", "300,000 x 300,000 numbers, 335.28 GiB"),
        ("x = jax.random.normal(key, (4096, 8192, 1024))", "4,096 x 8,192 x 1,024 numbers, 128.00 GiB"),
    ],
)
def test_what_a_line_makes(code: str, says: str) -> None:
    report = explained(WORDS.format(code))
    assert says in report.verdict
    assert report.findings[0].rule == RULE and report.actions[0].remedy.slug == "in-blocks"


@pytest.mark.parametrize(
    "text",
    [
        WORDS.format("a = tf.ones([1000, 1000])"),
        WORDS.format("a = tf.ones([n, 1000000])"),
        "a = tf.ones([1000000, 1000000])\n",  # and no word of memory
        WORDS.format("a = tf.ones([1000000, 1000000])")
        + "OOM when allocating tensor with shape[1000000,1000000] and type float on /job:localhost/replica:0"
        "/task:0/device:GPU:0 by allocator GPU_0_bfc [Op:Fill]\n",  # the message itself says more
    ],
)
def test_near_misses(text: str) -> None:
    assert RULE not in [each.rule for each in explained(text).findings]


PREDICTS = """# 3D prediction memory leak?

I call this in my loop, and my RAM grows with each prediction.
import tensorflow as tf
for stack in stacks:
    labels, details = model.{}(stack)
"""


@pytest.mark.parametrize(
    ("method", "says"),
    [
        ("predict_instances", "and not with the tiles"),
        ("predict_proba", "a library's own, is called again and again"),
        ("predict", "each call makes its own data set"),
    ],
)
def test_a_library_s_own_method_is_not_keras_s(method: str, says: str) -> None:
    verdict = explained(PREDICTS.format(method)).verdict
    assert says in verdict
    assert ("each call makes its own data set" in verdict) is (method == "predict")


def test_one_model_that_is_called_again_is_none_after_another() -> None:
    text = "My RAM grows each time I call the model.\nfor x in data:\n    y = model.predict_proba(x)\n"
    verdict = explained(text).verdict
    assert "Keras keeps of the models before" not in verdict and "makes its own data set" not in verdict
