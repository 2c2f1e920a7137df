"""Chrome traces: `timeline-<step>.json` of ProfilerHook and timeline.Timeline, `trace.json.gz` of the TF2
profiler.

With `show_memory=True` a timeline holds every output (`ph` N, O, D with the text of its TensorDescription)
and counters per allocator. They come from the outputs' liveness, not from allocation records, so temporaries
and the true moment of a free are not in them. ProfilerHook's default is `show_memory=False`: then there is no
memory at all, as in the profiler's `trace.json.gz`.
"""

from __future__ import annotations

import re
from typing import Any

from tfmemlens.errors import UnreadableInput
from tfmemlens.model.allocation import AllocationTable
from tfmemlens.model.capture import Capture, Hints, Holds, Source
from tfmemlens.model.line import ReadNote
from tfmemlens.model.tensor import numpy_dtype
from tfmemlens.model.timeline import BaselineSource, CurveSource, Timeline
from tfmemlens.patterns import regex
from tfmemlens.readers.bytes import json_events
from tfmemlens.readers.contract import Confidence, Sample
from tfmemlens.readers.formats.run_metadata import HOW_TO_TRACE
from tfmemlens.readers.gathering.inputs import Opened
from tfmemlens.readers.timelines import graph_liveness
from tfmemlens.readers.timelines.columns import Columns
from tfmemlens.values import dataclass, field

HOLDS = Holds.OUTPUTS
SUFFIXES = (".timeline", ".trace", ".json")
_DIMENSION = regex(r"dim \{\s*(?:size: (-?\d{1,19}))?")
_FACT = regex(
    r"^\s*(dtype|requested_bytes|allocated_bytes|allocator_name|allocation_id|ptr|unknown_rank): (\S+)",
    re.MULTILINE,
)
_NO_MEMORY = (
    "Timeline(...).generate_chrome_trace_format(show_memory=True), or ProfilerHook(show_memory=True), puts"
    " outputs into it; the exact way: "
)
_PROFILER = (
    "the trace viewer's file has no allocations; the *.xplane.pb of the same run has them where BFC serves"
    " the device (on the CPU: TF_CPU_ALLOCATOR_USE_BFC=1)"
)


@dataclass
class _Trace:
    """What was gathered, by the number of the process it stands under."""

    names: dict[str, str] = field(default_factory=dict)
    runs: dict[str, list[graph_liveness.NodeRun]] = field(default_factory=dict)
    tensors: dict[str, list[tuple[float, str, str]]] = field(default_factory=dict)
    """(when it was complete, name, description)."""
    deaths: dict[tuple[str, str], float] = field(default_factory=dict)
    counters: dict[str, dict[float, int]] = field(default_factory=dict)
    events: int = 0


def sniff(sample: Sample) -> Confidence:
    """A text begins like a Chrome trace."""
    return Confidence.CERTAIN if json_events.start_of(sample.text) >= 0 else Confidence.NO


def read(opened: Opened, hints: Hints = Hints()) -> Capture:
    """The timelines that the outputs' liveness gives, else those of the counters, else a note on what to
    record. Raises UnreadableInput.
    """
    del hints
    trace, notes = _Trace(), []
    for event in json_events.events(opened):
        if isinstance(event, str):
            notes.append(ReadNote(f"{opened.path}: {event}; the {trace.events:,} events before are shown"))
        else:
            _take(trace, event)
    if not trace.events:
        raise UnreadableInput(
            f"{opened.path} begins like a Chrome trace, and holds no event",
            "copy the file again, in binary mode",
        )
    timelines = _of_outputs(trace)
    if timelines:
        notes += _comparison(trace, timelines)
    else:
        timelines = [_of_counters(allocator, samples) for allocator, samples in trace.counters.items()]
        notes.append(_lack(opened.path, trace))
    ordered = sorted(timelines, key=lambda timeline: -timeline.peak_bytes)
    return Capture(
        Source(opened.path, ("chrome-trace",), "tensorflow"), timelines=tuple(ordered), notes=tuple(notes)
    )


def _take(trace: _Trace, event: dict[str, Any]) -> None:
    """One event; what has not the fields that TensorFlow writes counts, and no more."""
    trace.events += 1
    kind, args, pid = event.get("ph"), event.get("args"), str(event.get("pid"))
    args = args if isinstance(args, dict) else {}
    micros = _number(event.get("ts"))
    if kind == "M" and event.get("name") == "process_name":
        trace.names[pid] = str(args.get("name", ""))
    elif kind == "X" and "op" in args:
        inputs = [str(value) for key, value in args.items() if key.startswith("input")]
        op = None if args["op"] == "unknown" else str(args["op"])
        trace.runs.setdefault(pid, []).append(
            graph_liveness.NodeRun(
                str(args.get("name", "")), op, micros, micros + _number(event.get("dur")), inputs
            )
        )
    elif kind == "O" and isinstance(args.get("snapshot"), dict):
        text = str(args["snapshot"].get("tensor_description", ""))
        trace.tensors.setdefault(pid, []).append((micros, str(event.get("name", "")), text))
    elif kind == "D":
        trace.deaths[pid, str(event.get("name", ""))] = micros
    elif kind == "C" and event.get("cat") == "Memory":
        for allocator, value in args.items():
            samples = trace.counters.setdefault(allocator, {})
            samples[micros] = max(int(_number(value)), samples.get(micros, 0))


