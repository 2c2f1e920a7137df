"""Ranks and processes that a text tells of use one GPU."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, offered

_MPI = """\
[1,{rank}]<stderr>:2019-01-02 10:00:00.000001: E tensorflow/stream_executor/cuda/cuda_driver.cc:828] failed\
 to allocate 3.10G (3328599654 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory
"""


@pytest.mark.parametrize(("rank", "told"), [(2, True), (0, False)])
def test_a_later_rank_is_refused_what_the_first_took(rank: int, told: bool) -> None:
    report = explained(_MPI.format(rank=rank))
    assert ("not the first of its job" in report.verdict) is told
    assert ("one-device-each" in offered(_MPI.format(rank=rank))) is told


_ADVICE = """Out of memory of Keras

\uc11c\ubc84\uc5d0\uc11c \uc5ec\ub7ec keras process\ub97c \uc2e4\ud589\ud560 \ub54c GPU memory OOM.

config.gpu_options.allow_growth = True
"""


def test_what_a_text_advises_is_no_setting_that_failed() -> None:
    report = explained(_ADVICE)
    assert "several processes on one GPU" in report.verdict
    assert "only lets it start with less" not in report.verdict
    assert offered(_ADVICE)[0] == "what-ended-it"


def test_one_process_shares_with_nobody() -> None:
    text = _ADVICE.replace("\uc5ec\ub7ec ", "")
    assert "several processes on one GPU" not in explained(text).verdict


@pytest.mark.parametrize(("card", "limit"), [(" on a card of 6 GB", 2764), ("", 4000)])
def test_the_part_of_each_fits_the_card(card: str, limit: int) -> None:
    text = (
        f"Two training processes share one GPU{card}.\n"
        f"My GPU: GTX 1060{' 6GB' if card else ''}\n"
        "RESOURCE_EXHAUSTED: OOM when allocating tensor with shape[4,400,400,64] and type float on"
        " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n"
    )
    codes = [action.remedy.code or "" for action in explained(text).actions]
    assert any(f"memory_limit={limit}" in code for code in codes)
