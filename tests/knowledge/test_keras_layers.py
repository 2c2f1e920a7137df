"""Shapes, weights and formulas against what Keras itself counted."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from tests.models import FOLDER, gzipped, small
from tfmemlens.knowledge.keras_layers.model_types import complete
from tfmemlens.knowledge.keras_layers.recurrent import has_two_biases
from tfmemlens.model.network import LayerSpec, Network
from tfmemlens.readers import keras_models
from tfmemlens.readers.keras_models._documents import network_of

APPLICATIONS = [
    (version, name)
    for version in ("2.11", "2.21")
    for name in gzipped(f"applications-{version}/truth.json.gz")
]
SMALL = [(version, name) for version in ("2.11", "2.21") for name in small(version)]


def agrees(network: Network, truth: dict[str, Any]) -> None:
    """Totals, and layer by layer parameters and output shapes; a size that Keras leaves open may be known to
    us.
    """
    assert not [layer.problem for _, layer in network.walk() if layer.problem]
    assert (network.parameters, network.trainable_parameters, network.frozen_parameters) == (
        truth["total"],
        truth["trainable"],
        truth["non_trainable"],
    )
    layers = {layer.name: layer for layer in network.layers}
    for name, count, shapes in truth["layers"]:
        assert layers[name].parameters == count, name
        for ours, theirs in zip(
            [list(kind.shape or ()) for kind in layers[name].outputs], shapes or [], strict=True
        ):
            assert len(ours) == len(theirs)
            assert all(one == other or other is None for one, other in zip(ours, theirs, strict=True)), (
                name,
                ours,
                theirs,
            )


@pytest.mark.parametrize(("version", "name"), APPLICATIONS, ids=str)
def test_every_application_counts_as_keras_counts_it(version: str, name: str) -> None:
    agrees(
        complete(keras_models.read(FOLDER / f"applications-{version}" / f"{name}.json.gz")),
        gzipped(f"applications-{version}/truth.json.gz")[name],
    )


@pytest.mark.parametrize(("version", "name"), SMALL, ids=str)
def test_every_kind_of_layer_counts_as_keras_counts_it(version: str, name: str) -> None:
    sample = small(version)[name]
    agrees(complete(network_of(sample["json"], name)), sample["truth"])


@pytest.mark.parametrize(("version", "name"), SMALL, ids=str)
def test_a_formula_is_true_arithmetic(version: str, name: str) -> None:
    for _, layer in complete(network_of(small(version)[name]["json"], name)).walk():
        assert _value(layer.formula) == sum(weight.size for weight in layer.weights), (
            layer.name,
            layer.formula,
        )


def _value(formula: str) -> int:
    """Sums and products of whole numbers."""

    def of(node: ast.AST) -> int:
        if isinstance(node, ast.BinOp):
            left, right = of(node.left), of(node.right)
            return left + right if isinstance(node.op, ast.Add) else left * right
        assert isinstance(node, ast.Constant) and isinstance(node.value, int)
        return node.value

    return of(ast.parse(formula, mode="eval").body) if formula else 0


def test_the_founding_questions_figures() -> None:
    """Q3: LeNet's parameters, and feature maps of 98 and 49 KB."""
    network = complete(network_of(small("2.21")["lenet"]["json"], "lenet"), batch=1)
    told = {layer.name: (layer.parameters, layer.formula, layer.outputs[0].bytes) for layer in network}
    assert told["conv1"] == (832, "(5*5*1+1)*32", 28 * 28 * 32 * 4)
    assert told["conv2"] == (51_264, "(5*5*32+1)*64", 14 * 14 * 64 * 4)
    assert told["fc1"] == (3_212_288, "(3136+1)*1024", 4096)
    assert told["fc2"] == (10_250, "(1024+1)*10", 40)
    assert (28 * 28 * 32 * 4, 14 * 14 * 64 * 4) == (98 * 1024, 49 * 1024)


def test_another_input_gives_other_shapes_and_the_same_weights() -> None:
    network = keras_models.read(FOLDER / "applications-2.21" / "MobileNetV2.json.gz")
    small_one, large = (complete(network, 2, {"": (side, side, 3)}) for side in (96, 224))
    assert small_one.parameters == large.parameters
    assert small_one["Conv1"].outputs[0].shape == (2, 48, 48, 32)
    assert large["Conv1"].outputs[0].shape == (2, 112, 112, 32)


def test_a_shared_layer_owns_its_weights_once_and_makes_an_output_at_each_use() -> None:
    shared = complete(network_of(small("2.21")["shared"]["json"], "siamese"))["shared"]
    assert (shared.parameters, len(shared.calls)) == (33 * 64, 4)


def test_an_unknown_layer_keeps_the_shape_that_its_readers_state() -> None:
    document = {
        "class_name": "Functional",
        "config": {
            "name": "m",
            "layers": [
                {
                    "class_name": "InputLayer",
                    "config": {"batch_shape": [None, 4], "name": "x"},
                    "name": "x",
                    "inbound_nodes": [],
                },
                {
                    "class_name": "Mine",
                    "module": "user",
                    "config": {"name": "mine"},
                    "name": "mine",
                    "inbound_nodes": [_node("x", [None, 4])],
                },
                {
                    "class_name": "Dense",
                    "config": {"name": "d", "units": 2},
                    "name": "d",
                    "inbound_nodes": [_node("mine", [None, 9])],
                },
            ],
            "input_layers": ["x", 0, 0],
            "output_layers": ["d", 0, 0],
        },
        "module": "keras",
    }
    network = complete(network_of(document, "m"))
    assert "not one of Keras's own layers" in (network["mine"].problem or "")
    assert network["d"].parameters == 20


def _node(name: str, shape: list[int | None]) -> dict[str, Any]:
    return {
        "args": [
            {
                "class_name": "__keras_tensor__",
                "config": {"shape": shape, "dtype": "float32", "keras_history": [name, 0, 0]},
            }
        ],
        "kwargs": {},
    }


def test_keras_1_named_things_differently() -> None:
    layers = [
        {"class_name": "Convolution2D", "config": {"name": "c", "nb_filter": 32, "nb_row": 3, "nb_col": 3,
         "border_mode": "same", "subsample": [1, 1], "dim_ordering": "tf", "bias": True,
         "batch_input_shape": [None, 28, 28, 1]}},
        {"class_name": "MaxPooling2D", "config": {"name": "p", "pool_size": [2, 2], "border_mode": "valid",
         "dim_ordering": "tf"}},
        {"class_name": "Flatten", "config": {"name": "f"}},
        {"class_name": "Dense", "config": {"name": "d", "output_dim": 10, "bias": True}},
    ]  # fmt: skip
    network = complete(
        network_of({"class_name": "Sequential", "config": layers, "keras_version": "1.2.2"}, "old")
    )
    assert network.dialect == "keras-1"
    assert [layer.parameters for layer in network] == [0, 320, 0, 0, 14 * 14 * 32 * 10 + 10]


@pytest.mark.parametrize(
    ("dialect", "stated", "biases"),
    [("keras-2", None, 1), ("keras-3", None, 2), ("keras-2", True, 2), ("keras-3", False, 1)],
)
def test_a_gru_has_a_second_bias_where_it_resets_after(
    dialect: str, stated: bool | None, biases: int
) -> None:
    config = {} if stated is None else {"reset_after": stated}
    spec = LayerSpec("gru", "GRU", config)
    assert has_two_biases(spec, dialect) == (biases == 2)
    assert not has_two_biases(LayerSpec("lstm", "LSTM", config), dialect)
