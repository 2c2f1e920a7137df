"""The causes of the layout pass's copies, in words."""

from __future__ import annotations

import pytest

from tfmemlens.knowledge.layout_causes import CAUSES, reason


@pytest.mark.parametrize(
    "ops, words",
    [
        ("ABC", "A, B, C exists only for NCHW"),
        ("ABCD", "A, B, C and others exists"),
        ("", "an op exists"),
        ("AABB", "A, B exists"),
    ],
)
def test_three_ops_are_named(ops: str, words: str) -> None:
    assert reason("not-supported", ops, "NCHW").startswith(words)


def test_a_gradient_stands_for_its_op_unless_it_is_the_cause() -> None:
    assert reason("not-supported", ["MulGrad", None, "Mul"], "NHWC").startswith("Mul exists only for NHWC")
    assert reason("gradient-not-supported", ["MulGrad"], "NHWC").startswith("MulGrad is not converted")


@pytest.mark.parametrize("slug", CAUSES)
def test_no_cause_keeps_a_place_to_fill_in(slug: str) -> None:
    assert "{" not in reason(slug, ["Mul"], "NHWC")
