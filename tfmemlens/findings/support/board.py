"""Boards whose CPU and GPU share one RAM, and what helps on them, whatever ran out there."""

from __future__ import annotations

from tfmemlens.knowledge.gpu_memory import shares_ram
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line

JETSON, RASPBERRY_PI = "Jetson", "Raspberry Pi"


MAKE_SWAP = (
    "sudo fallocate -l 4G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo"
    " swapon /swapfile"
)
ADD_SWAP = Remedy(
    "or add swap on a fast disk, which holds what the CPU does not use just then (slow, and hard on"
    " an SD card)",
    MAKE_SWAP,
    slug="add-swap",
)
_TRAIN_ELSEWHERE = Remedy(
    "train on another machine, and let the board run the trained model: a step keeps the outputs of all"
    " layers for the gradients; here only a batch of 1, smaller inputs or a smaller net can fit",
    slug="train-elsewhere",
)


def board(case: Case) -> tuple[str, Line | None] | None:
    """Which board the program runs on, with the line that says so; None of other machines."""
    told = case.capture.surroundings
    device = next((each for each in told.devices if shares_ram(each.model)), None)
    if device and device.model:
        return device.model, device.line
    stated = told.setting("platform")
    return stated if stated and stated[0] in (JETSON, RASPBERRY_PI) else None


def what_helps(name: str, converts: bool = False, trains: bool = False) -> tuple[Remedy, ...]:
    """The board's own remedies: its RAM is small, and all programs take from it. A conversion with TensorRT
    that fails is no way to a smaller model, and none helps who trains.
    """
    small = name == RASPBERRY_PI
    other = "" if converts else "convert it with TensorRT in float16, or "
    if trains:
        return (*what_helps(name)[:1], _TRAIN_ELSEWHERE, *what_helps(name)[2:])
    return (
        Remedy(
            "free RAM before the program starts: run without a desktop, close browsers and other programs,"
            " and watch what is left",
            "sudo systemctl isolate multi-user.target   # then: free -m"
            if small
            else "sudo systemctl isolate multi-user.target   # then: tegrastats",
            slug="free-shared-ram",
        ),
        Remedy(
            "run a smaller model: one made for such boards (a MobileNet, a tiny detector), converted to"
            " TensorFlow Lite with 8-bit weights"
            if small
            else f"run a smaller model: {other}a net made for such boards",
            slug="smaller-model",
        ),
        ADD_SWAP,
    )
