"""Which of a TPU's small memories a kernel overran, and which kernel, on one line and on several."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.incident import FailedRequest

HEAD = "RESOURCE_EXHAUSTED: Allocation (size=2097152) would exceed memory (size=1048576)"
BELOW = ":: #allocation3 [shape = 'u8[2097152]{0}', space=smem, size = 0x200000, scoped,"
TAG = "tag = 'prefetched SMEM operand 0'] :: mha_fwd.3"


def failed(text: str) -> FailedRequest:
    request = pipeline.explain(text).case.moments[0].request
    assert request
    return request.failed


@pytest.mark.parametrize("between", [" ", "\n", "\n   "])
def test_the_kernel_and_its_memory(between: str) -> None:
    found = failed(f"{HEAD}{between}{BELOW}{between}{TAG}\n")
    assert (found.allocator, found.executable) == ("smem", "mha_fwd.3")
    assert found.size and found.size.bytes == 2 << 20


def test_without_the_rest_neither_is_known() -> None:
    assert failed(f"{HEAD}\n").allocator is None


def test_the_rest_alone_is_no_failure() -> None:
    assert not pipeline.explain(f"{BELOW}\n{TAG}\n").case.moments
