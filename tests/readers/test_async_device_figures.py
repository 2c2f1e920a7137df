"""What the driver says of the whole device below a request of its own pool."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline

LOGGED = "E1103 18:23:55.10{0} 34137{0} gpu_cudamallocasync_allocator.cc:{1}] "
ASKED = (
    LOGGED.format("1761", 361) + "gpu_async_3 cuMemAllocAsync failed to allocate 1225195446464 bytes:"
    " RESOURCE_EXHAUSTED: : CUDA_ERROR_OUT_OF_MEMORY: out of memory"
)
FREE = " Reported by CUDA: Free memory/Total memory: 22635544576/85095874560"
STATS = "Limit:                               0\nInUse:                     61982909300"


@pytest.mark.parametrize("between", ["\n", ""], ids=["its own line", "a wrap undone"])
@pytest.mark.parametrize("below", ["", STATS])
def test_the_device_is_the_limit_where_the_pool_states_none(between: str, below: str) -> None:
    (incident,) = pipeline.capture(f"{ASKED}{between}{FREE}\n{below}\n").incidents
    assert incident.state.limit and incident.state.limit.bytes == 85095874560
    assert incident.state.in_use and incident.state.in_use.bytes == (
        61982909300 if below else 85095874560 - 22635544576
    )


def test_without_that_line_nothing_is_known_of_it() -> None:
    (incident,) = pipeline.capture(f"{ASKED}\n{STATS}\n").incidents
    assert incident.state.limit is None
