"""How many weights models have whose names do not say it, as their makers publish them."""

from __future__ import annotations

from tfmemlens.patterns import regex

_MILLIONS = {
    "whisper": {
        "tiny": 39, "base": 74, "small": 244, "medium": 769,
        "large": 1550, "large-v2": 1550, "large-v3": 1550,
    },
    "gpt2": {"": 124, "medium": 355, "large": 774, "xl": 1558},
    "bert": {"base": 110, "large": 335},
    "roberta": {"base": 125, "large": 355},
    "xlm-roberta": {"base": 278, "large": 560},
    "bart": {"base": 139, "large": 406},
    "t5": {"small": 60, "base": 220, "large": 770, "xl": 2850, "xxl": 11300},
    "flan-t5": {"small": 77, "base": 250, "large": 780, "xl": 2850, "xxl": 11300},
    "t5-v1_1": {"small": 77, "base": 250, "large": 780, "xl": 2850, "xxl": 11300},
    "mt5": {"small": 300, "base": 580, "large": 1230, "xl": 3740, "xxl": 12900},
    "stable-diffusion-v1": {"": 1070, "4": 1070, "5": 1070},
    "stable-diffusion-xl": {"": 3500, "base": 3500},
}  # fmt: skip
"""By family and size, in millions."""
_FAMILIES = "|".join(sorted(_MILLIONS, key=len, reverse=True))
_SIZES = "|".join(
    sorted({size for sizes in _MILLIONS.values() for size in sizes if size}, key=len, reverse=True)
)
_NAMED = regex(rf"(?i)(?<![\w.-])(?P<family>{_FAMILIES})(?:[-_](?P<size>{_SIZES}))?(?![a-z\d])")
_WORDS = tuple({family.rstrip("0123456789").partition("-")[0] for family in _MILLIONS})


def may_be_named(shape: str) -> bool:
    """Whether a line, whatever its figures, may name such a model."""
    small = shape.lower()
    return any(word in small for word in _WORDS)


def weights_of(text: str) -> int | None:
    """The weights of the largest such model that a text names: `openai/whisper-large-v2`."""
    found = (
        _MILLIONS[match["family"].lower()].get((match["size"] or "").lower())
        for match in _NAMED.finditer(text)
    )
    return max((millions * 10**6 for millions in found if millions), default=None)
