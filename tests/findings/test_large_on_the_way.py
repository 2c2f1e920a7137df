"""Steps that make something large on the way to something small, and lines that look alike."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tests.findings.pages import explained
from tfmemlens import pipeline

RULE = "large-on-the-way"
FRAMES = 'Traceback (most recent call last):\n  File "run.py", line 9, in f\n    {line}\n'
FAILED = (
    "tensorflow.python.framework.errors_impl.ResourceExhaustedError: {{{{function_node __wrapped__{op}}}}}"
    " OOM when allocating tensor with shape[{shape}] and type float on"
    " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc [Op:{op}]\n"
)


def eager(program: str, line: str, shape: str, op: str) -> str:
    return program + FRAMES.format(line=line) + FAILED.format(op=op, shape=shape)


def code_of(text: str) -> str | None:
    """The code of the first remedy, where the rule fires."""
    found = explained(text)
    if RULE not in {each.rule for each in found.findings}:
        return None
    assert RULE in found.actions[0].rules
    return found.actions[0].remedy.code


EINSUM = 'm = tf.einsum("nkc,nkf->nkcf", kernel, feats)'
SPREAD = "s = x[:, :, :, None] * gate[:, :, None, :]"
PRODUCTS = """import tensorflow as tf
def pooled(x, gate, kernel, feats):
    {made}
    {between}
    {reduced}
"""


@pytest.mark.parametrize(
    ("made", "between", "reduced", "code"),
    [
        (EINSUM, "", "return tf.reduce_sum(m, 1)", 'tf.einsum("nkc,nkf->ncf", kernel, feats)'),
        (
            EINSUM,
            "",
            "return tf.reduce_mean(m, axis=-3)",
            'tf.einsum("nkc,nkf->ncf", kernel, feats) / tf.cast(tf.shape(kernel)[1], kernel.dtype)',
        ),
        (SPREAD, "", "return tf.reduce_sum(s, axis=1)", 'tf.einsum("abc,abd->acd", x, gate)'),
        (
            "s = tf.expand_dims(x, 3) * tf.expand_dims(gate, 2)",
            "",
            "s = tf.reduce_sum(s, axis=1)",
            'tf.einsum("abc,abd->acd", x, gate)',
        ),
        (EINSUM, "m = tf.nn.relu(m)", "return tf.reduce_sum(m, 1)", None),
        (EINSUM, "log(m)", "return tf.reduce_sum(m, 1)", None),  # somebody else reads it
        (EINSUM, "", "return tf.reduce_max(m, 1)", None),
        (EINSUM, "", "return tf.reduce_sum(m)", None),  # over all of it, which nobody calls an axis
        ("s = x[:, :, :, None] + gate[:, :, None, :]", "", "return tf.reduce_sum(s, axis=1)", None),
        ("s = x * gate[:, :, None, :]", "", "return tf.reduce_sum(s, axis=1)", None),
    ],
)
def test_a_product_sums_over_its_own_axis(made: str, between: str, reduced: str, code: str | None) -> None:
    program = PRODUCTS.format(made=made, between=between, reduced=reduced)
    assert code_of(eager(program, made, "256,64,32,64", "Mul")) == code


@pytest.mark.parametrize(
    ("equation", "axis", "shape", "told"),
    [
        ("bsic,bsjd->bsijcd", 1, "2,24,80,10,80,10", True),  # samples and rows come first in any order
        ("bsic,bsjd->bijscd", 3, "2,80,80,24,10,10", False),
    ],
)
def test_how_long_the_axis_is_in_a_gradient(equation: str, axis: int, shape: str, told: bool) -> None:
    program = PRODUCTS.format(
        made=f'o = tf.einsum("{equation}", a, b)', between="", reduced=f"o = tf.reduce_mean(o, axis={axis})"
    )
    found = explained(program + oom(shape, "gradient_tape/net/opm_2/einsum/Einsum"))
    remedy = found.actions[0].remedy
    assert remedy.slug == "sum-in-the-product"
    assert ("4.88 MiB instead of 117.19 MiB" in remedy.text) is told


PENALTY = """import tensorflow as tf
def {name}(weights):
    flat = tf.reshape(weights, [-1, weights.shape[-1]])
    {line}
    return tf.reduce_sum(tf.square(corr))
