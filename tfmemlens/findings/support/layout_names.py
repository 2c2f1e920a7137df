"""What the names of layout copies alone betray: likely causes, the most expensive first, each with the way to
check it.
"""

from __future__ import annotations

import re

from tfmemlens.findings.support.rows import Row, total
from tfmemlens.patterns import regex
from tfmemlens.units import human

_CONV = regex(r"(?:\A|/)(?:BiasAdd|Conv2D|Conv3D|add|Add|convolution|depthwise)(?:_\d+)?\Z")
_LIKELY = {
    "norm": (
        "of conv outputs, the mark of batch normalisation in inference mode",
        "FusedBatchNormGrad with is_training=False",
    ),
    "mask": (
        "of masks or factors that are multiplied in, as dropout's",
        "look for a random op behind input 1 of that product",
    ),
    "feed": (
        (
            "in front of convolutions, whose input exists in the other format only: the feed, a resize or a"
            " reshape"
        ),
        "look what feeds these layers",
    ),
    "reader": (
        (
            "of activations whose reader takes the other format only: a resize, softmax or reshape, or its"
            " gradient"
        ),
        "look who reads these layers",
    ),
    "gradient": (
        "of gradients on their way to an op that was not converted, mostly that of batch normalisation",
        "look at the gradient op behind them",
    ),
}


def ranked(copies: list[Row]) -> str:
    """`By the names: 8 copies, 1.69 GiB, of conv outputs …; …`; empty for a single group that says no more
    than the rest of the finding.
    """
    groups: dict[str, list[Row]] = {}
    for row in copies:
        groups.setdefault(_group(row), []).append(row)
    told = [
        f"{len(rows)} cop{'y' if len(rows) == 1 else 'ies'}, {human(total(rows))}, {_LIKELY[key][0]}"
        f" ({_LIKELY[key][1]})"
        for key, rows in sorted(groups.items(), key=lambda item: -total(item[1]))
    ]
    return f"By the names: {'; '.join(told)}. `tfmemlens layout GRAPH` proves it." if told else ""


def _group(row: Row) -> str:
    """Which of the likely causes a copy's name fits."""
    forward, gradient = row.owner.forward or "", row.owner.phase.value == "gradient"
    name = row.allocation.node or ""
    if "drop" in forward.lower() and re.search(r"(?:mul|Mul|SelectV2)(?:_\d+)?-[12]-", name):
        return "mask"
    if row.owner.copy_of == "input":
        return "gradient" if gradient and "BackpropFilter-0-" not in name else "feed"
    if gradient:
        return "gradient"
    return "norm" if _CONV.search(forward) else "reader"
