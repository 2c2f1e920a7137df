"""Two cases side by side: layers, kinds and allocations matched, also where only TensorFlow's numbering or a
rewrite changed a name.

A model that is built a second time in one process, or by another version, gets other uniquifiers (`dense_2`
for `dense`), and an optimizer pass adds its own words to nodes. Names that are equal match first, then those
that are equal without numbering, in their natural order.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import lru_cache

from tfmemlens.model.attribution import Attribution, Kind, Owner
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.difference import ComparedInput, ComparedItem, Difference
from tfmemlens.patterns import regex
from tfmemlens.units import human, percent
from tfmemlens.values import dataclass, replace

_UNIQUE = regex(r"_(?:0|[1-9]\d*)(?=/|\||\Z)")
_REWRITTEN = regex(r"(?:\A|/)(?:ArithmeticOptimizer|ConstantFolding|Recomputed|LoopOptimizer)/")
"""Passes that put their own words before a node's name."""
Key = tuple["str | None", str]


def difference(before: Case, after: Case) -> Difference:
    """What grew and what vanished from one case's most important moment to the other's. Both need one: see
    `compared`.
    """
    old, new = compared(before), compared(after)
    layers = _layers(old.attribution, new.attribution)
    renamed = {
        layer.before: layer.after for layer in layers if layer.before is not None and layer.after is not None
    }
    changes = Difference(
        _side(before, old),
        _side(after, new),
        layers,
        _kinds(old.attribution, new.attribution),
        _allocations(old.attribution, new.attribution, renamed),
        tuple(_notes(before, after, old, new)),
    )
    return replace(changes, verdict=sentence(changes))


def sentence(changes: Difference) -> str:
    """`Memory grew by 44.00 MiB (52 %), from … to …, most of it in conv1.`"""
    before, after = changes.before.total_bytes, changes.after.total_bytes
    change = changes.change_bytes
    if not change:
        return f"Nothing grew in sum: {human(after)} on both sides."
    verb = "grew" if change > 0 else "shrank"
    share = f" ({percent(abs(change), before)})" if before else ""
    led = next((layer for layer in changes.layers if layer.change_bytes * change > 0), None)
    most = f", most of it in {led.name or 'allocations without a layer'}" if led else ""
    return f"Memory {verb} by {human(abs(change))}{share}, from {human(before)} to {human(after)}{most}."


def compared(case: Case) -> Moment:
    """The moment of a case that is compared: the first, which matters most. Raises LookupError when there is
    none.
    """
    if not case.moments:
        raise LookupError("no memory figures")
    return case.moments[0]


def _side(case: Case, moment: Moment) -> ComparedInput:
    table, books = moment.attribution.table, moment.balance
    kinds = {Kind(str(group.name)): group.total_bytes for group in moment.attribution.by("kind")}
    return ComparedInput(
        case.capture.source.path,
        _what(moment),
        table.total_bytes,
        table.total_error_bytes,
        kinds,
        books.limit.bytes if books.limit else None,
    )


def _what(moment: Moment) -> str:
    if moment.timeline:
        return f"{'predicted ' if moment.predicted else ''}peak on {moment.timeline.allocator}"
    return (
        "listed when it ran out of memory"
        if moment.incident and moment.incident.holders
        else "in use when it ran out of memory"
    )


def _notes(before: Case, after: Case, old: Moment, new: Moment) -> Iterable[str]:
    if (old.timeline is None) != (new.timeline is None):
        yield (
            "One side is the peak of a step that fits, the other what a failure's report lists: the report"
            " leaves out weights, slots and running ops."
        )
    for case, name in ((before, "before"), (after, "after")):
        if len(case.moments) > 1:
            yield (
                f"`{name}` has {len(case.moments)} failures or allocators; the one that matters most is"
                " compared."
            )
    if not old.attribution.table.total_error_bytes + new.attribution.table.total_error_bytes:
        return
    yield "TensorFlow rounded some sizes that it printed: small changes may be rounding."


def _kinds(old: Attribution, new: Attribution) -> tuple[ComparedItem, ...]:
    left, right = ({str(group.name): group.total_bytes for group in side.by("kind")} for side in (old, new))
    names = dict.fromkeys([*left, *right])
    return _ordered(
        ComparedItem(
            name if name in left else None,
            name if name in right else None,
            left.get(name, 0),
            right.get(name, 0),
            kind=name,
            layer=None,
        )
        for name in names
    )