def _number(value: object) -> float:
    """A finite number, 0 for anything else."""
    return float(value) if isinstance(value, int | float) and abs(value) < 1e300 else 0.0


def _of_outputs(trace: _Trace) -> list[Timeline]:
    """Nothing where the readers of the outputs are not in the file."""
    from tfmemlens.readers.timelines.step_stats import keeps_memory

    lanes: dict[str, list[graph_liveness.NodeRun]] = {}
    for pid, name in trace.names.items():
        device = name.removesuffix(" Compute")
        if device != name and keeps_memory(device):
            lanes[device] = trace.runs.get(pid, [])
    if not any(lanes.values()):
        return []
    for pid, name in trace.names.items():
        device = name.removesuffix(" Tensors")
        if device in lanes and pid in trace.tensors:
            _attach(lanes[device], pid, trace)
    everywhere = [run for runs in lanes.values() for run in runs]
    return [
        timeline
        for device, runs in lanes.items()
        for timeline in graph_liveness.timelines(device, runs, everywhere)
    ]


def _attach(runs: list[graph_liveness.NodeRun], pid: str, trace: _Trace) -> None:
    """Each output to the execution that ended with it: a snapshot is stamped one microsecond before its
    producer's end.
    """
    ended: dict[str, dict[float, graph_liveness.NodeRun]] = {}
    for run in runs:
        ended.setdefault(run.node, {})[run.end] = run
    last = {name: micros for micros, name, _ in trace.tensors[pid]}
    for micros, name, text in trace.tensors[pid]:
        node = name.rpartition(":")[0] if name.rpartition(":")[2].isdigit() and ":" in name else name
        producer = ended.get(node, {}).get(micros + 1)
        if producer is None:
            producer = graph_liveness.NodeRun(node, None, micros, micros + 1)
            runs.append(producer)
        output = _output(name, text)
        if last[name] == micros:  # of a name that ran often, only the last instance's death is told
            output.until = trace.deaths.get((pid, name), 0.0)
        producer.outputs.append(output)


def _output(reference: str, text: str) -> graph_liveness.OutputTensor:
    """A TensorDescription in protobuf's text format, its quotes stripped by timeline.py."""
    facts = dict(_FACT.findall(text))
    number = {
        key: int(facts.get(key, 0))
        for key in ("requested_bytes", "allocated_bytes", "allocation_id", "ptr")
        if facts.get(key, "0").isdigit()
    }
    shape = None if "unknown_rank" in facts else tuple(int(size or 0) for size in _DIMENSION.findall(text))
    requested = number.get("requested_bytes", 0)
    return graph_liveness.OutputTensor(
        reference, facts.get("allocator_name", ""), number.get("allocated_bytes", 0) or requested, requested,
        number.get("allocation_id", 0),
        number.get("ptr", 0), shape, numpy_dtype(facts["dtype"]) if "dtype" in facts else None,
    )  # fmt: skip


def _comparison(trace: _Trace, timelines: list[Timeline]) -> list[ReadNote]:
    """What TensorFlow's own counters say, where it differs."""
    ours = {timeline.allocator: timeline.peak_bytes for timeline in timelines}
    notes = []
    for allocator, samples in trace.counters.items():
        highest = max(samples.values())
        if allocator in ours and highest != ours[allocator]:
            notes.append(
                ReadNote(
                    f"This file's own counter of {allocator} reaches {highest:,} bytes: it adds up what each"
                    " output asked for, one buffer as often as it has outputs; the figures here count each"
                    " buffer once, with its whole chunk"
                )
            )
    return notes


def _of_counters(allocator: str, samples: dict[float, int]) -> Timeline:
    """A curve without names: each value holds until the next."""
    columns = Columns()
    times = sorted(samples)
    for start, end in zip(times, [*times[1:], times[-1] + 1 if times else 0], strict=True):
        if samples[start] > 0:
            columns.end_micros[columns.add(None, samples[start], None, start, None)] = (start + end) / 2
    table: AllocationTable = columns.table("", allocator)
    return Timeline(
        "", allocator, table, baseline_source=BaselineSource.UNKNOWN, curve_source=CurveSource.COUNTERS
    )


def _lack(path: str, trace: _Trace) -> ReadNote:
    if trace.tensors:
        outputs = sum(map(len, trace.tensors.values()))
        return ReadNote(
            f"{path}: {outputs:,} outputs, but not the ops that read them, so it is not known how long they"
            f" live; {HOW_TO_TRACE}"
        )
    if trace.counters:
        return ReadNote(f"{path}: counters without outputs: the curve has no names")
    ops = sum(map(len, trace.runs.values()))
    if ops:
        return ReadNote(f"{path}: {ops:,} ops and no memory; {_NO_MEMORY}{HOW_TO_TRACE}")
    return ReadNote(f"{path}: {trace.events:,} events and no memory; {_PROFILER}")
