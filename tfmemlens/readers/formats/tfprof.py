"""tfprof's ProfileProto: `profile_<step>` of tf.contrib.tfprof.ProfileContext, or what tf.profiler.Profiler
serialises.

For every node and step it holds when each execution ran, the bytes and address of its outputs and the sum of
its scratch memory. Allocation records are kept for GPU allocators only; elsewhere the curve comes from the
outputs' liveness. Sizes are what was asked for, not chunks, and `requested_bytes` is left aside: it counts
scratch and variables twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tfmemlens.errors import UnreadableInput, UsageError
from tfmemlens.model.capture import Capture, Hints, Holds, Source
from tfmemlens.model.line import ReadNote
from tfmemlens.model.tensor import numpy_dtype_of_enum, tensor_bytes
from tfmemlens.model.timeline import Timeline
from tfmemlens.patterns import regex
from tfmemlens.readers.bytes.damaged_protobuf import parse_prefix
from tfmemlens.readers.bytes.wire import varint
from tfmemlens.readers.contract import Confidence, ListedStep, Sample
from tfmemlens.readers.gathering.inputs import Opened
from tfmemlens.readers.timelines import graph_liveness

HOLDS = Holds.OUTPUTS
SUFFIXES = (".profile",)
_KIND = regex(r"(?<=device:)(?:cpu|gpu)(?=:\d)")
_DTYPES = ("DstT", "out_type", "dtype", "T")
_HOST, _DEVICE = "host memory", "device memory"
_TRACE = (
    "run at least one step within tf.contrib.tfprof.ProfileContext(dir, trace_steps=[...], dump_steps=[...]),"
    " or Profiler.add_step(step, run_metadata)"
)


def sniff(sample: Sample) -> Confidence:
    """The first field is a map entry from a number to a message that begins with a node's name or another
    field of ProfileNode.
    """
    return Confidence.LIKELY if _begins_with_a_node(sample.binary) else Confidence.NO


def _begins_with_a_node(head: bytes) -> bool:
    if head[:1] != b"\x0a":
        return False
    length, at = varint(head, 1)
    end = at + length
    if head[at : at + 1] != b"\x08":
        return False
    _, at = varint(head, at + 1)
    if head[at : at + 1] != b"\x12":
        return False
    inner, at = varint(head, at + 1)
    if at + inner != end or head[at : at + 1] != b"\x0a":
        return False
    size, at = varint(head, at + 1)
    return (
        0 < size < min(inner, 4096) and head[at : at + size].isascii() and b"\x00" not in head[at : at + size]
    )


def read(opened: Opened, hints: Hints = Hints()) -> Capture:
    """The newest step of the profile, or the one asked for. Raises UnreadableInput, UsageError."""
    from tfmemlens.readers.graphs import proto_graph

    profile, notes = parse_prefix("ProfileProto", opened.all(), depth=0)
    if profile is None or not profile.nodes:
        raise UnreadableInput(
            f"{opened.path} looks like a tfprof profile, and none of it can be read",
            "copy the file again, in binary mode",
        )
    numbers = sorted({step for node in _nodes(profile) for step in node.execs})
    source = Source(opened.path, ("tfprof",), "tensorflow")
    if not numbers:
        note = ReadNote(
            f"{opened.path} holds {len(profile.nodes):,} nodes of a graph, and no executed step; {_TRACE}"
        )
        return Capture(source, notes=(*notes, note))
    if hints.step is not None and hints.step not in numbers:
        raise UsageError(
            f"{opened.path} holds no step {hints.step}", f"it holds: {', '.join(map(str, numbers))}"
        )
    step = numbers[-1] if hints.step is None else hints.step
    if len(numbers) > 1 and hints.step is None:
        others = ", ".join(str(each) for each in numbers[:12] if each != step)
        notes.append(
            ReadNote(
                f"{opened.path} holds {len(numbers)} traced steps; this is step {step}. --step shows another:"
                f" {others}"
            )
        )
    timelines = [
        timeline
        for device, nodes in _by_device(profile, step).items()
        for timeline in _of_device(device, nodes, profile, step)
    ]
    if not timelines:
        notes.append(
            ReadNote(
                f"{opened.path}: step {step} has times of {len(profile.nodes):,} nodes, but no memory of any;"
                f" {_TRACE}"
            )
        )
    ordered = sorted(timelines, key=lambda timeline: -timeline.peak_bytes)
    return Capture(
        source,
        timelines=tuple(ordered),
        graph=proto_graph.of_graph_defs([_graph_def(profile)]),
        notes=tuple(notes),
    )


def _nodes(profile: Any) -> Iterator[Any]:
    """The nodes by their number: protobuf promises no order of a map, and each implementation has its own."""
    return (profile.nodes[number] for number in sorted(profile.nodes))


def _graph_def(profile: Any) -> Any:
    """The graph as tfprof keeps it: names, ops, inputs, attributes."""
    from tfmemlens.schema import message

    graph_def = message("GraphDef")()
    for node in _nodes(profile):
        copy = graph_def.node.add(
            name=node.name, op=_op(node) or "", device=node.canonical_device, input=_inputs(node, profile)
        )
        for name in sorted(node.attrs):
            if name != "value":
                copy.attr[name].CopyFrom(node.attrs[name])
    return graph_def


def _inputs(node: Any, profile: Any) -> list[str]:
    """References to the outputs that a node reads, in order."""
    sources = (node.inputs[index] for index in sorted(node.inputs))
    return [
        _reference(profile.nodes[source].name, node.src_output_index[source])
        for source in sources
        if source in profile.nodes
    ]


def steps(opened: Opened) -> Iterator[ListedStep]:
    """The steps that the file holds: no tag, the number, when the first node of each ran."""
    profile, _ = parse_prefix("ProfileProto", opened.all(), depth=0)
    began: dict[int, int] = {}
    for node in _nodes(profile) if profile is not None else ():
        for step, executed in node.execs.items():
            began[step] = min(began.get(step, executed.all_start_micros), executed.all_start_micros)
    return (ListedStep(None, step, micros / 1e6 or None) for step, micros in sorted(began.items()))


def _by_device(profile: Any, step: int) -> dict[str, list[Any]]:
    """The nodes that ran in this step, by the device they were placed on."""
    lanes: dict[str, list[Any]] = {}
    for node in _nodes(profile):
        if step in node.execs:
            lanes.setdefault(_KIND.sub(lambda kind: kind[0].upper(), node.canonical_device), []).append(node)
    return lanes


def _of_device(device: str, nodes: list[Any], profile: Any, step: int) -> Iterator[Timeline]:
    """From allocation records where there are some, else from liveness."""
    if any(node.execs[step].allocations for node in nodes):
        from tfmemlens.readers.timelines import step_stats

        yield from step_stats.timelines(_as_step_stats(device, nodes, step))
    else:
        yield from graph_liveness.timelines(
            device, [run for node in nodes for run in _runs(node, profile, step)]
        )


def _runs(node: Any, profile: Any, step: int) -> Iterator[graph_liveness.NodeRun]:
    """The executions of a node; their outputs are stamped with the executions' ends."""
    executed = node.execs[step]
    op = _op(node)
    inputs = _inputs(node, profile)
    starts = {
        start + length: start
        for name in sorted(executed.cpu_execs)
        if "/host:" not in name
        for start, length in _times(executed.cpu_execs[name])
    }
    ends = {memory.memory_micros: memory for memory in executed.memory_execs}
    for end in sorted({*starts, *ends} or {executed.latest_end_micros}):
        run = graph_liveness.NodeRun(node.name, op, starts.get(end, executed.all_start_micros), end, inputs)
        if end in ends:
            memory = ends[end]
            run.outputs += [
                _output(node, slot, memory.output_memory[slot]) for slot in sorted(memory.output_memory)
            ]
            run.scratch = [
                (_HOST, _scratch(memory, memory.host_temp_bytes)),
                (_DEVICE, _scratch(memory, memory.accelerator_temp_bytes)),
            ]
        yield run


