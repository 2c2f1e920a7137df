"""What Grappler's layout pass put into a graph: each copy, the op that forces it, and what the copies cost
together.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property

from tfmemlens.model.finding import Certainty
from tfmemlens.model.tensor import TensorType
from tfmemlens.values import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class LayoutCopy:
    """One node that the pass inserted. Transposes copy a whole tensor; the others permute a few numbers."""

    node: str
    op: str
    direction: str
    """As the name says it: `NCHWToNHWC`."""
    source_layer: str | None
    """The layer whose tensor it copies."""
    tensor: TensorType
    producer: str | None
    consumers: tuple[str, ...]
    forced_by: str | None
    forced_op: str | None
    cause: str
    also: tuple[tuple[str, str], ...] = ()
    """Other (node, cause) that need the same copy: it goes only when all of them go."""
    through: tuple[str, ...] = ()
    """Layout-agnostic ops between the copy and the op that forces it."""
    retained: bool = False
    """Made from a forward tensor and read by the backward pass: it lives in between."""
    in_loop: bool = False
    source: str | None = None
    """The user's line of code that made the forcing op, else the copied layer."""
    remedy: str = ""
    """The slug of the edit that ends it."""

    @property
    def causes(self) -> frozenset[str]:
        """All causes; the copy vanishes only with the last of them."""
        return frozenset([self.cause, *(cause for _, cause in self.also)])


class _Copies:
    """What some copies cost together."""

    __slots__ = ()
    copies: tuple[LayoutCopy, ...]

    @property
    def bytes(self) -> int:
        """Bytes of the copies whose size is known."""
        return sum(copy.tensor.bytes or 0 for copy in self.copies)

    @property
    def retained_bytes(self) -> int:
        """Bytes of those that live from forward to backward."""
        return sum(copy.tensor.bytes or 0 for copy in self.copies if copy.retained)

    @property
    def unknown(self) -> int:
        """How many copies have a size that is not known."""
        return sum(copy.tensor.bytes is None for copy in self.copies)


@dataclass(frozen=True, slots=True)
class LayoutCause(_Copies):
    """All copies of one cause."""

    slug: str
    because: str
    copies: tuple[LayoutCopy, ...]

    @property
    def forced_by(self) -> tuple[str, ...]:
        """The forcing ops, each once."""
        return tuple(dict.fromkeys(copy.forced_by for copy in self.copies if copy.forced_by))


@dataclass(frozen=True, slots=True)
class PeakWithout:
    """A peak as it is and as it would be without copies: of all causes, and of each (bytes); how sure that
    is, and how it was found.

    A copy that goes does not always lower the peak: what it was made from must then live as long as it did.
    """

    bytes: int
    without_bytes: int
    by_cause: Mapping[str, int]
    certainty: Certainty
    how: str

    def saved(self, cause: str) -> int:
        """What the peak loses with the copies of one cause."""
        return max(self.bytes - self.by_cause.get(cause, self.bytes), 0)


@dataclass(frozen=True)
class LayoutStudy(_Copies):
    """All that the pass did to one graph."""

    copies: tuple[LayoutCopy, ...]
    """The Transposes, largest first."""
    helpers: tuple[LayoutCopy, ...] = ()
    """Small inserted nodes: permuted shapes, axes, vectors, constants."""
    source_format: str = "NHWC"
    target_format: str = "NCHW"
    """What the pass converted to."""
    legacy: bool = False
    """Whether the names are those of TensorFlow 1.14 and before."""
    peak: PeakWithout | None = None
    sensitive: int = 0
    """How many convolution-like ops the graph has."""
    malformed: tuple[tuple[str, str], ...] = ()
    """Nodes that lack what their op needs, with the reason: their shapes count as unknown."""
    reasons: Mapping[str, str] = field(default_factory=dict)
    """What each cause is, by its slug, as a clause: «…, because batch normalisation …»."""

    @cached_property
    def causes(self) -> tuple[LayoutCause, ...]:
        """The copies by cause, the most expensive first."""
        groups: dict[str, list[LayoutCopy]] = {}
        for copy in self.copies:
            groups.setdefault(copy.cause, []).append(copy)
        causes = [
            LayoutCause(slug, self.reasons.get(slug, ""), tuple(copies)) for slug, copies in groups.items()
        ]
        return tuple(sorted(causes, key=lambda cause: (-cause.bytes, -len(cause.copies), cause.slug)))

    def left(self, causes: Collection[str]) -> LayoutStudy:
        """Only the copies that one of these causes needs."""
        return replace(
            self,
            copies=tuple(copy for copy in self.copies if copy.causes & set(causes)),
            helpers=(),
            peak=None,
        )


@dataclass(frozen=True, slots=True)
class LayoutTrial:
    """The pass run once more on an edited graph."""

    remedy: str
    text: str
    """What was edited, in a sentence."""
    study: LayoutStudy
