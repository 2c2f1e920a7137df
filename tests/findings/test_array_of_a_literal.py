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
        ("a = tf.zeros(shape=(1 << 20, 1<<18))", "1,048,576 x 262,144 numbers, 1.00 TiB"),
        ("a = jnp.ones((10**6, int(1e6)), jnp.bfloat16)", "1,000,000 x 1,000,000 numbers, 1.82 TiB"),
        ("a = np.random.normal(0, 1, size=(500_000, 50_000))", "500,000 x 50,000 numbers, 186.26 GiB"),
        ("a = np.random.rand(300000, 100000)", "300,000 x 100,000 numbers, 223.52 GiB"),
        ("a = tf.constant(0.5, shape=[400000, 400000])", "400,000 x 400,000 numbers, 596.05 GiB"),
        ("a = tf.fill([300000, 200000], 1.0)", "300,000 x 200,000 numbers, 223.52 GiB"),
        ("a = np.ones(10**11)", "100,000,000,000 numbers, 745.06 GiB"),
        ("a, b = np.ones((200000, 200000)), np.ones(8, np.float16)", "200,000 x 200,000 numbers, 298.02 GiB"),
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
        WORDS.format("a = np.random.uniform(1000000, 2000000)"),
        WORDS.format("a = np.random.randint(1000000, 2000000, size=(32, 32))"),
        WORDS.format("a = tf.ones([10**99, 10**99])"),
        WORDS.format("a = tf.constant([1000000, 2000000])"),
        WORDS.format("a = jnp.ones((1 << 10, 1 << 10))"),
        WORDS.format("a = np.ones((100000, 100000), dtype=np.uint8)"),
        WORDS.format("a = np.zeros(1000000, 1000000)"),
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
