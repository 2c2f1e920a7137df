"""Sizes that no machine has, and words of a frozen graph: neither tells of a lack of memory."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained as answer

ABORTED = "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n"
APPEND = "#6  0x0000555 in std::vector<char>::_M_default_append (this=0x7ffe, __n={0}) at vector.tcc:600\n"


@pytest.mark.parametrize("count", ["9223372036854775807", "18446744073709551615"])
def test_a_frame_with_a_count_that_ran_over(count: str) -> None:
    verdict = answer(ABORTED + APPEND.format(count)).verdict
    assert verdict.startswith("Not a lack of memory: the program asked for")
    assert "line 3" in verdict


def test_a_frame_with_a_count_that_a_machine_may_have() -> None:
    assert "Host RAM" in answer(ABORTED + APPEND.format("53687091200")).verdict


UNIFIED = "failed to alloc {0} bytes unified memory; result: CUDA_ERROR_OUT_OF_MEMORY: out of memory\n"


def test_unified_memory_of_a_count_that_ran_over() -> None:
    assert "no machine has" in answer(UNIFIED.format("18446744073709551615")).verdict
    assert "no machine has" not in answer(UNIFIED.format("34359738368")).verdict


REFUSED = "failed to allocate {0} from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory\n"
OWN = "2021-02-01 16:19:17.812101: E tensorflow/stream_executor/cuda/cuda_driver.cc:828] "
TITLE = "# E tensorflow/stream_executor/cuda/cuda_driver.cc:828] "


def test_the_log_is_read_and_not_a_heading_that_quotes_another() -> None:
    ladder = OWN + REFUSED.format("127.90TiB (140627479199334 bytes)")
    found = answer(TITLE + REFUSED.format("1.20G (1288490188 bytes)") + "\nMine, with ROCm:\n\n" + ladder)
    assert "a wrong figure" in found.verdict


def test_a_ladder_that_begins_with_the_text_is_one_of_its_own() -> None:
    first, second = (
        REFUSED.format(size) for size in ("4.00G (4294967296 bytes)", "3.60G (3865470566 bytes)")
    )
    assert "region of 4.00 GiB" in answer(OWN + first + OWN + second).verdict


def test_a_figure_of_exbibytes_is_read() -> None:
    assert "a wrong figure" in answer(OWN + REFUSED.format("16.00E (18446744073709551360 bytes)")).verdict


FROZEN = "I {0}. The other one works without any issue, and the frozen model throws this:\n\n" + ABORTED
TENSOR = (
    "Resource exhausted: OOM when allocating tensor with shape[16,64,112,112] and type float on"
    " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n"
)


def test_a_frozen_graph_is_no_model_with_frozen_layers() -> None:
    found = answer(FROZEN.format("saved a trained model unfrozen, and froze it to a graph"))
    assert "gradients" not in found.verdict


def test_frozen_layers_in_a_training_that_went_well() -> None:
    said = "With the encoder frozen it trains fine. When I set encoder.trainable = True:\n\n"
    assert "gradients" in answer(said + TENSOR).verdict
