"""A single operation that needs little finds no room only where the device is full already."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline


def _of_one_operation(mebibytes: float) -> str:
    size = f"{mebibytes:.2f}MiB"
    return (
        f"RESOURCE_EXHAUSTED: Out of memory while trying to allocate {int(mebibytes * 2**20)} bytes.\n"
        "BufferAssignment OOM Debugging.\nBufferAssignment stats:\n"
        f"             parameter allocation:  {size}\n"
        "              constant allocation:         0B\n"
        f"        maybe_live_out allocation:  {size}\n"
        "     preallocated temp allocation:         0B\n"
        f"                 total allocation:  {2 * mebibytes:.2f}MiB\n"
    )


@pytest.mark.parametrize(("size", "full"), [(180.0, True), (290.0, True), (400.0, False)])
def test_one_small_operation_fails_on_a_full_device_alone(size: float, full: bool) -> None:
    verdict = pipeline.explain(f"import jax\n{_of_one_operation(size)}").verdict
    assert ("the device is full already" in verdict) is full
