"""A sum of several GPUs' memory is none of one, and none adds memory to one forecast."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.units import GIB

ASKED = "Allocator (GPU_0_bfc) ran out of memory trying to allocate 5.96GiB"


@pytest.mark.parametrize(
    ("told", "gigabytes"),
    [
        ("4 GPUs, 48 vCPU and 64Gb GPU mem", 16),
        ("two GPUs, 48 GB of VRAM", 48),
        ("4 GPUs with 24 GB VRAM each", 24),
        ("4 GPUs, 52 GB of VRAM", None),
        ("a 24 GB card", 24),
    ],
)
def test_what_one_of_them_has(told: str, gigabytes: int | None) -> None:
    devices = pipeline.capture(f"graphcast on {told}\n{ASKED}\n").surroundings.named_devices
    assert [each.total.bytes // GIB for each in devices if each.total] == ([gigabytes] if gigabytes else [])


@pytest.mark.parametrize(("told", "several"), [("4 GPUs", True), ("one GPU", False)])
def test_one_forecast_is_computed_on_one(told: str, several: bool) -> None:
    verdict = pipeline.explain(f"Running graphcast on {told}\nimport jax\n{ASKED}\n").verdict
    assert "a weather model on the whole globe" in verdict
    assert ("add no memory to it" in verdict) is several


FOLDS = (
    "alphafold on {} with jax\nAllocator (GPU_0_bfc) ran out of memory trying to allocate 40.00GiB (rounded"
    " to 42949672960)requested by op{}\n"
)


@pytest.mark.parametrize(("told", "several"), [("two GPUs", True), ("one GPU", False)])
def test_one_structure_is_predicted_on_one(told: str, several: bool) -> None:
    verdict = pipeline.explain(FOLDS.format(told, "")).verdict
    assert "predicts a protein's structure" in verdict
    assert ("the structure of one input is computed on one GPU" in verdict) is several


def test_a_back_quote_behind_a_head_is_no_op() -> None:
    assert " in `" not in pipeline.explain(FOLDS.format("one GPU", "`")).verdict


@pytest.mark.parametrize(("told", "several"), [("4 GPUs", True), ("one GPU", False)])
@pytest.mark.parametrize("program", ["graphcast", "alphafold"])
def test_words_alone_say_it_too(program: str, told: str, several: bool) -> None:
    verdict = pipeline.explain(f"I ran {program} in jax on {told}, and GPU memory runs out.\n").verdict
    assert ("add no memory to it" in verdict) is several


RANK = (
    "[1,{}]<stderr>:2022-02-02 02:02:02.{}00000: E tensorflow/stream_executor/cuda/cuda_dnn.cc:37] Could not"
)


@pytest.mark.parametrize(("ranks", "several"), [((0, 1), True), ((0,), False)])
def test_ranks_without_room_for_a_handle_may_share_a_gpu(ranks: tuple[int, ...], several: bool) -> None:
    lines = [f"{RANK.format(rank, rank)} create cudnn handle: CUDNN_STATUS_INTERNAL_ERROR" for rank in ranks]
    report = pipeline.explain("\n".join((*lines, "")))
    slugs = [action.remedy.slug for action in report.actions]
    assert (slugs[0] == "one-device-each") is several
    assert ("2 processes of one job" in report.verdict) is several
