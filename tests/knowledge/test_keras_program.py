"""What the layers of a program make, followed without running it."""

from __future__ import annotations

import pytest

from tfmemlens.knowledge.keras_program import LayerOutput, fits, layer_outputs
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program
from tfmemlens.readers.program.parsing import statements_of_file

Shape = tuple[int | None, ...]


def outputs(code: str, asked: Shape | None = None) -> tuple[LayerOutput, ...]:
    lines = [Line(number, text) for number, text in enumerate(code.split("\n"), 1)]
    return layer_outputs(Program(tuple(statements_of_file(lines))), asked)


def shapes(code: str, asked: Shape | None = None) -> dict[str, Shape]:
    return {each.name or each.class_name: each.shape for each in outputs(code, asked)}


FUNCTIONAL = """
from tensorflow.keras import layers, Model, Input
WIDTHS = [8, 16]
def block(x, filters, name, pool=True):
    x = layers.Conv2D(filters, 3, padding="same", name=name)(x)
    return layers.MaxPooling2D(name=name + "_pool")(x) if pool else x
image = Input((64, 64, 3))
x = image
for level, width in enumerate(WIDTHS):
    x = block(x, width, f"level_{level}")
x = block(x, filters=4, name="last", pool=False)
net = Model(image, x)
"""


def test_helpers_and_loops_are_followed() -> None:
    assert shapes(FUNCTIONAL) == {
        "level_0": (None, 64, 64, 8),
        "level_0_pool": (None, 32, 32, 8),
        "level_1": (None, 32, 32, 16),
        "level_1_pool": (None, 16, 16, 16),
        "last": (None, 16, 16, 4),
    }


def test_each_output_knows_the_line_that_makes_its_layer() -> None:
    assert {each.name: each.line.number for each in outputs(FUNCTIONAL)}["level_1"] == 5


SUBCLASSED = """
import tensorflow as tf
class Encoder(tf.keras.layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.wide = tf.keras.layers.Dense(units)
    def call(self, x):
        return tf.nn.relu(self.wide(x))
class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder(512)
        self.score = tf.keras.layers.Dense(1, name="score")
    def call(self, x, training=None):
        return self.score(self.encoder(x) + 1.0)
model = Net()
model.compile("adam", "mse")
x = tf.random.normal([1000, 20, 7])
model.fit(x, x, batch_size=10)
"""


def test_a_subclassed_model_is_followed_where_it_is_fed() -> None:
    assert shapes(SUBCLASSED) == {"wide": (None, 20, 512), "score": (None, 20, 1)}


WAYS: list[tuple[str, dict[str, Shape]]] = [
    (
        "m = Sequential([Input((8,)), Dense(4, name='a'), Dense(2, name='b')])",
        {"a": (None, 4), "b": (None, 2)},
    ),
    ("m = Sequential()\nm.add(Dense(4, input_shape=(8,), name='a'))", {"a": (None, 4)}),
    (
        "i = Input((9, 5))\nx = Bidirectional(LSTM(6, return_sequences=True), name='a')(i)",
        {"a": (None, 9, 12)},
    ),
    ("i = Input((9, 5))\nx = layers.Concatenate(name='a')([i, i])", {"a": (None, 9, 10)}),
    ("i = Input((9, 5))\nx = keras.layers.concatenate([i, i, i], name='a')", {"a": (None, 9, 15)}),
    ("i = Input(())\nx = layers.Embedding(50, 6, name='a')(i)", {"a": (None, 6)}),
    (
        "p = tf.placeholder(tf.float32, [4, 9])\n"
        "with tf.variable_scope('s'):\n    x = tf.layers.dense(p, 3, name='a')",
        {"s/a": (4, 3)},
    ),
    (
        "w = tf.zeros([3, 3, 2, 7])\np = tf.placeholder(tf.float32, [None, 8, 8, 2])\n"
        "y = tf.nn.conv2d(p, w, [1, 2, 2, 1], 'SAME', name='a')",
        {"a": (None, 4, 4, 7)},
    ),
    (
        "i = Input((4,)); x = i; y = Dense(6, name='s')(x); z = Dense(2, name='t')(y)",
        {"s": (None, 6), "t": (None, 2)},
    ),
    ("def f(x, n=3):\n    return Dense(n, name='a')(x)\nf(Input((2,)), n=5)", {"a": (None, 5)}),
    ("n = 4 if True else 5\nx = Dense(n * 2, name='a')(Input((2,)))", {"a": (None, 8)}),
    ("x = Flatten()(Input((2, 3)))\ny = Dense(4, name='a')(x)", {"a": (None, 4)}),
    (
        "d = tf.data.Dataset.from_tensor_slices(np.zeros((50, 8))).shuffle(9).batch(5)\n"
        "net = Sequential([Dense(3, name='a')])\nfor x in d:\n    net(x)",
        {"a": (None, 3)},
    ),
    (
        "p = argparse.ArgumentParser()\np.add_argument('--width', type=int, default=6)\n"
        "a = p.parse_args()\nx = Dense(a.width, name='a')(Input((2,)))",
        {"a": (None, 6)},
    ),
    ("i = Input((9, 8))\nx = MultiHeadAttention(2, 4, name='a')(i, i)", {"a": (None, 2, 9, 9)}),
    (
        "class C: width = 7\nconfig = C()\nx = Dense(config.width, name='a')(Input((2,)))",
        {"a": (None, 7)},
    ),
    ("sizes = [3, 4]\nx = Dense(sizes[-1], name='a')(Input((2,)))", {"a": (None, 4)}),
    ("cfg = {'w': 5}\nx = Dense(cfg['w'], name='a')(Input((2,)))", {"a": (None, 5)}),
]


