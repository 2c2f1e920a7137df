"""Which inputs of an op carry the tensor that the layout pass would have to copy."""

from __future__ import annotations

import pytest

from tfmemlens.attribution.layout_pass.ops import data_inputs


@pytest.mark.parametrize(
    ("op", "count", "inputs"),
    [
        ("Relu", 1, [0]),
        ("Relu", 0, []),
        ("Split", 2, [1]),
        ("Concat", 4, [1, 2, 3]),
        ("ConcatV2", 4, [0, 1, 2]),
        ("ConcatV2", 0, []),
        ("AddV2", 3, [0, 1]),
        ("AddV2", 1, [0]),
        ("ReluGrad", 3, [0, 1]),
        ("Select", 4, [0, 1, 2]),
        ("SelectV2", 2, [0, 1]),
        ("AddN", 5, [0, 1, 2, 3, 4]),
        ("Pad", 2, [0]),
    ],
)
def test_inputs_that_are_tensors_of_the_layout(op: str, count: int, inputs: list[int]) -> None:
    assert list(data_inputs(op, count)) == inputs
