"""Weights and arrays of quoted code that are, to the byte, what did not fit."""

from __future__ import annotations

import pytest

from tests.findings import logs
from tests.findings.test_what_is_no_batch import explained
from tfmemlens.knowledge.program_shapes import Made, Role, made_by
from tfmemlens.model.finding import Finding
from tfmemlens.model.line import Line
from tfmemlens.readers.program import read_program

RULE = "made-by-the-code"
OOM = (
    "OOM when allocating tensor with shape{shape} and type float on"
    " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n\n"
)


def made(code: str, image: tuple[int, int] | None = None) -> tuple[Made, ...]:
    lines = tuple(Line(number, line) for number, line in enumerate(code.splitlines(), 1) if line.strip())
    return made_by(read_program(lines), image)


def found(text: str) -> list[Finding]:
    return [finding for finding in explained(text).findings if finding.rule == RULE]


@pytest.mark.parametrize(
    ("code", "shape"),
    [
        (
            "m = Sequential([Input((64, 64, 3)), Conv2D(8, 3, padding='same'), Flatten(), Dense(100)])",
            (32768, 100),
        ),
        (
            "m = Sequential()\nm.add(Conv2D(8, 3, input_shape=(66, 66, 1)))\n"
            "m.add(Flatten())\nm.add(Dense(10))",
            (32768, 10),
        ),
        (
            "i = Input((64, 64, 8))\nx = MaxPooling2D()(i)\nx = Flatten()(x)\ny = Dense(7)(x)",
            (8192, 7),
        ),
        (
            "x = tf.placeholder(tf.float32, [None, 64, 8])\nx = tf.layers.flatten(x)\n"
            "y = tf.layers.dense(x, 7)",
            (512, 7),
        ),
        (
            "x = tf.placeholder(tf.float32, [None, 64, 64, 3])\nx = slim.conv2d(x, 8, [3, 3])\n"
            "x = slim.max_pool2d(x, [2, 2])\nx = slim.flatten(x)\ny = slim.fully_connected(x, 9)",
            (8192, 9),
        ),
        ("N = 5000\nuser -> Embedding(N * 2, 64)", (10000, 64)),
        ("V = 5000\nemb = layers.Embedding(V * 2, 64)", (10000, 64)),
        ("p.add_argument('--vocab', type=int, default=9000)\nemb = Embedding(args.vocab, 32)", (9000, 32)),
        ("w = tf.get_variable('w', [300, 20])", (300, 20)),
        ("w = tf.Variable(tf.random_normal([300, 20]))", (300, 20)),
        ("X = np.load('x.npy')   # (6000, 128, 192) float32", (6000, 128, 192)),
        (
            "b = VGG16(include_top=False, input_shape=(224, 224, 3))\nx = Flatten()(b.output)\n"
            "y = Dense(9)(x)",
            (25088, 9),
        ),
    ],
)
def test_shapes_follow_from_the_code(code: str, shape: tuple[int, ...]) -> None:
    assert shape in [each.shape for each in made(code)]


@pytest.mark.parametrize(
    "code",
    [
        "x = f()\ny = Dense(10)(Flatten()(x))",
        "emb = Embedding(len(words), 64)",
        "i = Input((None, None, 3))\ny = Dense(10)(Flatten()(i))",
        "i = Input((64, 64, 3))\nfor n in sizes:\n    i = MaxPooling2D()(i)\ny = Dense(9)(Flatten()(i))",
        "x = Sequential([Dense(10), Dense(5)])",
        "w = tf.get_variable('w', shape)",
    ],
)
def test_what_nothing_states_stays_unknown(code: str) -> None:
    assert made(code) == ()


def test_sides_that_prose_tells_serve_a_net_whose_input_is_open() -> None:
    code = (
        "net = tf.layers.conv2d(x, 32, 3, padding='same')\nnet = tf.layers.flatten(net)\n"
        "y = tf.layers.dense(net, 5)"
    )
    assert made(code) == ()
    (kernel,) = made(code, (16, 16))
    assert kernel.shape == (8192, 5)
    assert kernel.flattened == (16, 16, 32)
    assert kernel.role is Role.DENSE


def test_a_kernel_behind_flatten_is_named_and_no_batch_advised() -> None:
    text = (
        "batch_size=8, pictures of 128x128\n"
        + OOM.format(shape="[524288,512]")
        + (
            "net = tf.layers.conv2d(x, 32, 3, padding='same')\nnet = tf.layers.flatten(net)\n"
            "net = tf.layers.dense(net, 512)\n"
        )
    )
    (finding,) = found(text)
    assert finding.because.startswith("this is the kernel of `tf.layers.dense(net, 512)` (line 6)")
    assert "the kernel [524288,512] float32 of `tf.layers.dense(net, 512)` (line 6)" in finding.headline
    assert "flatten makes 128 x 128 x 32 = 524,288 inputs" in finding.because
    assert finding.remedies[0].slug == "pool-first"
    assert finding.remedies[0].saves_bytes == (524288 - 32) * 512 * 4
    advised = {action.remedy.slug for action in explained(text).actions}
    assert not advised & {"smaller-batch", "in-pieces", "mixed-precision"}