@pytest.mark.parametrize(("code", "expected"), WAYS)
def test_ways_to_write_it(code: str, expected: dict[str, Shape]) -> None:
    assert shapes(code) == expected


@pytest.mark.parametrize(
    "code",
    [
        "x = Dense(units, name='a')(Input((2,)))",  # nobody says how wide
        "x = Dense(4, name='a')(load())",  # nor what it reads
        "n = 4\nif there():\n    n = 8\nx = Dense(n, name='a')(Input((2,)))",
        "n = 1\nfor i in reader():\n    n = n + 1\nx = Dense(n, name='a')(Input((2,)))",
        "x = Conv2D(4, 3, name='a')(Input((None, None, 3)))",  # open sides
        "class A: pass\nA().fit(1)",
        "def f():\n    return f()\nf()",
        "x = np.zeros((2,)) ** 10 ** 10 ** 10",
    ],
)
def test_what_nothing_tells_is_left_out(code: str) -> None:
    assert outputs(code) == ()


def test_a_branch_that_data_decides_is_followed_both_ways() -> None:
    code = (
        "i = Input((2,))\nif there():\n    x = Dense(3, name='a')(i)\nelse:\n"
        "    x = Dense(4, name='b')(i)\ny = Dense(5, name='c')(x)"
    )
    assert shapes(code) == {"a": (None, 3), "b": (None, 4)}  # what `x` is afterwards is not known


OPEN = """
i = Input((None, None, 3))
x = Conv2D(16, 3, strides=2, padding="same", name="half")(i)
y = Conv2DTranspose(8, 2, strides=2, name="whole")(x)
"""


def test_open_sides_are_those_of_the_tensor_that_was_asked_for() -> None:
    assert shapes(OPEN) == {}
    expected = {"half": (None, 48, 48, 16), "whole": (None, 96, 96, 8)}
    assert shapes(OPEN, (4, 96, 96, 8)) == expected
    assert shapes(OPEN, (4, 48, 48, 16)) == expected
    assert shapes(OPEN, (4, 48, 48, 5)) == {}


def test_a_program_that_was_read_twice_is_one() -> None:
    lines = [Line(number, text) for number, text in enumerate(FUNCTIONAL.split("\n"), 1)]
    program = Program(tuple(statements_of_file(lines)))
    assert layer_outputs(program.joined([program])) == layer_outputs(program)


def test_a_shape_fits_at_any_batch_and_in_no_other_rank() -> None:
    output = outputs("x = Dense(4, name='a')(Input((3, 2)))")[0]
    assert fits(output, (7, 3, 4)) and fits(output, (1, 3, 4))
    assert not fits(output, (7, 3, 5)) and not fits(output, (7, 4)) and not fits(output, (7, 3, 1, 4))


