"""Whose gradient a node's name tells: a weight's, which has the weight's shape whatever the batch, or an
activation's.
"""

from __future__ import annotations

import re

from tfmemlens.patterns import regex

_OF_WEIGHTS = regex(
    r"BackpropFilter|MatMul(?:_grad)?/MatMul_1|BiasAddGrad|AddN|/(?:kernel|bias|gamma|beta)(?:/|\Z)"
    r"|UnsortedSegmentSum|clip_by|L2Loss",
    re.IGNORECASE,
)


def of_weights(node: str | None) -> bool:
    """Whether a gradient is that of a weight."""
    return bool(_OF_WEIGHTS.search(node or ""))
