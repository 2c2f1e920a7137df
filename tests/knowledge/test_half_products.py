"""Products of matrices in 16 bits: what TensorFlow's CPU kernels hold beside operands and result."""

from __future__ import annotations

import pytest

from tfmemlens.knowledge.half_products import float32_bytes, widened

A, B, C = (2048, 768), (768, 512), (2048, 512)
ALL_IN_FLOAT32 = 4 * (2048 * 768 + 768 * 512 + 2048 * 512)


@pytest.mark.parametrize(
    "dtype, keras_3, onednn, extra",
    [
        ("float16", True, False, ALL_IN_FLOAT32),  # 11.5 MiB of 13.5 measured, chunks and all (2.21)
        ("bfloat16", True, False, ALL_IN_FLOAT32),
        ("bfloat16", False, False, ALL_IN_FLOAT32),  # 2.11
        ("float16", False, False, 0),
        ("float16", True, True, 4 * 2048 * 512),
        ("bfloat16", True, True, 0),
        ("float32", True, False, 0),
    ],
)
def test_both_operands_and_the_result_are_widened(
    dtype: str, keras_3: bool, onednn: bool, extra: int
) -> None:
    assert float32_bytes("MatMul", dtype, (A, B), C, widened(keras_3, "cpu"), onednn) == extra


def test_near_miss_other_ops_and_devices_widen_nothing() -> None:
    assert float32_bytes("Conv2D", "float16", (A, B), C, widened(True, "cpu"), False) == 0
    assert float32_bytes("MatMul", "float16", (A, B), C, widened(True, "gpu"), False) == 0
