"""Groups by layer as pages list them: what has no layer and is known all the same goes by its kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tfmemlens.model.attribution import Group, Kind
from tfmemlens.renderers.kinds import in_words
from tfmemlens.values import replace

_KNOWN = (Kind.INPUT, Kind.CONSTANT, Kind.HELD, Kind.PARAMETER, Kind.OPTIMIZER_SLOT)
"""Kinds that tell an owner: the batch, the graph, Python, the optimizer."""


def by_owner(groups: Iterable[Group]) -> tuple[Group, ...]:
    """The same, largest first, with `(input)` apart from what has neither a layer nor such a kind."""
    parts = (part for group in groups for part in (_parts(group) if group.name is None else [group]))
    return tuple(sorted(parts, key=lambda group: (-group.total_bytes, group.name or "~")))


def _parts(group: Group) -> Iterator[Group]:
    rest = tuple((kind, size) for kind, size in group.kinds if kind not in _KNOWN)
    if len(rest) == len(group.kinds):
        yield group
        return
    for kind, size in group.kinds:
        if kind in _KNOWN:
            yield Group(f"({in_words(kind)})", size, ((kind, size),), 1, 1)
    if rest:
        yield replace(group, total_bytes=sum(size for _, size in rest), kinds=rest, rows=1, count=1)
