"""What a step in 16 bits holds in float32 on a CPU, as profiles of TensorFlow 2.21 showed it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.estimation.test_time_steps import ops, step
from tests.estimation.test_updates import layer, network
from tfmemlens.model.network import Network

MIXED = {"class_name": "DTypePolicy", "config": {"name": "mixed_float16"}}
BATCH, PLACES, WIDTH = 8, 40, 96


def net(norm: str, dtype: Any, version: str = "3.9.0") -> Network:
    return network(
        [
            layer("InputLayer", "x", batch_input_shape=[None, PLACES, WIDTH], dtype="float32"),
            layer("Dense", "first", "x", units=WIDTH, dtype=dtype),
            layer(norm, "norm", "first", dtype=dtype, axis=-1, groups=4),
            layer("Dense", "last", "norm", units=WIDTH, dtype=dtype),
        ],
        version,
    )


@pytest.mark.parametrize("norm", ["LayerNormalization", "BatchNormalization", "GroupNormalization"])
def test_a_norm_keeps_what_comes_in_as_float32(norm: str) -> None:
    predicted = step(net(norm, MIXED), BATCH)
    buffers = predicted.step.tape.buffers
    casts = [buffers[op.writes[0]] for op in ops(predicted, "Cast") if op.owner.layer == "norm"]
    forward = [(cast.dtype, cast.bytes) for cast in casts if "gradient" not in cast.node]
    size = BATCH * PLACES * WIDTH
    assert forward == [("float32", 4 * size), ("float16", 2 * size)]


@pytest.mark.parametrize("norm", ["LayerNormalization", "BatchNormalization", "GroupNormalization"])
def test_near_miss_in_float32_nothing_is_cast(norm: str) -> None:
    assert not [op for op in ops(step(net(norm, "float32"), BATCH), "Cast") if op.owner.layer == "norm"]


@pytest.mark.parametrize("version, wide", [("3.9.0", True), ("2.11.0", False)])
def test_products_widen_both_operands_and_the_result(version: str, wide: bool) -> None:
    predicted = step(net("LayerNormalization", MIXED, version), BATCH)
    product = next(op for op in ops(predicted, "MatMul") if op.owner.layer == "last")
    rows = BATCH * PLACES
    assert product.temporary_bytes == (4 * (2 * rows * WIDTH + WIDTH * WIDTH) if wide else 0)
