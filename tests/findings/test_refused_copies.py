"""A copy that failed above the log of the allocator, and a driver that had refused the pool its region."""

from __future__ import annotations

import pytest

from tests.findings.logs import CPU, GPU
from tests.findings.pages import explained, offered

_COPY = (
    f"InternalError: Failed copying input tensor from {CPU} to {GPU} in order to run {{op}}: Dst tensor is"
    " not initialized.\n\n"
)
_REFUSED = (
    "2022-02-01 10:00:0{at}.100000: I tensorflow/stream_executor/cuda/cuda_driver.cc:733] failed to allocate"
    " {size} from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory\n"
)
_DUMP = (
    "2022-02-01 10:00:12.100000: W tensorflow/core/common_runtime/bfc_allocator.cc:479] Allocator (GPU_0_bfc)"
    " ran out of memory trying to allocate 480.00MiB (rounded to 503316480)requested by op {op}\n"
    "Current allocation summary follows.\n"
)
_LARGE, _SMALL = "6.00G (6442450944 bytes)", "512.00M (536870912 bytes)"


def _text(size: str, copied: str = "_EagerConst", asked: str = "_EagerConst") -> str:
    refused = "".join(_REFUSED.format(at=at, size=size) for at in (1, 2))
    return _COPY.format(op=copied) + refused + _DUMP.format(op=asked)


def test_a_copy_above_its_log_is_one_failure() -> None:
    report = explained(_text(_LARGE))
    (moment,) = report.case.moments
    assert moment.request and moment.request.needed_bytes == 480 << 20
    assert moment.incident and len(moment.incident.driver_failures) == 2


def test_a_copy_of_another_op_is_another_failure() -> None:
    assert len(explained(_text(_LARGE, asked="net/dense/MatMul")).case.moments) == 2


@pytest.mark.parametrize(("size", "by_others"), [(_LARGE, True), (_SMALL, False)])
def test_a_refused_region_says_that_another_holds_the_device(size: str, by_others: bool) -> None:
    assert ("another process holds part of it" in explained(_text(size)).verdict) is by_others
    assert (offered(_text(size))[0] == "see-device-users") is by_others


def test_without_figures_the_array_is_a_guess() -> None:
    assert "most likely a whole array" in explained(_COPY.format(op="_EagerConst")).verdict
