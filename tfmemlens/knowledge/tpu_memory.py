"""How much HBM a device of a TPU has: a core of v2 and v3, later a chip, half a chip of v7x; and how much
vmem each core has.
"""

from __future__ import annotations

import re

from tfmemlens.patterns import regex
from tfmemlens.units import GIB, MIB

_SIZES = {
    "v2": 8, "v3": 16, "v4": 32, "v5e": 16, "v5litepod": 16, "v5p": 95, "v6e": 32, "v7x": 95, "v7": 95,
    "trillium": 32, "ironwood": 95,
}  # fmt: skip
_VMEM = {
    "v2": 16, "v3": 16, "v4": 16, "v5e": 128, "v5litepod": 128, "v5p": 64, "v6e": 128, "v7x": 64, "v7": 64,
    "trillium": 128, "ironwood": 64,
}  # fmt: skip
"""MiB of a core, as `pltpu.get_tpu_info` of jax 0.10.2 has it."""
_NAMED = regex(
    r"(?i)\b(?:tpu[ -]?(?P<v>v?[2-7](?:[epx]\b| ?lite\b|litepod\b)?)(?![a-z])"
    r"|(?P<sliced>v[2-7](?:[epx]|lite(?:pod)?)?)-\d{1,4}\b"
    r"|(?<!tf )(?<!tensorflow )(?P<before>v[2-7][epx]?)(?:\.\d{1,3})? tpus?\b"
    r"|(?P<alone>v5e|v5p|v6e|v7x|trillium|ironwood)\b)"
)
_LITE = {"v5 lite": "v5e", "v5lite": "v5e", "v6 lite": "v6e", "v6lite": "v6e"}
"""How JAX calls these kinds of devices."""
_CLAUSE = regex(r"(?<=[.;!?)])\s+|,?\s+(?:but|while|whereas|however|although|though)\b")
_OWN = regex(
    r"(?i)\b(?:I|we)(?:'m| am| are| have|'ve)?\b"
    r"|\b(?:us(?:e|ed|es|ing)|my|our|runn?(?:ing|s)?|ran|train\w*|on)\b"
)
_OTHER = regex(
    r"(?i)\b(?:un|not |n't |never )(?:\w+ )?available"
    r"|\b(?:not|n't|never|cannot) (?:\w+ ){0,2}(?:get|use|have|try|tried)\b"
    r"|\b(?:works?|worked|fits?|fine|ok(?:ay)?|succeed\w*|no (?:problems?|issues?|errors?))\b"
    r"|\b(?:instead|switch(?:ed|ing)? to|upgrad\w+|mov(?:e|ing) to|would|should|could|maybe|other people)\b"
    r"|\bcompared? (?:to|with)|\b(?:larger|bigger|than) (?:a |an |the )?(?:tpu )?v[2-7]"
)
"""A clause with one of these speaks of a TPU that is not there, or on which nothing failed."""


def named(text: str) -> tuple[str, int] | None:
    """The generation that a text names, `v5e`, and the bytes of one of its devices: of several the one that
    its writer uses, by the words of the clause.
    """
    found = [
        (_of_the_writer(clause, match.start()), name)
        for clause in _CLAUSE.split(text)
        for match in _NAMED.finditer(clause)
        if (name := _generation(match)) in _SIZES
    ]
    if not found:
        return None
    name = max(found, key=lambda each: each[0])[1]  # of equals the first
    return name, _SIZES[name] * GIB


def vmem_of(name: str) -> int:
    """The bytes of vmem of one core of a generation that `named` gives."""
    return _VMEM[name] * MIB


def all_named(text: str) -> dict[str, int]:
    """All generations that a text names, and the bytes of one device of each, in its order."""
    names = dict.fromkeys(_generation(match) for match in _NAMED.finditer(text))
    return {name: _SIZES[name] * GIB for name in names if name in _SIZES}


def _generation(match: re.Match[str]) -> str:
    name = next(group for group in match.groups() if group).lower()
    name = name if not name[0].isdigit() else f"v{name}"
    return _LITE.get(name, name)


def _of_the_writer(clause: str, at: int) -> int:
    """How likely the TPU that a clause names there is the writer's."""
    if _OTHER.search(clause):
        return 0
    return 2 if _OWN.search(clause, 0, at) else 1
