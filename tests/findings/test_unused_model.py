"""A model that nothing reads any more while another one trains."""

from __future__ import annotations

import pytest

from tests.findings.logs import CPU, dump_by_size, oom
from tests.findings.pages import explained
from tests.findings.test_retraced_code import program
from tfmemlens.findings.support.trained_models import is_untrained, lines_that_keep_nothing
from tfmemlens.findings.support.unused_model import unused_model
from tfmemlens.model.report import Report

MIB = 1 << 20
HOST = "bfc_cpu_allocator_for_gpu"
HEAD = """
import keras
def dense(sizes, name):
    net = keras.Sequential([keras.Input((640,))], name=name)
    for size in sizes:
        net.add(keras.layers.Dense(size))
    return net
guide = dense([1800] * 9, "guide")
"""
TAPE = "with tf.GradientTape() as tape:\n    loss = f(pupil(x))\ng = tape.gradient(loss, {})\n"
READ = "hints = guide.predict(x)\n"
TAIL = (
    "pupil = dense([1100, 12], 'pupil')\npupil.compile('adam', 'mse')\npupil.fit(x, hints, batch_size=32)\n"
)


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (HEAD + READ + TAIL, "guide"),
        (HEAD + "hints = [guide(b).numpy() for b in parts]\n" + TAIL, "guide"),
        (
            HEAD + READ + TAIL.partition("pupil.compile")[0] + TAPE.format("pupil.trainable_variables"),
            "guide",
        ),
        (HEAD + READ + TAIL.partition("pupil.compile")[0] + TAPE.format("x"), None),  # of no weights
        (HEAD + READ + "del guide\n" + TAIL, None),
        (HEAD + READ + TAIL + "print(guide.predict(x))\n", None),  # needed later
        (HEAD + READ + "both = Pair(guide)\n" + TAIL, None),
        (HEAD + READ + "hints = guide(inputs)\n" + TAIL, None),  # a part of what trains
        (HEAD + READ + "guide.fit(x, y)\n" + TAIL, None),
        (HEAD + READ + TAIL.replace("pupil.fit", "pupil.call"), None),
        (HEAD + "feats = keras.Model(guide.input, guide.output)\n" + TAIL, None),
        ("import keras\nguide = keras.applications.VGG16()\n" + READ + TAIL, None),
        (HEAD.replace("guide =", "for k in ks:\n    guide =") + READ + TAIL, None),
    ],
)
def test_a_model_is_read_for_the_last_time_before_another_trains(code: str, name: str | None) -> None:
    found = unused_model(program(code))
    assert (found and found.model.name) == name
    if found:
        assert (1800, 1800) in found.own and found.other == "pupil"
        assert found.model.bytes == 4 * (640 * 1800 + 8 * 1800 * 1800 + 9 * 1800)


def report(code: str, blocks: int) -> Report:
    full = dump_by_size(640 * 1100 * 4, 125, (blocks, 1800 * 1800 * 4), (20, MIB), allocator=HOST)
    return explained(code + full + oom("640,1100", "adam/AssignAddVariableOp_1", on=CPU, by=HOST))


def test_it_is_let_go_and_not_said_to_be_updated() -> None:
    found = report(HEAD + READ + TAIL, 8)
    assert "`guide` (line 8)" in found.verdict and "is still held while `pupil` trains" in found.verdict
    assert found.actions[0].remedy.slug == "drop-models"
    assert "narrower-layer" not in {each.remedy.slug for each in found.actions}
    assert "Adam updates" not in found.verdict


@pytest.mark.parametrize(
    ("code", "blocks"), [(HEAD + READ + "del guide\n" + TAIL, 8), (HEAD + READ + TAIL, 1)]
)
def test_nothing_is_said_where_it_is_gone_or_its_blocks_are_not_there(code: str, blocks: int) -> None:
    assert "drop-models" not in {each.remedy.slug for each in report(code, blocks).actions}


@pytest.mark.parametrize(
    ("code", "untrained"),
    [
        (HEAD + READ + TAIL, True),
        (HEAD + "guide.trainable = False\nh = guide(inputs)\n" + TAIL, True),
        (HEAD + "h = guide(inputs)\n" + TAIL, False),
        (HEAD + "guide.trainable = False\nguide.trainable = True\nh = guide(inputs)\n" + TAIL, False),
        (HEAD + READ + "guide.fit(x, y)\n" + TAIL, False),
        (HEAD + READ, False),  # nothing that trains is seen
    ],
)
def test_weights_that_no_optimizer_updates(code: str, untrained: bool) -> None:
    assert is_untrained(program(code), (1800, 1800)) is untrained


def test_a_model_that_fails_while_it_is_made_is_not_kept_in_vain() -> None:
    line = 'guide = dense([1800] * 9, "guide")'
    frame = f'Traceback (most recent call last):\n  File "train.py", line 8, in <module>\n    {line}\n'
    full = dump_by_size(1800 * 1800 * 4, 125, (8, 1800 * 1800 * 4), (20, MIB), allocator=HOST)
    found = explained(HEAD + READ + TAIL + full + frame + oom("1800,1800", "Mul", on=CPU, by=HOST))
    assert "drop-models" not in {each.remedy.slug for each in found.actions}
    assert "Adam updates" not in found.verdict


LISTED = HEAD.rpartition("guide =")[0]
MADE = "guides = [dense([1800] * 3, k) for k in 'abc']\n"


@pytest.mark.parametrize(
    "made",
    [
        MADE,
        "guides = []\nfor k in range(3):\n    guides.append(dense([1800] * 3, str(k)))\n",
        "guides = {k: dense([1800] * 3, k) for k in 'abc'}\n",
    ],
)
def test_models_of_a_list_are_one(made: str) -> None:
    values = "guides.values()" if "{" in made else "guides"
    found = unused_model(program(LISTED + made + f"h = [g.predict(x) for g in {values}]\n" + TAIL))
    assert found and (found.model.name, found.model.count) == ("guides", 3)
    assert found.model.bytes == 3 * 4 * (640 * 1800 + 2 * 1800 * 1800 + 3 * 1800)


