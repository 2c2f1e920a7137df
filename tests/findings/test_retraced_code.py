"""Why a tf.function is traced again and again, by the program's own lines."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from tests.findings.logs import dump_by_size
from tfmemlens import pipeline
from tfmemlens.findings.support.retraced_code import retraced
from tfmemlens.model.finding import Severity
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program, Statement
from tfmemlens.model.report import Report

CODE = """\
recipes = np.random.rand(16000, 64)
@tf.function
def closest(guest, how_many):
    pantry = tf.constant(recipes)
    return tf.math.top_k(pantry @ guest, k=how_many)
def party(night):
    guests = 4 + night
    return closest(plate, guests)
for night in range(80):
    party(night)
"""


def program(code: str) -> Program:
    lines = tuple(Line(number, text) for number, text in enumerate(code.splitlines(), 1))
    return Program(tuple(Statement(node, lines) for node in ast.parse(code).body))


@pytest.mark.parametrize(
    ("code", "number"),
    [
        (CODE, ("how_many", "guests", 8)),
        (
            CODE.replace("closest(plate, guests)", "closest(plate, how_many=len(seen))"),
            ("how_many", "len(seen)", 8),
        ),
        (CODE.replace("guests = 4 + night", "guests = tf.constant(4)"), None),
        (CODE.replace("range(80)", "dataset"), None),  # nobody knows what it gives
        (CODE.replace("4 + night", "seats + night"), None),  # one side may be a tensor
    ],
)
def test_the_python_number_of_a_call(code: str, number: tuple[str, str, int] | None) -> None:
    found = retraced(program(code), "closest")
    assert found and found.line.number == 3
    given = found.number and (found.number[0], found.number[1], found.number[2].number)
    assert given == number


@pytest.mark.parametrize(
    ("code", "array"),
    [
        (CODE, ("recipes", 4)),
        (CODE.replace("tf.constant(recipes)", "tf.constant(guest)"), None),
        (CODE.replace("tf.constant(recipes)", "recipes"), None),
    ],
)
def test_the_array_that_each_trace_copies(code: str, array: tuple[str, int] | None) -> None:
    found = retraced(program(code), "closest")
    assert found
    assert (found.array and (found.array[0], found.array[1].number)) == array


@pytest.mark.parametrize("name", ["party", "other"])
def test_what_is_no_tf_function_of_the_program(name: str) -> None:
    assert retraced(program(CODE), name) is None


LENGTHS = """\
@tf.function
def learn(notes, modes):
    return net(notes), modes
for step in range(70):
    notes, modes = assemble(tunes)
    loss = learn(notes, modes)
"""


@pytest.mark.parametrize(
    ("code", "shape"),
    [
        (LENGTHS, ("notes", 6)),
        (LENGTHS.replace("range(70)", "tunes").replace("assemble(tunes)", "step"), None),
        (
            LENGTHS.replace("for step in range(70)", "for notes, modes in tunes").replace(
                "    notes, modes = assemble(tunes)\n", ""
            ),
            ("notes", 5),
        ),
        (LENGTHS.replace("loss = learn(notes, modes)", "loss = learn(notes, 3)"), None),
        (
            LENGTHS.replace("loss = learn(notes, modes)", "loss = learn(notes, step)"),
            None,
        ),  # a number differs
        (LENGTHS.replace("notes, modes = assemble", "others = assemble"), None),
        (LENGTHS.replace("    loss = learn(notes, modes)", "    pass\nlearn(notes, modes)"), None),
        (LENGTHS.replace("@tf.function", "@tf.function(reduce_retracing=True)"), None),
        (LENGTHS.replace("@tf.function", "@tf.function(input_signature=[tf.TensorSpec([None])])"), None),
    ],
)
def test_an_argument_that_a_loop_makes_anew(code: str, shape: tuple[str, int] | None) -> None:
    found = retraced(program(code), "learn")
    assert found
    assert (found.shape and (found.shape[0], found.shape[1].number)) == shape


WARNED = (
    "WARNING:tensorflow:{times} out of the last {times} calls to <function learn at 0x7f0000000000>"
    " triggered tf.function retracing. Tracing is expensive\n"
)


def report(code: str = LENGTHS, size: int = 1 << 20, warnings: int = 2) -> Report:
    warned = "".join(WARNED.format(times=times) for times in range(5, 5 + warnings))
    blocks = [(2 + number % 2, (10 + number) << 20) for number in range(16)]
    full = dump_by_size(size, 704, *blocks, allocator="cpu")
    return pipeline.explain(f"import tensorflow as tf\n{code}\n{warned}{full}")


def test_shapes_that_differ_are_the_cause_where_little_failed() -> None:
    told = report()
    assert "the shape of its `notes` differs from call to call" in told.verdict
    assert "pad its lengths" in told.actions[0].remedy.text
    assert "smaller-batch" not in [action.remedy.slug for action in told.actions]


@pytest.mark.parametrize(
    "given",
    [{"size": 64 << 20}, {"warnings": 1}, {"code": LENGTHS.replace("assemble(tunes)", "tunes")}],
    ids=["a large request", "one warning", "no reason"],
)
def test_elsewhere_the_warning_is_a_factor(given: dict[str, Any]) -> None:
    (found,) = (each for each in report(**given).findings if each.rule == "retraced-functions")
    assert found.severity is Severity.FACTOR


@pytest.mark.parametrize(
    ("code", "others"),
    [
        (CODE, True),
        (CODE.replace("guest, how_many):", "how_many):").replace("(plate, guests)", "(guests)"), False),
        (CODE.replace("@tf.function", "@tf.function(reduce_retracing=True)"), False),
        (CODE.replace("guests = 4 + night", "guests = tf.constant(4)"), False),  # no number is given
    ],
)
def test_whether_other_arguments_may_have_other_shapes(code: str, others: bool) -> None:
    found = retraced(program(code), "closest")
    assert found is not None and found.other_shapes is others


EMBEDS = """\
def bank(n):
    weights = np.zeros((n, 4096), np.float32)
    weights[:, 0] = 1.0
    return weights
