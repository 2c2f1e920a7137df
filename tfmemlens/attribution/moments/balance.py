"""The books of one failure: limit, pool, in use, free, listed, outside the report, missing."""

from __future__ import annotations

from collections import Counter

from tfmemlens.model.allocation import BY_OP, UNLISTED, Allocation, AllocationTable
from tfmemlens.model.case import Balance
from tfmemlens.model.incident import NOTHING, AllocatorState, HolderBlock, Incident
from tfmemlens.units import Size, round_up
from tfmemlens.values import replace


def holders(incident: Incident) -> AllocationTable:
    """All rows that the input gives for a failure; sizes that a dump states to the byte become exact.

    Without a report the in-use chunks of the dump stand in, by size and without names.
    """
    exact = chunk_sizes(incident)
    rows = [_sharpen(row, exact) for block in incident.holders for row in block.table]
    rows += [
        Allocation(
            None,
            block.unlisted.bytes,
            device=block.device,
            allocator=block.allocator,
            error_bytes=block.unlisted.error_bytes,
            purpose=UNLISTED,
            line=block.tail,
        )
        for block in incident.holders
        if block.unlisted_nodes
    ]
    if not incident.holders:
        rows = _chunk_rows(incident)
    return AllocationTable.of(rows)


def chunk_sizes(incident: Incident) -> Counter[int]:
    """How many in-use chunks of each size the dump knows: by its summary, or by its list where the summary
    was cut and holds less.
    """
    summed = Counter({entry.size_bytes: entry.count for entry in incident.size_classes})
    chunks = incident.chunks
    if chunks is None:
        return summed
    listed = Counter(size for size, used in zip(chunks.size_bytes, chunks.in_use, strict=True) if used)
    of_summary = sum(entry.count * entry.size_bytes for entry in incident.size_classes)
    of_list = sum(size * count for size, count in listed.items())
    return listed if of_list > of_summary else summed


def _sharpen(row: Allocation, exact: Counter[int]) -> Allocation:
    """A printed figure that only one chunk size of the dump fits is that size."""
    if not row.error_bytes or not exact:
        return row
    fitting = [size for size in exact if abs(size - row.size_bytes) <= row.error_bytes]
    return replace(row, size_bytes=fitting[0], error_bytes=0) if len(fitting) == 1 else row


def _chunk_rows(incident: Incident) -> list[Allocation]:
    lines = {entry.size_bytes: entry.line for entry in incident.size_classes}
    allocator = incident.request.allocator
    device = incident.request.device
    if incident.chunks and incident.chunks.op:
        used = zip(incident.chunks.op, incident.chunks.size_bytes, incident.chunks.in_use, strict=False)
        named = Counter((op, size) for op, size, in_use in used if in_use)
        return [
            Allocation(op, size, device=device, allocator=allocator, count=count, purpose=BY_OP)
            for (op, size), count in named.items()
        ]
    sizes = sorted(chunk_sizes(incident).items(), key=lambda item: -item[0] * item[1])
    return [
        Allocation(None, size, device=device, allocator=allocator, count=count, line=lines.get(size))
        for size, count in sizes
    ]


def balance(incident: Incident, table: AllocationTable, requested: int | None) -> Balance:
    """The books, as far as the input gives them."""
    state = incident.state
    listed, unlisted, nodes = (
        _listed(table),
        _unlisted(incident.holders),
        sum(block.unlisted_nodes for block in incident.holders),
    )
    growable = _minus(state.limit, state.pool) if state.limit and state.pool else None
    free = state.free
    available = free + (growable or NOTHING) if free else _room(state, requested)
    return Balance(
        limit=state.limit,
        pool=state.pool,
        in_use=state.in_use,
        peak=state.peak,
        free=free,
        growable=growable,
        largest_free_chunk=state.largest_free_chunk,
        listed=listed if incident.holders else NOTHING,
        unlisted=unlisted,
        unlisted_nodes=nodes,
        outside_report=_outside(incident, listed + unlisted),
        waste=(
            _minus(state.in_use, state.requested_in_use) if state.in_use and state.requested_in_use else None
        ),
        requested=requested,
        room=available if free is None else None,
        missing=max(requested - available.bytes, 0) if requested is not None and available else None,
    )


def _room(state: AllocatorState, requested: int | None) -> Size | None:
    """Where only statistics are known: all that the limit leaves, if that is too little. Whether the pool
    could have had more is not known.
    """
    if state.limit is None or state.in_use is None or state.pool is not None or requested is None:
        return None
    room = _minus(state.limit, state.in_use)
    return room if requested > room.high else None


def _listed(table: AllocationTable) -> Size:
    total = error = 0
    for row in table:
        if row.purpose != UNLISTED:
            total += row.total_bytes
            error += row.error_bytes * row.count
    return Size(total, max(total - error, 0), total + error)


def _unlisted(blocks: tuple[HolderBlock, ...]) -> Size:
    total = NOTHING
    for block in blocks:
        total += block.unlisted
    return total


def _outside(incident: Incident, total: Size) -> Size | None:
    """In use, but in no line of the report; only where report and figures speak of the same allocator."""
    in_use = incident.state.in_use
    names = {block.allocator for block in incident.holders}
    if (
        in_use is None
        or not incident.holders
        or incident.compiler
        or (incident.request.allocator and names - {incident.request.allocator, None})
    ):
        return None
    return _minus(in_use, total)


def _minus(whole: Size, part: Size) -> Size:
    return Size(
        max(whole.bytes - part.bytes, 0), max(whole.low - part.high, 0), max(whole.high - part.low, 0)
    )


def rounded_request(incident: Incident) -> int | None:
    """What the allocator was asked for: as a dump states it, else shape x dtype in BFC's steps; None for
    other allocators.
    """
    request = incident.request
    if request.size and request.size.exact:
        return request.size.bytes
    need = request.tensor_bytes
    name = (request.allocator or "").lower()
    if need is not None and ("bfc" in name or (not name and "GPU" in (request.device or "GPU"))):
        return round_up(need)
    return request.size.bytes if request.size and need is None else None
