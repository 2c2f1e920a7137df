"""How much HBM a device of a TPU has: a core of v2 and v3, later a chip, half a chip of v7x."""

from __future__ import annotations

from tfmemlens.patterns import regex
from tfmemlens.units import GIB

_SIZES = {
    "v2": 8, "v3": 16, "v4": 32, "v5e": 16, "v5litepod": 16, "v5p": 95, "v6e": 32, "v7x": 95, "v7": 95,
    "trillium": 32, "ironwood": 95,
}  # fmt: skip
_NAMED = regex(
    r"(?i)\b(?:tpu[ -]?(?P<v>v?[2-7][epx]?)\b|(?P<sliced>v[2-7](?:[epx]|litepod)?)-\d{1,4}\b"
    r"|(?P<alone>v5e|v5p|v6e|v7x|trillium|ironwood)\b)"
)


def named(text: str) -> tuple[str, int] | None:
    """The generation that a text names, `v5e`, and the bytes of one of its devices."""
    for match in _NAMED.finditer(text):
        name = (match["v"] or match["sliced"] or match["alone"]).lower()
        name = name if not name[0].isdigit() else f"v{name}"
        if name in _SIZES:
            return name, _SIZES[name] * GIB
    return None
