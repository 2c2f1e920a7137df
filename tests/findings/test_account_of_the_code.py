"""What the layers of quoted code own and make, where no message has figures."""

from __future__ import annotations

import pytest

from tests.findings.logs import CPU, dump, dump_by_size, oom
from tests.findings.test_what_is_no_batch import explained
from tfmemlens.model.report import Report

RULE = "account-of-the-code"
WIDE = """My RAM is full during training on the CPU.
import tensorflow as tf
model = tf.keras.Sequential([
    tf.keras.layers.Flatten(input_shape=(28, 28)),
    tf.keras.layers.Dense(3000 * 1000, activation='relu', name='code'),
    tf.keras.layers.Dense(10)
])
model.compile(optimizer='adam', loss='mse')
model.fit(x, y, epochs=10)
"""
IMAGES = """I run out of memory.
from tensorflow.keras import layers, Model, Input
inp = Input((512, 512, 3))
x = layers.Conv2D(64, 3, padding='same', name='wide')(inp)
x = layers.Conv2D(32, 3, padding='same')(x)
m = Model(inp, layers.Conv2D(1, 1)(x))
m.compile('adam', 'mse')
m.fit(X, Y, batch_size=16)
"""


def fires(report: Report) -> bool:
    return any(each.rule == RULE for each in report.findings)


def test_a_kernel_is_counted_with_its_gradient_and_slots() -> None:
    report = explained(WIDE)
    assert report.findings[0].rule == RULE
    assert "`code` (line 5) has weights of 784 x 3,000,000, 8.8 GiB" in report.verdict
    assert "with gradients and Adam's slots about 36 GiB" in report.verdict
    weights = 4 * ((784 + 1) * 3_000_000 + (3_000_000 + 1) * 10)
    assert report.findings[0].explains == 4 * weights
    narrower = next(each for each in report.actions if each.remedy.slug == "narrower-layer")
    assert "3,000,000 -> 1,500,000" in narrower.remedy.text
    assert narrower.remedy.saves_bytes == 2 * 4 * (784 + 1) * 3_000_000


@pytest.mark.parametrize(
    ("optimizer", "copies"),
    [("'sgd'", 2), ("tf.keras.optimizers.RMSprop(1e-3)", 3), ("'adam'", 4), ("mine", 4)],
)
def test_slots_are_those_of_the_optimizer(optimizer: str, copies: int) -> None:
    report = explained(WIDE.replace("'adam'", optimizer))
    weights = 4 * ((784 + 1) * 3_000_000 + (3_000_000 + 1) * 10)
    assert report.findings[0].explains == copies * weights


def test_outputs_are_counted_at_the_stated_batch() -> None:
    report = explained(IMAGES)
    outputs = 16 * 512 * 512 * (64 + 32 + 1) * 4
    assert report.findings[0].rule == RULE and report.findings[0].explains == outputs
    assert "at a batch of 16 the outputs of 3 layers take about 1.5 GiB" in report.verdict
    assert "`wide` (line 4) (1.0 GiB)" in report.verdict
    assert report.actions[0].remedy.saves_bytes == outputs // 2


def test_without_a_batch_it_is_that_of_keras() -> None:
    report = explained(IMAGES.replace(", batch_size=16", ""))
    assert "at Keras's own batch of 32" in report.verdict
    assert report.findings[0].explains == 32 * 512 * 512 * 97 * 4


def test_weights_need_no_batch_where_the_code_is_cut() -> None:
    cut = WIDE[: WIDE.index("    tf.keras.layers.Dense(10)")] + "    t"
    report = explained(cut)
    assert "`code` (line 5) has weights of 784 x 3,000,000, 8.8 GiB" in report.verdict
    assert not fires(explained(cut.replace(" during training", "")))


@pytest.mark.parametrize(
    "text",
    [
        IMAGES.replace("512, 512", "64, 64"),  # 24 MiB
        WIDE.replace("3000 * 1000", "300"),
        IMAGES.replace("m.fit(X, Y, batch_size=16)\n", ""),  # nothing trains
        IMAGES.replace("I run out of memory.", "Validation accuracy stays low."),
        IMAGES.replace("I run out of memory.", "Memory grows with each epoch."),
        IMAGES.replace("I run out of memory.", "I run out of memory during evaluation, in model.predict."),
        IMAGES + "OOM when allocating tensor with shape[16,512,512,64] and type float\n",  # figures are there
    ],
)
def test_it_stays_quiet(text: str) -> None:
    assert not fires(explained(text))


