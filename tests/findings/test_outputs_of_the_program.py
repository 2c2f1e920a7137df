"""The layers' outputs that quoted code makes, at the batch that the failed shape tells."""

from __future__ import annotations

import pytest

from tests.findings.logs import dump, oom, report
from tfmemlens import pipeline
from tfmemlens.model.finding import Finding

MIB = 1 << 20
RULE = "outputs-of-the-program"
CODE = """
from tensorflow.keras import layers
image = layers.Input((128, 128, 3))
x = layers.Conv2D(16, 3, padding="same", name="thin")(image)
x = layers.Conv2D(64, 3, padding="same", name="wide")(x)
x = layers.MaxPooling2D(name="half")(x)
model = keras.Model(image, x)
model.fit(images, masks, batch_size=32)
"""
ASKED = "32,128,128,64"
WIDE, THIN, HALF = 32 * 128 * 128 * 64 * 4, 32 * 128 * 128 * 16 * 4, 32 * 64 * 64 * 64 * 4


def found(text: str) -> Finding | None:
    findings = pipeline.explain(text).findings
    return next((each for each in findings if each.rule == RULE), None)


def test_outputs_are_summed_at_the_batch_of_the_failure() -> None:
    finding = found(CODE + oom(ASKED))
    assert finding and finding.because
    whole = WIDE + THIN + HALF
    assert finding.explains == whole
    assert "a batch of 32 the outputs of the code's 3 layers" in finding.because
    assert f"take {whole // MIB}.00 MiB: most `wide` {WIDE // MIB}.00 MiB and" in finding.because
    assert "`wide` makes what was requested, [32,128,128,64]" in finding.evidence[0].fact


def test_the_layer_that_makes_most_is_to_be_narrower() -> None:
    finding = found(CODE + oom(ASKED))
    assert finding
    narrower = next(each for each in finding.remedies if each.slug == "narrower-layer")
    assert "`wide` narrower (64 -> 32)" in narrower.text and narrower.saves_bytes == WIDE // 2


def test_the_batch_is_the_failed_shape_s_own() -> None:
    finding = found(CODE + oom("5,128,128,16"))
    assert finding and finding.because and "at a batch of 5" in finding.because


@pytest.mark.parametrize(
    "text",
    [
        oom(ASKED),  # no code
        CODE + oom("32,128,128,48"),  # no layer makes it
        CODE.replace("(128, 128, 3)", "(128, 128, 3) if x else None")
        + oom(ASKED),  # a size that data decides
        CODE.replace(".fit(", ".predict(") + oom(ASKED),  # nothing is kept
        CODE + oom(ASKED, "net/conv/kernel/Initializer/random_uniform"),
        CODE + oom(ASKED) + report("450.00MiB from net/conv/Conv2D"),  # names are known
        CODE + dump(128, 16000, 15990) + oom(ASKED),  # a small part of what the device holds
    ],
)
def test_near_misses(text: str) -> None:
    assert found(text) is None


def test_no_more_is_explained_than_the_device_has() -> None:
    finding = found(CODE + dump(128, 180, 150) + oom(ASKED))
    assert finding and finding.explains == 180 * MIB


def test_a_net_that_is_called_with_several_sizes_counts_once() -> None:
    code = (
        "net = Sequential([Conv2D(64, 3, padding='same', name='wide'), Conv2D(8, 1, name='out')])\n"
        "for side in (32, 64, 128):\n    net.fit(np.zeros((9, side, side, 3)), y)\n"
    )
    finding = found(code + oom("4,128,128,64"))
    assert finding and finding.because and "the outputs of the code's 2 layers" in finding.because
    assert finding.explains == 4 * 128 * 128 * (64 + 8) * 4


def test_a_net_that_is_built_again_counts_once() -> None:
    code = (
        "def build(side):\n    i = Input((side, side, 3))\n"
        "    x = Conv2D(64, 3, padding='same', name='wide')(i)\n"
        "    return Model(i, Conv2D(8, 1, name='out')(x))\n"
        "for side in (32, 64, 128):\n    build(side).fit(x, y)\n"
    )
    finding = found(code + oom("4,128,128,64"))
    assert finding and finding.explains == 4 * 128 * 128 * (64 + 8) * 4


