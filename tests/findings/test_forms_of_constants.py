"""How a constant makes a tensor: a factor of the rows, a written shape, a power, a sum, a kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.findings.logs import oom
from tests.findings.test_own_constants import found, program
from tfmemlens import pipeline
from tfmemlens.findings.support import far_too_much, own_constant, own_forms
from tfmemlens.findings.support.batch_bound import BatchBound, in_words
from tfmemlens.knowledge.program_constants import ProgramConstants

SIZES = """\
import tensorflow as tf
CORNERS, DEPTHS = 96, (12, 4)
TWIGS = 3 * DEPTHS[1]


class Leaves:
    def __init__(self, many):
        self.many = many

    def build(self):
        self.table = self.add_weight(shape=(CORNERS ** 3, self.many))
        self.rest = self.add_weight(shape=[self.many + 1, TWIGS - 2])


leaves = Leaves(DEPTHS[0])
"""


def test_sizes_are_computed_from_constants() -> None:
    constants = ProgramConstants(program(SIZES))
    assert {name: each.value for name, each in constants.constants.items()} == {
        "CORNERS": 96,
        "DEPTHS[0]": 12,
        "DEPTHS[1]": 4,
    }
    (table,) = constants.written((96**3, 12))
    assert constants.value_of(table.sides[0], table.scope, {"CORNERS": 2}) == 8
    assert len(constants.written((13, 10))) == 1
    assert not constants.written((13, 11))


def test_a_written_shape_names_the_constant_with_which_it_grows_most() -> None:
    constants = ProgramConstants(program(SIZES))
    found = own_forms.of_written(constants, constants.written((96**3, 12)), (96**3, 12), False)
    assert found is not None
    assert (found.name, found.power) == ("CORNERS", 3)
    assert "[884736,12] is `[CORNERS ** 3, self.many]` in line 11 of lag.py" in found.says
    assert "or `DEPTHS[0]` (12, line 2 of lag.py)" in found.also


def test_two_different_texts_of_one_shape_name_nothing() -> None:
    twice = SIZES + "other = tf.zeros([CORNERS * CORNERS * CORNERS, 12])\n"
    constants = ProgramConstants(program(twice))
    written = constants.written((96**3, 12))
    assert len(written) == 2
    assert own_forms.of_written(constants, written, (96**3, 12), False) is None


DRAWN = """\
import tensorflow as tf
BATCH, DRAWS, SIDE = 24, 90, 48


def doubt(net, scans):
    many = tf.repeat(scans, DRAWS, axis=0)
    return net(many, training=True)


def report(net, scans):
    for start in range(0, len(scans), BATCH):
        doubt(net, scans[start:start + BATCH])
"""


def test_rows_are_a_batch_times_a_constant() -> None:
    constant = own_constant._found(program(DRAWN), (24 * 90, 48, 48, 8), ["lag.py:7"], None)
    assert constant is not None
    assert (constant.name, constant.batch) == ("DRAWS", 24)
    assert constant.says == "the 2,160 of [2160,48,48,8] are 24 (`BATCH`) x 90 (`DRAWS`)"
    assert constant.repeated == "`tf.repeat` (line 6 of lag.py)"


def test_rows_that_a_constant_has_are_no_product() -> None:
    alone = DRAWN.replace("SIDE = 24, 90, 48", "SIDE = 24, 90, 48\nSCANS = 2160")
    assert found(alone, (24 * 90, 48, 48, 8), "lag.py:8") != "DRAWS"
    assert found(DRAWN, (23 * 90, 48, 40, 8), "lag.py:7") != "DRAWS", "nothing of the program is 23"
    assert found(DRAWN, (23 * 90, 48, 40, 8), "lag.py:7", batch=23) == "DRAWS"


def test_a_constant_with_the_number_of_the_batch_is_no_factor_of_the_rows() -> None:
    """1,920 rows are 64 samples x 30 steps: that the cells are 64, too, makes none of them."""
    code = (
        "import tensorflow as tf\nBATCH, SPAN, CELLS = 64, 30, 64\n"
        "def rows(x):\n    h = tf.keras.layers.LSTM(CELLS, return_sequences=True)(x[:BATCH, :SPAN])\n"
        "    return tf.reshape(h, [-1, CELLS])\n"
    )
    assert found(code, (1920, 900), "lag.py:5") != "CELLS"
    assert found(code.replace("64, 30, 64", "30, 9, 64"), (1920, 900), "lag.py:5") == "CELLS"


BOXES = """\
import tensorflow as tf
PICTURES, BOXES, SIDE = 6, 350, 256
SPEC = tf.TensorSpec([PICTURES, SIDE, SIDE, 3], tf.float32)


class Second(tf.keras.layers.Layer):
    def call(self, maps, boxes):
        return self.conv(cut(maps, boxes))


class Net(tf.keras.Model):
    def __init__(self):
        self.second = Second(name="second")

    def call(self, pictures):
        boxes = tf.math.top_k(pictures, k=BOXES)
        return self.second(pictures, boxes)
