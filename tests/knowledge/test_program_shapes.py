"""What a quoted program makes: each way to write a size, and what leaves it unknown."""

from __future__ import annotations

from itertools import product

import pytest

from tfmemlens.knowledge.keras_program import layers
from tfmemlens.knowledge.layer_calls import ARGUMENTS, SIZED
from tfmemlens.knowledge.program_shapes import Role, made_by
from tfmemlens.model.line import Line
from tfmemlens.readers.program import read_program

DENSE, TABLE, WEIGHT, DATA = Role.DENSE, Role.TABLE, Role.WEIGHT, Role.DATA
TWO = [(DENSE, (8, 5)), (DENSE, (5, 4))]


def made(code: str, image: tuple[int, int] | None = None) -> list[tuple[Role, tuple[int, ...]]]:
    lines = tuple(Line(number, line) for number, line in enumerate(code.splitlines(), 1) if line.strip())
    return [(each.role, each.shape) for each in made_by(read_program(lines), image)]


@pytest.mark.parametrize(
    "code, expected",
    [
        # a table is tall, but for a matrix that is called linear
        ("w = tf.get_variable('w', [320, 20])", [(TABLE, (320, 20))]),
        ("w = tf.get_variable('w', [319, 20])", [(WEIGHT, (319, 20))]),
        ("w = tf.get_variable('w', shape=[320, 20, 2])", [(WEIGHT, (320, 20, 2))]),
        ("w = tf.get_variable('w')", []),
        ("w = tf.get_variable('w', [0, 20])", []),
        ("w = tf.get_variable('w', [1, 20])", [(WEIGHT, (1, 20))]),
        ("w = nnx.Linear(320, 20, rngs=r)", [(WEIGHT, (320, 20))]),
        ("w = nnx.Linear(320)", []),
        ("w = nnx.Embed(30, 20, rngs=r)", [(TABLE, (30, 20))]),
        ("w = nn.Embed(num_embeddings=30, features=20)", [(TABLE, (30, 20))]),
        ("w = nn.Embed(30)", []),
        ("w = self.add_weight(shape=(30, 20))", [(WEIGHT, (30, 20))]),
        ("w = tf.Variable(tf.zeros([30, 20]))", [(WEIGHT, (30, 20))]),
        ("w = tf.Variable(3)", []),
        ("e = layers.Embedding(300, 64)", [(TABLE, (300, 64))]),
        ("e = layers.Embedding(300, None)", []),
        # sizes by name
        ("n = 5\nw = tf.get_variable('w', [n * 4 + 1, -(0 - n)])", [(WEIGHT, (21, 5))]),
        ("n: int = 5\nw = tf.get_variable('w', [n, 2])", [(WEIGHT, (5, 2))]),
        ("n = 5\nn += 1\nw = tf.get_variable('w', [n, 2])", [(WEIGHT, (6, 2))]),
        ("a, b = 5, 6\nw = tf.get_variable('w', [a, b])", [(WEIGHT, (5, 6))]),
        ("a, b = 5, 6, 7\nw = tf.get_variable('w', [a, b])", []),
        ("n = 5\nw = tf.get_variable('w', [self.n, args.n])", [(WEIGHT, (5, 5))]),
        ("for n in (5, 6):\n    w = tf.get_variable('w', [n, 2])", [(WEIGHT, (5, 2)), (WEIGHT, (6, 2))]),
        ("for n in sizes:\n    w = tf.get_variable('w', [n, 2])", []),
        ("p.add_argument('--n-w', type=int, default=9)\nw = nn.Embed(args.n_w, 8)", [(TABLE, (9, 8))]),
        ("p.add_argument('--n', 9)\nw = nn.Embed(args.n, 8)", []),
        ("flags.DEFINE_integer('n', 9, 'words')\nw = nn.Embed(FLAGS.n, 8)", [(TABLE, (9, 8))]),
        ("flags.DEFINE_integer('n', 7, default=9)\nw = nn.Embed(FLAGS.n, 8)", [(TABLE, (9, 8))]),
        ("c.setdefault('n', 9)\nw = nn.Embed(c.n, 8)", [(TABLE, (9, 8))]),
        # parameters of functions
        ("def f(n=5, *, m=6):\n    w = tf.get_variable('w', [n, m])", [(WEIGHT, (5, 6))]),
        ("def f(a, n=5):\n    w = tf.get_variable('w', [n, 2])", [(WEIGHT, (5, 2))]),
        ("def f(a, n=5):\n    w = tf.get_variable('w', [a, 2])", []),
        ("n = 4\ndef f(n):\n    w = tf.get_variable('w', [n, 2])", [(WEIGHT, (4, 2))]),
        ("n = 4\ndef f(n=5):\n    w = tf.get_variable('w', [n, 2])", [(WEIGHT, (5, 2))]),
    ],
)  # fmt: skip
def test_sizes(code: str, expected: list[tuple[Role, tuple[int, ...]]]) -> None:
    assert made(code) == expected


