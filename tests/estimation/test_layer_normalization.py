"""LayerNormalization as the two lines of Keras compute it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.estimation.test_time_steps import ops, step
from tests.estimation.test_updates import layer, network
from tfmemlens.model.network import Network


def normalised(version: str, **config: Any) -> Network:
    """A series, a dense layer, a LayerNormalization and another dense layer."""
    return network(
        [
            layer("InputLayer", "x", batch_shape=[None, 10, 6]),
            layer("Dense", "before", "x", units=8),
            layer("LayerNormalization", "norm", "before", **config),
            layer("Dense", "after", "norm", units=8),
        ],
        version,
    )


def test_layer_normalization_of_keras_2_takes_the_kernel_of_batch_normalization() -> None:
    """On the CPU that turns what it reads and makes: two tensors forward, three back."""
    predicted = step(normalised("2.11.0", axis=[2]), 4)
    whole = 4 * 10 * 8 * 4
    assert [op.temporary_bytes for op in ops(predicted, "FusedBatchNormV3")] == [2 * whole]
    assert [op.temporary_bytes for op in ops(predicted, "FusedBatchNormGradV3")] == [3 * whole]
    assert not [op for op in ops(predicted, "SquaredDifference") if "norm" in op.name]


@pytest.mark.parametrize(
    ("version", "config"),
    [
        ("2.11.0", {"axis": [2], "epsilon": 1e-6}),
        ("2.11.0", {"axis": [1]}),
        ("2.11.0", {"axis": [2], "dtype": "float16"}),
        ("3.9.0", {"axis": -1}),
    ],
)
def test_near_miss_it_computes_moments_with_a_small_epsilon_other_axes_or_types_and_in_keras_3(
    version: str, config: dict[str, Any]
) -> None:
    assert not ops(step(normalised(version, **config), 4), "FusedBatchNormV3")


def test_onednn_reads_a_layer_normalization_as_it_lies() -> None:
    predicted = step(normalised("2.11.0", axis=[2]), 4, onednn=True)
    assert [op.temporary_bytes for op in ops(predicted, "FusedBatchNormV3")] == [0]


def test_without_scale_and_offset_the_kernels_output_is_the_layers() -> None:
    predicted = step(normalised("2.11.0", axis=[2], scale=False, center=False), 4)
    (kernel,) = ops(predicted, "FusedBatchNormV3")
    assert len(kernel.writes) == 5  # with the mean and the variance of each sample, twice
    assert kernel.writes[0] in next(op for op in ops(predicted, "MatMul") if "after" in op.name).reads
