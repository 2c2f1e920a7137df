"""What the lines of a program make in a step, followed without running it."""

from __future__ import annotations

import pytest

from tfmemlens.knowledge.keras_program.tensors import TensorMade, tensors_of
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program
from tfmemlens.readers.program.parsing import statements_of_file

Shape = tuple[int | None, ...]


def made_by(code: str) -> tuple[TensorMade, ...]:
    lines = [Line(number, text) for number, text in enumerate(code.split("\n"), 1)]
    return tensors_of(Program(tuple(statements_of_file(lines))))


def of_expression(expression: str) -> list[Shape]:
    code = f"import tensorflow as tf\nx = tf.zeros([4, 30, 8])\ny = tf.zeros([4, 8, 5])\nz = {expression}\n"
    return [each.shape for each in made_by(code) if each.line.number == 4]


@pytest.mark.parametrize(
    ("expression", "shape"),
    [
        ("x * 2.0", (4, 30, 8)),
        ("x @ y", (4, 30, 5)),
        ("tf.concat([x, x], axis=-1)", (4, 30, 16)),
        ("tf.gather_nd(x, tf.zeros([7, 2], tf.int32))", (7, 8)),
        ("tf.scatter_nd(tf.zeros([9, 1], tf.int32), tf.zeros([9, 8]), [50, 8])", (50, 8)),
        ("tf.linalg.diag(x)", (4, 30, 8, 8)),
        ("tf.linalg.diag_part(tf.matmul(y, y, transpose_b=True))", (4, 8)),
        ("tf.linalg.band_part(x, -1, 0)", (4, 30, 8)),
        ("tf.linalg.logdet(tf.matmul(y, y, transpose_b=True))", (4,)),
        ("tf.linalg.solve(tf.matmul(y, y, transpose_b=True), y)", (4, 8, 5)),
        ("tf.tensordot(x, tf.zeros([8, 3]), 1)", (4, 30, 3)),
        ("tf.tensordot(x, tf.zeros([8, 30, 3]), [[2, 1], [0, 1]])", (4, 3)),
        ("tf.signal.frame(tf.zeros([2, 16000]), 400, 160)", (2, 98, 400)),
        ("tf.signal.stft(tf.zeros([2, 16000]), 400, 160)", (2, 98, 257)),
        ("tf.signal.rfft(tf.zeros([2, 512]))", (2, 257)),
        (
            "tf.image.extract_patches(tf.zeros([2, 32, 32, 3]), [1, 4, 4, 1], [1, 4, 4, 1], [1], 'VALID')",
            (2, 8, 8, 48),
        ),
        (
            "tf.image.crop_and_resize(tf.zeros([2, 32, 32, 3]), tf.zeros([9, 4]), [0] * 9, [7, 7])",
            (9, 7, 7, 3),
        ),
        ("tf.nn.conv1d(x, tf.zeros([3, 8, 16]), stride=2, padding='SAME')", (4, 15, 16)),
        (
            "tf.nn.conv3d(tf.zeros([1, 8, 8, 8, 2]), tf.zeros([3, 3, 3, 2, 4]), [1, 1, 1, 1, 1], 'VALID')",
            (1, 6, 6, 6, 4),
        ),
        ("tf.nn.sparse_softmax_cross_entropy_with_logits(labels=x[..., 0], logits=x)", (4, 30)),
        ("tf.map_fn(lambda row: tf.matmul(row, row, transpose_b=True), x)", (4, 30, 30)),
        ("tf.transpose(x, [0, 2, 1])", (4, 8, 30)),
        ("tf.one_hot(tf.zeros([4, 30], tf.int32), 1000)", (4, 30, 1000)),
        ("tf.eye(50)", (50, 50)),
    ],
)
def test_what_a_call_makes(expression: str, shape: Shape) -> None:
    assert shape in of_expression(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "np.zeros([4, 30, 8])",  # of the host
        "np.zeros([4, 30]) + 1",
        "tf.reshape(x, [-1, 8])",  # the same memory
        "tf.tensordot(x, y, axis)",  # nobody knows along what
        "other(x)",
    ],
)
def test_what_makes_no_known_tensor(expression: str) -> None:
    assert not of_expression(expression)