"""


def test_arguments_of_a_layer_that_is_an_attribute_are_followed() -> None:
    assert found(BOXES, (2100, 7, 7, 64), "lag.py:8") == "BOXES"
    no_batch = BOXES.replace("[PICTURES, SIDE", "[6, SIDE")
    assert found(no_batch, (2100, 7, 7, 64), "lag.py:8") is None, "6 leads no shape as a batch does"


PLANES = """\
import tensorflow as tf
KINDS, SIDE, NOISE = 700, 32, 32


def planes(pictures, kinds):
    marks = tf.one_hot(kinds, KINDS)
    laid = tf.tile(marks[:, None, None, :], [1, SIDE, SIDE, 1])
    return tf.concat([pictures, laid], axis=-1)


paint = tf.keras.layers.Conv2DTranspose(3, 4)
"""


def test_a_side_that_is_a_constant_and_a_few_more() -> None:
    constant = own_constant._found(program(PLANES), (8, 32, 32, 703), ["lag.py:8"], 8)
    assert constant is not None
    assert constant.it == "the 703 of [8,32,32,703] are 700 and 3 more"
    assert constant.kinds == "`tf.one_hot(kinds, KINDS)` (line 6 of lag.py)"
    assert found(PLANES, (8, 32, 32, 703), "lag.py:7", batch=8) is None, "nothing is joined in that line"


def test_sides_of_pictures_that_a_net_draws_are_not_lowered() -> None:
    assert found(PLANES, (8, 32, 32, 900), "lag.py:8", batch=8) is None
    drawn_by_nobody = PLANES.replace("Conv2DTranspose(3, 4)", "Conv2D(3, 4)")
    assert found(drawn_by_nobody, (8, 32, 32, 900), "lag.py:8", batch=8) == "SIDE"


LINKED = """\
import tensorflow as tf
PAPERS = 9000
BATCH = 32


def mixing(pairs, values):
    return tf.scatter_nd(pairs, values, [PAPERS, PAPERS])


def rows(x):
    return tf.zeros([BATCH, PAPERS])
"""


def test_a_shape_that_the_line_writes_follows_no_batch() -> None:
    constant = own_constant._found(program(LINKED), (9000, 9000), ["lag.py:7"], 9000)
    assert constant is not None
    assert (constant.name, constant.power, constant.leads) == ("PAPERS", 2, True)
    other = own_constant._found(program(LINKED), (32, 9000), ["lag.py:11"], 32)
    assert other is None or not other.leads, "its first side is a batch"


def test_links_are_kept_sparse_and_no_batch_is_advised(tmp_path: Path) -> None:
    code, log = tmp_path / "lag.py", tmp_path / "log.txt"
    code.write_text(LINKED)
    log.write_text(
        'Traceback (most recent call last):\n  File "lag.py", line 7, in mixing\n'
        "    return tf.scatter_nd(pairs, values, [PAPERS, PAPERS])\n" + oom("9000,9000", "ScatterNd")
    )
    slugs = [each.remedy.slug for each in pipeline.explain([str(log), str(code)]).actions]
    assert slugs[:2] == ["sparse-product", "lower-constant"]
    assert "smaller-batch" not in slugs


HOPS = """\
import tensorflow as tf
LENGTH, HOP = 1024, 8
bins = tf.signal.stft(sound, LENGTH, HOP, fft_length=LENGTH)
"""


@pytest.mark.parametrize(("hop", "name"), [(8, "HOP"), (128, "HOP"), (256, "LENGTH"), (512, "LENGTH")])
def test_frames_that_overlap_many_times_take_a_longer_step(hop: int, name: str) -> None:
    code = HOPS.replace("1024, 8", f"1024, {hop}")
    constant = own_constant._found(program(code), (60000, 1024), ["lag.py:3"], None)
    assert constant is not None and constant.name == name
    assert name == "LENGTH" or (constant.to or 0) == 256


def test_a_frame_may_stand_in_pieces() -> None:
    assert found(HOPS, (16, 7000, 128, 8), "lag.py:3", batch=16) == "HOP"
    assert found(HOPS, (16, 7000, 128, 9), "lag.py:3", batch=16) is None


KERNEL = """\
import tensorflow as tf
FAR, TAPS = 15, 3
x = tf.keras.layers.Conv2D(32, FAR, padding="same", name="far")(x)
y = tf.keras.layers.Conv2D(32, 3, name="near")(x)
"""


def test_the_side_of_a_large_kernel_is_lowered_to_an_odd_one() -> None:
    constants = ProgramConstants(program(KERNEL))
    found = own_forms.of_kernel(constants, "far", (1, 9216, 15 * 15 * 32), 0.25)
    assert found is not None
    assert (found.name, found.power, found.to) == ("FAR", 2, 7)
    assert own_forms.of_kernel(constants, "far", (1, 9216, 15 * 15 * 32 + 1), 0.25) is None
    assert own_forms.of_kernel(constants, "near", (1, 9216, 3 * 3 * 32), 0.25) is None


ROW = """\
import tensorflow as tf
THREADS, BASE = (18, 4), 16


class Woven(tf.keras.layers.Layer):
    def __init__(self, threads, **kw):
        self.threads = [Thread(name="t%d" % i) for i in range(threads)]

    def call(self, x):
        for thread in self.threads:
            x = tf.concat([x, thread(x)], axis=-1)
        return x


