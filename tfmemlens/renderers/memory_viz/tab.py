"""A traced step as a snapshot of PyTorch's allocator: a device for each of ours, an event for each allocation
and each free, with node, layer and kind in place of Python's frames.

Most traces tell no addresses, so those in the snapshot are ours: what its page shows over time is measured,
where in the pool it lies is not.
"""

from __future__ import annotations

import pickle
from typing import Any

from tfmemlens.model.case import Moment
from tfmemlens.model.ledger import Ledger
from tfmemlens.model.page import Tab
from tfmemlens.renderers.memory_viz._placing import Placing
from tfmemlens.renderers.view import View

_PROTOCOL = 4
"""The one that PyTorch writes and its page reads."""
_START = 1 << 40
"""The address of a pool: any but 0, which the page takes for none."""


def render(tab: Tab, view: View = View()) -> bytes:
    """The pickled snapshot."""
    del view  # the viewer asks for itself
    timed = [
        (moment, ledger)
        for moment, ledger in zip(tab.report.case.moments, tab.ledgers, strict=True)
        if moment.timeline
    ]
    pools = [_pool(device, moment, ledger) for device, (moment, ledger) in enumerate(timed)]
    document = {
        "segments": [segment for segment, _ in pools],
        "device_traces": [events for _, events in pools],
        "allocator_settings": {},
        "external_annotations": [],
    }
    return pickle.dumps(document, protocol=_PROTOCOL)


def _pool(device: int, moment: Moment, ledger: Ledger) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The pool as one segment, as it stands after the step, and what happened in it."""
    assert moment.timeline
    times, table, placing = moment.timeline.events[0], ledger.table, Placing(_START)
    sizes = [size * count for size, count in zip(table.size_bytes, table.count, strict=True)]
    frames = [_frames(ledger, row) for row in range(len(table))]
    rows = [row for row in range(len(table)) if sizes[row] > 0]
    at = {row: placing.take(sizes[row]) for row in rows if ledger.birth[row] < 0}
    happened = [(ledger.birth[row], row) for row in rows if ledger.birth[row] >= 0]
    happened += [(ledger.death[row], ~row) for row in rows if 0 <= ledger.death[row] < len(times)]
    events = []
    for event, what in sorted(happened, key=lambda pair: pair[0]):
        row = what if what >= 0 else ~what
        if what >= 0:
            at[row] = placing.take(sizes[row])
        actions = ("alloc",) if what >= 0 else ("free_requested", "free_completed")
        events += [
            {
                "action": action,
                "addr": at[row],
                "size": sizes[row],
                "stream": 0,
                "time_us": round(times[event]),
                "frames": frames[row],
            }
            for action in actions
        ]
        if what < 0:
            placing.give(at.pop(row), sizes[row])
    blocks = [
        _block(address, sizes[row], table.requested_bytes[row] or sizes[row], frames[row])
        for row, address in at.items()
    ]
    return _segment(device, placing, blocks), events


def _block(address: int, size: int, requested: int, frames: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "address": address,
        "size": size,
        "requested_size": min(requested, size),
        "state": "active_allocated",
        "frames": frames,
    }


def _segment(device: int, placing: Placing, blocks: list[dict[str, Any]]) -> dict[str, Any]:
    """The pool's blocks in the order of their addresses, gaps between them as inactive ones."""
    whole: list[dict[str, Any]] = []
    end = placing.start
    for block in sorted(blocks, key=lambda each: int(each["address"])):
        if block["address"] > end:
            whole.append(_gap(end, block["address"] - end))
        whole.append(block)
        end = block["address"] + block["size"]
    if placing.end > end:
        whole.append(_gap(end, placing.end - end))
    held = sum(block["size"] for block in blocks)
    return {
        "device": device,
        "address": placing.start,
        "total_size": placing.end - placing.start,
        "allocated_size": held,
        "active_size": held,
        "requested_size": sum(block["requested_size"] for block in blocks),
        "stream": 0,
        "segment_type": "large",
        "segment_pool_id": (0, 0),
        "is_expandable": False,
        "frames": [],
        "blocks": whole,
    }


def _gap(address: int, size: int) -> dict[str, Any]:
    return {"address": address, "size": size, "requested_size": 0, "state": "inactive", "frames": []}


def _frames(ledger: Ledger, row: int) -> list[dict[str, Any]]:
    """Innermost first, as PyTorch's: the node with its op, the layer, the kind."""
    owner, table = ledger.owners[row], ledger.table
    named = (
        (table.op[row] or owner.op or "memory", table.node[row] or "(no name)"),
        (owner.layer or "(no layer in the name)", "layer"),
        (owner.kind.value, "kind"),
    )
    return [{"name": name, "filename": where, "line": 0} for name, where in named]
