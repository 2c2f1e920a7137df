"""Products of matrices in 16 bits on a CPU: TensorFlow's kernel copies both operands to float32, computes a
float32 result and narrows it (`BaseBatchMatMulOp::Compute` in core/kernels/matmul_op_impl.h).

TensorFlow 2.11 does so for bfloat16, 2.21 for float16, too (measured in both; which version between them
began is not known, so Keras 3 stands for it: 2.16 on). oneDNN multiplies bfloat16 as it is, and keeps a
float32 result of float16 alone.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from tfmemlens.knowledge.ops.record import Layout
from tfmemlens.knowledge.ops.shapes import products
from tfmemlens.knowledge.ops.table import those

HALVES = frozenset(("float16", "bfloat16"))
PRODUCTS = those(
    lambda each: each.shape in (products.matmul, products.batch_matmul) and each.layout is Layout.REARRANGING
)
"""`MatMul` and the `BatchMatMul`s: those that a rewriting of the graph makes are oneDNN's or fused."""
_WIDE_BYTES = 4


def widened(keras_3: bool, device: str) -> frozenset[str]:
    """The types whose products are computed in float32 copies there."""
    if device != "cpu":
        return frozenset()
    return HALVES if keras_3 else frozenset(("bfloat16",))


def float32_bytes(
    op: str,
    dtype: str,
    operands: Sequence[Sequence[int]],
    result: Sequence[int],
    wide: Collection[str],
    onednn: bool,
) -> int:
    """What a kernel holds beside its operands and its result; 0 for ops that are no products, and for types
    that are not widened.
    """
    if op not in PRODUCTS or dtype not in wide:
        return 0
    if onednn:
        return _WIDE_BYTES * math.prod(result) if dtype == "float16" else 0
    return _WIDE_BYTES * sum(math.prod(shape) for shape in (*operands, result))