@pytest.mark.parametrize(
    "code, expected",
    [
        ("x = Input((6, 8))\ny = Dense(5)(x)", [(DENSE, (8, 5))]),
        ("x = Input(shape=(8,))\ny = Dense(5)(x)\nz = Dense(4)(y)", TWO),
        ("x = Input(batch_shape=(2, 8))\ny = Dense(5)(x)", [(DENSE, (8, 5))]),
        ("x = tf.placeholder(tf.float32, (None, 8))\ny = Dense(5)(x)", [(DENSE, (8, 5))]),
        ("x = Input((0, 8))\ny = Dense(5)(x)", [(DENSE, (8, 5))]),
        ("x = Input(n)\ny = Dense(5)(x)", []),
        ("x = Input((8,))\ny = Dense(n)(x)", []),
        ("x = Input((8,))\nd = Dense(5)\ny = Dense(4)(d(x))", TWO),
        ("x = Input((8,))\ny = Dense(5)(tf.nn.relu(x))", [(DENSE, (8, 5))]),
        ("x = Input((8,))\ny = Dense(5)(other(x))", []),
        ("x = Input((8,))\ny = tf.layers.dense(x, 5)", [(DENSE, (8, 5))]),
        ("x = Input((8,))\ny = tf.layers.dense(inputs=x, units=5)", [(DENSE, (8, 5))]),
        ("x = Input((8,))\ny = slim.fully_connected(x, 5)", [(DENSE, (8, 5))]),
        ("x = Input((8,))\ny = slim.fully_connected(inputs=x, num_outputs=5)", [(DENSE, (8, 5))]),
        ("x = Input((8,))\ny = other.fully_connected(x, 5)", []),
        ("x = Input((8,))\ny = torch.nn.Dense(5)(x)", []),
        ("m = Sequential(layers=[Dense(5, input_shape=(8,)), Dense(4)])", TWO),
        ("m = Sequential([Dense(5, input_shape=(None, 8))])", [(DENSE, (8, 5))]),
        ("m = Sequential()\nm.add(Dense(5, input_shape=(8,)))\nm.add(Dense(4))", TWO),
        ("m = Sequential()\nm.add()\nm.add(Dense(5, input_shape=(8,)))", [(DENSE, (8, 5))]),
        ("m = Sequential()\nm.add(Input((8,)))\nm.add(Dense(5))", [(DENSE, (8, 5))]),
        ("b = Sequential([Input((8,)), Dense(5)])\nm = Sequential([b, Dense(4)])", TWO),
        ("x = Input((8, 8, 3))\ny = Conv2D(5, 3)(x)", [(WEIGHT, (3, 3, 3, 5))]),
        ("x = Input((8, 8, None))\ny = Conv2D(5, 3)(x)\nz = Conv2D(2, 1)(y)", [(WEIGHT, (1, 1, 5, 2))]),
        ("x = Input((8, 6, 3))\ny = Flatten()(x)\nz = Dense(5)(y)", [(DENSE, (144, 5))]),
        ("if a:\n    x = Input((8,))\ny = Dense(5)(x)", [(DENSE, (8, 5))]),
        ("x = Input((7,))\nif a:\n    x = Input((8,))\ny = Dense(5)(x)", []),
        ("with a:\n    x = Input((8,))\ny = Dense(5)(x)", [(DENSE, (8, 5))]),
        ("x = Input((8,))\nif a:\n    x = Dense(6)(x)\ny = Dense(5)(x)", [(DENSE, (8, 6))]),
        ("x = Input((8,))\nif a:\n    y = Dense(6)(x)\nz = Dense(5)(x)", [(DENSE, (8, 6)), (DENSE, (8, 5))]),
    ],
)  # fmt: skip
def test_layers(code: str, expected: list[tuple[Role, tuple[int, ...]]]) -> None:
    assert made(code) == expected


@pytest.mark.parametrize(
    "call, expected",
    [
        ("VGG16(include_top=False, input_shape=(224, 192, 3))", [(DENSE, (7 * 6 * 512, 5))]),
        ("VGG16(include_top=False, input_shape=(225, 200, 3))", [(DENSE, (7 * 6 * 512, 5))]),
        ("ResNet50(include_top=False, input_shape=(224, 192, 3))", [(DENSE, (7 * 6 * 2048, 5))]),
        ("ResNet50(include_top=False, input_shape=(225, 192, 3))", []),
        ("ResNet50(include_top=False, input_shape=(224, 200, 3))", []),
        ("ResNet50(include_top=False, input_shape=(224, 192))", []),
        ("ResNet50(include_top=False, input_shape=(224, n, 3))", []),
        ("ResNet50(include_top=False, pooling='avg', input_shape=(224, 192, 3))", [(DENSE, (2048, 5))]),
        ("ResNet50(include_top=True, input_shape=(224, 192, 3))", []),
        ("ResNet50(include_top=False)", []),
    ],
)
def test_a_known_net_below_a_head(call: str, expected: list[tuple[Role, tuple[int, ...]]]) -> None:
    assert made(f"m = Sequential([{call}, Flatten(), Dense(5)])") == expected
    assert made(f"net = {call}\ny = Flatten()(net.output)\nz = Dense(5)(y)") == expected


