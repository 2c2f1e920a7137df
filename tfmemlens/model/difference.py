"""What changed from one input to another: by layer, by kind, by allocation."""

from __future__ import annotations

from collections.abc import Mapping

from tfmemlens.model.attribution import Kind
from tfmemlens.values import dataclass


@dataclass(frozen=True, slots=True)
class ComparedInput:
    """One of the two inputs: what is compared of it, in bytes."""

    path: str
    what: str
    """What the figure is: `peak on GPU_0_bfc`, `held when memory ran out`, …"""
    total_bytes: int
    error_bytes: int
    kinds: Mapping[Kind, int]
    limit_bytes: int | None = None
    verdict: str = ""


@dataclass(frozen=True, slots=True)
class ComparedItem:
    """A layer, kind or allocation on both sides: None where it is absent; names differ where only the
    numbering or a rewrite did.
    """

    before: str | None
    after: str | None
    before_bytes: int
    after_bytes: int
    kind: str | None = None
    layer: str | None = None

    @property
    def name(self) -> str:
        """The newer name, or the only one."""
        return self.after if self.after is not None else self.before or ""

    @property
    def change_bytes(self) -> int:
        """How much it grew; negative when it shrank."""
        return self.after_bytes - self.before_bytes

    @property
    def state(self) -> str:
        """`new`, `gone`, `grew`, `shrank` or `same`."""
        if self.before is None:
            return "new"
        if self.after is None:
            return "gone"
        if not self.change_bytes:
            return "same"
        return "grew" if self.change_bytes > 0 else "shrank"


@dataclass(frozen=True, slots=True)
class Difference:
    """Two inputs side by side. Each of the three breakdowns adds up to the whole change; the largest changes
    come first.
    """

    before: ComparedInput
    after: ComparedInput
    layers: tuple[ComparedItem, ...]
    kinds: tuple[ComparedItem, ...]
    allocations: tuple[ComparedItem, ...]
    notes: tuple[str, ...] = ()
    verdict: str = ""
    """The change in one sentence."""

    @property
    def change_bytes(self) -> int:
        """How much the total grew; negative when it shrank."""
        return self.after.total_bytes - self.before.total_bytes

    @property
    def change_share(self) -> float | None:
        """The change as a share of what was before (0.05 = 5 % more); None when nothing was before and
        something is now.
        """
        if self.before.total_bytes:
            return self.change_bytes / self.before.total_bytes
        return None if self.change_bytes else 0.0
