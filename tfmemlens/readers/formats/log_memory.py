"""`__LOG_MEMORY__` lines: every allocation and every free of a process, as TF_CPP_VMODULE=log_memory=2 (or
TF_CPP_MIN_VLOG_LEVEL=2) logs them.

`MemoryLogTensorAllocation` has the kernel, the shape and the chunk; `MemoryLogTensorDeallocation` has the
allocation's id, which allocators that count (BFC) give and plain malloc does not; `MemoryLogStep` opens a
step of a Session. Since the log begins with the process, what stands before a step is known by name. The
messages have no clock: the order of lines counts, and the log's own stamps where it has some.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate

from tfmemlens import progress
from tfmemlens.errors import UsageError
from tfmemlens.model.allocation import OUTPUT, PERSISTENT, TEMPORARY
from tfmemlens.model.capture import Capture, Hints, Holds, Source
from tfmemlens.model.line import ReadNote
from tfmemlens.model.tensor import numpy_dtype
from tfmemlens.model.timeline import BaselineSource, CurveSource, Timeline
from tfmemlens.patterns import regex
from tfmemlens.readers.contract import Confidence, ListedStep, Sample
from tfmemlens.readers.gathering import inputs
from tfmemlens.readers.timelines.columns import Columns
from tfmemlens.values import dataclass, field

HOLDS = Holds.ALLOCATIONS
SHARED = True
SUFFIXES = (".log", ".txt")
MARK = b"__LOG_MEMORY__"
_KIND = regex(r"__LOG_MEMORY__\s+MemoryLog(\w+)\s*\{")
_NUMBER = regex(r"\b(step_id|requested_bytes|allocated_bytes|allocation_id|num_bytes):\s*(-?\d{1,19})(?!\d)")
_WORD = regex(r'\b(kernel_name|allocator_name|operation|handle):\s*"((?:[^"\\]|\\.)*)"')
_DTYPE = regex(r"\bdtype:\s*(\w+)")
_DIMENSION = regex(r"\bdim\s*\{\s*(?:size:\s*(-?\d{1,19}))?")
_STAMP = regex(
    r"(?P<date>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6})|\b[IWE]\d{4} \d\d:\d\d:(?P<seconds>\d{10}\.\d{6})"
)
_VARIABLE = regex(
    r"(?P<variable>.+?)/(?:Assign|AssignVariableOp|initial_value|Initializer/.+|read"
    r"|Read/ReadVariableOp)(?:_\d+)?"
)
_NO_KERNEL = "Unknown"
"""`Unknown (from Proto)` allocates what a constant is made of."""
RECORDING_HINT = (
    "plain malloc gives no ids, so its frees cannot be told from each other; a GPU's BFC allocator gives"
    " them, on the CPU TF_CPU_ALLOCATOR_USE_BFC=1 (1.13 to 2.x)"
)


@dataclass
class _Lane:
    """The allocations of one allocator: rows with their times, and who lives under which id."""

    columns: Columns = field(default_factory=Columns)
    alive: dict[int, int] = field(default_factory=dict)
    strangers: int = 0
    """Frees of what the log never saw being made."""
    anonymous: int = 0
    """Allocations without an id."""


@dataclass
class _Log:
    lanes: dict[str, _Lane] = field(default_factory=dict)
    steps: dict[int, float] = field(default_factory=dict)
    """When each step of a Session began."""
    stamped: bool | None = None
    origin: float = 0.0
    now: float = 0.0


def sniff(sample: Sample) -> Confidence:
    """A text has such lines; with TF_CPP_MIN_VLOG_LEVEL=2 they come late."""
    return Confidence.CERTAIN if sample.mentions(MARK) else Confidence.NO


def takes(text: str) -> bool:
    """Whether a line is one of these."""
    return "__LOG_MEMORY__" in text


def read(opened: inputs.Opened, hints: Hints = Hints()) -> Capture:
    """The step with the highest peak or the one asked for. Raises UsageError."""
    log = _Log()
    opened.file.seek(0)
    place = 0
    for number, raw in enumerate(opened.file, 1):
        place += len(raw)
        if MARK in raw:
            progress.at(opened.name, place, opened.size)
            _take(log, raw.decode("utf-8", "replace"), number)
    step, notes = _step(log, hints, opened.path)
    timelines = [
        timeline
        for allocator, lane in log.lanes.items()
        if lane.columns.node and (timeline := _timeline(allocator, lane, log, step)) is not None
    ]
    notes += _lacks(log, opened.path)
    return Capture(
        Source(opened.path, ("log-memory",), "tensorflow"),
        timelines=tuple(sorted(timelines, key=lambda timeline: -timeline.peak_bytes)),
        notes=tuple(notes),
    )


def steps(opened: inputs.Opened) -> Iterator[ListedStep]:
    """The steps of the log: their handles (feeds and fetches), their numbers, when they began where the log
    has stamps; eager code and functions have no steps, and the log is one.
    """
    return iter(list(_stated(opened)) or [ListedStep()])


def _stated(opened: inputs.Opened) -> Iterator[ListedStep]:
    opened.file.seek(0)
    for raw in opened.file:
        if MARK in raw and b"MemoryLogStep" in raw:
            text = raw.decode("utf-8", "replace")
            stamp, number = _STAMP.search(text), dict(_NUMBER.findall(text)).get("step_id")
            if number is not None:
                yield ListedStep(
                    dict(_WORD.findall(text)).get("handle"),
                    int(number),
                    _micros(stamp) / 1e6 if stamp else None,
                )


def _take(log: _Log, text: str, number: int) -> None:
    """One line. What is no message of these kinds, or cut in the middle, is passed over."""
    kind = _KIND.search(text)
    if kind is None:
        return
    _tick(log, text, number)
    words, numbers = dict(_WORD.findall(text)), {key: int(value) for key, value in _NUMBER.findall(text)}
    if kind[1] == "Step":
        log.steps[numbers.get("step_id", 0)] = log.now
        return
    lane = log.lanes.setdefault(words.get("allocator_name", ""), _Lane())
    key = numbers.get("allocation_id", 0)
    if kind[1].endswith("Deallocation"):
        _free(lane, key, log.now)
    elif kind[1].endswith("Allocation"):
        raw = kind[1].startswith("Raw")  # TF_NewTensor: what Python hands over
        row = _born(
            lane,
            key,
            log.now,
            words.get("operation" if raw else "kernel_name"),
            numbers,
            text,
            None if raw else TEMPORARY,
        )
        if raw and row is not None:
            lane.columns.op[row] = "_Arg"
    elif kind[1] == "TensorOutput" and key:
        _put_out(lane, key, log.now, words.get("kernel_name"), numbers, text)


def _tick(log: _Log, text: str, number: int) -> None:
    """The line's stamp, but never before the line above it: threads write as they come. Without stamps the
    line's number.
    """
    stamp = _STAMP.search(text)
    if log.stamped is None:
        log.stamped = stamp is not None
        log.origin = _micros(stamp) if stamp else 0.0
    if not log.stamped:
        log.now = float(number)
    else:
        log.now = max(_micros(stamp) - log.origin if stamp else 0.0, log.now + 0.01)


def _micros(stamp: re.Match[str]) -> float:
    if stamp["seconds"]:
        return float(stamp["seconds"]) * 1e6
    from datetime import datetime, timezone

    try:
        written = datetime.strptime(stamp["date"], "%Y-%m-%d %H:%M:%S.%f").replace(tzinfo=timezone.utc)
        return written.timestamp() * 1e6
    except ValueError:  # a damaged digit: the line counts as written after the one above
        return 0.0


def _free(lane: _Lane, key: int, now: float) -> None:
    row = lane.alive.pop(key, None)
    if row is not None:
        lane.columns.end_micros[row] = now
    elif key:
        lane.strangers += 1


def _born(
    lane: _Lane,
    key: int,
    now: float,
    node: str | None,
    numbers: dict[str, int],
    text: str,
    purpose: str | None,
) -> int | None:
    if not key:
        lane.anonymous += 1
        return None
    columns = lane.columns
    requested = numbers.get("requested_bytes", numbers.get("num_bytes", 0))
    op = "Const" if (node or "").startswith(_NO_KERNEL) else None
    lane.alive[key] = row = columns.add(
        node, numbers.get("allocated_bytes", 0) or requested, op, now, PERSISTENT if op else purpose
    )
    dtype = _DTYPE.search(text)
    columns.requested_bytes[row] = requested
    if dtype:
        columns.dtype[row] = numpy_dtype(dtype[1])
        columns.shape[row] = tuple(int(size or 0) for size in _DIMENSION.findall(text))
    return row


def _put_out(lane: _Lane, key: int, now: float, node: str | None, numbers: dict[str, int], text: str) -> None:
    """An output that nobody was seen to allocate, or that nobody but a proto made, is a constant, or a
    variable where an op reads it.
    """
    if key not in lane.alive:
        _born(lane, key, now, _NO_KERNEL, numbers, text, PERSISTENT)
    row, columns = lane.alive[key], lane.columns
    if (columns.node[row] or "").startswith(_NO_KERNEL):
        columns.node[row] = node
        if (node or "").rpartition("/")[2].startswith("ReadVariableOp"):
            columns.op[row] = "ReadVariableOp"
    elif columns.purpose[row] == TEMPORARY:
        columns.purpose[row] = OUTPUT


def _step(log: _Log, hints: Hints, path: str) -> tuple[int | None, list[ReadNote]]:
    """The step to show: the one asked for, or the one in which the highest peak was reached; None for a log
    without steps.
    """
    if hints.step is not None and hints.step not in log.steps:
        raise UsageError(
            f"{path} holds no step {hints.step}", f"it holds: {', '.join(map(str, log.steps)) or 'no steps'}"
        )
    if hints.step is not None or not log.steps:
        return hints.step, []
    highest, when = max((_highest(lane) for lane in log.lanes.values()), default=(0, 0.0))
    step = next(
        (step for step, start in reversed(log.steps.items()) if start <= when and highest),
        next(reversed(log.steps)),
    )
    others = ", ".join(str(each) for each in list(log.steps)[-13:] if each != step)
    if not others:
        return step, []
    return step, [
        ReadNote(
            f"{path} holds {len(log.steps)} steps; this is step {step}, which has the highest peak. --step"
            f" shows another: {others}"
        )
    ]


def _highest(lane: _Lane) -> tuple[int, float]:
    changes = [
        (time, size)
        for time, size in zip(lane.columns.start_micros, lane.columns.size_bytes, strict=True)
        if time is not None
    ]
    changes += [
        (time, -size)
        for time, size in zip(lane.columns.end_micros, lane.columns.size_bytes, strict=True)
        if time is not None
    ]
    changes.sort()
    sums = list(accumulate(size for _, size in changes))
    return max(zip(sums, (time for time, _ in changes), strict=True), default=(0, 0.0))


def _timeline(allocator: str, lane: _Lane, log: _Log, step: int | None) -> Timeline | None:
    """What was alive within the step's lines; what was born before and outlives them is its baseline."""
    start, end = _window(log, step)
    whole, table, standing = lane.columns, Columns(), Columns()
    for row, (born, died) in enumerate(zip(whole.start_micros, whole.end_micros, strict=True)):
        if born is None or born >= end or (died is not None and died <= start):
            continue
        stands = born < start and (died is None or died >= end)
        columns = standing if stands else table
        node, op = _named(whole.node[row], whole.op[row]) if stands else (whole.node[row], whole.op[row])
        copy = columns.add(
            node,
            whole.size_bytes[row],
            op,
            None if stands else max(born, start),
            PERSISTENT if stands else whole.purpose[row],
        )
        columns.end_micros[copy] = died if not stands and died is not None and died < end else None
        columns.shape[copy], columns.dtype[copy], columns.requested_bytes[copy] = (
            whole.shape[row],
            whole.dtype[row],
            whole.requested_bytes[row],
        )
    if not table.node and not standing.node:
        return None
    before = standing.table("", allocator)
    return Timeline(
        "", allocator, table.table("", allocator), before, before.total_bytes, None,
        BaselineSource.STANDING if _late(log) else BaselineSource.LOG,
        curve_source=CurveSource.LOG, ordinal=not log.stamped,
    )  # fmt: skip


