"""Keras 3 trains the parts of an attention that was made with `trainable=False`."""

from __future__ import annotations

from typing import Any

import pytest

from tfmemlens.readers.keras_models._documents import network_of


def _document(name: str, kind: str, *inbound: str, **config: Any) -> dict[str, Any]:
    """A layer as Keras 3 writes it."""
    tensors = [
        {"class_name": "__keras_tensor__", "config": {"shape": [None, 6, 8], "keras_history": [each, 0, 0]}}
        for each in inbound
    ]
    nodes = [{"args": tensors, "kwargs": {}}] if tensors else []
    return {
        "class_name": kind,
        "module": "keras.layers",
        "name": name,
        "config": {"name": name, **config},
        "inbound_nodes": nodes,
    }


def _trained(*, after: bool, version: str = "3.8.0", kind: str = "MultiHeadAttention") -> bool:
    parts = [
        _document("x", "InputLayer", batch_shape=[None, 6, 8], dtype="float32"),
        _document("look", kind, "x", "x", trainable=False, num_heads=2, key_dim=4),
        _document("past", "Add", "look", trainable=not after),
    ]
    config = {"name": "m", "layers": parts, "input_layers": ["x", 0, 0], "output_layers": ["past", 0, 0]}
    document = {"class_name": "Functional", "keras_version": version, "config": config}
    made = network_of(document, "m.json")
    return next(layer.trainable for layer in made.layers if layer.name == "look")


def test_made_with_it_its_parts_are_trained() -> None:
    assert _trained(after=False)


@pytest.mark.parametrize(
    "near",
    [
        {"after": True},
        {"after": False, "version": "2.11.0"},
        {"after": False, "kind": "Dense"},
    ],
    ids=["set on all layers afterwards", "Keras 2", "a layer with weights of its own"],
)
def test_stays_frozen(near: dict[str, Any]) -> None:
    assert not _trained(**near)