def _layers(old: Attribution, new: Attribution) -> tuple[ComparedItem, ...]:
    """Layers of both sides; what has no layer is one row without a name on either side."""
    left, right = ({group.name or "": group.total_bytes for group in side.by("layer")} for side in (old, new))
    pairs = matched(left, right)
    return _ordered(
        ComparedItem(a, b, left[a] if a is not None else 0, right[b] if b is not None else 0)
        for a, b in pairs
    )


def matched(left: Iterable[str], right: Iterable[str]) -> list[tuple[str | None, str | None]]:
    """Pairs of names: families that are equal but for numbering pair up in order when they are equally many,
    else by equal names first.
    """
    families: dict[str, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    for place, names in enumerate((left, right)):
        for name in names:
            families[plain(name)][place].append(name)
    pairs: list[tuple[str | None, str | None]] = []
    for ours, theirs in families.values():
        if len(ours) != len(theirs):
            same = set(ours) & set(theirs)
            pairs += [(name, name) for name in ours if name in same]
            ours, theirs = (
                [name for name in ours if name not in same],
                [name for name in theirs if name not in same],
            )
        ours, theirs = sorted(ours, key=_natural), sorted(theirs, key=_natural)
        pairs += zip(ours, theirs, strict=False)
        common = min(len(ours), len(theirs))
        pairs += [(name, None) for name in ours[common:]] + [(None, name) for name in theirs[common:]]
    return pairs


@lru_cache(maxsize=1 << 16)
def plain(name: str) -> str:
    """A name without uniquifiers: `model_1/dense_2` is `model/dense`. A number that the user writes with a
    leading zero (`unet_01`) stays.
    """
    return _UNIQUE.sub("", name)


def _natural(name: str) -> list[int | str]:
    """Words and numbers in turn, so that `a_2` comes before `a_10`."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name)]


def _allocations(old: Attribution, new: Attribution, renamed: Mapping[str, str]) -> tuple[ComparedItem, ...]:
    """Nodes of both sides, all their rows together: matched within layer and kind, by what they do there."""
    left, right = _nodes(old, renamed), _nodes(new, {})
    changes = []
    for key in dict.fromkeys([*left, *right]):
        layer, kind = key
        ours, theirs = left.get(key, {}), right.get(key, {})
        for a, b in matched(ours, theirs):
            was, now = ours[a] if a is not None else None, theirs[b] if b is not None else None
            changes.append(
                ComparedItem(
                    was.node if was else None,
                    now.node if now else None,
                    was.bytes if was else 0,
                    now.bytes if now else 0,
                    kind,
                    layer,
                )
            )
    return _ordered(changes)


@dataclass(slots=True)
class _Held:
    node: str
    bytes: int = 0


def _nodes(side: Attribution, renamed: Mapping[str, str]) -> dict[Key, dict[str, _Held]]:
    """Bytes by (layer, kind), then by what a node does in its layer."""
    nodes: dict[Key, dict[str, _Held]] = defaultdict(dict)
    for node, size, count, owner in zip(
        side.table.node, side.table.size_bytes, side.table.count, side.owners, strict=True
    ):
        layer = renamed.get(owner.layer, owner.layer) if owner.layer else None
        nodes[layer, owner.kind.value].setdefault(_role(node, owner), _Held(node or "")).bytes += size * count
    return nodes


def _role(node: str | None, owner: Owner) -> str:
    """`forward|Conv2D|Conv2D`, `gradient|Conv2D|Conv2DBackpropFilter`: phase, the forward op within the
    layer, the node's last part without what passes add.
    """
    forward = (owner.forward or "").removeprefix(f"{owner.layer}/") if owner.layer else owner.forward or ""
    last = (node or "").rpartition("/")[2]
    if _REWRITTEN.search(node or ""):
        last = forward.rpartition("/")[2]
    if owner.kind is Kind.LAYOUT_TRANSPOSE:
        last = f"copy of {owner.copy_of}"  # the pass numbers its copies anew in every version
    return f"{owner.phase.value}|{forward}|{last}"


def _ordered(changes: Iterable[ComparedItem]) -> tuple[ComparedItem, ...]:
    return tuple(
        sorted(changes, key=lambda change: (-abs(change.change_bytes), -change.after_bytes, change.name))
    )
