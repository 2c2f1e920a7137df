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
