"""Edges of layers' rules: gates and scores of attention, open sizes, layers that wait for one another, sizes
in code.
"""

from __future__ import annotations

from typing import Any

import pytest

from tfmemlens.knowledge import tree_values
from tfmemlens.knowledge.keras_layers import LayerCall, describe, model_types
from tfmemlens.model import live_model
from tfmemlens.model.network import LayerSpec, Network, NetworkCall, TensorRef
from tfmemlens.model.tensor import TensorType

Shape = tuple[int | None, ...]


def attending(class_name: str, scores: bool = False, **config: Any) -> Any:
    query, value = TensorType((2, 5, 12), "float32"), TensorType((2, 7, 10), "float32")
    arguments = {"0": query, "1": value, "return_attention_scores": scores}
    return describe(LayerCall(LayerSpec("a", class_name, config), (query, value), arguments))


def sizes(found: Any) -> dict[str, Shape]:
    return {each.name.removeprefix("a/"): each.shape for each in found.weights}


def test_a_gate_of_attention_is_as_wide_as_its_values() -> None:
    gate = {"gate/kernel": (12, 3, 6), "gate/bias": (3, 6)}
    plain = sizes(attending("MultiHeadAttention", num_heads=3, key_dim=4, value_dim=6))
    gated = sizes(attending("MultiHeadAttention", num_heads=3, key_dim=4, value_dim=6, use_gate=True))
    assert gated == plain | gate and not gate.keys() & plain.keys()


def test_scores_of_attention_stand_beside_its_output() -> None:
    shared: Any = {"num_query_heads": 4, "num_key_value_heads": 2, "head_dim": 3}
    for class_name, config, heads in (
        ("GroupedQueryAttention", shared, 4),
        ("MultiHeadAttention", {"num_heads": 3, "key_dim": 4}, 3),
    ):
        told = attending(class_name, scores=True, **config)
        assert [each.shape for each in told.outputs] == [(2, 5, 12), (2, heads, 5, 7)]
        assert len(attending(class_name, **config).outputs) == 1


@pytest.mark.parametrize(
    "shape, target, made",
    [
        ((4, 6), [8, None], (8, 3)),
        ((4, 6), [None, None], (4, None)),
        ((None, 6), [None, None], (None, None)),
        ((4, 6), [8, 3], (8, 3)),
        ((4, 6), [None, 24], (1, 24)),
    ],
)
def test_an_op_that_reshapes(shape: Shape, target: list[int | None], made: Shape) -> None:
    x = TensorType(shape, "float32")
    asked = [-1 if size is None else size for size in target]
    call = LayerCall(
        LayerSpec("r", "Reshape", {}, module="keras.src.ops.numpy"), (x,), {"0": x, "newshape": asked}
    )
    told = describe(call).outputs[0].shape
    assert told == made


def test_layers_that_wait_for_one_another_stand_last() -> None:
    def layer(name: str, *reads: str) -> LayerSpec:
        return LayerSpec(name, "Dense", calls=(NetworkCall(tuple(TensorRef(each, 0, 0) for each in reads)),))

    layers = (
        layer("c", "b"),
        layer("x", "y"),
        layer("y", "x"),
        layer("b", "a"),
        layer("a"),
        layer("z", "gone"),
    )
    names = [name for name, _ in model_types.order(Network(layers=layers))]
    assert names == ["a", "z", "b", "c", "x", "y"]


@pytest.mark.parametrize(
    "shape, known",
    [((3, 4), (3, 4)), ((), ()), ((3, None), ()), ((3, True), ()), ([3, 4], ()), ((3, 4.0), ()), (None, ())],
)
def test_a_shape_whose_sizes_are_known(shape: Any, known: tuple[int, ...]) -> None:
    assert tree_values.known_sizes(shape) == known


@pytest.mark.parametrize(
    "op, kernel, shape, may",
    [
        ("MatMul", (6, 4), (6, 4), True),
        ("MatMul", (6, 4), (9, 6), True),
        ("MatMul", (6, 4), (9, 4), False),
        ("MatMul", (6, 4), (2, 9, 6), False),
        ("MatMul", (2, 6, 4), (9, 2, 6), False),
        ("MatMul", (4,), (4,), False),
        ("Conv2DBackpropFilter", (3, 3, 6, 4), (3, 3, 6, 4), True),
        ("Conv2DBackpropFilter", (3, 3, 6, 4), (8, 54), True),
        ("Conv2DBackpropFilter", (3, 3, 6, 4), (8, 9, 9, 6), False),
        ("Conv2DBackpropInput", (3, 3, 6, 4), (8, 9, 9, 6), True),
        ("Conv2DBackpropInput", (3, 3, 6, 4), (8, 9, 9, 4), False),
        ("Conv2DBackpropInput", (3, 3, 6, 4), (8, 54), True),
        ("Conv2DBackpropInput", (3, 3, 6, 4), (9, 9, 6), False),
        ("Conv2DBackpropInput", (6, 4), (9, 6), False),
        ("ReluGrad", (6, 4), (9, 4), True),
        ("ReluGrad", (6, 4), (9, 6), False),
        ("ReluGrad", (6, 4), (2, 9, 4), False),
        ("Relu", (6, 4), (9, 4), False),
    ],
)
def test_what_the_backward_pass_of_a_layer_makes(op: str, kernel: Shape, shape: Shape, may: bool) -> None:
    assert live_model._of_gradient(op, kernel, shape) is may
