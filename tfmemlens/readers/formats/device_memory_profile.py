"""`jax.profiler.save_device_memory_profile`: who holds device memory, by Python stack, as a gzipped pprof
(`profile.proto`).

Each sample has a stack, a count, the bytes, and the labels `kind` (`buffer` or `executable`) and `device`. It
says what is held, not what failed, and knows neither the device's limit nor when an array was made.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from tfmemlens.errors import UnreadableInput
from tfmemlens.knowledge.stack_frames import user_frame
from tfmemlens.model.allocation import HELD, Allocation, AllocationTable
from tfmemlens.model.capture import Capture, Hints, Holds, Source
from tfmemlens.model.incident import AllocatorState, FailedRequest, HolderBlock, Incident, RequestKind
from tfmemlens.model.line import Line, ReadNote
from tfmemlens.readers.bytes import wire
from tfmemlens.readers.contract import Confidence, Sample
from tfmemlens.readers.gathering.inputs import Opened
from tfmemlens.units import Size
from tfmemlens.values import dataclass

HOLDS = Holds.FAILURES
SUFFIXES = (".prof", ".pprof", ".pb")
_SAMPLE, _LOCATION, _FUNCTION, _STRING = 2, 4, 5, 6
_PLUMBING = ("reraise_with_filtered_traceback", "wrapper", "cache_miss")
"""Functions of JAX's own that stand below any call."""
_MAX_BYTES = 64 << 20
_WORDS = (b"space", b"bytes", b"buffer", b"device")
"""Strings of JAX's profiles, which no other program's memory profile has together."""


class StackFrame(NamedTuple):
    """One frame of a stack."""

    function: str
    file: str
    line: int

    @property
    def place(self) -> str:
        """`train.py:31`"""
        return f"{_short(self.file)}:{self.line}"


@dataclass(frozen=True, slots=True)
class StackHolding:
    """What one stack holds on one device."""

    stack: tuple[StackFrame, ...]
    """Innermost first."""
    count: int
    size_bytes: int
    kind: str
    device: str


def sniff(sample: Sample) -> Confidence:
    """A pprof whose samples are bytes of buffers."""
    raw = _unzipped(sample.binary)
    if raw[:1] != b"\x0a" or not all(word in raw or len(raw) >= len(sample.head) for word in _WORDS):
        return Confidence.NO
    return Confidence.LIKELY if b"allocations" in raw and b"space" in raw else Confidence.NO


def read(opened: Opened, hints: Hints = Hints()) -> Capture:
    """What is held, one row for each line of code and device. Raises UnreadableInput."""
    del hints
    notes: tuple[ReadNote, ...] = ()
    raw = _unzipped(opened.all())
    held, whole = samples(raw)
    if not held:
        raise UnreadableInput(
            f"{opened.path} is a device memory profile without samples, or damaged",
            "save it again with jax.profiler.save_device_memory_profile(path)",
        )
    if not whole:
        notes = (ReadNote(f"{opened.path} is cut: what its last samples hold is missing"),)
    return Capture(
        Source(opened.path, ("device-memory-profile",), "jax"),
        incidents=tuple(_incident(device, part) for device, part in _by_device(held)),
        notes=notes,
    )


def _unzipped(raw: bytes) -> bytes:
    """As much as can be unzipped, up to a size that no profile has: an archive may hold another one."""
    if raw[:2] != b"\x1f\x8b":
        return raw
    import zlib

    try:
        return zlib.decompressobj(31).decompress(raw, _MAX_BYTES)
    except zlib.error:
        return b""


