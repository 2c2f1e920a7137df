"""Which labels a loss takes, and which ops are fused."""

from __future__ import annotations

from types import SimpleNamespace as Made
from typing import Any

import pytest

from tfmemlens.estimation.graph_step import fusing
from tfmemlens.estimation.keras_step.losses import is_sparse
from tfmemlens.model.graph import Node


@pytest.mark.parametrize(
    "op, classes, loss, sparse",
    [
        ("Softmax", 2, None, True),
        ("MatMul", 1000, None, True),
        ("BiasAdd", 1000, None, True),
        ("MatMul", 999, None, False),
        ("Relu", 1000, None, False),
        ("Relu", 2, "sparse_categorical_crossentropy", True),
        ("Softmax", 1000, "categorical_crossentropy", False),
    ],
)
def test_labels_are_class_numbers(op: str, classes: int, loss: str | None, sparse: bool) -> None:
    output: Any = Made(shape=(8, classes))
    assert is_sparse(output, op, loss) is sparse


@pytest.mark.parametrize(
    "op, after, inputs, training, follows",
    [
        ("Conv2D", "BiasAdd", ("c", "b"), None, True),
        ("MatMul", "BiasAdd", ("c", "b"), None, True),
        ("Conv2D", "BiasAdd", ("c:1", "b"), None, False),
        ("Conv2D", "BiasAdd", ("b", "c"), None, False),
        ("Conv2D", "norm", ("c", "b"), False, True),
        ("Conv2D", "norm", ("c", "b"), True, False),
        ("Conv2D", "norm", ("c", "b"), None, False),
        ("MatMul", "norm", ("c", "b"), False, False),
        ("Conv2D", "Relu", ("c", "b"), None, False),
    ],
)
def test_what_is_fused_with_a_product(
    op: str, after: str, inputs: tuple[str, ...], training: bool | None, follows: bool
) -> None:
    name = "FusedBatchNorm" if after == "norm" else after
    attributes = {} if training is None else {"is_training": training}
    node, reader = Node("c", op), Node("r", name, inputs, attributes=attributes)
    assert fusing._may_follow(node, reader) is follows
    assert not fusing._may_follow(node, Node("r", name, (*inputs, "^x"), attributes=attributes))