def _window(log: _Log, step: int | None) -> tuple[float, float]:
    if step is None:
        return 0.0, log.now + 1
    start = log.steps[step]
    return start, min((each for each in log.steps.values() if each > start), default=log.now + 1)


def _named(kernel: str | None, op: str | None) -> tuple[str | None, str | None]:
    """`conv1/weights/Assign` allocated what is conv1/weights from then on."""
    match = _VARIABLE.fullmatch(kernel or "") if op is None else None
    return (match["variable"], "VariableV2") if match else (kernel, op)


def _late(log: _Log) -> bool:
    """Whether the log begins after the first step of the process: what was allocated before is not in it."""
    return min(log.steps, default=1) > 1


def _lacks(log: _Log, path: str) -> Iterator[ReadNote]:
    missing = Counter({allocator: lane.anonymous for allocator, lane in log.lanes.items() if lane.anonymous})
    for allocator, count in missing.items():
        yield ReadNote(
            f"{path}: {count:,} allocations of {allocator or 'an allocator'} are left out: {RECORDING_HINT}"
        )
    if _late(log):
        yield ReadNote(
            f"{path} begins late: its first step is {min(log.steps)}; what was allocated before, such as"
            " variables, is not in it"
        )
    strangers = sum(lane.strangers for lane in log.lanes.values())
    if strangers:
        yield ReadNote(
            f"{path}: {strangers:,} buffers are freed that no line of this log allocates (constants of"
            " kernels, or the log began late)"
        )
