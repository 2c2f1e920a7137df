"""Names of ops that compute a penalty on weights."""

from __future__ import annotations

import pytest

from tfmemlens.knowledge.weight_penalties import is_penalty


@pytest.mark.parametrize(
    ("name", "penalty"),
    [
        ("L2Loss", True),
        ("loss/L2Loss_3", True),
        ("gradients/L2Loss_grad/mul", True),
        ("dense/kernel/Regularizer/Square", True),
        ("L2Loss_of_mine", False),
        ("MyRegularizer", False),
        ("dense/MatMul", False),
        ("", False),
    ],
)
def test_penalties_are_known_by_name(name: str, penalty: bool) -> None:
    assert is_penalty(name) is penalty
