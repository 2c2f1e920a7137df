"""Owners of very many names: an unrolled loop has thousands that differ in TensorFlow's numbering only, and
they are read once.

The number that ends a part of a name (`lstm_cell/MatMul_132`) never decides whose memory it is, only which of
several equal layers it was. So one name of a family is read with placeholders for its numbers, and the others
get their own numbers in their places.
"""

from __future__ import annotations

from functools import lru_cache

from tfmemlens.attribution.names.node_names import owner_of
from tfmemlens.model.attribution import Owner
from tfmemlens.patterns import regex

_NUMBER = regex(r"(?<=[^\d_]_)(\d+)(?=/|\Z|_grad)")
_FIRST = 770001
_PLACE = regex(r"7700\d\d")


def owner_like(name: str, op: str | None = None) -> Owner:
    """What `owner_of` says, worked out once for each family of names."""
    parts = _NUMBER.split(name)
    numbers = parts[1::2]
    if not 1 <= len(numbers) <= 9 or "7700" in name:
        return owner_of(name, op)
    distinct = list(dict.fromkeys(numbers))
    owner, places = _family(tuple(parts[::2]), tuple(map(distinct.index, numbers)), op)
    if not places:
        return owner
    layer, forward, replica = _with(owner.layer, distinct), _with(owner.forward, distinct), owner.replica
    if replica is not None and replica >= _FIRST:
        replica = int(distinct[replica - _FIRST])
    return Owner(layer, owner.kind, owner.phase, owner.op, forward, replica, owner.in_loop, owner.copy_of)


@lru_cache(maxsize=1 << 16)
def _family(texts: tuple[str, ...], which: tuple[int, ...], op: str | None) -> tuple[Owner, bool]:
    """The owner of a family, and whether placeholders are left in it. Equal numbers get equal placeholders:
    loops are recognised by repeated names.
    """
    name = texts[0] + "".join(
        f"{_FIRST + number}{text}" for number, text in zip(which, texts[1:], strict=True)
    )
    owner = owner_of(name, op)
    left = (
        any(text is not None and _PLACE.search(text) for text in (owner.layer, owner.forward))
        or (owner.replica or 0) >= _FIRST
    )
    return owner, left


def _with(text: str | None, numbers: list[str]) -> str | None:
    if text is None or "7700" not in text:
        return text
    for place, number in enumerate(numbers):
        text = text.replace(str(_FIRST + place), number)
    return text
