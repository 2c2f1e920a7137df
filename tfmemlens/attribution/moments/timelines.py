"""Who is alive at one instant of a timeline, with what stood before the step, so that the rows add up to all
that was in use.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from tfmemlens.attribution.moments.consumers import last_reader
from tfmemlens.attribution.moments.curves import of_curve
from tfmemlens.attribution.moments.live_inputs import OF_BATCH
from tfmemlens.attribution.moments.owners import looped
from tfmemlens.attribution.moments.phases import phases
from tfmemlens.attribution.names.node_names import owner_of
from tfmemlens.attribution.names.owner_cache import owner_like
from tfmemlens.errors import UsageError
from tfmemlens.knowledge.ops import roles
from tfmemlens.knowledge.ops.origin import source_of
from tfmemlens.model.allocation import BEFORE, PERSISTENT, PIPELINE, TEMPORARY, Allocation, AllocationTable
from tfmemlens.model.attribution import NOBODY, Attribution, Kind, Owner, Phase
from tfmemlens.model.capture import Capture
from tfmemlens.model.case import Balance, Moment
from tfmemlens.model.graph import Graph, variables_on
from tfmemlens.model.timeline import BaselineSource, Timeline
from tfmemlens.patterns import regex
from tfmemlens.units import Size, round_up
from tfmemlens.values import replace

_ELEMENT = regex(r"TensorArray(?:Read|Gather)|TensorListGetItem|StackPop")
_NAMED = 2000


def moment_at(
    capture: Capture,
    timeline: Timeline,
    index: int | None = None,
    standing: Sequence[tuple[Allocation, Owner]] | None = None,
) -> Moment:
    """The moment after the event with this index, the peak by default. `standing` is what `standing_of` says,
    where that has been asked before.
    """
    index = timeline.peak_index if index is None else index
    rows = [
        (allocation, _owner_of(timeline, allocation.node, allocation.op, allocation.purpose))
        for allocation in _alive(timeline, index)
    ]
    rows += baseline_rows(timeline, standing_of(timeline, capture.graph) if standing is None else standing)
    table = AllocationTable.of([allocation for allocation, _ in rows])
    total = table.total_bytes
    limit = timeline.limit_bytes or capture.hints.limit_bytes
    books = Balance(
        limit=Size.exactly(limit) if limit else None,
        in_use=Size.exactly(total),
        peak=Size.exactly(timeline.peak_bytes),
        free=Size.exactly(max(limit - total, 0)) if limit else None,
        listed=Size.exactly(total),
        waste=(
            Size.exactly(sum(row.size_bytes - row.requested_bytes for row in table if row.requested_bytes))
            if any(table.requested_bytes)
            else None
        ),
    )
    micros = timeline.events[0][index] if index >= 0 else None
    return Moment(
        Attribution(table, [owner for _, owner in rows]),
        books,
        timeline=timeline,
        peak_micros=micros,
        phases=phases(timeline),
        last_reader=tuple(last_reader(table, capture.graph, timeline)),
        omissions=tuple(_omissions(timeline)),
    )


def index_of(timeline: Timeline, at: str) -> int:
    """The event that `--at` means: `12.5ms` after the first allocation, or the last allocation of a node.
    Raises UsageError.
    """
    if match := re.fullmatch(r"\s*([\d.]+)\s*(us|µs|ms|s)\s*", at):
        try:
            micros = float(match[1]) * {"us": 1, "µs": 1, "ms": 1e3, "s": 1e6}[match[2]]
        except ValueError:
            raise UsageError(f"{at} is no time", "times look like 12.5ms, 800us or 1.2s") from None
        first, last = (timeline.events[0][0], timeline.events[0][-1]) if timeline.curve else (0.0, 0.0)
        if micros > last - first:
            raise UsageError(
                f"{at} is after the end of the step",
                f"its last allocation is freed {(last - first) / 1000:,.1f}ms after the first",
            )
        return timeline.index_at(first + micros)
    rows = {row for row, node in enumerate(timeline.table.node) if node == at}
    found_at = [
        index
        for index, (change, row) in enumerate(zip(timeline.events[1], timeline.events[2], strict=True))
        if row in rows and change >= 0
    ]
    if not found_at:
        near = sorted({node for node in timeline.table.node if node and at.lower() in node.lower()}, key=len)[
            :3
        ]
        advice = (
            f"did you mean {', or '.join(near)}?"
            if near
            else "give a time such as 12.5ms, or the full name of a node of the table"
        )
        raise UsageError(f"no node {at!r} allocates anything on {timeline.allocator}", advice)
    return found_at[-1]


def owners_of(timeline: Timeline) -> list[Owner]:
    """The owner of each row of the timeline's table."""
    table = timeline.table
    return [
        _owner_of(timeline, node, op, purpose)
        for node, op, purpose in zip(table.node, table.op, table.purpose, strict=True)
    ]


def kept_by_loops(timeline: Timeline) -> dict[str, Owner]:
    """The owners of nodes in loops of which several executions are alive at the peak, as of a list's."""
    table = timeline.table
    if not any("while" in node for node in set(table.node) if node):
        return {}
    alive = [row for row in timeline.alive_after(timeline.peak_index) if table.node[row]]
    executions = Counter(table.node[row] for row in alive)
    owners: dict[str, Owner] = {}
    for row in alive:
        node = table.node[row] or ""
        if executions[node] > 1 and node not in owners:
            owner = timeline.owners.get(node) or owner_of(node, table.op[row])
            owners[node] = looped(owner, executions[node])
    return {node: owner for node, owner in owners.items() if owner.kind is Kind.LOOP_STACK}