BLOCKS = """
from tensorflow import keras
from tensorflow.keras import layers

class Widen(layers.Layer):
    def __init__(self, width, **kwargs):
        super().__init__(**kwargs)
        self.out = layers.Dense(width, name="out")

    def call(self, x):
        return self.out(x)

class Tower(keras.Model):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.blocks = [Widen(width, {named}) for i, width in enumerate([16, 64, 32])]

    def call(self, x):
        for block in self.blocks:
            x = block(x)
        return x

tower = Tower()
tower(keras.Input((4096, 8)))
tower.fit(images, masks, batch_size=32)
"""


@pytest.mark.parametrize(
    ("named", "most"),
    [
        ('name=f"widen_{i}"', "`widen_1/out` 32.00 MiB and `widen_2/out` 16.00 MiB"),
        ("trainable=True", "`out` 32.00 MiB and `out` 16.00 MiB"),
    ],
)
def test_every_block_of_one_class_counts(named: str, most: str) -> None:
    finding = found(BLOCKS.replace("{named}", named) + oom("32,4096,64"))
    assert finding and finding.because
    assert "the outputs of the code's 3 layers, " in finding.because
    assert f"take 56.00 MiB: most {most}" in finding.because


TEACHER = "t = layers.Dense(1024, name='broad')(layers.Input((30000,)))\n"


def test_weights_beside_the_outputs_are_told_where_they_are_much() -> None:
    told = CODE.replace("model.fit", TEACHER + "model.compile(keras.optimizers.Adam())\nmodel.fit")
    finding = found(told + dump(128, 700, 690) + oom(ASKED))
    assert finding and finding.because
    weights = 4 * (30000 * 1024 + 1024 + 9 * 3 * 16 + 16 + 9 * 16 * 64 + 64) * 4
    assert f"and their weights with gradients and Adam's slots {weights / MIB:.2f} MiB (most `broad`)" in (
        finding.because
    )
    small = found(told.replace("30000", "300") + dump(128, 700, 690) + oom(ASKED))
    assert small and "weights" not in (small.because or "")


@pytest.mark.parametrize(("named", "fires"), [("BATCH = 32", True), ("BATCH = 7", False), ("ROWS = 7", True)])
def test_rows_that_are_no_multiple_of_the_named_batch_are_none(named: str, fires: bool) -> None:
    code = CODE.replace("batch_size=32", "batch_size=n").replace("\nimage", f"\n{named}\nimage", 1)
    assert (found(code + oom("37,128,128,64" if "7" in named else ASKED)) is not None) is fires


def test_rows_that_a_line_has_joined_are_no_batch() -> None:
    line = "    bank = tf.concat([bank, k], 0)\n"
    frame = 'Traceback (most recent call last):\n  File "train.py", line 9, in step\n' + line
    dense = CODE.replace(
        "x = layers.Max", "y = layers.Dense(96)(layers.GlobalMaxPooling2D()(x))\nx = layers.Max"
    )
    assert found(dense.replace("batch_size=32", "") + frame + oom("300000,96", "concat")) is None
    assert found(dense.replace("batch_size=32", "") + oom("300000,96", "net/dense/MatMul")) is not None


@pytest.mark.parametrize(("room", "too"), [(700, True), (1700, False)])
def test_a_sample_that_fills_half_of_the_room_is_too_large(room: int, too: bool) -> None:
    code = CODE.replace("128, 128", "1024, 1024").replace("batch_size=32", "batch_size=2")
    finding = found(code + dump(512, room, room - 10) + oom("2,1024,1024,64"))
    assert finding
    first = finding.remedies[0]
    one = (64 + 16 + 16) * 1024 * 1024 * 4 // MIB
    assert (f"one sample's outputs alone take {one}.00 MiB of {room}.00 MiB" in first.text) is too
    assert first.slug == ("smaller-input" if too else "smaller-batch")


@pytest.mark.parametrize(
    ("trains", "told"),
    [
        ("model.fit(images, masks)", "and the weights of a model that does not train 117.19 MiB"),
        (
            "grads = tape.gradient(loss, model.trainable_variables)",
            "and the weights of a model that does not",
        ),
        ("teacher.fit(images, masks)\nmodel.fit(images, masks)", "with gradients and Adam's slots 468."),
        (
            "whole = keras.Model(t0, teacher(t0))\nmodel.fit(images, masks)",
            "with gradients and Adam's slots 468.",
        ),
    ],
)
def test_what_no_optimizer_updates_has_no_slots(trains: str, told: str) -> None:
    teacher = (
        "t0 = layers.Input((30000,))\nteacher = keras.Model(t0, layers.Dense(1024, name='broad')(t0))\n"
        "soft = teacher.predict(images)\n"
    )
    code = CODE.replace(
        "model.fit(images, masks, batch_size=32)", f"opt = keras.optimizers.Adam()\n{teacher}{trains}"
    )
    finding = found(code + "epoch 1 loss 0.2\n" + dump(128, 700, 690) + oom(ASKED))
    assert finding and told in (finding.because or ""), finding


