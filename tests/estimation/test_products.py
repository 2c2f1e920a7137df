"""Keras's `Dot` op by op, and which gradient of a product runs first in a short step.

Rows are those that TensorFlow 2.11 booked for three `Dot((1, 1))` of one tensor of [samples, 6, 384] with
gates of [samples, 6, 1]: one copy of it turned, and for each product a gradient that comes out turned and is
turned back.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.estimation.test_time_steps import ops, sizes, step
from tests.estimation.test_updates import layer, network
from tfmemlens.estimation.keras_step.tape import Tape
from tfmemlens.model.attribution import Kind
from tfmemlens.model.network import Network

ROWS = 4 * 6 * 384 * 4
GATE = 4 * 6 * 4


def gated(products: int = 1, axes: Any = (1, 1), normalize: bool = False) -> Network:
    """Experts of [6, 384], and gates of [6, 1] that weigh them."""
    layers = [
        layer("InputLayer", "x", batch_input_shape=[None, 6, 32], dtype="float32"),
        layer("Dense", "experts", "x", units=384),
    ]
    for number in range(products):
        layers.append(layer("Dense", f"gate_{number}", "x", units=1 if axes == (1, 1) else 384))
        dot = layer("Dot", f"dot_{number}", axes=list(axes), normalize=normalize)
        layers.append(dot | {"inbound_nodes": [[["experts", 0, 0, {}], [f"gate_{number}", 0, 0, {}]]]})
    return network(layers, "2.11.0", [f"dot_{number}" for number in range(products)])


def test_the_gradient_of_a_turned_tensor_is_turned_back() -> None:
    predicted = step(gated(), 4)
    assert sizes(predicted, "BatchMatMulV2") == [4 * 384 * 4, ROWS, GATE]
    assert sizes(predicted, "Transpose") == [ROWS, ROWS]


def test_products_of_one_tensor_share_what_was_turned_but_no_gradient() -> None:
    predicted = step(gated(3), 4)
    assert sizes(predicted, "Transpose") == [ROWS] * 4
    assert sizes(predicted, "BatchMatMulV2").count(ROWS) == 3


def test_the_second_tensor_is_turned_where_it_is_summed_over_its_last_axis() -> None:
    predicted = step(gated(axes=(2, 2)), 4)
    assert sizes(predicted, "BatchMatMulV2") == [4 * 6 * 6 * 4, ROWS, ROWS]
    assert sizes(predicted, "Transpose") == [ROWS, ROWS]


def test_negative_axes_count_from_the_end() -> None:
    assert sizes(step(gated(axes=(-1, -1)), 4), "Transpose") == [ROWS, ROWS]


def test_nothing_is_turned_without_training() -> None:
    predicted = step(gated(), 4, training=False)
    assert sizes(predicted, "BatchMatMulV2") == [4 * 384 * 4]
    assert not ops(predicted, "Transpose")


def test_vectors_need_no_turning_and_normalized_ones_are_scaled_first() -> None:
    layers = [
        layer("InputLayer", "x", batch_input_shape=[None, 32], dtype="float32"),
        layer("Dense", "a", "x", units=64),
        layer("Dense", "b", "x", units=64),
        layer("Dot", "dot", axes=1, normalize=True) | {"inbound_nodes": [[["a", 0, 0, {}], ["b", 0, 0, {}]]]},
    ]
    predicted = step(network(layers), 4)
    assert not ops(predicted, "Transpose")
    assert sizes(predicted, "Square") == [4 * 64 * 4] * 2
    assert sizes(predicted, "Rsqrt") == [4 * 4] * 2
    assert sizes(predicted, "BatchMatMulV2") == [4 * 4, 4 * 64 * 4, 4 * 64 * 4]


def chained(length: int, kind: str, **config: Any) -> Network:
    """A convolution or dense layer behind another, and so many activations."""
    layers = [layer("InputLayer", "x", batch_input_shape=[None, 8, 8, 4], dtype="float32")]
    names = ["x"]
    for number in range(length):
        layers.append(layer("Activation", f"act_{number}", names[-1], activation="relu"))
        names.append(f"act_{number}")
    for name in ("one", "two"):
        layers.append(layer(kind, name, names[-1], **config))
        names.append(name)
    return network(layers, "2.11.0")


@pytest.mark.parametrize(("activations", "kernel_runs_first"), [(0, True), (110, False)])
def test_a_convolutions_kernel_comes_first_in_short_steps_of_keras_2(
    activations: int, kernel_runs_first: bool
) -> None:
    net = chained(activations, "Conv2D", filters=4, kernel_size=[3, 3], padding="same")
    predicted = step(net, 2)
    kernel = ops(predicted, "Conv2DBackpropFilter")[0]
    data = ops(predicted, "Conv2DBackpropInput")[0]
    assert (kernel.rank > data.rank) is kernel_runs_first


@pytest.mark.parametrize(("activations", "either"), [(0, True), (110, False)])
def test_a_dense_kernel_runs_first_as_often_as_not_there(activations: int, either: bool) -> None:
    predicted = step(chained(activations, "Dense", units=4), 2)
    products = [each for each in ops(predicted, "MatMul") if each.name.startswith("gradient_tape/two")]
    data, kernel = (each.rank for each in products)
    assert (kernel == data) is either
    assert either or kernel < data


@pytest.mark.parametrize(("forward", "short"), [(100, True), (101, False)])
def test_a_step_is_short_up_to_a_hundred_ops_forward(forward: int, short: bool) -> None:
    tape = Tape()
    value = tape.source("weight", (4,), "float32", Kind.PARAMETER, trainable=True)
    for _ in range(forward):
        value = tape.op("Relu", [value])
    tape.differentiate([])
    assert tape.short is short
