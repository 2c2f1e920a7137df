"""Kinds of memory in words, where nothing beside them explains the names that data has."""

from __future__ import annotations

from tfmemlens.model.attribution import Kind

_WORDS = {
    Kind.HELD: "held by Python",
    Kind.LAYOUT_TRANSPOSE: "layout copy",
    Kind.LOOP_STACK: "kept by a loop",
    Kind.OPTIMIZER_SLOT: "optimizer slot",
    Kind.WORKSPACE: "temporary buffer",
    Kind.UNATTRIBUTED: "unknown",
}


def in_words(kind: Kind) -> str:
    """`kept by a loop` for `loop-stack`; most kinds are words already."""
    return _WORDS.get(kind, kind.value)


def slug(kind: Kind | str) -> str:
    """The words as one, `kept-by-a-loop`: what a page calls a kind in its text, classes and address."""
    return in_words(Kind(kind)).replace(" ", "-").lower()