model = tf.keras.Sequential([
    tf.keras.Input((24, 24, 16)),
    tf.keras.layers.Flatten(),
    tf.keras.layers.Dense({units}, kernel_regularizer={name}),
])
"""


@pytest.mark.parametrize(
    ("name", "line", "units", "code"),
    [
        (
            "ortho_penalty",
            "corr = tf.matmul(flat, flat, transpose_b=True)",
            32,
            "tf.matmul(tf.transpose(flat), flat)",
        ),
        ("ortho_penalty", "corr = flat @ tf.transpose(flat)", 32, "tf.transpose(flat) @ flat"),
        ("ortho_penalty", "corr = tf.matmul(flat, flat, transpose_a=True)", 32, None),  # as advised
        ("ortho_penalty", "corr = tf.matmul(flat, other, transpose_b=True)", 32, None),
        ("similarity", "corr = tf.matmul(flat, flat, transpose_b=True)", 32, None),
        ("ortho_penalty", "corr = tf.matmul(flat, flat, transpose_b=True)", 12000, None),  # the shorter one
    ],
)
def test_a_kernel_on_its_longer_side(name: str, line: str, units: int, code: str | None) -> None:
    program = PENALTY.format(name=name, line=line, units=units)
    assert code_of(eager(program, "g = tape.gradient(loss, v)", "9216,9216", "Tile")) == code


TABLE = """import tensorflow as tf
class Towers(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.items = self.add_weight(shape=(200000, 96), name="items")
    def call(self, ids):
        {whole}
        {looked}
        return v
towers = Towers()
"""


@pytest.mark.parametrize(
    ("whole", "looked", "rows", "code"),
    [
        (
            "unit = tf.nn.l2_normalize(self.items, axis=1)",
            "v = tf.gather(unit, ids)",
            200000,
            "tf.nn.l2_normalize(tf.gather(self.items, ids), axis=1)",
        ),
        (
            "mixed = tf.matmul(self.items, self.mix)",
            "v = tf.nn.embedding_lookup(mixed, ids)",
            200000,
            "tf.matmul(tf.nn.embedding_lookup(self.items, ids), self.mix)",
        ),
        ("unit = tf.nn.l2_normalize(self.items, axis=1)", "v = tf.gather(unit, ids)", 64000, None),
        ("unit = tf.nn.l2_normalize(self.items, axis=0)", "v = tf.gather(unit, ids)", 200000, None),
        ("unit = tf.nn.softmax(self.items, axis=0)", "v = tf.gather(unit, ids)", 200000, None),
        ("unit = tf.nn.l2_normalize(self.items, axis=1)", "v = tf.matmul(q, unit)", 200000, None),
        ("v = tf.gather(self.items, ids)", "v = tf.nn.l2_normalize(v, axis=1)", 200000, None),
    ],
)
def test_a_table_before_its_lookup(whole: str, looked: str, rows: int, code: str | None) -> None:
    text = TABLE.format(whole=whole, looked=looked)
    assert code_of(text + oom(f"{rows},96", "towers/Mul")) == code


FACTORS = """import tensorflow as tf
u = tf.get_variable("u", [30000, 32])
v = tf.get_variable("v", [9000, 32])
scores = {product}
loss = tf.reduce_mean(tf.square({looked} - r))
"""
PAIRS = "tf.gather_nd(scores, tf.stack([ui, vi], axis=1))"


@pytest.mark.parametrize(
    ("product", "looked", "code"),
    [
        (
            "tf.matmul(u, v, transpose_b=True)",
            PAIRS,
            "tf.reduce_sum(tf.gather(u, ui) * tf.gather(v, vi), axis=-1)",
        ),
        ("u @ tf.transpose(v)", PAIRS, "tf.reduce_sum(tf.gather(u, ui) * tf.gather(v, vi), axis=-1)"),
        (
            "tf.matmul(u, v, transpose_b=True)",
            "tf.gather(scores, ui)",
            "tf.matmul(tf.gather(u, ui), v, transpose_b=True)",
        ),
        ("tf.matmul(u, v, transpose_b=True)", "tf.gather(other, ui)", None),
    ],
)
def test_two_tables_before_a_few_products_are_read(product: str, looked: str, code: str | None) -> None:
    text = FACTORS.format(product=product, looked=looked)
    if "tf.gather(" in looked:
        text = text.replace(f"tf.square({looked} - r)", "rows").replace("loss =", f"rows = {looked}\nloss =")
    assert code_of(text + oom("30000,9000", "MatMul")) == code


REPEATED = """import tensorflow as tf
SLATE = 12
BATCH = 64
class Ranker(tf.keras.Model):
    def score(self, img, ad):
        z = {net}
        return self.head(tf.concat([z, self.ads(ad)], -1))
    def step(self, images, ads):
        many = {repeat}
        return self.score(many, ads)
{more}
"""
ALONE = "self.picture_encoder(img)"
BY_REPEAT = "tf.repeat(images, SLATE, axis=0)"


@pytest.mark.parametrize(
    ("net", "repeat", "more", "code"),
    [
        (ALONE, BY_REPEAT, "", "s = tf.repeat(self.picture_encoder(images), SLATE, axis=0)"),
        (
            ALONE,
            "tf.repeat(images, self.slate, axis=0)",
            "model = Ranker(slate=12)",
            "s = tf.repeat(self.picture_encoder(images), self.slate, axis=0)",
        ),
        (
            ALONE,
            "tf.reshape(tf.tile(images[:, None], [1, SLATE, 1, 1, 1]), [-1, 48, 48, 3])",
            "",
            "s = self.picture_encoder(images)   # tile this, instead of images",
        ),
        ("self.picture_encoder([img, ad])", BY_REPEAT, "", None),  # it reads what differs as well
        (ALONE, BY_REPEAT, "layer = tf.keras.layers.Dropout(0.3)", None),  # each copy has a mask of its own
        ("tf.image.resize(img, [24, 24])", BY_REPEAT, "", None),  # no network
        (ALONE, "tf.repeat(images, SLATE, axis=1)", "", None),
        (ALONE, "tf.repeat(images, 5, axis=0)", "", None),  # another number of rows
    ],
)
def test_rows_are_repeated_before_a_network(net: str, repeat: str, more: str, code: str | None) -> None:
    program = REPEATED.format(net=net, repeat=repeat, more=more)
    assert code_of(program + oom("768,24,24,32", "picture_encoder/conv2d/Conv2D")) == code


MAPS = """import tensorflow as tf
def head(feats, size):
    full = {full}
    x = tf.concat(full, axis={axis})
    {between}
    x = tf.layers.conv2d(x, 16, {kernel}, name="fuse")
    return x
"""
RESIZED = "[tf.image.resize_bilinear(f, [size, size]) for f in feats]"
REDUCED = "x = tf.add_n([resize(tf.layers.conv2d(f, 16, 1)) for f in maps])   # then bias, activation"


@pytest.mark.parametrize(
    ("full", "axis", "between", "kernel", "code"),
    [
        (RESIZED, "-1", "", "1", REDUCED),
        (RESIZED, "3", "", "[1, 1]", REDUCED),
        ("[fine, tf.image.resize(a, s), tf.image.resize(b, s)]", "-1", "", "1", REDUCED),
        (RESIZED, "-1", "", "3", None),
        (RESIZED, "-1", "x = tf.nn.relu(x)", "1", None),
        (RESIZED, "0", "", "1", None),
        ("[f * gate for f in feats]", "-1", "", "1", None),
        ("[fine, tf.image.resize(a, s)]", "-1", "", "1", None),  # as a decoder's skip connection
    ],
)
def test_maps_are_joined_before_they_are_reduced(
    full: str, axis: str, between: str, kernel: str, code: str | None
) -> None:
    program = MAPS.format(full=full, axis=axis, between=between, kernel=kernel)
    assert code_of(program + oom("2,256,256,480", "head/concat")) == code


ENLARGED = """import tensorflow as tf
L = tf.keras.layers
inp = L.Input((32, 32, 288))
x = {enlarges}(inp)
x = L.Dropout(0.1)(x)
x = {reduces}(x)
net = tf.keras.Model(inp, x)
"""


@pytest.mark.parametrize(
    ("enlarges", "reduces", "shape", "told"),
    [
        ("L.UpSampling2D(8)", "L.Conv2D(11, 1)", "6,256,256,288", True),
        ("L.UpSampling2D(8)", "L.Conv2D(filters=11, kernel_size=(1, 1))", "6,256,256,288", True),
        ("L.Resizing(256, 256)", "L.Dense(11)", "6,256,256,288", True),
        ("L.UpSampling2D(8)", "L.Conv2D(11, 3, padding='same')", "6,256,256,288", False),  # sees neighbours
        ("L.UpSampling2D(8)", "L.Conv2D(256, 1)", "6,256,256,288", False),  # hardly fewer
        ("L.Conv2DTranspose(288, 8, 8)", "L.Conv2D(11, 1)", "6,256,256,288", False),  # learns
        ("L.UpSampling2D(8)", "L.Conv2D(11, 1)", "6,256,256,11", False),
    ],
)
def test_a_map_that_is_enlarged_before_it_is_reduced(
    enlarges: str, reduces: str, shape: str, told: bool
) -> None:
    page = pipeline.explain(ENLARGED.format(enlarges=enlarges, reduces=reduces) + oom(shape, "net/up/resize"))
    said = [each for each in page.findings if "full depth of 288 channels" in each.headline]
    assert bool(said) is told
    if said:
        assert said[0].remedies[0].slug == "reduce-before-resizing"
        assert said[0].remedies[0].saves_bytes == 6 * 256 * 256 * (288 - 11) * 4
