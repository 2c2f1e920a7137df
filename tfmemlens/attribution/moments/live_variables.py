"""The variables of the live model in what stood before a step: the trace alone has their sum."""

from __future__ import annotations

from collections.abc import Sequence

from tfmemlens.model.allocation import PERSISTENT, Allocation
from tfmemlens.model.attribution import NOBODY, Kind, Owner, Phase
from tfmemlens.model.live_model import LiveModel
from tfmemlens.model.timeline import Timeline
from tfmemlens.units import round_up
from tfmemlens.values import replace

Row = tuple[Allocation, Owner]


def with_variables(timeline: Timeline, known: Sequence[Row], model: LiveModel | None) -> list[Row]:
    """What is known to stand, and of the rest the model's variables: all of them, or none where they exceed
    what stood, for then they are on another device or of another time.
    """
    if model is None:
        return list(known)
    kinds = (Kind.PARAMETER, Kind.OPTIMIZER_SLOT)
    listed = {row.node for row, owner in known if owner.kind in kinds}
    held = sum(row.size_bytes for row, _ in known if row.size_bytes > 0)
    rows = [
        (
            Allocation(
                variable.name, round_up(variable.tensor.bytes or 0), None, timeline.device,
                timeline.allocator, variable.tensor.bytes, shape=variable.tensor.shape,
                dtype=variable.tensor.dtype, purpose=PERSISTENT,
            ),
            replace(NOBODY, layer=variable.layer, kind=variable.kind, phase=Phase.NONE),
        )
        for variable in model.variables
        if variable.name not in listed
    ]  # fmt: skip
    needed = sum(row.size_bytes for row, _ in rows)
    if any(owner.kind in kinds for _, owner in known) or needed > timeline.baseline_bytes - held:
        return list(known)
    return [*known, *rows]
