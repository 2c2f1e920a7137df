"""Penalties on weights (L2 regularisation), as the names of their ops tell them."""

from __future__ import annotations

from tfmemlens.patterns import regex

_OPS = regex(r"(?:\A|/)(?:L2Loss(?:_\d+)?(?:_grad)?|Regularizer)(?:/|\Z)")


def is_penalty(name: str) -> bool:
    """Whether a node computes a penalty or its gradient: `gradients/L2Loss_grad/mul`,
    `dense/kernel/Regularizer/Square`.
    """
    return _OPS.search(name) is not None
