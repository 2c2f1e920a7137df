"""A compiled program that makes all rows of a matrix of derivatives, beside the line that asks for them."""

from __future__ import annotations

from types import SimpleNamespace as Made
from typing import Any

import pytest

from tfmemlens.findings.support.one_hot import targets_made_dense
from tfmemlens.findings.support.rows import Row
from tfmemlens.findings.support.xla_arena import derivatives
from tfmemlens.model.allocation import Allocation
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.line import Line
from tfmemlens.readers.program import read_program

NAME = "jit(damp)/vmap(jvp(vmap(transpose(jvp(mix)))))/dot_general"
CODE = "import jax\nbend = jax.hessian(loss)(flat)\n"


def told(code: str) -> Surroundings:
    lines = tuple(Line(number, text) for number, text in enumerate(code.splitlines(), 1) if text.strip())
    return Surroundings(program=lambda: read_program(lines))


def row(shape: tuple[int, ...], node: str | None, purpose: str | None = None) -> Row:
    size = 4
    for side in shape:
        size *= side
    made = Allocation(node, size, shape=shape, dtype="float32", purpose=purpose)
    return Row(made, Made(kind=None), None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("code", "name", "says"),
    [
        (CODE, NAME, "rows of the Hessian of line 2, all computed at once, one for each of 7,001 numbers"),
        (CODE, "jit(damp)/dot_general", None),
        ("import jax\nout = jax.vmap(jax.grad(loss))(flat)\n", NAME, None),
    ],
)
def test_directions_are_the_numbers_of_the_argument(
    monkeypatch: pytest.MonkeyPatch, code: str, name: str, says: str | None
):
    table = [row((7001,), None, "parameter"), row((64, 7001 * 32), name), row((64, 9), name)]
    monkeypatch.setattr(derivatives, "rows", lambda _, keep: [each for each in table if keep(each)])
    monkeypatch.setattr(derivatives, "framework_of", lambda _: derivatives.JAX)
    case: Any = Made(capture=Made(surroundings=told(code)))
    found = derivatives.rows_of_derivatives(case, Made())  # type: ignore[arg-type]
    assert (found.what if found else None) == says


LOSS = """
def {name}(wanted, logits):
    hot = tf.one_hot(wanted, WORDS)
    return -tf.reduce_sum(hot * {of}, -1)
"""


@pytest.mark.parametrize(
    ("name", "of", "ids"),
    [
        ("reply_loss", "tf.nn.log_softmax(logits)", "wanted"),
        ("look_up", "tf.nn.log_softmax(logits)", None),
        ("reply_loss", "table", None),
    ],
)
def test_one_hot_targets_are_those_of_a_loss_over_classes(name: str, of: str, ids: str | None):
    case: Any = Made(capture=Made(surroundings=told(LOSS.format(name=name, of=of))))
    found = targets_made_dense(case)
    assert (found and found[1:]) == (ids and (ids, False))


GRAPH = """
flags.DEFINE_integer("words", 36000, "words")
def training(gold, guess):
    {line}
    return {loss}
"""
NAMED = "hot = tf.one_hot(gold, F.words)"


@pytest.mark.parametrize(
    ("line", "loss", "classes", "dense"),
    [
        (
            NAMED,
            "tf.nn.softmax_cross_entropy_with_logits_v2(labels=tf.stop_gradient(hot), logits=guess)",
            36000,
            True,
        ),
        (NAMED, "tf.losses.softmax_cross_entropy(hot, guess, label_smoothing=0.1)", 36000, True),
        ("x = 1", "tf.losses.softmax_cross_entropy(tf.one_hot(gold, F.words), guess)", 36000, True),
        (NAMED, "tf.losses.softmax_cross_entropy(hot, guess, label_smoothing=F.eps)", 36000, True),
        ("x = 1", "tf.losses.softmax_cross_entropy(tf.one_hot(gold, depth=36000), guess)", 36000, True),
        (NAMED, "tf.losses.softmax_cross_entropy(hot, guess)", 30000, False),  # another vocabulary's
        ("hot = tf.one_hot(gold, 12)", "tf.losses.softmax_cross_entropy(hot, guess)", 36000, False),
        (NAMED, "tf.losses.softmax_cross_entropy(gold, tf.matmul(hot, t)) + f(gold)", 36000, False),
        (NAMED, "tf.losses.sparse_softmax_cross_entropy(gold, guess) + f(hot)", 36000, False),
        (
            NAMED,
            "tf.losses.softmax_cross_entropy(onehot_labels=gold, logits=tf.matmul(hot, t))",
            36000,
            False,
        ),
    ],
)
def test_what_a_dense_loss_is_given_is_made_dense(line: str, loss: str, classes: int, dense: bool):
    case: Any = Made(capture=Made(surroundings=told(GRAPH.format(line=line, loss=loss))))
    found = targets_made_dense(case, classes)
    assert (found and found[1:]) == (("gold", "smooth" in loss) if dense else None)