BANK = bank(2000)
class Front(tf.keras.Model):
    def call(self, sound):
        return tf.matmul(sound, BANK)
front = Front()
@tf.function
def learn(sound, rate):
    return rate * tf.reduce_mean(front(sound))
for turn in range(70):
    learn(next_sound, 0.5 * 0.97 ** turn)
"""


@pytest.mark.parametrize(
    ("code", "array"),
    [
        (EMBEDS, ("BANK", 8)),
        (EMBEDS.replace("BANK = bank(2000)", "BANK = tf.constant(bank(2000))"), None),
        (EMBEDS.replace("BANK = bank(2000)", "BANK = np.zeros(256)"), None),  # known to be small
        (EMBEDS.replace("front(sound))", "sound)"), None),  # nothing that is traced uses it
        (
            EMBEDS.replace("        return tf.matmul", "        BANK = sound\n        return tf.matmul"),
            None,
        ),
        (EMBEDS.replace("BANK = bank(2000)", "BANK = np.random.default_rng(3)"), None),  # a generator
        (
            EMBEDS.replace("return weights", "return {'low': weights[:9].copy(), 'high': weights[9:]}"),
            ("BANK", 8),
        ),
    ],
)
def test_the_array_that_what_is_traced_uses_from_outside(code: str, array: tuple[str, int] | None) -> None:
    found = retraced(program(code), "learn")
    assert found
    assert (found.embedded and (found.embedded[0], found.embedded[1].number)) == array


OF_AN_OBJECT = """\
class Atlas:
    def __init__(self, n):
        self.table = np.random.rand(n, 1024).astype("float32")
    @tf.function
    def refine(self, patches, phase):
        return phase.weight * self.compare(patches)
    def compare(self, patches):
        return tf.matmul(patches, self.table)
class Phase:
    def __init__(self, weight):
        self.weight = weight
atlas = Atlas(3000)
for turn in range(70):
    atlas.refine(patches, Phase(0.5))
"""


@pytest.mark.parametrize(
    ("code", "value"),
    [
        (OF_AN_OBJECT, ("object", "Phase(0.5)")),
        (OF_AN_OBJECT.replace("class Phase:", "class Phase(NamedTuple):"), None),  # equal ones are one
        (OF_AN_OBJECT.replace("class Phase:", "@dataclass(frozen=True)\nclass Phase:"), None),
        (OF_AN_OBJECT.replace("Phase(0.5))", 'f"turn-{turn}")'), ("string", "f'turn-{turn}'")),
        (OF_AN_OBJECT.replace("Phase(0.5))", '"turn-%d" % turn)'), ("string", "'turn-%d' % turn")),
        (OF_AN_OBJECT.replace("Phase(0.5))", 'f"{site}")'), None),  # nobody knows that it differs
        (
            OF_AN_OBJECT.replace("Phase(0.5))", "min(1.0, turn / 40))"),
            ("number", "min(1.0, turn / 40)"),
        ),
    ],
)
def test_a_string_or_an_object_that_is_new_for_each_call(code: str, value: tuple[str, str] | None) -> None:
    found = retraced(program(code), "refine")
    assert found and found.embedded and found.embedded[0] == "self.table"
    assert (found.number and (found.kind, found.number[1])) == value


def of_copies(code: str = EMBEDS, size: int = 3 << 20, copies: int = 12) -> Report:
    """One warning, and a dump with many blocks of one size beside what a step makes."""
    blocks = [(copies, 31 << 20), *((1, (2 + number) << 20) for number in range(9))]
    full = dump_by_size(size, 512, *blocks, allocator="cpu")
    return pipeline.explain(f"import tensorflow as tf\n{code}\n{WARNED.format(times=5)}{full}")


def test_one_warning_and_copies_of_an_array_are_the_cause() -> None:
    told = of_copies()
    assert "keeps a copy of its own of the NumPy array `BANK`" in told.verdict
    assert "12 blocks of 31.00 MiB" in told.verdict
    assert "give `rate` a tensor" in told.actions[0].remedy.text
    assert "make `BANK` a tensor once" in told.actions[1].remedy.text
    assert "smaller-batch" not in [action.remedy.slug for action in told.actions]


@pytest.mark.parametrize(
    "given",
    [
        {"code": EMBEDS.replace("bank(2000)", "np.zeros(256)")},
        {"code": EMBEDS.replace("0.5 * 0.97 ** turn", "RATE")},
        {"size": 31 << 20},
        {"copies": 3},
    ],
    ids=["no large array", "no number", "what the step makes one more of", "fewer than traces"],
)
def test_elsewhere_one_warning_tells_of_no_copies(given: dict[str, Any]) -> None:
    assert "copy of its own" not in of_copies(**given).verdict