def test_nearly_is_not_enough() -> None:
    code = "emb = Embedding(100000, 64)\n"
    assert found(OOM.format(shape="[100000,64]") + code)
    assert not found(OOM.format(shape="[100001,64]") + code)
    assert not found(OOM.format(shape="[64,100000]") + code)


@pytest.mark.parametrize(("limit", "fires"), [("Limit:  209715200\n", True), ("", False)])
def test_a_cpu_whose_pool_has_a_limit_is_a_device(limit: str, fires: bool) -> None:
    """Without a limit it is host RAM, which other things than tensors fill."""
    asked = OOM.format(shape="[100000,64]").replace(
        "GPU:0 by allocator GPU_0_bfc", "CPU:0 by allocator x_cpu"
    )
    dump = f"W bfc_allocator.cc:491] Stats: \n{limit}InUse:  199000000\n" if limit else ""
    assert bool(found(dump + asked + "emb = Embedding(100000, 64)\n")) is fires


def test_two_things_of_one_size_are_not_told_apart() -> None:
    code = "a = Embedding(100000, 64)\nb = np.zeros((100000, 64), np.float32)\n"
    assert not found(OOM.format(shape="[100000,64]") + code)


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ("Embedding(150000, 64)", "the code's tables [150000,64] and [100000,64]"),
        ("Embedding(100000, 64)", "the code's tables [100000,64] and [100000,64]"),
        ("Embedding(20000, 64)", ""),  # a fifth of the one that failed
        ("Dense(150000)", ""),
    ],
)
def test_all_large_tables_are_summed(other: str, told: str) -> None:
    """None of them is the cause alone, and one made smaller leaves the others."""
    code = f"a = Embedding(100000, 64)\nb = {other}\nmodel.compile(optimizer='adam')\n"
    finding = found(OOM.format(shape="[100000,64]") + code)
    assert finding and (told in (finding[0].because or "")) and ("tables" in finding[0].because) is bool(told)
    first = finding[0].remedies[0].text
    assert ("fewer rows in all of them" in first) is bool(told)
    if told:
        rows = 100_000 + int(other[10:16])
        assert finding[0].explains == 3 * rows * 64 * 4
        assert "with Adam's slots take" in finding[0].because


@pytest.mark.parametrize(("rows", "fires"), [(12_500_000, True), (1 << 23, False)])
def test_bytes_alone_must_be_telling(rows: int, fires: bool) -> None:
    size = rows * 64 * 4
    text = (
        f"Allocator (GPU_0_bfc) ran out of memory trying to allocate {size / 2**30:.2f}GiB (rounded to"
        f" {size})requested by op mul\n\nuser_id -> Embedding({rows}, 64), optimizer='adam'\n"
    )
    assert bool(found(text)) is fires


def test_weights_of_a_model_that_a_class_makes() -> None:
    code = (
        "class Net(keras.Model):\n    def __init__(self):\n        super().__init__()\n"
        "        self.wide = layers.Dense(90000)\n    def call(self, x):\n        return self.wide(x)\n"
        "net = Net()\nnet.fit(tf.zeros([64, 96]), y)\n"
    )
    finding = found(code + OOM.format(shape="[96,90000]"))
    assert finding and "`layers.Dense(90000)`" in (finding[0].because or "")
    assert not found(code + OOM.format(shape="[90,90000]"))


@pytest.mark.parametrize(
    ("larger", "optimizer", "told"),
    [
        (
            2,
            "opt = tf.train.AdamOptimizer(0.1)\n",
            "; 3 blocks that most likely hold one each are in use (2 are larger than it)",
        ),
        (4, "opt = tf.train.AdamOptimizer(0.1)\n", "; 1 of its size is held"),  # more than its four copies
        (2, "", "; 1 of its size is held"),  # nothing says that it has slots
    ],
)
def test_a_copy_may_lie_in_a_block_that_was_given_whole(larger: int, optimizer: str, told: str) -> None:
    size = 100_000 * 64 * 4
    held = logs.dump_by_size(size, 220, (1, size), (larger, size + (4 << 20)), (1, 300))
    (finding,) = found(held + OOM.format(shape="[100000,64]") + optimizer + "emb = Embedding(100000, 64)\n")
    assert told in finding.because
