"""Traced steps without allocation records (TensorFlow 1.2 and older, some GPU builds): outputs, their
readers, and each op's scratch memory.

Where the allocator's own total is in the trace (`allocator_bytes_in_use`) it fixes the baseline, as it does
beside records. On real traces of TensorFlow 1.13 to 2.21 with their records taken out the baseline was the
same or up to 2 % of the peak more, and the peak between 91 and 104 % of the true one (113 % where variables
got new buffers within the step).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from tfmemlens.knowledge.ops import roles
from tfmemlens.model.tensor import numpy_dtype_of_enum
from tfmemlens.model.timeline import Timeline
from tfmemlens.readers.timelines import graph_liveness
from tfmemlens.readers.timelines.step_stats import keeps_memory, op_of, process_of


def timelines(step_stats: Any, known: Sequence[Timeline] = ()) -> Iterator[Timeline]:
    """A timeline for each allocator of each device of which no record is `known`, the busiest first."""
    told = {device for timeline in known for device in timeline.device.split(", ")}
    processes: dict[str, list[graph_liveness.NodeRun]] = defaultdict(list)
    for device in step_stats.dev_stats:
        if keeps_memory(device.device) and device.device not in told:
            processes[process_of(device.device)] += [_run(node, device.device) for node in device.node_stats]
    everywhere = [run for runs in processes.values() for run in runs]
    rebuilt = [
        timeline for runs in processes.values() for timeline in graph_liveness.timelines("", runs, everywhere)
    ]
    yield from sorted(
        (
            timeline
            for timeline in rebuilt
            if timeline.table.node or roles.VARIABLES & set(timeline.standing.op)
        ),
        key=lambda timeline: -timeline.peak_bytes,
    )


def _run(node: Any, device: str) -> graph_liveness.NodeRun:
    start, outputs = node.all_start_micros, [_output(node.node_name, output) for output in node.output]
    allocators = [memory.allocator_name for memory in node.memory] or [output.allocator for output in outputs]
    return graph_liveness.NodeRun(
        node.node_name,
        op_of(node.timeline_label),
        start,
        start + (node.op_end_rel_micros or node.all_end_rel_micros),
        _inputs(node.timeline_label),
        outputs,
        start + node.all_end_rel_micros,
        [(allocators[0], _scratch(node))] if allocators else (),
        [
            (memory.allocator_name, memory.allocator_bytes_in_use)
            for memory in node.memory
            if memory.allocator_bytes_in_use
        ],
        device,
        any(memory.total_bytes > 0 for memory in node.memory),
    )


def _scratch(node: Any) -> int:
    """What the op had beside its outputs: not more than it ever had at once, where the trace knows that."""
    stats = node.memory_stats
    total = stats.temp_memory_size + stats.device_temp_memory_size
    peak = sum(memory.peak_bytes for memory in node.memory)
    return int(min(total, peak) if peak else total)


def _inputs(label: str) -> list[str]:
    """The inputs in `[bfc 2.0MB] conv/Relu = _FusedConv2D(x, conv/w)`."""
    at = label.find("(", label.find(" = "))
    return label[at + 1 : label.rfind(")")].split(", ") if at >= 0 else []


def _output(node: str, output: Any) -> graph_liveness.OutputTensor:
    description = output.tensor_description
    where = description.allocation_description
    shape = None if description.shape.unknown_rank else tuple(dim.size for dim in description.shape.dim)
    return graph_liveness.OutputTensor(
        f"{node}:{output.slot}" if output.slot else node, where.allocator_name,
        where.allocated_bytes or where.requested_bytes, where.requested_bytes,
        where.allocation_id, where.ptr, shape, numpy_dtype_of_enum(description.dtype),
    )  # fmt: skip