def test_no_number_of_a_program_is_too_odd() -> None:
    odd = ["1 / 0", "7 % 0.0", "10 ** 12 ** 9", "(-8) ** 0.5", "1e308 * 1e308", "'x' % 3", "[1] * 10**9"]
    huge = "0x" + "f" * 5000
    odd += [
        f"range({huge})",
        f"range(0, {huge}, 7)",
        f"1.5 + {huge}",
        f"sum([1.5, {huge}])",
        f"f'a{{{huge}}}'",
    ]
    odd += [f"{huge} % 7", f"max({huge}, 1.0)", f"round({huge} + 0.5)", f"[1, 2][{huge}]", f"(1, 2)[:{huge}]"]
    odd += [f"str({huge})", f"float({huge})", "range(1 << 40)", "range(3, -3, -1)", "range()"]
    code = "".join(f"n = {each}\n" for each in odd)
    assert shapes(code + "x = Dense(4, name='a')(Input((2,)))") == {"a": (None, 4)}


@pytest.mark.parametrize(
    ("code", "shape"),
    [
        ("x = i * mask()", (None, 6, 5)),  # the other operand is most likely as large, or smaller
        ("x = tf.reshape(i, [tf.shape(i)[0], 30])", (None, 5)),
        ("x = i[:, 2]", (None, 5)),
        ("x = tf.concat([i, i], axis=1)", (None, 12, 5)),
        ("x = tf.transpose(i, [0, 2, 1])", (None, 5, 5)),
        ("x = i.astype('float16')", (None, 6, 5)),
        ("x, y = tf.split(i, 2, axis=1)", (None, 3, 5)),
        ("x = tf.einsum('bij,bkj->bik', i, i)", (None, 6, 5)),
    ],
)
def test_ops_between_layers(code: str, shape: Shape) -> None:
    assert shapes(f"i = Input((6, 5))\n{code}\ny = Dense(5, name='a')(x)") == {"a": shape}


def test_a_net_of_vectors_whose_width_nothing_tells() -> None:
    code = (
        "class Net(keras.Model):\n    def __init__(self):\n        super().__init__()\n"
        "        self.wide = Dense(288)\n        self.out = Dense(1)\n"
        "    def call(self, x):\n        return self.out(self.wide(x))\nNet().fit(batches())"
    )
    assert shapes(code, (64, 288)) == {"wide": (None, 288), "out": (None, 1)}
    assert shapes(code, (64, 287)) == {}


PIPELINE = """
import tensorflow.compat.v1 as tf
SIDE = 64
def cells(x, width, name):
    with tf.variable_scope(name):
        return tf.layers.conv2d(x, width, 3, padding="same", name="conv")
data = tf.data.Dataset.from_generator(tiles, {types}, {shapes}).batch(4)
image, mask = tf.data.make_one_shot_iterator(data).get_next()
for level in range(2):
    image = cells(image, 8, {name})
"""


@pytest.mark.parametrize(
    ("types", "shapes_of", "name"),
    [
        ("(tf.float32, tf.int32)", "((SIDE, SIDE, 3), ())", "'down%d' % level"),
        ("(tf.float32, tf.int32)", "output_shapes=([SIDE, SIDE, 3], [])", "'down{}'.format(level)"),
        ("output_types=(tf.float32, tf.int32)", "output_shapes=((SIDE, SIDE, 3), (1,))", "f'down{level}'"),
    ],
)
def test_elements_of_a_generator_have_the_shapes_that_it_states(
    types: str, shapes_of: str, name: str
) -> None:
    code = PIPELINE.format(types=types, shapes=shapes_of, name=name)
    assert shapes(code) == {"down0/conv": (None, 64, 64, 8), "down1/conv": (None, 64, 64, 8)}


@pytest.mark.parametrize(
    "name", ["'down%d' % 'a'", "'%d%d' % level", "'%5.2f' % level", "'{} {}'.format(level)"]
)
def test_a_text_that_does_not_fit_its_places_is_not_known(name: str) -> None:
    code = PIPELINE.format(types="(tf.float32, tf.int32)", shapes="((SIDE, SIDE, 3), ())", name=name)
    assert set(shapes(code)) == {"conv"}


@pytest.mark.parametrize("step", ["next(iter(data))", "data.make_one_shot_iterator().get_next()"])
def test_one_element_is_taken_of_a_set(step: str) -> None:
    code = PIPELINE.replace("tf.data.make_one_shot_iterator(data).get_next()", step)
    code = code.format(types="(tf.float32, tf.int32)", shapes="((SIDE, SIDE, 3), ())", name="'a%s' % level")
    assert set(shapes(code)) == {"a0/conv", "a1/conv"}