def _scratch(memory: Any, total: int) -> int:
    """Scratch memory that may be alive at once: not more than the op's own peak, to which tfprof adds scratch
    and variables once more.
    """
    peak = (
        memory.peak_bytes
        - memory.host_temp_bytes
        - memory.host_persistent_bytes
        - memory.accelerator_temp_bytes
        - memory.accelerator_persistent_bytes
    )
    return int(min(total, peak) if peak > 0 else total)


def _times(executed: Any) -> Iterator[tuple[int, int]]:
    return (
        (each.int64_values[0], each.int64_values[1]) for each in executed.times if len(each.int64_values) == 2
    )


def _op(node: Any) -> str | None:
    """The op's type; tfprof writes a node's own name where it has none (feeds, fetches, folded constants)."""
    if node.name.startswith("ConstantFolding/"):
        return "Const"
    return None if node.op == node.name else node.op or None


def _reference(name: str, port: int) -> str:
    return f"{name}:{port}" if port else name


def _output(node: Any, slot: int, memory: Any) -> graph_liveness.OutputTensor:
    shape = tuple(node.output_shapes[slot].int64_values) if slot in node.output_shapes else None
    where = _DEVICE if "gpu" in node.canonical_device.lower() else _HOST
    dtype = next(
        (
            numpy_dtype_of_enum(node.attrs[name].type)
            for name in _DTYPES
            if name in node.attrs and node.attrs[name].HasField("type")
        ),
        None,
    )
    requested = tensor_bytes(shape, dtype)
    return graph_liveness.OutputTensor(
        _reference(node.name, slot),
        where,
        memory.bytes,
        requested,
        address=memory.ptr,
        shape=shape,
        dtype=dtype,
    )


def _as_step_stats(device: str, nodes: list[Any], step: int) -> Any:
    """What the records would be in a RunMetadata; tfprof keeps those of allocators with GPU in their name,
    and drops that name.
    """
    from tfmemlens.schema import message

    step_stats = message("StepStats")()
    lane = step_stats.dev_stats.add(device=device)
    number = device.rpartition(":")[2] if "gpu" in device.lower() else "0"
    for node in nodes:
        executed = node.execs[step]
        for index, memory in enumerate(executed.memory_execs):
            stats = lane.node_stats.add(
                node_name=node.name,
                all_start_micros=memory.memory_micros,
                timeline_label=f"{node.name} = {_op(node) or ''}()",
            )
            used = stats.memory.add(
                allocator_name=f"GPU_{number}_bfc", allocator_bytes_in_use=memory.allocator_bytes_in_use
            )
            if index == 0:
                used.allocation_records.extend(executed.allocations)
            for slot in sorted(memory.output_memory):
                held = memory.output_memory[slot]
                tensor = stats.output.add(slot=slot).tensor_description
                for size in node.output_shapes[slot].int64_values if slot in node.output_shapes else ():
                    tensor.shape.dim.add(size=size)
                where = tensor.allocation_description
                where.requested_bytes, where.allocated_bytes, where.ptr, where.allocator_name = (
                    held.bytes,
                    held.bytes,
                    held.ptr,
                    f"GPU_{number}_bfc",
                )
    return step_stats
