"""Settings of layers and feeds that few models have: low-rank adapters, open sizes."""

from __future__ import annotations

from typing import Any

import pytest

from tfmemlens.knowledge.keras_layers import LayerCall, describe
from tfmemlens.knowledge.ops.shapes.sources import fed
from tfmemlens.model.network import LayerSpec
from tfmemlens.model.tensor import TensorType


def described(class_name: str, *shapes: tuple[int | None, ...], **config: Any) -> Any:
    inputs = tuple(TensorType(shape, "float32") for shape in shapes)
    return describe(LayerCall(LayerSpec("layer", class_name, config), inputs))


def weights(found: Any) -> dict[str, tuple[tuple[int, ...], bool]]:
    return {
        each.name.partition("layer/")[2] or each.name: (each.shape, each.trainable) for each in found.weights
    }


def test_a_low_rank_adapter_beside_a_frozen_kernel() -> None:
    found = weights(described("Conv2D", (4, 9, 9, 6), filters=10, kernel_size=3, groups=2, lora_rank=5))
    assert found["kernel"] == ((3, 3, 3, 10), False)
    assert found["lora_kernel_a"] == ((3, 3, 3, 5), True)
    assert found["lora_kernel_b"] == ((5, 10), True)
    assert found["bias"] == ((10,), True)
    table = weights(described("Embedding", (4, 9), input_dim=20, output_dim=6, lora_rank=5))
    assert table == {
        "embeddings": ((20, 6), False),
        "lora_embeddings_a": ((20, 5), True),
        "lora_embeddings_b": ((5, 6), True),
    }


@pytest.mark.parametrize(
    "shape, feed, made",
    [
        ((None, 5), (), (None, 5)),
        (None, (3, 5), (3, 5)),
        (None, (3,), None),
        ((None, 5), (3, 5), (3, 5)),
        ((None, None, 2), (3, 5, 2), (3, 5, 2)),
        ((4, None), (None, 5), (4, 5)),
        ((None, 5), (3, 6), (3, 5)),
        ((None, 5), (3,), (3, 5)),
        ((4, 5), (3, 6), (4, 5)),
        ((4, 5), (3,), (4, 5)),
        ((), (3,), ()),
    ],
)
def test_a_feed_of_open_sizes(shape: Any, feed: Any, made: Any) -> None:
    assert fed(shape, feed) == made