@pytest.mark.parametrize(
    ("room", "part", "told"),
    [
        (
            700,
            "sides half as long ([1024,1024] -> [512,512] here)",
            "384.00 MiB of 700.00 MiB, and gradients",
        ),
        (300, "sides half as long ([1024,1024] -> [512,512] here)", "384.00 MiB of 300.00 MiB, so no batch"),
        (150, "sides a quarter as long ([1024,1024] -> [256,256] here)", "384.00 MiB of 150.00 MiB, so"),
    ],
)
def test_how_much_smaller_a_sample_has_to_be(room: int, part: str, told: str) -> None:
    code = CODE.replace("128, 128", "1024, 1024").replace("batch_size=32", "batch_size=2")
    finding = found(code + dump(512, room, room - 10) + oom("2,1024,1024,64"))
    assert finding
    text = finding.remedies[0].text
    assert part in text and told in text
    assert not any(each.slug == "smaller-batch" for each in finding.remedies)


@pytest.mark.parametrize(
    ("shape", "node", "said"),
    [
        ("32,128,128", "net/wide/MatMul", True),  # inside a layer, at the stated batch
        ("31,128,128", "net/wide/MatMul", False),
        ("32,128", "net/wide/MatMul", False),
        ("32,128,128", "MatMul", False),  # nobody's layer
        ("32,128,128", "net/other_1/MatMul", False),  # no layer of the program
    ],
)
def test_what_fails_inside_a_layer_at_the_stated_batch(shape: str, node: str, said: bool) -> None:
    finding = found(CODE + dump(64, 180, 150) + oom(shape, node))
    assert (finding is not None) is said
    if finding:
        assert finding.because and "at a batch of 32 the outputs of the code's 3 layers" in finding.because
        assert not any("makes what was requested" in each.fact for each in finding.evidence)


@pytest.mark.parametrize(("samples", "said"), [(2000, True), (10_000, False)])
def test_a_whole_set_of_images_is_no_batch_of_a_training(samples: int, said: bool) -> None:
    code = CODE.replace("batch_size=32", "").replace("128, 128", "16, 16")
    assert (found(code + oom(f"{samples},16,16,64")) is not None) is said


ATTENDS = """
class Attend(tf.keras.layers.Layer):
    def __init__(self, width, heads, **kw):
        super().__init__(**kw)
        self.heads = heads
        self.qkv = tf.keras.layers.Dense(3 * width, name="qkv")
        self.drop = tf.keras.layers.Dropout(0.1, name="drop")

    def call(self, x, training=False):
        b, t = tf.shape(x)[0], tf.shape(x)[1]
        qkv = tf.reshape(self.qkv(x), [b, t, 3, self.heads, 16])
        q, k, v = tf.unstack(tf.transpose(qkv, [2, 0, 3, 1, 4]), num=3)
        scores = tf.matmul(q, k, transpose_b=True)
        weights = self.drop(tf.nn.softmax(scores), training=training)
        return tf.matmul(weights, v)

x = tf.keras.Input((600, 64))
y = Attend(64, 4, name="attend")(x)
model = tf.keras.Model(x, y)
model.fit(data, batch_size=8)
"""


def test_attention_that_makes_most_is_said_and_comes_second() -> None:
    finding = found(ATTENDS + oom("8,4,600,600", "model/attend/drop/dropout/Mul"))
    assert finding and finding.because
    assert finding.because.startswith("attention's weights, 600 x 600 for each head and sample, are most")
    assert f"{8 * 4 * 600 * 600 * 4 / MIB:.2f} MiB of the" in finding.because
    slugs = [each.slug for each in finding.remedies]
    assert slugs.index("smaller-batch") < slugs.index("blockwise-attention") < slugs.index("mixed-precision")


def test_a_wide_net_of_a_square_picture_is_no_attention() -> None:
    finding = found(CODE.replace("64, 3", "128, 3") + oom("32,128,128,128"))
    assert finding and finding.because and "attention" not in finding.because
