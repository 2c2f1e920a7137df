"""Why Grappler's layout pass leaves a copy where it does, in words, and the edit that ends it.

Findings and the JSON document both say it, so it travels with the study of a graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tfmemlens.values import dataclass


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


def reason(slug: str, forcing_ops: Iterable[str | None], source_format: str) -> str:
    """The cause in words, with the op types that force the copies where they tell more."""
    suffix = "" if slug.startswith("gradient") else "Grad"
    named = list(dict.fromkeys(op.removesuffix(suffix) for op in forcing_ops if op))
    others = " and others" if len(named) > 3 else ""
    ops = ", ".join(named[:3]) + others if named else "an op"
    return CAUSES[slug].because.format(source=source_format, ops=ops)