TAPED = """
import tensorflow as tf
PLANES = 12
def volume(left, right):
    planes = []
    for shift in range(PLANES):
        planes.append(tf.concat([left, tf.roll(right, shift, 2)], -1))
    return tf.stack(planes, 1)
for step in range(3):
    maps = tf.random.uniform([2, 16, 16, 4])
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(volume(maps, maps))
"""


def test_turns_of_a_loop_under_a_tape_are_counted() -> None:
    told = {each.op: each for each in made_by(TAPED)}
    assert (told["concat"].shape, told["concat"].times, told["concat"].line.number) == ((2, 16, 16, 8), 12, 7)
    assert told["concat"].taped
    assert (told["stack"].shape, told["stack"].times) == ((2, 12, 16, 16, 8), 1)
    assert told["uniform"].times == 1, "the steps of training are not turns of one step"
    assert not told["uniform"].taped


LAYERS = """
import tensorflow as tf
class Hyper(tf.keras.layers.Layer):
    def build(self, shapes):
        self.inputs = shapes[0][-1]
        self.made = tf.keras.layers.Dense(self.inputs * 6)
        self.own = self.add_weight(shape=[6, 7])
    def call(self, given):
        x, context = given
        kernel = tf.reshape(self.made(context), [-1, self.inputs, 6])
        return tf.einsum("bi,bio->bo", x, kernel) @ self.own
x, context = tf.keras.Input([20]), tf.keras.Input([3])
net = tf.keras.Model([x, context], Hyper()([x, context]))
"""


def test_build_is_followed_before_call() -> None:
    told = {each.op: each.shape for each in made_by(LAYERS)}
    assert told["Dense"] == (None, 120)
    assert told["einsum"] == (None, 6)
    assert told["operator"] == (None, 7)


STEP = """
import tensorflow as tf
class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(5)
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            h = self.dense(x)
            loss = h[:, :, None] * h[:, None, :]
        return {}
ds = tf.data.Dataset.from_tensor_slices((tf.zeros([64, 9]), tf.zeros([64]))).batch(16)
Net().fit(ds)
"""


def test_fit_runs_the_models_own_step() -> None:
    (product,) = (each for each in made_by(STEP) if each.op == "operator")
    assert (product.shape, product.taped) == ((None, 5, 5), True)


CELLS = """
import tensorflow as tf
x = tf.placeholder(tf.float32, [None, 40, 6])
out, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(11), x, dtype=tf.float32)
logits = tf.layers.dense(out, 300)
"""


def test_cells_of_tensorflow_1_have_a_width() -> None:
    told = {each.op: each.shape for each in made_by(CELLS)}
    assert told["dense"] == (None, 40, 300)


def test_cells_in_layers_are_as_wide_as_the_last() -> None:
    stacked = CELLS.replace(
        "import tensorflow as tf", "import tensorflow as tf\nrnn = tf.nn.rnn_cell"
    ).replace(
        "tf.nn.rnn_cell.GRUCell(11)",
        "rnn.MultiRNNCell([rnn.DropoutWrapper(rnn.LSTMCell(units)) for units in (7, 9)])",
    )
    (out, *_) = (each for each in made_by(stacked) if each.op == "dynamic_rnn")
    assert (out.shape, out.reads) == ((None, 40, 9), (None, 40, 6))


ESTIMATOR = """
import tensorflow as tf
def model_fn(features, labels, mode, params):
    h = features["x"] * params["scale"]
    return h[:, :, None] * h[:, None, :]
def input_fn():
    ds = tf.data.Dataset.from_tensor_slices(({"x": tf.zeros([90, 12])}, tf.zeros([90])))
    return ds.batch(30).make_one_shot_iterator().get_next()
est = tf.estimator.Estimator(model_fn, params={"scale": 2.0})
est.train(input_fn)
"""


def test_an_estimator_runs_its_model_function() -> None:
    assert (None, 12, 12) in [each.shape for each in made_by(ESTIMATOR)]


WINDOWS = """
import numpy as np
import tensorflow as tf
video = np.random.rand(300, 96, 96, 1).astype(np.float32)
at = np.arange(len(video) - 48)[:, None] + np.arange(48)[None]
clips = video[at]
x = tf.constant(clips)
poses = np.tile(np.eye(4), (10, 1, 1))
one = tf.constant(poses[np.random.default_rng(0).integers(10)])
some = tf.constant(video[at > 3])
"""


