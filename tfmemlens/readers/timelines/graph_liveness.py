"""The live curve of a step from its graph alone, where no allocation was recorded: an output lives from its
producer's end to its last reader's.

Chrome traces hold no more than this, nor do RunMetadata of TensorFlow 1.2 and of builds that record no
allocations. Outputs that share a buffer count once. Scratch memory inside ops and frees that come late are
not seen, so the peak is a lower bound.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from tfmemlens.knowledge.ops import roles
from tfmemlens.model.allocation import OUTPUT, PERSISTENT, TEMPORARY
from tfmemlens.model.timeline import BaselineSource, CurveSource, Executions, Timeline
from tfmemlens.patterns import regex
from tfmemlens.readers.timelines import baseline
from tfmemlens.readers.timelines.columns import Columns
from tfmemlens.values import dataclass, field

_JUST_AFTER = 0.5
"""An output counts from the end of its op, and the allocator's total is looked up after that."""


@dataclass(slots=True)
class OutputTensor:
    """One tensor that one execution of a node put out, and the buffer it lies in."""

    reference: str
    """`node`, or `node:1` for its second output, as inputs spell it."""
    allocator: str
    size: int
    requested: int | None
    buffer: int = 0
    """The allocation's id, 0 where there is none."""
    address: int = 0
    shape: tuple[int, ...] | None = None
    dtype: str | None = None
    until: float = 0.0
    """When the last reader ended."""


@dataclass(slots=True)
class NodeRun:
    """One execution of a node."""

    node: str
    op: str | None
    start: float
    end: float
    inputs: Sequence[str] = ()
    outputs: list[OutputTensor] = field(default_factory=list)
    released: float = 0.0
    """When it let go of its inputs, where that is told apart from its end."""
    scratch: Sequence[tuple[str, int]] = ()
    """(allocator, bytes) of temporaries, where the trace sums them up."""
    in_use: Sequence[tuple[str, int]] = ()
    """(allocator, bytes in use when the op returned), where the trace says so."""
    device: str = ""
    makes: bool = False
    """Whether the trace says that it allocated: a variable that is copied to be read is no standing
    buffer.
    """

    @property
    def stands(self) -> bool:
        """Whether its output was there before the step began."""
        return self.op in roles.STORED and not self.makes


def timelines(device: str, runs: Sequence[NodeRun], everywhere: Iterable[NodeRun] = ()) -> Iterator[Timeline]:
    """A timeline for each allocator of a device, or of a process whose runs name their devices; any of the
    runs `everywhere` may read an output.
    """
    _extend_lives(list(everywhere) or runs)
    lanes: dict[str, list[tuple[NodeRun, OutputTensor]]] = defaultdict(list)
    for run in runs:
        for output in run.outputs:
            lanes[output.allocator].append((run, output))
    ran = Executions([run.node for run in runs], [run.start for run in runs], [run.end for run in runs])
    for allocator, outputs in lanes.items():
        table, standing = Columns(), Columns()
        for group in _buffers(outputs):
            _row(group, table, standing)
        for run in runs:
            for name, size in run.scratch:
                if name == allocator and size > 0:
                    table.end_micros[table.add(run.node, size, run.op, run.start, TEMPORARY)] = run.end
        if table.node or standing.node:
            where = devices_of(run.device for run, _ in outputs) or device
            stands = standing.table(where, allocator)
            timeline = Timeline(
                where,
                allocator,
                table.table(where, allocator),
                stands,
                executions=ran,
                curve_source=CurveSource.LIVENESS,
            )
            yield _on_baseline(
                timeline,
                [
                    (run.end + _JUST_AFTER, max(run.released, run.end + _JUST_AFTER), size)
                    for run in runs
                    for name, size in run.in_use
                    if name == allocator
                ],
            )


def devices_of(names: Iterable[str]) -> str:
    """The devices that share an allocator. What a GPU's ops keep in the host's memory is told under the
    host's.
    """
    known = sorted(set(names) - {""})
    return ", ".join([name for name in known if _HOST.search(name)] or known)


