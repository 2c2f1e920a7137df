"""Figures that prose tells of several times, and what its writer's own test clears."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline


@pytest.mark.parametrize(
    "text",
    [
        "RSS: 800 MB at the start, after 50 requests 1.9 GB, after 200 requests 5.2 GB",
        "htop shows 4 GB in the first epoch, 9 GB in the 3rd, and by epoch 7 it is 21 GB",
        "The RAM at 01:00 is 6.1 GiB, 9.4 GiB at 02:00, 12.8 GiB at 03:00",
        "Every fold leaks about 700 MB of RAM",
    ],
)
def test_figures_that_rise_from_time_to_time_are_growth(text: str) -> None:
    assert "grows (line 1" in pipeline.explain(f"{text}\nimport tensorflow as tf\n").verdict


@pytest.mark.parametrize(
    "text",
    [
        "memory: the data has 3 GB, the model 5 GB, the GPU 11 GB",
        "RAM is 8 GB in epoch 1, 8.1 GB at epoch 2 and 8.2 GB by epoch 9",
    ],
)
def test_figures_of_several_things_or_that_waver_are_none(text: str) -> None:
    assert "grows" not in pipeline.explain(f"{text}\nimport tensorflow as tf\n").verdict


_ON_A_MAC = """tensorflow-metal 1.1 on an M2 Pro, the RAM of python climbs in each epoch until it swaps.
{test}
"""


def test_a_program_that_stays_flat_on_the_cpu_of_a_mac_points_to_the_plugin() -> None:
    report = pipeline.explain(_ON_A_MAC.format(test="With the CPU it stays at 3 GB all day."))
    assert "most likely the plugin for the Mac's GPU" in report.verdict
    report = pipeline.explain(_ON_A_MAC.format(test="I have not tried the CPU."))
    assert "plugin" not in report.verdict


_PINNED = """E tensorflow/stream_executor/cuda/cuda_driver.cc:1] failed to alloc {size} bytes on host: {error}
W ./tensorflow/core/common_runtime/gpu/pool_allocator.h:1] could not allocate pinned host of size: {size}
"""


def test_next_to_nothing_that_the_driver_refuses_for_another_reason_is_no_lack_of_ram() -> None:
    report = pipeline.explain(_PINNED.format(size=4096, error="CUDA_ERROR_UNKNOWN: unknown error"))
    assert report.verdict.startswith("The GPU's driver refused 4.0 KiB of pinned host RAM")
    assert not any("bystander" in each.headline for each in report.findings)


@pytest.mark.parametrize(
    ("size", "error"), [(4096, "CUDA_ERROR_OUT_OF_MEMORY"), (4294967296, "CUDA_ERROR_UNKNOWN")]
)
def test_a_lack_by_the_drivers_word_or_much_of_it_stays_one(size: int, error: str) -> None:
    report = pipeline.explain(_PINNED.format(size=size, error=error))
    assert report.verdict.startswith("Host RAM (not GPU memory) ran out")


def test_a_question_beside_the_warning_of_a_cache_is_no_failure_where_steps_follow() -> None:
    text = (
        "Does my memory run out?\n"
        "W tensorflow/core/kernels/data/cache_dataset_ops.cc:856] The calling iterator did not fully read the"
        " dataset being cached.\n"
        "Epoch 2/9\n50/50 [==============================] - 4s 81ms/step - loss: 0.41\n"
    )
    assert "ran out" not in pipeline.explain(text).verdict
