"""What is said of a dump whose tensors have no names, and of the request that it does not hold."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline

HEAD = "2020-01-01 00:00:00.0: I tensorflow/core/common_runtime/bfc_allocator.cc:"
BINS = "".join(
    f"{HEAD}929] Bin ({256 << size}): \tTotal Chunks: 2, Chunks in use: 2. {512 << size}B allocated"
    f" for chunks. {512 << size}B in use in bin. {512 << size}B client-requested in use in bin.\n"
    for size in range(3)
)
SAYS = "the dump names no tensors"
ROW = f"{HEAD}983] 1 Chunks of size 4294967296 totalling 4.00GiB\n"


def test_what_is_not_known_is_said() -> None:
    assert f"{SAYS}, and what was asked for is not in this text" in pipeline.explain(BINS).verdict


@pytest.mark.parametrize(
    "text", [BINS, ROW, f"{BINS}{HEAD}945] Bin for 512.00MiB was 256.00MiB, Chunk State: \n"]
)
def test_a_dump_alone_gets_what_helps_most(text: str) -> None:
    slugs = [action.remedy.slug for action in pipeline.explain(text).actions]
    assert {"smaller-batch", "smaller-input"} & set(slugs)


def test_a_dump_with_its_message_has_that_request() -> None:
    message = "ResourceExhaustedError: OOM when allocating tensor with shape[64,1024,1024] and type float\n"
    assert SAYS not in pipeline.explain(ROW + message).verdict


def test_the_file_that_tensorflow_writes_is_whole() -> None:
    from tests.conftest import SAMPLES

    assert SAYS not in pipeline.explain(SAMPLES / "memory_dump" / "2.11-unet.pb").verdict
