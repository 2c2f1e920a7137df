"""What a loop of the graph joins in each turn; and the tools and libraries of other makers' devices."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, first, offered

FAILED = (
    "Resource exhausted: OOM when allocating tensor with shape[{0}] and type float on"
    " /job:localhost/replica:0/task:0/device:{2} by allocator {3}\n\t [[node {1} (defined at s.py:8) ]]\n"
)
CUDA = ("GPU:0", "GPU_0_bfc")


@pytest.mark.parametrize("node", ["sample/while/concat", "net/while/decoder/layer_0/attention/concat_1"])
def test_a_cache_that_a_loop_makes_longer(node: str) -> None:
    text = FAILED.format("2,16,777,64", node, *CUDA)
    assert "777 rows" in explained(text).verdict
    assert "fewer turns" in first(text)


@pytest.mark.parametrize(
    ("shape", "node"),
    [
        ("2,16,776,64", "sample/while/concat"),
        ("777,16,64", "sample/while/concat"),
        ("64,777", "rnn/while/lstm_cell/concat"),
        ("2,16,777,64", "sample/concat"),
        ("2,16,777,64", "sample/while/concat_grad/mul"),
    ],
)
def test_other_joins(shape: str, node: str) -> None:
    assert "this loop joins" not in explained(FAILED.format(shape, node, *CUDA)).verdict


def test_one_sample_has_no_smaller_batch() -> None:
    assert "smaller-batch" not in offered(FAILED.format("1,16,777,64", "sample/while/concat", *CUDA))


def test_who_holds_a_device_of_directml() -> None:
    text = FAILED.format("8,64,56,56", "conv/Conv2D", "DML:0", "DmlAllocator")
    codes = [action.remedy.code or "" for action in explained(text).actions]
    assert not any("nvidia-smi" in code for code in codes)
    cuda = [
        action.remedy.code for action in explained(FAILED.format("8,64,56,56", "conv/Conv2D", *CUDA)).actions
    ]
    assert not any("Get-Counter" in (code or "") for code in cuda)


def test_a_file_of_the_library_is_no_handle() -> None:
    said = (
        "MIOpen Error: /src/MIOpen/hip/handlehip.cpp:70: Memory not available to allocate buffer: 314572800\n"
    )
    assert "for its workspace of 300.00 MiB" in explained(said).verdict
    assert "for its handle" in explained("could not create cudnn handle: CUDNN_STATUS_ALLOC_FAILED\n").verdict
