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


def attending(dtype: Any, version: str, **config: Any) -> list[tuple[str, int]]:
    """The types and sizes of the casts of the scores of attention, forward."""
    predicted = step(
        network(
            [
                layer("InputLayer", "x", batch_input_shape=[None, PLACES, WIDTH], dtype="float32"),
                layer("Dense", "first", "x", units=WIDTH, dtype=dtype),
                layer("MultiHeadAttention", "look", "first", num_heads=2, key_dim=8, dtype=dtype, **config),
            ],
            version,
        ),
        BATCH,
    )
    buffers = predicted.step.tape.buffers
    casts = [buffers[op.writes[0]] for op in ops(predicted, "Cast") if op.owner.layer == "look"]
    return [(each.dtype, each.bytes) for each in casts if each.shape[1:] == (2, PLACES, PLACES)][:2]


def test_the_softmax_of_attention_runs_in_float32() -> None:
    size = BATCH * 2 * PLACES * PLACES
    assert attending(MIXED, "3.9.0") == [("float32", 4 * size), ("float16", 2 * size)]


def test_near_miss_attention_that_drops_weights_stays_in_16_bits() -> None:
    assert not attending(MIXED, "3.9.0", dropout=0.1)
    assert not attending("float32", "3.9.0")
    assert not attending(MIXED, "2.11.0")