TABLE = """
from tensorflow import keras
from tensorflow.keras import layers
user = keras.Input((), dtype='int32')
u = layers.Embedding(900_000, 32, name='users')(user)
net = keras.Model(user, layers.Dense(1)(u))
net.compile(optimizer=keras.optimizers.Adam(1e-3), loss='mse')
net.fit(x, y, batch_size=256)
"""


@pytest.mark.parametrize(
    ("limit", "asked", "told"),
    [(450, 1, True), (850, 1, True), (900, 1, False), (280, 1, False), (450, 30, False)],
)
def test_weights_fill_a_device_beside_a_bystander(limit: int, asked: int, told: bool) -> None:
    """The table of 110 MiB, its gradient and two slots take 440: from half of the limit to all and a half."""
    report = explained(dump(asked, limit, limit - 1) + TABLE)
    assert fires(report) is told
    if told:
        (finding,) = (each for each in report.findings if each.rule == RULE)
        assert "`users` (line" in finding.headline and "with gradients and Adam's slots" in finding.headline
        assert "smaller-batch" not in [action.remedy.slug for action in report.actions]


HOST = "bfc_cpu_allocator_for_gpu"
LAYERS = """import tensorflow as tf
{policy}
i = x = tf.keras.Input((512,))
for d in range(6):
    x = tf.keras.layers.Dense(3072, activation="relu", name=f"wide_{{d}}")(x)
m = tf.keras.Model(i, tf.keras.layers.Dense(8)(x))
m.compile(tf.keras.optimizers.SGD(0.01, momentum=0.9), "mse")
m.fit(a, b, batch_size=16)
"""


@pytest.mark.parametrize(
    ("node", "limit", "policy", "told", "cast"),
    [
        ("sgd/Mul_20", 700, "", True, False),
        ("sgd/Mul_20", 700, "tf.keras.mixed_precision.set_global_policy('mixed_bfloat16')", True, True),
        ("sgd/Mul_20", 1300, "", False, False),  # less than half of it
        ("wide_2/kernel/Initializer/random_uniform", 700, "", False, False),  # no slots yet
    ],
)
def test_many_layers_alike_fill_it_where_one_is_updated(
    node: str, limit: int, policy: str, told: bool, cast: bool
) -> None:
    full = dump_by_size(
        36 << 20, limit, (9, 36 << 20), (5, 18 << 20), (1, (limit - 430) << 20), allocator=HOST
    )
    report = explained(LAYERS.format(policy=policy) + full + oom("3072,3072", node, on=CPU, by=HOST))
    assert fires(report) is told
    if told:
        assert "with gradients and Momentum's slot about 560 MiB" in report.verdict
        assert ("and a copy of each in 16 bits" in report.verdict) is cast
        assert report.actions[0].remedy.slug == "lighter-optimizer"
        assert "repeated-sets" not in {each.rule for each in report.findings}


@pytest.mark.parametrize(("width", "told"), [(3072, True), (3000, False)])
def test_one_matrix_of_a_kernel_s_sides_is_no_attention(width: int, told: bool) -> None:
    failed = "W0000 00:00:1 77 op_kernel.cc:1858] OP_REQUIRES failed at matmul_op_impl.h:991 : "
    failed += "RESOURCE_EXHAUSTED: OOM when allocating tensor with shape[1,3072,3072] and type float on"
    failed += " /job:localhost/replica:0/task:0/device:CPU:0 by allocator bfc_cpu_allocator_for_gpu"
    full = dump_by_size(36 << 20, 700, (9, 36 << 20), (1, 340 << 20), allocator=HOST)
    report = explained(LAYERS.replace("3072", str(width)).format(policy="") + full + failed)
    assert ("attention-scores" not in {each.rule for each in report.findings}) is told