def samples(raw: bytes) -> tuple[list[StackHolding], bool]:
    """The samples of a profile, and whether it is whole."""
    strings: list[str] = []
    functions: dict[int, tuple[int, int]] = {}
    locations: dict[int, tuple[int, int]] = {}
    spans: list[tuple[int, int]] = []
    whole = True
    for field in _fields(raw, 0, len(raw)):
        whole = whole and field.whole
        if not field.whole or field.kind != wire.LENGTH:
            continue
        if field.number == _STRING:
            strings.append(raw[field.start : field.end].decode("utf-8", "replace"))
        elif field.number == _FUNCTION:
            numbers = _numbers(raw, field)
            functions[numbers.get(1, 0)] = (numbers.get(2, 0), numbers.get(4, 0))
        elif field.number == _LOCATION:
            lines = [_numbers(raw, each) for each in _fields(raw, field.start, field.end) if each.number == 4]
            numbers = lines[0] if lines else {}
            locations[_numbers(raw, field).get(1, 0)] = (numbers.get(1, 0), numbers.get(2, 0))
        elif field.number == _SAMPLE:
            spans.append((field.start, field.end))

    def text(index: int) -> str:
        return strings[index] if 0 <= index < len(strings) else ""

    def frame(location: int) -> StackFrame:
        function, line = locations.get(location, (0, 0))
        name, file = functions.get(function, (0, 0))
        return StackFrame(text(name), text(file), line)

    held = []
    for start, end in spans:
        stack, values, labels = _sample(raw, start, end)
        named = {text(key): text(value) for key, value in labels}
        if len(values) >= 2:
            frames = tuple(frame(each) for each in stack)
            held.append(
                StackHolding(frames, values[0], values[1], named.get("kind", ""), named.get("device", ""))
            )
    return held, whole


def _sample(raw: bytes, start: int, end: int) -> tuple[list[int], list[int], list[tuple[int, int]]]:
    """Locations, values and labels (indices of strings) of one sample."""
    stack: list[int] = []
    values: list[int] = []
    labels: list[tuple[int, int]] = []
    for field in _fields(raw, start, end):
        if field.number == 3 and field.kind == wire.LENGTH:
            numbers = _numbers(raw, field)
            labels.append((numbers.get(1, 0), numbers.get(2, 0)))
        elif field.number in (1, 2):
            (stack if field.number == 1 else values).extend(_repeated(raw, field))
    return stack, values, labels


def _fields(raw: bytes, start: int, end: int) -> Iterator[wire.Field]:
    return wire.fields(lambda at, length: raw[at : at + length], start, end)


def _numbers(raw: bytes, message: wire.Field) -> dict[int, int]:
    """The whole numbers of a message, by field."""
    return {
        field.number: wire.varint(raw, field.start)[0]
        for field in _fields(raw, message.start, message.end)
        if field.kind == wire.VARINT and field.whole
    }


def _repeated(raw: bytes, field: wire.Field) -> Iterator[int]:
    """A repeated number, packed or single; a field that ends beyond the bytes ends with them."""
    if field.kind == wire.VARINT:
        yield wire.varint(raw, field.start)[0]
        return
    at, end = field.start, min(field.end, len(raw))
    while field.kind == wire.LENGTH and at < end:
        number, at = wire.varint(raw, at)
        yield number


def _by_device(held: list[StackHolding]) -> list[tuple[str, list[StackHolding]]]:
    """What each device holds, the fullest first. Executables of the CPU have no device and no bytes."""
    devices: dict[str, list[StackHolding]] = defaultdict(list)
    for each in held:
        if each.size_bytes:
            devices[each.device or "unknown device"].append(each)
    return sorted(devices.items(), key=lambda item: -sum(each.size_bytes for each in item[1]))


def _incident(device: str, held: list[StackHolding]) -> Incident:
    rows = sorted((_row(each, device) for each in held), key=lambda row: -row.size_bytes)
    total = Size.exactly(sum(row.total_bytes for row in rows))
    return Incident(
        FailedRequest(RequestKind.PROFILE, device=device),
        state=AllocatorState(in_use=total),
        holders=(HolderBlock(device, None, AllocationTable.of(rows)),),
        fatal=False,
    )


def _row(held: StackHolding, device: str) -> Allocation:
    """One row a stack: named after the user's functions, outermost first, and the library's that they
    call.
    """
    users = [frame for frame in held.stack if user_frame(frame.file)]
    place = users[0] if users else None
    path = [frame.function for frame in reversed(users) if frame.function != "<module>"]
    pairs = zip(held.stack, held.stack[1:], strict=False)
    called = next(
        (one.function for one, below in pairs if below is place and one.function not in _PLUMBING), None
    )
    name = "/".join(path) or (place.place if place else held.kind)
    line = (
        Line(place.line, f"in {place.function}: {called or held.kind}", _short(place.file)) if place else None
    )
    return Allocation(
        name,
        held.size_bytes // max(held.count, 1),
        op=called,
        device=device,
        count=max(held.count, 1),
        purpose=HELD,
        line=line,
    )


def _short(file: str) -> str:
    """The last two parts of a path."""
    return "/".join(file.replace("\\", "/").split("/")[-2:])
