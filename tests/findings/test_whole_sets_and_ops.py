"""Whole sets in one op, lengths of stated arrays, iterations of a Jacobian, chunks that name an op's type."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tests.findings.test_settings_and_sets import EAGER
from tests.findings.test_what_is_no_batch import explained, slugs


def test_the_line_that_resizes_a_whole_set_is_found_in_quoted_code() -> None:
    failed = EAGER.format(shape="50000,224,224,3", op="ResizeBilinear")
    told = explained(f"x_train = tf.image.resize(x_train, (224, 224))\n{failed}")
    assert "tf.image.resize works on all 50,000 images at once (line 1)" in told.verdict
    assert "tf.image" not in explained(f"x_train = load(x_train, (224, 224))\n{failed}").verdict


@pytest.mark.parametrize(
    ("stated", "told"),
    [
        ("print(X.shape)   # (12500, 48211)", True),
        ("X (12500, 48211)", True),
        ("kernel (12500, 48211)", False),
        ("X (120, 48211)", False),  # no samples, a matrix
    ],
)
def test_the_length_of_a_stated_array_of_two(stated: str, told: bool) -> None:
    verdict = explained(f"{stated}\n" + oom("32,48211,300", "model/embedding/embedding_lookup")).verdict
    assert ("48211 is the length in" in verdict) is told


JACOBIAN = oom("786432,4096", "loop_body/MatMul/pfor/MatMul")


@pytest.mark.parametrize(
    ("stated", "turns"),
    [("x (256, 3072), y (256, 3072)", ", most likely 3,072"), ("x (128, 3072)", ""), ("", "")],
)
def test_the_iterations_of_a_jacobian_are_those_of_the_stated_shape(stated: str, turns: str) -> None:
    assert f"all its iterations at once{turns}." in explained(f"{stated}\n{JACOBIAN}").verdict


def chunks(op: str) -> str:
    return "".join(
        f"InUse at 7f1{n}00000000 of size 2147483648 by op {op} action_count {n} step 0 next {n}\n"
        for n in range(1, 4)
    )


def test_chunks_of_first_values_are_no_activations() -> None:
    assert "activations" not in explained(chunks("Fill")).verdict
    assert "smaller-batch" not in slugs(chunks("StatelessRandomUniformV2"))
    assert "activations" in explained(chunks("net/conv/Relu")).verdict