@pytest.mark.parametrize(
    ("read", "name"),
    [
        ("print(len(guides))\nfor at, g in enumerate(guides):\n    h = g(x).numpy()\n", "guides"),
        (
            "def soft(n, x):\n    p = [m(x) for m in n]\n    return np.mean(p, 0)\nh = soft(guides, x)\n",
            "guides",
        ),
        ("for g in guides:\n    g.fit(x, y)\n", None),
        ("def soft(nets, x):\n    return [net(x) for net in nets]\nh = soft(guides, x)\n", None),
        ("kept = Ensemble(guides)\n", None),
        ("first = guides[0]\n", None),
    ],
)
def test_models_of_a_list_are_read_through_loops_and_functions(read: str, name: str | None) -> None:
    found = unused_model(program(LISTED + MADE + read + TAIL))
    assert (found and found.model.name) == name


def test_a_function_that_makes_it_and_trains_another_holds_it() -> None:
    inside = "".join(
        f"    {line}\n" for line in ("guide = dense([1800] * 9, 'guide')\n" + READ + TAIL).split("\n")
    )
    assert unused_model(program(LISTED + "def main():\n" + inside + "main()\n"))
    apart = inside.partition("    pupil =")[0] + "    return hints\nhints = main()\n" + TAIL
    assert unused_model(program(LISTED + "def main():\n" + apart)) is None


STEP = """
def step(x):
    {}with tf.GradientTape() as tape:
        {}loss = f(pupil(x))
    {}
"""
GRADS = "g = tape.gradient(loss, pupil.trainable_variables)"
PUPIL = TAIL.partition("pupil.compile")[0]


@pytest.mark.parametrize(
    ("before", "under", "grads", "untrained", "keeps_nothing"),
    [
        ("h = guide(x)\n    ", "", GRADS, True, True),
        ("", "h = guide(x)\n        ", GRADS, True, False),
        ("", "", "w = pupil.trainable_variables\n    g = tape.gradient(loss, w)", True, True),
        ("h = guide(x)\n    ", "", "g = tape.gradient(loss, w)", False, False),
        ("h = guide(x)\n    ", "", GRADS + "\n    tape.gradient(loss, guide.weights)", False, False),
        ("both = keras.Model(guide.input, pupil(guide.output))\n    ", "", GRADS, False, False),
    ],
)
def test_a_model_beside_a_tape_for_anothers_weights(
    before: str, under: str, grads: str, untrained: bool, keeps_nothing: bool
) -> None:
    code = program(HEAD + READ.replace("hints", "first") + PUPIL + STEP.format(before, under, grads))
    assert is_untrained(code, (1800, 1800)) is untrained
    assert bool(lines_that_keep_nothing(code)) is False  # one line makes the layers of both
    apart = HEAD.replace("net.add(keras.layers.Dense(size))", "net.add(keras.layers.Dense(size))", 1)
    own = apart + "pupil = keras.Sequential([keras.Input((9,)), keras.layers.Dense(5)])\n"
    code = program(own + STEP.format(before, under, grads))
    assert bool(lines_that_keep_nothing(code)) is keeps_nothing


DISTILLER = """
class Distiller(keras.Model):
    def __init__(self, small, large):
        super().__init__()
        self.large = large
        self.small = small
    def train_step(self, data):
        {}
        with tf.GradientTape() as tape:
            loss = f(self.small(data))
        weights = {}
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
tutor = keras.Sequential([keras.Input((640,)), keras.layers.Dense(1800)])
pupil = keras.Sequential([keras.Input((9,)), keras.layers.Dense(5)])
both = Distiller({})
both.fit(x, y)
"""


@pytest.mark.parametrize(
    ("call", "weights", "given", "untrained"),
    [
        ("h = self.large(data)", "self.small.trainable_variables", "small=pupil, large=tutor", True),
        ("h = self.large(data)", "self.small.trainable_variables", "pupil, tutor", True),
        ("h = self.large(data)", "self.small.trainable_variables", "tutor, pupil", False),
        ("h = self.large(data)", "self.trainable_variables", "pupil, tutor", False),
        ("pass", "self.small.trainable_variables", "pupil, tutor", False),  # nothing tells what reads it
    ],
)
def test_an_object_that_is_given_a_teacher_trains_the_pupil(
    call: str, weights: str, given: str, untrained: bool
) -> None:
    code = program("import keras\n" + DISTILLER.format(call, weights, given))
    assert is_untrained(code, (640, 1800)) is untrained
    made = {line.text.partition(" =")[0] for line in lines_that_keep_nothing(code)}
    assert ("tutor" in made) is untrained


def test_models_that_an_object_makes_itself() -> None:
    code = DISTILLER.format("h = self.large(data)", "self.small.trainable_variables", "")
    for mine, made in (("large", "640,)), keras.layers.Dense(1800"), ("small", "9,)), keras.layers.Dense(5")):
        net = f"keras.Sequential([keras.Input(({made})])"
        code = code.replace(f"self.{mine} = {mine}", f"self.{mine} = {net}")
    code = code.partition("tutor =")[0].replace("(self, small, large)", "(self)") + "Distiller().fit(x, y)\n"
    assert is_untrained(program("import keras\n" + code), (640, 1800)) is False  # fitted by no name
    code = code.replace("Distiller().fit", "both = Distiller()\nboth.fit")
    assert is_untrained(program("import keras\n" + code), (640, 1800)) is True
