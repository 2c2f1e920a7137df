"""Where the forward pass, the backward pass and the update lie on the time axis of a step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from tfmemlens.model.attribution import Phase
from tfmemlens.model.case import PhaseSpan
from tfmemlens.model.timeline import Timeline
from tfmemlens.patterns import regex

_UPDATE = regex(r"(?:\A|/)update_[^/]|/(?:Resource)?Apply\w+\Z|(?:\A|/)Adam(?:_\d+)?/(?:update|Assign|mul)")
_BACKWARD = regex(r"(?:\A|/)gradients(?:_\d+)?/|gradient_tape/")
_BY_OWNER = {Phase.FORWARD: "forward", Phase.GRADIENT: "backward", Phase.OPTIMIZER: "update"}
_ORDER = ("forward", "backward", "update")


def phases(timeline: Timeline) -> tuple[PhaseSpan, ...]:
    """The two instants that leave the fewest bytes on the wrong side: TensorFlow makes shapes and zeros of
    the gradients, and decays the slots of sparse updates, while the forward pass runs. One step after another
    is not told apart.
    """
    table = timeline.table
    born = sorted(
        (start, _ORDER.index(name), size, start if end is None else end)
        for node, size, start, end in zip(
            table.node, table.size_bytes, table.start_micros, table.end_micros, strict=True
        )
        if node is not None
        and start is not None
        and (
            name := (
                _BY_OWNER.get(timeline.owners[node].phase, "") if node in timeline.owners else _phase(node)
            )
        )
    )
    if not born:
        return ()
    first, second = _borders([(phase, size) for _, phase, size, _ in born])
    return tuple(_spans(born, (0, first, second, len(born))))


def _borders(born: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The rows before the first border count as forward, those from the second on as update; both are found
    in one pass.
    """
    forward = update = (
        # what the rows so far cost as forward, and what they would have cost as update, each beside backward
        0
    )
    start, start_cost = 0, 0
    best, best_cost = (0, 0), 0
    for at, (phase, size) in enumerate((*born, (1, 0))):
        if forward < start_cost:
            start, start_cost = at, forward
        if start_cost - update < best_cost:
            best, best_cost = (start, at), start_cost - update
        forward += size * ((phase == 1) - (phase == 0))
        update += size * ((phase == 1) - (phase == 2))
    return best


def _spans(born: Sequence[tuple[float, int, int, float]], borders: Sequence[int]) -> Iterator[PhaseSpan]:
    for name, (first, last) in zip(_ORDER, pairwise(borders), strict=True):
        if first < last:
            end = born[last][0] if last < len(born) else max(end for _, _, _, end in born[first:last])
            yield PhaseSpan(name, born[first][0], end)


def _phase(node: str) -> str:
    if ("pdate" in node or "Apply" in node or "Adam" in node) and _UPDATE.search(node):
        return "update"
    if "gradient" in node and _BACKWARD.search(node):
        return "backward"
    return "forward" if "/" in node else ""
