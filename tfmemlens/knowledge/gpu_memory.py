"""How much memory GPUs have at least, by the names that their drivers give them."""

from __future__ import annotations

from tfmemlens.patterns import regex
from tfmemlens.units import GIB

_SIZES = (
    (r"H200", 140),
    (r"B200", 178),
    (r"H100|H800", 79),
    (r"A100.*80|A800", 79),
    (r"A100", 39),
    (r"A40\b|RTX A6000|RTX 6000 Ada|L40", 44),
    (r"A10G?\b|L4\b|RTX A5000|TITAN RTX|RTX 3090|RTX 4090|Tesla P40|Quadro RTX 6000", 22),
    (r"V100.*32", 31),
    (r"V100|Tesla T4|\bT4\b|P100|A4000|A16\b|RTX 4080|Quadro P5000", 14),
    (r"Tesla K80|K40|TITAN X|TITAN V", 10),
    (r"1080 Ti|2080 Ti|RTX 3080|RTX 3060\b", 9),
    (r"GTX 1080|GTX 1070|RTX 2080|RTX 2070|RTX 3070|RTX 4060|RTX 4070|M60|P4\b", 7),
)
_KNOWN = tuple((regex(pattern), size) for pattern, size in _SIZES)
_OLDER = regex(
    r"(?i)\b(?:GTX )?(?:9[5-8]0|10[1-8]0)(?: Ti)?(?:\Z|\b(?! SUPER))|\b(?:P100|P40|P4|K80|K40|M60|M40)\b"
    r"|TITAN Xp?\b|\bGT 1030\b"
)
_FOR_GAMES = regex(r"(?i)\b(?:GTX|GeForce)\b|\b(?:RTX ?)?(?:[1-5]0|16)[5-9]0\b|\bTitan\b")
_SHARED = regex(r"Tegra|Orin|Xavier|Jetson|\bThor\b|NVIDIA GB10\b")


def least_bytes(model: str | None) -> int | None:
    """What a GPU of this name has at least; None for names that are not known, and for parts of a GPU."""
    if not model or "MIG" in model or "Laptop" in model or "Mobile" in model or "Max-Q" in model:
        return None
    return next((size * GIB for pattern, size in _KNOWN if pattern.search(model)), None)


def is_older(model: str | None) -> bool:
    """Whether a GPU of this name has no tensor cores: Pascal, Maxwell, Kepler."""
    return bool(model and _OLDER.search(model))


_TURING_OR_VOLTA = regex(r"(?i)\bV100\b|\bT4\b|\b20[678]0\b|\b16[56]0\b|\bTITAN (?:RTX|V)\b")


def is_before_ampere(model: str | None) -> bool:
    """Whether a GPU of this name is Turing, Volta or older: cuDNN has no fused attention for it."""
    return is_older(model) or bool(model and _TURING_OR_VOLTA.search(model))


def is_for_games(model: str | None) -> bool:
    """Whether a GPU of this name is sold for games: such a machine hardly has several."""
    return bool(model and _FOR_GAMES.search(model))


def shares_ram(model: str | None) -> bool:
    """Whether CPU and GPU of this board have one memory between them."""
    return bool(model and _SHARED.search(model))


_SERIES = r"(?:GeForce|RTX|GTX|TITAN|Tesla|Quadro|Radeon)"
_MODEL = r"(?: ?[A-Z]{0,3}\d{1,4}\w{0,2}| Xp?| V| RTX| GTX| ?Ti| Super){0,3}"
_ANY_CARD = r"(?:GPUs?|graphics? cards?|video cards?)"
_CARD = rf"\b(?:{_ANY_CARD}|{_SERIES}{_MODEL}|[AV]100|A40|A10G?|P100|K80|T4)\b"
_SO_MUCH = r"\d[\d.]{0,6} ?[GM]i?B?(?: of)?(?: (?:GDDR\dX?|dedicated|onboard))?"
_RAM_OF_A_CARD = regex(
    rf"(?i)(?:(?P<before>{_CARD} ?[(\[]{_SO_MUCH} )"
    rf"|(?P<has>\b{_ANY_CARD} (?:\w{{1,12}} )?(?:has|have|with|of) (?:\w{{1,8}} )?{_SO_MUCH} )"
    r"|(?P<owner>\b(?:GPU|card)(?:'s|s'?)? ))RAM\b"
    rf"|(?P<amount>{_SO_MUCH} )RAM(?= {_ANY_CARD}\b)"
)
"""Memory of a card that its owner calls RAM: `a Titan RTX (24GB RAM)`, `a GPU with 8 GB RAM`."""


def with_vram(text: str) -> str:
    """The text with `VRAM` for the RAM that it gives to a graphics card."""
    return _RAM_OF_A_CARD.sub(lambda match: f"{next(filter(None, match.groups()))}VRAM", text)
