"""Why a tf.function is traced again and again, by the program's own lines."""

from __future__ import annotations

import ast

import pytest

from tfmemlens.findings.support.retraced_code import retraced
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program, Statement

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
