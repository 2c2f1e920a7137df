"""The batches and tensors of the live program among buffers without a name: what an input pipeline makes has
no op in a trace, and what a step finds and frees has none either.

They are told by what they asked for, or by their size: a batch of this shape has just these bytes. What a
trace saw a thread of the pipeline make is known without a model, and what went before it has the same chunks.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tfmemlens.model.allocation import PIPELINE
from tfmemlens.model.attribution import NOBODY, Kind, Owner, Phase
from tfmemlens.model.live_model import LEAST_BYTES, LiveModel
from tfmemlens.model.timeline import Timeline
from tfmemlens.units import round_up
from tfmemlens.values import replace

BATCH, HELD_TENSOR = "input batch", "EagerTensor"
"""What the rows are called. Tensors that Python holds have no name but their class."""
OF_BATCH = replace(NOBODY, kind=Kind.INPUT, phase=Phase.INPUT)
OF_TENSOR = replace(NOBODY, kind=Kind.HELD)


def named_inputs(timeline: Timeline, model: LiveModel | None) -> Timeline:
    """The same with names for what has the bytes of an input of the step, or of a tensor that Python held."""
    made = _made_by_the_pipeline(timeline)
    if not made and (model is None or not (model.inputs or model.tensors)):
        return timeline
    table, freed = timeline.table, set(timeline.freed_preexisting)
    known = _KnownSizes(model, made)
    nodes, owners = list(table.node), dict(timeline.owners)
    for row, node in enumerate(nodes):
        if node is not None or table.size_bytes[row] < LEAST_BYTES:
            continue
        if table.purpose[row] == PIPELINE:
            name: str | None = BATCH
        elif row in freed:
            name = known.of_chunk(table.size_bytes[row])
        else:
            name = known.of_request(table.requested_bytes[row])
        if name:
            nodes[row], owners[name] = name, _OWNERS[name]
    return replace(timeline, table=replace(table, node=nodes), owners=owners)


def _made_by_the_pipeline(timeline: Timeline) -> set[int]:
    """The chunks of what an input pipeline made while the step ran."""
    table = timeline.table
    columns = zip(table.purpose, table.size_bytes, strict=True)
    return {size for purpose, size in columns if purpose == PIPELINE and size >= LEAST_BYTES}


class _KnownSizes:
    """The bytes of inputs, and of tensors as often as there are some; the chunks that a pipeline made."""

    def __init__(self, model: LiveModel | None, made: Collection[int]) -> None:
        self._made = made
        inputs = model.inputs if model is not None else ()
        self._inputs = sorted({size for each in inputs if (size := each.bytes or 0) >= LEAST_BYTES})
        self._tensors: dict[int, int] = {}
        for each in model.tensors if model is not None else ():
            size = each.tensor.bytes or 0
            self._tensors[size] = self._tensors.get(size, 0) + each.count

    def of_request(self, asked: int | None) -> str | None:
        """Of a buffer that the step makes: what it asks for is known to the byte."""
        if asked in self._inputs:
            return BATCH
        return HELD_TENSOR if asked in self._tensors else None

    def of_chunk(self, size: int) -> str | None:
        """Of a buffer that stood before: its chunk, which for an input may be up to twice of it."""
        for asked, count in self._tensors.items():
            if count and round_up(asked) == size:
                self._tensors[asked] -= 1
                return BATCH if asked in self._inputs else HELD_TENSOR
        near = _largest_below(self._inputs, size)
        return BATCH if size in self._made or (near and size < 2 * round_up(near)) else None


def _largest_below(sizes: Sequence[int], size: int) -> int | None:
    return max((each for each in sizes if round_up(each) <= size), default=None)


_OWNERS: dict[str, Owner] = {BATCH: OF_BATCH, HELD_TENSOR: OF_TENSOR}
