"""Machines whose memory is another than a PC's: WSL2, and boards whose CPU and GPU share little RAM."""

from __future__ import annotations

from tfmemlens.readers.oom.rules import LineRule

PLATFORM = LineRule(
    r"(?P<value>WSL2|\bWSL\b|microsoft-standard|\b[Tt]egra\b|(?<![A-Za-z0-9_])"
    r"(?i:jetson|jeston)(?![A-Za-z0-9_])|name: (?:Orin|Xavier|NVIDIA Tegra)|\bNvMapMemAlloc\w*"
    r"|\b(?:[Tt]he|my|a) [Nn]ano\b|(?<![/.\w])(?i:raspberry ?pi|raspbian)\b(?!\.\w)|\bRPi ?\d?\b)",
    "Linux host 5.15.90.1-microsoft-standard-WSL2",
    "device: 0, name: NVIDIA Tegra X1, pci bus id: 0000:00:00.0, compute capability: 5.3",
    "NvMapMemAllocInternalTagged: 1074810371 error 12",
    "Windows WSL",
    "It works on my PC, and on a jetson xavier NX it ends",
    "the nano has not enough memory",
    "\u5728JETSON NANO\u4e0a\u8fd0\u884c",
    "My device is a Raspberry Pi 4 with 2 GB",
    needs=(
        "wsl",
        "microsoft-standard",
        "tegra",
        "jetson",
        "jeston",
        "orin",
        "xavier",
        "nano",
        "rasp",
        "rpi",
        "nvmap",
    ),
)
MACHINE = LineRule(
    r"(?i)\b[tmcgp]\d[a-z]{0,2}\.(?:nano|micro|small|medium|\d?x?large)\b"
    r"|\b(?:f1-micro|g1-small|e2-(?:micro|small|medium)|[en][12]-standard-\d)\b"
    r"|\b(?:free|hobby|basic|eco|standard-1x|\d{3,4} ?MB) (?:\w+ )?dynos?\b"
    r"|\bdynos?\b[^.;\n]{0,30}?\b\d{3,4} ?MB\b"
    r"|\b(?:raspberry ?pi|rpi|pi) ?(?:[23]|zero)\b|\bpi ?3 ?(?:model )?[ab]\b",
    "the notebook runs on a t2.small of EC2",
    "a free dyno of Heroku",
    "the dyno has 512 MB",
    "on my Pi Zero",
    "a VM of type e2-micro",
    needs=(
        ".nano",
        ".micro",
        ".small",
        ".medium",
        "large",
        "-micro",
        "-small",
        "-medium",
        "-standard-",
        "dyno",
        "pi",
    ),
)
"""A machine whose RAM its name tells."""
LITTLE_RAM = LineRule(
    r"(?i)(?<![\w.-])(?:[1-4]|[0-3]\.\d) ?G[i]?B?(?: of)? (?:(?:system|host|DDR\d) )?RAM\b"
    r"|(?<![\w.-])(?:256|512|768) ?M[i]?B?(?: of)? (?:(?:system|host|DDR\d) )?RAM\b"
    r"|(?<!GPU )(?<!V)\bRAM ?(?::|=|is|of) ?[1-4](?:\.\d)? ?G[i]?[Bo]?\b",
    "a laptop with 2 GB of RAM",
    "it has 512MB RAM",
    "RAM: 4GB",
    needs=("ram",),
)
"""RAM of a machine that is little, as figures state it."""
HOSTED = LineRule(
    r"\b[Cc]loud ?[Rr]un\b|\bApp ?Engine\b|\bCloud Functions?\b|\b(?:AWS )?Lambda function\b|\bAWS Lambda\b"
    r"|(?i:\bheroku\b)|\bStreamlit (?:Cloud|Sharing)\b|\b[Pp]ython ?[Aa]nywhere\b|\bAzure Functions?\b"
    r"|\bElastic Beanstalk\b",
    "Error on GCP's CloudRun",
    "I deploy it to Heroku",
    needs=("run", "engine", "function", "lambda", "heroku", "streamlit", "anywhere", "beanstalk"),
)
"""A service that runs programs in little RAM, without a GPU, and ends what takes more."""
MACHINES = {"a machine named": MACHINE, "little RAM stated": LITTLE_RAM, "on a hosted service": HOSTED}
_NAMES = (
    (("microsoft", "wsl"), "WSL2"),
    (("jetson", "jeston", "tegra", "nvmap", "name: ", "the nano", "my nano", "a nano"), "Jetson"),
    (("rasp", "rpi"), "Raspberry Pi"),
)
"""What a platform is called, by how its names begin."""


def platform(text: str) -> str | None:
    """The platform of a name of one; None of any other word."""
    small = text.lower()
    return next((name for starts, name in _NAMES if small.startswith(starts)), None)