def _alive(timeline: Timeline, index: int) -> Iterable[Allocation]:
    return (timeline.table[row] for row in timeline.alive_after(index))


def _owner_of(timeline: Timeline, node: str | None, op: str | None, purpose: str | None) -> Owner:
    if purpose == PIPELINE:
        return OF_BATCH
    if node is None:
        return NOBODY
    owner = timeline.owners.get(node) or owner_like(node, op)
    if purpose == TEMPORARY and owner.kind is not Kind.LAYOUT_TRANSPOSE:
        return replace(owner, kind=Kind.WORKSPACE)
    return _of_variable(owner) if purpose == BEFORE else owner


def _of_variable(owner: Owner) -> Owner:
    """What was there before the step under the name of no slot or constant is a variable's buffer, no op's
    output.
    """
    return replace(owner, kind=Kind.PARAMETER, phase=Phase.NONE) if owner.kind is Kind.ACTIVATION else owner


def baseline_rows(
    timeline: Timeline, known: Sequence[tuple[Allocation, Owner]]
) -> list[tuple[Allocation, Owner]]:
    """Variables, slots and constants as far as they are known, and the rest of the baseline without a
    name.
    """
    left = timeline.baseline_bytes
    kept = []
    for allocation, owner in sorted(known, key=lambda pair: -pair[0].size_bytes):
        if 0 < allocation.size_bytes <= left:
            kept.append((allocation, owner))
            left -= allocation.size_bytes
    if left:
        rest = Allocation(None, left, device=timeline.device, allocator=timeline.allocator, purpose=BEFORE)
        kept.append((rest, NOBODY))
    return kept


def standing_of(timeline: Timeline, graph: Graph | None) -> list[tuple[Allocation, Owner]]:
    """Variables, slots and constants as far as they are known, in the order of the trace; those that only the
    graph knows come last.
    """
    named = (timeline.standing[row] for row in _largest(timeline.standing.size_bytes))
    known = [
        _named(row, graph, timeline.owners) for row in named if row.dtype != "resource"
    ]  # a handle of 64 bytes is not its variable
    names = {allocation.node for allocation, _ in known}
    if graph is not None:
        gone = {timeline.table.node[row] for row in timeline.freed_preexisting}
        known += [
            handle_of(node.name, timeline, graph)
            for node in variables_on(graph, timeline.device)
            if node.name not in names | gone
        ]
    return known


def _largest(sizes: Sequence[int]) -> Iterable[int]:
    """The rows worth a name: a graph may hold tens of thousands of scalars, which stay together in the
    rest.
    """
    if len(sizes) <= _NAMED:
        return range(len(sizes))
    return sorted(sorted(range(len(sizes)), key=sizes.__getitem__, reverse=True)[:_NAMED])


def _named(row: Allocation, graph: Graph | None, owners: Mapping[str, Owner]) -> tuple[Allocation, Owner]:
    """The buffer under the name of the variable or constant that owns it rather than of its first reader."""
    if row.node in owners:
        return row, owners[row.node or ""]
    source = source_of(row.node or "", graph)
    op = (graph.op_of(source) if graph else None) or row.op
    owner = owners.get(source) or owner_like(source, op)
    if op in roles.CONSTANTS:
        owner = replace(owner, kind=Kind.CONSTANT)
    elif owner.kind is Kind.ACTIVATION and _ELEMENT.search(f"{op or ''} {source}"):
        owner = replace(owner, kind=Kind.LOOP_STACK)  # a slice that the array cut without a record of it
    else:
        owner = _of_variable(owner)
    return replace(row, node=source, op=op), owner


def handle_of(name: str, timeline: Timeline, graph: Graph) -> tuple[Allocation, Owner]:
    """A variable as the graph describes it, of the size that it asks for."""
    from tfmemlens.model.tensor import tensor_bytes

    attributes = graph.nodes[name].attributes
    shape, dtype = attributes.get("shape"), attributes.get("dtype")
    size = tensor_bytes(shape if isinstance(shape, tuple) else None, str(dtype)) or 0
    owner = timeline.owners.get(name) or owner_of(name, "VarHandleOp")
    row = Allocation(
        name, round_up(size) if size else 0, "VarHandleOp", timeline.device, timeline.allocator, size,
        shape=shape if isinstance(shape, tuple) else None, dtype=str(dtype) if dtype else None,
        purpose=PERSISTENT,
    )  # fmt: skip
    return row, owner


def _agreeing(share: float | None) -> str:
    """How many of the allocator's samples bear the baseline out."""
    if share is None:
        return "an unknown share of its samples"
    return (
        "every allocator sample" if share == 1 else f"{share:.0%} of the allocator samples".replace("%", " %")
    )


def _omissions(timeline: Timeline) -> Iterable[str]:
    yield from of_curve(timeline)
    if timeline.baseline_source is BaselineSource.ALLOCATOR:
        yield (
            "What was in use before the step comes from the allocator's own figure, consistent with"
            f" {_agreeing(timeline.baseline_confidence)}."
        )
        if (timeline.baseline_confidence or 0) < 0.25:
            yield (
                "That is few: buffers that were born before the step may have been freed in it, and the peak"
                " may be off by their size."
            )
    elif timeline.baseline_source is BaselineSource.PREDICTED:
        yield "All of this is predicted from the model's description; nothing was run."
    elif timeline.baseline_source is BaselineSource.STANDING and timeline.precision == "exact":
        yield (
            "This allocator keeps no figure of its own, so the baseline is the sum of the variables and"
            " constants that the step read: a lower bound."
        )
    elif timeline.baseline_source is BaselineSource.UNKNOWN:
        yield "What was in use before the step is not known: all figures start at 0."
