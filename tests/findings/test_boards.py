"""Boards whose CPU and GPU share little RAM: their own remedies, whatever ran out there."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tests.findings.test_texts_of_strangers import explained, leading
from tfmemlens.readers.oom.switches import settings

WEIGHT = oom("3,3,256,640", "lane/conv7/kernel/Initializer/random_uniform/RandomUniform")


def platforms(text: str) -> list[str]:
    return [value for name, value in settings(text) if name == "platform"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("it runs on a jetson xavier NX only", ["Jetson"]),
        ("could this be too much for a Jetson TX2?", ["Jetson"]),
        ("Found device 0: name: NVIDIA Tegra X1", ["Jetson"]),
        ("it is fine here, but the nano has not enough memory", ["Jetson"]),
        ("Raspberry Pi 4B, 2 GB", ["Raspberry Pi"]),
        ("Linux raspberrypi 5.10.17-v7l+ armv7l", ["Raspberry Pi"]),
        ("see https://www.raspberrypi.org/forums/viewtopic.php?t=1", []),
        ("took a nanosecond", []),
        ("Linux host 5.15.90.1-microsoft-standard-WSL2", ["WSL2"]),
    ],
)
def test_the_board_is_known_by_its_names(text: str, name: list[str]) -> None:
    assert platforms(text) == name


def slugs(text: str) -> list[str]:
    return [action.remedy.slug for action in explained(text).actions]


def test_a_jetson_frees_the_ram_that_its_gpu_shares() -> None:
    text = f"I load the detector on a Jetson Nano:\n{WEIGHT}"
    assert leading(text) == "shared-memory-board"
    assert slugs(text)[:3] == ["free-shared-ram", "smaller-model", "add-swap"]
    assert leading(WEIGHT) != "shared-memory-board"


def test_no_tool_is_named_that_a_jetson_lacks() -> None:
    commands = [action.remedy.code or "" for action in explained(f"on a Jetson Nano\n{WEIGHT}").actions]
    assert not any("nvidia-smi" in code for code in commands)
    assert any("nvidia-smi" in (each.remedy.code or "") for each in explained(WEIGHT).actions)


def test_a_pool_that_is_tiny_is_what_a_board_had_left() -> None:
    stats = "Stats: \nLimit:     41947136\nInUse:      9437184\nMaxInUse:   9437184\n"
    said = f"{stats}{'*' * 100}\n{WEIGHT}"
    assert "TensorFlow got 40.00 MiB when it started" in explained(f"Jetson Nano 2GB\n{said}").verdict
    assert leading(said) in ("device-held-by-others", "limit-of-your-own", "cut-dump")


def test_words_alone_are_answered_by_the_boards_own_remedies() -> None:
    text = "out of memory when I start your lane net on my jetson nano"
    assert slugs(text)[0] == "free-shared-ram"
    assert explained(text).verdict.endswith("CPU and GPU of this board (Jetson) share one RAM.")
    assert slugs("out of memory when I start your lane net on my PC")[0] == "smaller-batch"


def test_a_killed_program_on_a_raspberry_pi_has_no_input_pipeline_to_shrink() -> None:
    text = (
        "I run the detector on a Raspberry Pi 3:\n"
        "W tensorflow/core/framework/cpu_allocator_impl.cc:81] Allocation of 21233664 exceeds 10% of system"
        " memory.\nKilled\n"
    )
    assert slugs(text)[0] == "free-shared-ram"
    assert "smaller-pipeline" not in slugs(text)
    assert "smaller-pipeline" in slugs("Epoch 1/5\n" + text.replace("a Raspberry Pi 3", "my server"))
    assert "smaller-input" in slugs(text.replace("a Raspberry Pi 3", "my server"))


PINNED = (
    "W ./tensorflow/core/common_runtime/gpu/pool_allocator.h:195] could not allocate pinned host memory of"
    " size: 267264\n"
    "E tensorflow/stream_executor/cuda/cuda_driver.cc:967] failed to alloc 240640 bytes on host:"
    " CUDA_ERROR_OUT_OF_MEMORY\n"
)


@pytest.mark.parametrize(
    ("machine", "growth"),
    [("name: NVIDIA Tegra X2\n", True), ("name: Tesla K80\n", False), ("Raspberry Pi 4B\n", False)],
)
def test_a_pool_that_grows_leaves_the_boards_ram_to_the_cpu(machine: str, growth: bool) -> None:
    assert (slugs(PINNED + machine)[0] == "growth-on-a-board") is growth
    assert "growth-on-a-board" not in slugs(f"config.gpu_options.allow_growth = True\n{PINNED}{machine}")
