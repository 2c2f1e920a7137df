"""Machines whose memory is another than a PC's: WSL2, and boards whose CPU and GPU share little RAM."""

from __future__ import annotations

from tfmemlens.readers.oom.rules import LineRule

PLATFORM = LineRule(
    r"(?P<value>WSL2|\bWSL\b|microsoft-standard|\b[Tt]egra\b|(?<![A-Za-z0-9_])"
    r"(?i:jetson|jeston)(?![A-Za-z0-9_])|name: (?:Orin|Xavier|NVIDIA Tegra)"
    r"|\b(?:[Tt]he|my|a) [Nn]ano\b|(?<![/.\w])(?i:raspberry ?pi|raspbian)\b(?!\.)|\bRPi ?\d?\b)",
    "Linux host 5.15.90.1-microsoft-standard-WSL2",
    "device: 0, name: NVIDIA Tegra X1, pci bus id: 0000:00:00.0, compute capability: 5.3",
    "Windows WSL",
    "It works on my PC, and on a jetson xavier NX it ends",
    "the nano has not enough memory",
    "\u5728JETSON NANO\u4e0a\u8fd0\u884c",
    "My device is a Raspberry Pi 4 with 2 GB",
    needs=("wsl", "microsoft-standard", "tegra", "jetson", "jeston", "orin", "xavier", "nano", "rasp", "rpi"),
)
_NAMES = (
    (("microsoft", "wsl"), "WSL2"),
    (("jetson", "jeston", "tegra", "name: ", "the nano", "my nano", "a nano"), "Jetson"),
    (("rasp", "rpi"), "Raspberry Pi"),
)
"""What a platform is called, by how its names begin."""


def platform(text: str) -> str | None:
    """The platform of a name of one; None of any other word."""
    small = text.lower()
    return next((name for starts, name in _NAMES if small.startswith(starts)), None)
