"""Whose gradient a node's name tells: a weight's, which has the weight's shape whatever the batch, or an
activation's.
"""

from __future__ import annotations

import re
from functools import lru_cache

from tfmemlens.patterns import regex

_OF_WEIGHTS = regex(
    r"BackpropFilter|MatMul(?:_grad)?/MatMul_1|BiasAddGrad|AddN|/(?:kernel|bias|gamma|beta)(?:/|\Z)"
    r"|UnsortedSegmentSum|clip_by|L2Loss",
    re.IGNORECASE,
)


@lru_cache(maxsize=1 << 16)
def of_weights(node: str | None) -> bool:
    """Whether a gradient is that of a weight. Several changes ask it of the same rows."""
    return bool(_OF_WEIGHTS.search(node or ""))