def test_arrays_that_others_index() -> None:
    told = {each.line.number: each.shape for each in made_by(WINDOWS)}
    assert told == {7: (252, 48, 96, 96, 1), 9: (4, 4)}


@pytest.mark.parametrize(("turns", "times"), [(12, 12), (64, 64), (300, 300), (4000, 4000)])
def test_a_long_loop_counts_all_its_turns(turns: int, times: int) -> None:
    made = made_by(
        "import tensorflow as tf\nw = tf.Variable(tf.ones([8, 8]))\nx = tf.ones([4, 8])\n"
        "with tf.GradientTape() as tape:\n"
        f"    for t in range({turns}):\n"
        "        x = tf.nn.relu(tf.matmul(x, w) + 1.0) * 2.0 - tf.reduce_mean(x, axis=1, keepdims=True)\n"
    )
    assert {each.times for each in made if each.op == "matmul"} == {times}


def test_what_a_long_loop_collects_has_no_known_length() -> None:
    code = (
        "import tensorflow as tf\nx = tf.ones([4, 8])\nout = []\n"
        "for t in range({turns}):\n"
        f"    out.append({' + '.join(['x'] * 20)})\n"
        "y = tf.stack(out)\n"
    )
    shapes = {
        turns: {each.shape for each in made_by(code.format(turns=turns)) if each.op == "stack"}
        for turns in (100, 4000)
    }
    assert shapes[100] == {(100, 4, 8)}
    assert (4000, 4, 8) not in shapes[4000] and all(None in shape for shape in shapes[4000])


def test_a_cell_of_keras_gives_its_output_and_its_states() -> None:
    made = made_by(
        "import tensorflow as tf\ncell = tf.keras.layers.LSTMCell(16)\nx = tf.ones([4, 8])\n"
        "h = [tf.zeros([4, 16]), tf.zeros([4, 16])]\n"
        "with tf.GradientTape() as tape:\n    y, h = cell(x, h)\n    z = tf.concat([y, y], axis=1)\n"
    )
    assert [each.shape for each in made if each.op == "concat"] == [(4, 32)]


@pytest.mark.parametrize(("graph", "times"), [("s = tf.Session()", 20), ("", 1)])
def test_lines_that_build_a_graph_count_their_turns(graph: str, times: int) -> None:
    made = made_by(
        f"import tensorflow as tf\nx = tf.ones([4, 8])\nfor t in range(20):\n    y = tf.nn.relu(x)\n{graph}\n"
    )
    assert [each.times for each in made if each.op == "relu"] == [times]


LOSS = """
import tensorflow as tf
from tensorflow import keras
def dice(y_true, y_pred):
    t = tf.one_hot(y_true, 150)
    return 1 - tf.reduce_mean(t * y_pred)
class Dice(keras.losses.Loss):
    def call(self, y_true, y_pred):
        return dice(y_true, y_pred)
i = keras.Input((16, 16, 3))
model = keras.Model(i, keras.layers.Conv2D(150, 1)(i))
model.compile("adam", {loss})
{fit}
"""
FIT = "model.fit(tf.ones([64, 16, 16, 3]), tf.zeros([64, 16, 16], tf.int32), batch_size=8)"
SET = (
    "ds = tf.data.Dataset.from_tensor_slices((tf.ones([64, 16, 16, 3]), tf.zeros([64, 16, 16]))).batch(8)\n"
    "model.fit(ds)"
)


@pytest.mark.parametrize(
    ("loss", "fit", "followed"),
    [
        ("dice", FIT, True),
        ("loss=Dice()", FIT, True),
        ("loss=dice", SET, True),
        ("'mse'", FIT, False),
        ("dice", FIT.replace("fit", "predict"), False),
        ("dice", "", False),
    ],
)
def test_fit_computes_the_programs_own_loss(loss: str, fit: str, followed: bool) -> None:
    made = made_by(LOSS.format(loss=loss, fit=fit))
    taken = [each.shape[1:] for each in made if each.op == "one_hot" and each.taped]
    assert taken == ([(16, 16, 150)] if followed else [])