def test_the_sides_of_the_pictures_that_the_text_speaks_of() -> None:
    code = "m = Sequential([Conv2D(4, 1), Flatten(), Dense(5)])"
    assert made(code, (6, 7)) == [(DENSE, (6 * 7 * 4, 5))]
    assert made(code) == []
    assert made("m = Sequential([Dense(5)])", (6, 7)) == []


@pytest.mark.parametrize(
    "code, expected",
    [
        ("x = np.load(f)  # (6_000, 32) uint8", [(DATA, (6000, 32))]),
        ("x = np.compress(f)  # (6000, 32) uint8", []),
        ("x = np.zeros((6000, 32))", [(DATA, (6000, 32))]),
        ("x = np.zeros((6000, n))", []),
        ("x = zeros((6000, 32))", []),
        ("x = np.full((6000, 32))", []),
    ],
)
def test_arrays(code: str, expected: list[tuple[Role, tuple[int, ...]]]) -> None:
    assert made(code) == expected


def test_bytes_flattened_sides_and_a_long_call() -> None:
    def of(code: str) -> tuple[str, int, tuple[int, ...]]:
        lines = tuple(Line(number, line) for number, line in enumerate(code.splitlines(), 1))
        *_, last = made_by(read_program(lines))
        return last.code, last.bytes, last.flattened

    assert of("x = np.load(f)  # (6000, 32) uint8")[1] == 6000 * 32
    assert of("x = np.load(f)  # (6000, 32)")[1] == 6000 * 32 * 4
    assert of("x = Input((8, 6, 3))\ny = Flatten()(x)\nz = Dense(5)(Dropout(.1)(y))")[2] == (8, 6, 3)
    assert of("x = Input((8, 6, 3))\ny = Flatten()(x)\nz = Dense(5)(Dense(4)(y))")[2] == ()
    name = "n" * (60 - len("tf.get_variable('', [8, 8])"))
    assert of(f"w = tf.get_variable('{name}', [8, 8])")[0] == f"tf.get_variable('{name}', [8, 8])"
    assert (
        of(f"w = tf.get_variable('n{name}', [8, 8])")[0] == f"tf.get_variable('n{name}', [8, 8])"[:57] + "..."
    )


ODD = "None True 0 -5 2.5 1e999 'odd' ... [1] [2,n] ((1,2),3) [-1,-1] [0,8] {1:2} 10**30".split()
"""Settings that no Keras takes."""


@pytest.mark.parametrize("layer", sorted(ARGUMENTS))
def test_a_setting_that_no_keras_takes_leaves_the_sizes_unknown(layer: str) -> None:
    """The rules for layers refuse every one of them by themselves."""
    usual = {"units": 5, "filters": 4, "kernel_size": 3, "input_dim": 7, "output_dim": 6}
    names = {"dilation_rate", *ARGUMENTS[layer]}.intersection(
        (*SIZED, "dilation_rate", "input_dim", "output_dim")
    )
    for name, odd in product(sorted(names), ODD):
        call = ", ".join(f"{each}={value}" for each, value in {**usual, name: odd}.items())
        for shape in ("", "8,", "8, 3", "0, 8, 3", "8, True, 8, 3", "8, n, n, 3"):
            assert all(min(sizes) > 0 for _, sizes in made(f"x = Input(({shape}))\ny = {layer}({call})(x)"))


def test_an_error_of_ours_in_a_rule_comes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def mistaken(call: object) -> object:
        raise TypeError("a slip of ours")

    monkeypatch.setattr(layers, "describe", mistaken)
    with pytest.raises(TypeError, match="a slip of ours"):
        made("x = Input((8,))\ny = Dense(5)(x)")


def test_weights_of_layers_that_a_class_calls() -> None:
    code = (
        "class Net(keras.Model):\n    def __init__(self):\n        super().__init__()\n"
        "        self.wide = layers.Dense(4000)\n    def call(self, x):\n        return self.wide(x)\n"
        "Net()(tf.zeros([8, 20]))"
    )
    assert made(code) == [(DENSE, (20, 4000))]  # a bias is a vector
