"""Who held it: for each row of a table its layer, phase and kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from functools import cached_property

from tfmemlens.errors import BooksDoNotBalance
from tfmemlens.model.allocation import Allocation, AllocationTable
from tfmemlens.values import dataclass, field, replace


class Kind(str, Enum):
    """What a piece of memory is for; these words stand in every output."""

    PARAMETER = "parameter"
    OPTIMIZER_SLOT = "optimizer-slot"
    GRADIENT = "gradient"
    ACTIVATION = "activation"
    LAYOUT_TRANSPOSE = "layout-transpose"
    WORKSPACE = "workspace"
    LOOP_STACK = "loop-stack"
    CONSTANT = "constant"
    INPUT = "input"
    TRANSFER = "transfer"
    UNATTRIBUTED = "unattributed"
    HELD = "held-by-python"

    __str__ = str.__str__


class Phase(str, Enum):
    """The part of a training step in which an op runs."""

    FORWARD = "forward"
    GRADIENT = "gradient"
    OPTIMIZER = "optimizer"
    INPUT = "input"
    NONE = "none"

    __str__ = str.__str__


@dataclass(frozen=True, slots=True)
class Owner:
    """Whom a node name belongs to. `layer` is a scope path of the user's own graph, None if the name betrays
    none.
    """

    layer: str | None
    kind: Kind
    phase: Phase
    op: str | None = None
    """The op type, as far as the name tells it."""
    forward: str | None = None
    """The forward op behind the name: of a gradient the op it differentiates, of a copy the op that it was
    made for.
    """
    replica: int | None = None
    in_loop: bool = False
    copy_of: str | None = None
    """For a layout copy: `output` when it copies what the layer made, `input` when it copies what the layer
    reads.
    """


NOBODY = Owner(None, Kind.UNATTRIBUTED, Phase.NONE)


@dataclass(frozen=True, slots=True)
class Group:
    """One line of a breakdown: a layer, kind, scope, op or node with what it holds."""

    name: str | None
    total_bytes: int
    kinds: tuple[tuple[Kind, int], ...]
    rows: int
    count: int
    calls: int = 1
    """How often the input shows the layer called."""


@dataclass(frozen=True)
class Attribution:
    """An owner for each row of a table. It refuses to exist unless every row has one and the totals
    balance.
    """

    table: AllocationTable
    owners: Sequence[Owner]
    calls: Mapping[str, int] = field(default_factory=dict)
    """How often the input shows a layer called, where that is more than once."""

    def __post_init__(self) -> None:
        if len(self.owners) != len(self.table):
            raise BooksDoNotBalance(f"{len(self.table)} allocations but {len(self.owners)} owners")
        if sum(group.total_bytes for group in self.by("kind")) != self.table.total_bytes:
            raise BooksDoNotBalance("the kinds do not add up to the whole")

    @cached_property
    def ranked(self) -> Sequence[tuple[Allocation, Owner, int]]:
        """The rows with their owners and indices, largest first."""
        rows = zip(self.table, self.owners, range(len(self.table)), strict=True)
        return sorted(rows, key=lambda row: -row[0].total_bytes)

    @cached_property
    def ranked_by_kind(self) -> Mapping[Kind, Sequence[tuple[Allocation, Owner, int]]]:
        """The same for each kind."""
        by_kind: dict[Kind, list[tuple[Allocation, Owner, int]]] = {}
        for row in self.ranked:
            by_kind.setdefault(row[1].kind, []).append(row)
        return by_kind

    def by(self, key: str) -> tuple[Group, ...]:
        """The bytes grouped by `layer`, `kind`, `phase`, `scope` (first part of the layer), `op`, `device` or
        `node`, largest first.
        """
        groups = group_rows(
            zip(self._keys(key), self.table.size_bytes, self.table.count, self.owners, strict=True)
        )
        if key != "layer" or not self.calls:
            return groups
        return tuple(replace(group, calls=self.calls.get(group.name or "", 1)) for group in groups)

    def _keys(self, key: str) -> Iterable[str | None]:
        if key == "kind":
            return (owner.kind.value for owner in self.owners)
        if key == "layer":
            return (owner.layer for owner in self.owners)
        if key == "phase":
            return (owner.phase.value for owner in self.owners)
        if key == "scope":
            return (owner.layer.split("/")[0] if owner.layer else None for owner in self.owners)
        if key == "op":
            return (op or owner.op for op, owner in zip(self.table.op, self.owners, strict=True))
        column: Sequence[str | None] = getattr(self.table, key)
        return column


def group_rows(rows: Iterable[tuple[str | None, int, int, Owner]]) -> tuple[Group, ...]:
    """Groups of (key, bytes, count, owner), largest first; rows without a key stay together under None."""
    kinds: dict[str | None, dict[Kind, int]] = {}
    seen: dict[str | None, list[int]] = {}
    for key, size, count, owner in rows:
        split = kinds.setdefault(key, {})
        split[owner.kind] = split.get(owner.kind, 0) + size * count
        tally = seen.setdefault(key, [0, 0])
        tally[0] += 1
        tally[1] += count
    groups = [
        Group(
            key,
            sum(split.values()),
            tuple(sorted(split.items(), key=lambda item: (-item[1], item[0].value))),
            *seen[key],
        )
        for key, split in kinds.items()
    ]
    return tuple(sorted(groups, key=lambda group: (-group.total_bytes, group.name or "~")))