SEQUENCE = """
import keras, numpy as np
class Clouds(keras.utils.PyDataset):
    def __init__(self, points=64, n=50):
        self.x = np.random.normal(size=(n, points, 3)).astype("float32")
        self.bs = 4
    def __getitem__(self, i):
        s = slice(i * self.bs, (i + 1) * self.bs)
        return {returned}
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.wide = keras.layers.Dense(16, name="wide")
    def call(self, x):
        {call}
model = Net()
model.fit({data}, epochs=2)
"""


@pytest.mark.parametrize(
    ("returned", "data", "shape"),
    [
        ("self.x[s], self.y[s]", "Clouds(48)", (None, 48, 16)),
        ("self.x[i * 4 : i * 4 + 4] * 2.0, 0", "Clouds()", (None, 64, 16)),
        ("load(i), 0", "Clouds()", None),
    ],
)
def test_a_batch_that_the_program_s_own_sequence_gives(returned: str, data: str, shape: Shape | None) -> None:
    code = SEQUENCE.format(returned=returned, data=data, call="return self.wide(x)")
    assert shapes(code).get("wide") == shape


@pytest.mark.parametrize(
    ("picked", "shape"),
    [
        ("tf.gather(x, tf.math.top_k(d, k=5)[1], batch_dims=1)", (None, 64, 5, 16)),
        ("tf.gather(x, tf.math.top_k(d, k=5)[1], axis=1, batch_dims=1)", (None, 64, 5, 16)),
        ("tf.gather(x, tf.math.top_k(d, k=5)[1], batch_dims=4)", None),
    ],
)
def test_neighbours_that_are_gathered_in_each_sample(
    picked: str, shape: tuple[int | None, ...] | None
) -> None:
    call = f"d = tf.matmul(x, x, transpose_b=True)\n        return self.wide({picked})"
    code = "import tensorflow as tf" + SEQUENCE.format(returned="self.x[s], 0", data="Clouds()", call=call)
    assert shapes(code).get("wide") == shape


FED = """
import json, os
import numpy as np
import tensorflow as tf
from types import SimpleNamespace
defaults = dict(side=32, width=8)
cfg = {{**defaults, **json.loads(text)}}
args = SimpleNamespace(many=int(os.environ.get("MANY", 6)))
rng = np.random.RandomState(0)
net = tf.keras.Sequential([tf.keras.layers.Dense(cfg["width"], name="wide")])
{feeding}
"""


@pytest.mark.parametrize(
    ("feeding", "shape"),
    [
        ("net(tf.zeros([4, args.many]))", (4, 8)),
        ("net(tf.zeros([4, 16])[..., None])", (4, 16, 8)),
        ("net(tf.cast(rng.rand(4, 16) > 0.5, tf.float32))", (4, 8)),
        ("net(tf.nn.avg_pool2d(tf.zeros([4, cfg['side'], 32, 3]), 2, 2, 'VALID'))", (4, 16, 16, 8)),
        ("net(tf.nn.max_pool(tf.zeros([4, 32, 32, 3]), [1, 4, 4, 1], [1, 4, 4, 1], 'SAME'))", (4, 8, 8, 8)),
        ("net(tf.nn.depth_to_space(tf.zeros([4, 8, 8, 12]), 2))", (4, 16, 16, 8)),
        ("net(tf.nn.space_to_depth(tf.zeros([4, 8, 8, 3]), 2))", (4, 4, 4, 8)),
        ("net(tf.math.unsorted_segment_sum(tf.zeros([90, 7]), rng.randint(0, 20, 90), 20))", (20, 8)),
        ("net(tf.reshape(tf.range(24), [4, 6]))", (4, 8)),
        ("net(tf.get_variable('table', [50, 7]))", (50, 8)),
        ("net(rng.zipf(1.3, (5, 7)) % 4)", (5, 8)),
        (
            "draw = lambda i: tf.random.stateless_uniform([9, 7], [i, 1])\n"
            "ds = tf.data.Dataset.range(90).map(draw).batch(4)\n"
            "for step, x in enumerate(ds):\n    net(x)",
            (None, 9, 8),
        ),
        ("def parts():\n    for k in range(9):\n        yield np.zeros((5, 7)), k\n"
         "for at, (x, k) in enumerate(parts()):\n    net(x)", (5, 8)),
        ("def parts():\n    return np.zeros((5, 7))\nfor at, x in enumerate(parts()):\n    net(x)", None),
    ],
)  # fmt: skip
def test_what_programs_feed_their_nets(feeding: str, shape: Shape | None) -> None:
    assert shapes(FED.format(feeding=feeding)).get("wide") == shape