_HOST = regex(r"cpu:\d+\Z", re.IGNORECASE)


def _on_baseline(timeline: Timeline, samples: list[baseline.Sample]) -> Timeline:
    """On what the allocator's own totals say most often, else on what stands before the step as far as it is
    known.
    """
    level = baseline.of_samples(timeline, samples)
    if level is None:
        return timeline.standing_on(timeline.standing.total_bytes, None, BaselineSource.STANDING)
    return timeline.standing_on(level.size_bytes, level.share, BaselineSource.ALLOCATOR)


def _extend_lives(runs: Sequence[NodeRun]) -> None:
    """Each output lives on to the end of the last execution that reads it; of a name that ran often, a reader
    takes the newest.
    """
    born: dict[str, list[tuple[float, OutputTensor]]] = defaultdict(list)
    for run in runs:
        for output in run.outputs:
            output.until = max(output.until, run.end)
            born[output.reference].append((run.end, output))
    ends: dict[str, list[float]] = {}
    for name, outputs in born.items():
        outputs.sort(key=lambda pair: pair[0])
        ends[name] = [end for end, _ in outputs]
    for run in runs:
        for reference in run.inputs:
            if (known := _known(reference, born)) is not None:
                _, output = born[known][max(bisect_right(ends[known], run.start) - 1, 0)]
                output.until = max(output.until, run.end, run.released)


def _known(reference: str, born: dict[str, list[tuple[float, OutputTensor]]]) -> str | None:
    """The output that a reference means: `x:0` is `x`; `x/_12` is what came over from another device (Send
    and Recv are not traced).
    """
    plain = reference.strip().removesuffix(":0")
    if plain in born:
        return plain
    source = plain.rpartition("/_")[0]
    return source if source in born else None


def _buffers(outputs: list[tuple[NodeRun, OutputTensor]]) -> Iterator[list[tuple[NodeRun, OutputTensor]]]:
    """Outputs that lie in one buffer, by its id where ids are unique, else by its address for as long as
    somebody is alive there.
    """
    addresses: dict[int, set[int]] = defaultdict(set)
    for _, output in outputs:
        if output.buffer:
            addresses[output.buffer].add(output.address)
    unique = all(len(known) == 1 for known in addresses.values())
    groups: dict[int | str, list[tuple[NodeRun, OutputTensor]]] = defaultdict(list)
    for run, output in outputs:
        if unique and output.buffer:
            groups[output.buffer].append((run, output))
        elif output.address:
            groups[f"at {output.address}"].append((run, output))
    for key, group in groups.items():
        group.sort(key=lambda pair: (pair[0].end, pair[0].start))
        if isinstance(key, int):
            yield group
        else:
            yield from _tenants(group)


def _tenants(group: list[tuple[NodeRun, OutputTensor]]) -> Iterator[list[tuple[NodeRun, OutputTensor]]]:
    """Addresses are given again once they are free (malloc): whoever comes after all have gone is a new
    buffer.
    """
    current: list[tuple[NodeRun, OutputTensor]] = []
    last = 0.0
    for run, output in group:
        if current and run.start > last and not _stands(current):
            yield current
            current = []
        current.append((run, output))
        last = max(last, output.until)
    yield current


def _stands(group: list[tuple[NodeRun, OutputTensor]]) -> bool:
    return any(run.stands for run, _ in group)


def _row(group: list[tuple[NodeRun, OutputTensor]], table: Columns, standing: Columns) -> None:
    """A row for a buffer: named after its first output, as large as its largest."""
    owner = next((pair for pair in group if pair[0].stands), group[0])
    run, output = owner
    size = max(each.size for _, each in group)
    if size <= 0:
        return
    if run.stands:
        columns, row = standing, standing.add(run.node, size, run.op, None, PERSISTENT)
    else:
        columns, row = table, table.add(run.node, size, run.op, run.end, OUTPUT)
        columns.end_micros[row] = max(max(each.until for _, each in group), run.end)
    columns.shape[row], columns.dtype[row], columns.requested_bytes[row] = (
        output.shape,
        output.dtype,
        output.requested,
    )
