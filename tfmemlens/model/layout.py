"""What Grappler's layout pass put into a graph: each copy, the op that forces it, and what the copies cost
together.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

from tfmemlens.model.finding import Certainty
from tfmemlens.model.tensor import TensorType
from tfmemlens.values import dataclass, replace


@dataclass(frozen=True, slots=True)
class CauseText:
    """A cause in words: `because` completes «12 copies, because …», `remedy` is the slug of the edit that
    ends it.
    """

    because: str
    remedy: str


CAUSES: Mapping[str, CauseText] = {
    "batch-norm-inference-mode": CauseText(
        "batch normalisation runs in inference mode, and its gradient is converted in training mode only",
        "batch-norm-training",
    ),
    "batch-norm-unfused": CauseText(
        "batch normalisation is written out as single ops, whose gradients reshape and sum",
        "batch-norm-fused",
    ),
    "not-supported": CauseText(
        "{ops} exists only for {source}, or the pass does not follow it", "replace-op"
    ),
    "gradient-not-supported": CauseText(
        "{ops} is not converted, although the op that it differentiates is", "replace-op"
    ),
    "random-source": CauseText("a random mask is drawn by an op that has no layout", "data-format-nchw"),
    "unknown-rank": CauseText(
        "the rank of a tensor is not known before the run (a placeholder may be fed any shape)", "static-rank"
    ),
    "unsupported-shapes": CauseText(
        "an op joins tensors of ranks that the pass does not handle", "static-rank"
    ),
    "reduction-axes": CauseText(
        "a reduction's axes are not known before the run, or are not those that the pass handles",
        "static-rank",
    ),
    "slice-drops-axes": CauseText("a slice adds or drops axes", "keep-axes"),
    "reshape-boundary": CauseText(
        "an op rearranges the axes (reshape, flatten, transpose, matrix product)", "data-format-nchw"
    ),
    "loss-boundary": CauseText(
        "the image ends there: loss, global pooling or its gradient", "data-format-nchw"
    ),
    "graph-input": CauseText("the data is fed in {source}", "data-format-nchw"),
    "constant": CauseText("a constant or a variable is stored in {source}", "data-format-nchw"),
    "host-op": CauseText(
        "an op runs on the CPU or on no device, outside what the pass rewrites", "place-on-gpu"
    ),
    "fetched": CauseText(
        "a tensor is fetched, or nobody reads it, so the pass must leave it as it is", "apply-gradients"
    ),
    "not-in-this-graph": CauseText("the op behind it is not in this graph", "pass-off"),
}
"""Every cause that can be named, the gravest first."""


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

    @property
    def remedy(self) -> str:
        """The slug of the edit that ends it."""
        return CAUSES[self.cause].remedy

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

    @cached_property
    def causes(self) -> tuple[LayoutCause, ...]:
        """The copies by cause, the most expensive first."""
        groups: dict[str, list[LayoutCopy]] = {}
        for copy in self.copies:
            groups.setdefault(copy.cause, []).append(copy)
        causes = [
            LayoutCause(slug, self._because(slug, copies), tuple(copies)) for slug, copies in groups.items()
        ]
        return tuple(sorted(causes, key=lambda cause: (-cause.bytes, -len(cause.copies), cause.slug)))

    def _because(self, slug: str, copies: Sequence[LayoutCopy]) -> str:
        """The cause in words, with the op types where they tell more."""
        named = list(
            dict.fromkeys(
                (copy.forced_op or "").removesuffix("" if slug.startswith("gradient") else "Grad")
                for copy in copies
                if copy.forced_op
            )
        )
        ops = ", ".join(named[:3]) + (" and others" if len(named) > 3 else "") if named else "an op"
        return CAUSES[slug].because.format(source=self.source_format, ops=ops)

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
