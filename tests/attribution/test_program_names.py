"""Layers under the names that the program's code gives them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.findings.logs import CPU
from tfmemlens import pipeline
from tfmemlens.attribution.names.program_names import layer_of
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program, Statement

CODE = """\
body = keras.Sequential([
    layers.Conv2D(48, 3, name="plumage"),
    layers.Conv2D(32, 3, name="song"),
    layers.Dense(10, name="dense_3"),
], name="bird")
rate = Decay(0.1, name="decay")
"""


def program(code: str, of_frame: bool = False) -> Program:
    lines = tuple(Line(number, text) for number, text in enumerate(code.splitlines(), 1))
    return Program(tuple(Statement(node, lines, of_frame) for node in ast.parse(code).body))


@pytest.mark.parametrize(
    ("scope", "shape", "name"),
    [
        ("bird_1/plumage_1", None, "plumage"),
        ("functional/song/Relu", None, "song"),
        ("bird/dense_3", None, "dense_3"),  # the number is the code's own
        ("Conv2D", (16, 64, 64, 48), "plumage"),
        ("Dense", (16, 7), "dense_3"),  # the only one
        ("Conv2D", (16, 64, 64, 3), None),  # two of this class, neither so wide
        ("bird_1/coda_1", None, None),
        ("bird", None, None),  # a model is no layer
    ],
)
def test_a_scope_is_a_layer_of_the_code(scope: str, shape: tuple[int, ...] | None, name: str | None) -> None:
    assert layer_of(program(CODE), scope, shape) == name
    assert layer_of(program(CODE, of_frame=True), scope, shape) is None


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("", "dense_3"),
        ("more = layers.Dense(64)\n", "dense_3"),  # of another width
        ("more = layers.Dense(width)\n", None),
        ("more = layers.Dense(7)\n", None),
        ("more = layers.Dense(width, name='wide')\n", None),
    ],
)
def test_a_layer_without_a_name_may_be_the_one_of_its_class(code: str, told: str | None) -> None:
    assert layer_of(program(CODE + code), "Dense", (16, 7)) == told


@pytest.mark.parametrize(
    ("name", "scope", "told"),
    [
        ('f"stage_{i}"', "net/stage_2/wide/Relu", "stage_2/wide"),
        ('f"stage_{i}"', "net_1/stage_2_1/wide_1", "stage_2/wide"),  # the second number is of a call
        ('"stage_%d" % i', "net/stage_2/wide", "stage_2/wide"),
        ('"stage_{}".format(i)', "net/stage_2/wide", "stage_2/wide"),
        ('"stage_" + str(i)', "net/stage_2/wide", "stage_2/wide"),
        ('f"stage_{i}"', "net/phase_2/wide", "wide"),
        ('f"{kind}_{i}"', "net/stage_2/wide", "wide"),  # it states nothing
        ("names[i]", "net/stage_2/wide", "wide"),
    ],
)
def test_a_name_that_is_put_together_tells_its_blocks(name: str, scope: str, told: str) -> None:
    code = f'block = Stage(8, name={name})\nwide = layers.Dense(9, name="wide")\n'
    assert layer_of(program(code), scope, None) == told


@pytest.mark.parametrize(("beside", "named"), [(True, "`plumage`"), (False, "`Conv2D`")])
def test_the_verdict_has_the_program_s_name(tmp_path: Path, beside: bool, named: str) -> None:
    log = tmp_path / "run.log"
    log.write_text(
        f'Traceback (most recent call last):\n  File "{tmp_path}/net.py", line 7, in <module>\n    body(x)\n'
        "tensorflow.python.framework.errors_impl.ResourceExhaustedError: Exception encountered when calling"
        f" Conv2D.call().\n\nOOM when allocating tensor with shape[900,64,64,48] and type float on {CPU} by"
        " allocator bfc_cpu_allocator_for_gpu [Op:Conv2D]\n"
    )
    if beside:
        (tmp_path / "net.py").write_text(f"{CODE}body(x)\nimport tensorflow as tf\n")
    assert named in pipeline.explain(log).verdict