first = Woven(THREADS[0], name="first")
second = Woven(THREADS[1], name="second")
"""


def test_layers_in_a_row_are_a_constants() -> None:
    constants = ProgramConstants(program(ROW))
    found = own_forms.layers_in_a_row(constants, "net/first/t3")
    assert found is not None
    assert (found.name, found.to, found.power) == ("THREADS[0]", 4, 2)
    assert own_forms.layers_in_a_row(constants, "net/second") is None, "four are few"
    replaced = ProgramConstants(program(ROW.replace("tf.concat([x, thread(x)], axis=-1)", "thread(x)")))
    plain = own_forms.layers_in_a_row(replaced, "first")
    assert plain is not None and plain.power == 1


SPLIT = """\
import tensorflow as tf
PHOTOS_PER_STEP = 12
batch = source.triplets(PHOTOS_PER_STEP // 3)
a, b, c = tf.split(codes, 3)
q, k = tf.split(x, 2, axis=-1)
words = line.split(",", 5)
"""


def test_a_batch_that_is_split_stays_a_multiple() -> None:
    assert own_forms.split_into(ProgramConstants(program(SPLIT))) == 3
    plain = SPLIT.replace("PHOTOS_PER_STEP // 3", "WIDTH // 5").replace("codes, 3", "codes, 3, axis=1")
    assert own_forms.split_into(ProgramConstants(program(plain))) == 1
    bound = BatchBound(0.5, 100, 50, 0, True, 4, multiple=3)
    assert (bound.start(12), bound.most(12)) == (3, 6)
    assert "keep a multiple of 3" in in_words(bound, 12)
    assert (bound.start(16), bound.most(16)) == (2, 8), "16 are no three parts"


@pytest.mark.parametrize(
    ("whole", "batch", "first"),
    [(1003, 16, 4), (1003, None, None), (400, 16, None), (3000, 16, 1), (1003, 2, None)],
)
def test_a_sum_that_half_leaves_too_large_takes_a_part(
    whole: int, batch: int | None, first: int | None
) -> None:
    assert far_too_much.batch_for_outputs(whole, 500, batch, 2) == first


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("drawn = net(many, training=True)", "net(x[i:i + 100], training=True)"),
        ("drawn = net(many)", "model.predict(x, batch_size=100)"),
        ("drawn = net(many, training=False)", "model.predict(x, batch_size=100)"),
    ],
)
def test_dropout_that_is_meant_is_not_switched_off(tmp_path: Path, line: str, code: str) -> None:
    log = tmp_path / "log.txt"
    frames = f'Traceback (most recent call last):\n  File "draw.py", line 9, in doubt\n    {line}\n'
    log.write_text(frames + oom("6400,64,64,24", "edge/Conv2D"))
    advised = [each.remedy.code or "" for each in pipeline.explain([str(log)]).actions]
    assert any(code in each for each in advised)


def test_a_kernel_of_a_function_or_of_a_weight() -> None:
    layers = KERNEL.replace("keras.layers.Conv2D(32, FAR,", "layers.conv2d(x, 32, (FAR, FAR),")
    weights = "FAR = 15\nw = tf.get_variable('w', [FAR, FAR, int(x.shape[-1]), 32])\n"
    for code, layer in ((layers, "far"), (weights, "net/conv")):
        found = own_forms.of_kernel(ProgramConstants(program(code)), layer, (1, 9216, 7200), 0.25)
        assert found is not None and found.name == "FAR"
    two = weights + "NEAR = 5\nv = tf.get_variable('v', [NEAR, NEAR, 288, 32])\n"
    assert own_forms.of_kernel(ProgramConstants(program(two)), "net/conv", (1, 9216, 7200), 0.25) is None


def test_rows_repeated_by_a_parameter_that_is_a_constant() -> None:
    code = DRAWN.replace("def doubt(net, scans):", "def doubt(net, scans, draws):")
    code = code.replace("scans, DRAWS, axis=0", "scans, draws, axis=0").replace("BATCH])", "BATCH], DRAWS)")
    constant = own_constant._found(program(code), (24 * 90, 48, 48, 8), ["lag.py:7"], None)
    assert constant is not None and constant.repeated == "`tf.repeat` (line 6 of lag.py)"


def test_a_grid_is_no_matrix_of_links() -> None:
    code = LINKED.replace("[PAPERS, PAPERS])", "[PAPERS, PAPERS, 4])")
    constant = own_constant._found(program(code), (9000, 9000, 4), ["lag.py:7"], None)
    assert constant is not None and constant.leads and not constant.of_pairs


@pytest.mark.parametrize(
    ("sides", "name", "power"),
    [((96, 96, 24), "PARTS", 1), ((4, 96, 96), "PARTS", 2), ((96, 96, 24), "SIDE", 2), ((96, 24), "SIDE", 1)],
)
def test_a_side_that_stands_twice_by_chance(sides: tuple[int, ...], name: str, power: int) -> None:
    assert own_constant._power(sides, 96, name) == power
