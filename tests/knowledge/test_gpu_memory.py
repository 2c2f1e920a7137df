"""Sizes of GPUs by the names that drivers give them, and which boards have one memory for all."""

from __future__ import annotations

import pytest

from tfmemlens.knowledge.gpu_memory import least_bytes, shares_ram, with_vram
from tfmemlens.units import GIB


@pytest.mark.parametrize(
    "model, gib",
    [
        ("NVIDIA H200", 140),
        ("NVIDIA B200", 178),
        ("NVIDIA H100 80GB HBM3", 79),
        ("NVIDIA H800", 79),
        ("NVIDIA A100-SXM4-80GB", 79),
        ("NVIDIA A100-SXM4-40GB", 39),
        ("NVIDIA A40", 44),
        ("NVIDIA RTX A6000", 44),
        ("NVIDIA L40S", 44),
        ("NVIDIA A10G", 22),
        ("NVIDIA L4", 22),
        ("NVIDIA GeForce RTX 3090", 22),
        ("Tesla P40", 22),
        ("Tesla V100-SXM2-32GB", 31),
        ("Tesla V100-SXM2-16GB", 14),
        ("Tesla T4", 14),
        ("NVIDIA RTX A4000", 14),
        ("GeForce GTX 1080 Ti", 9),
        ("Tesla K80", 10),
        ("NVIDIA GeForce RTX 3060", 9),
        ("GeForce GTX 1080", 7),
        ("Tesla P4", 7),
        ("GeForce RTX 2080", 7),
    ],
)
def test_of_this_name(model: str, gib: int) -> None:
    assert least_bytes(model) == gib * GIB


@pytest.mark.parametrize(
    "model",
    [
        None,
        "",
        "GeForce GTX 1650",
        "NVIDIA A100-SXM4-40GB MIG 1g.5gb",
        "NVIDIA GeForce RTX 3080 Laptop GPU",
        "GeForce RTX 2080 with Max-Q Design",
        "Quadro RTX 6000 Mobile",
    ],
)
def test_of_parts_and_of_what_is_not_known(model: str | None) -> None:
    assert least_bytes(model) is None


@pytest.mark.parametrize(
    "model, shared",
    [
        ("NVIDIA Tegra X1", True),
        ("Orin", True),
        ("NVIDIA GB10", True),
        ("NVIDIA GB100", False),
        (None, False),
    ],
)
def test_boards_with_one_memory(model: str | None, shared: bool) -> None:
    assert shares_ram(model) is shared


@pytest.mark.parametrize(
    "text",
    [
        "my Titan RTX (24 GB RAM) is full",
        "on a GTX 1080 Ti [11GB of RAM]",
        "we have a GPU with 8 GB RAM",
        "the graphics card has only 4GB of RAM",
        "an 8 GB RAM GPU",
        "it takes 90% of a GPUs RAM",
    ],
)
def test_ram_that_is_given_to_a_card_is_its_own(text: str) -> None:
    assert with_vram(text) == text.replace("RAM", "VRAM")


@pytest.mark.parametrize(
    "text",
    [
        "RTX 3090, 64GB RAM",
        "an RTX 2080 Ti with 64 GB of RAM",
        "a GPU and 32 GB RAM",
        "a laptop (16 GB RAM) without a GPU",
        "- GPU: A100 80GB\n- System RAM: 512 GB",
    ],
)
def test_ram_beside_a_card_is_the_machines(text: str) -> None:
    assert with_vram(text) == text
