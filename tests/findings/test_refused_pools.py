"""The pool that TensorFlow makes at its start is no tensor that an op asks for."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, offered

_START = """\
2018-04-02 10:00:01.000001: I tensorflow/core/common_runtime/gpu/gpu_device.cc:1021] Creating TensorFlow\
 device (/job:localhost/replica:0/task:0/device:GPU:0 with 7000 MB memory) -> physical GPU (device: 0, name:\
 GTX, pci bus id: 0000:01:00.0, compute capability: 6.1)
"""
_REFUSED = """\
2018-04-02 10:00:01.000002: E tensorflow/stream_executor/cuda/cuda_driver.cc:936] failed to allocate {giga}G\
 ({count} bytes) from device: CUDA_ERROR_OUT_OF_MEMORY
"""


def _text(*sizes: int) -> str:
    return _START + "".join(_REFUSED.format(giga=f"{size / 2**30:.2f}", count=size) for size in sizes)


@pytest.mark.parametrize("sizes", [(7340064768,), (7340064768, 6606058240), (7708064768, 6937258291)])
def test_all_of_the_limit_is_the_pool(sizes: tuple[int, ...]) -> None:
    text = _text(*sizes)
    assert "the driver refused the pool" in explained(text).verdict
    assert "compare-shapes" not in offered(text)


@pytest.mark.parametrize("sizes", [(2 * 7340064768,), (8 * 7340064768, 72 * 734006476)])
def test_far_more_than_the_limit_is_a_request(sizes: tuple[int, ...]) -> None:
    assert "larger than the device's limit" in explained(_text(*sizes)).verdict
