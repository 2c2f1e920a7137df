"""A device memory profile of JAX's as `go tool pprof` prints it: `-top`, or `-traces` with stacks.

`jax.profiler.save_device_memory_profile` wrote the profile; the text has no lines of code, and sizes of two
decimals. `-top` names the function that allocated, which is one of JAX's own for most arrays: the user's
functions are those that hold as much together with what they call.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.errors import UnreadableInput
from tfmemlens.model.allocation import HELD, Allocation, AllocationTable
from tfmemlens.model.capture import Capture, Hints, Holds, Source
from tfmemlens.model.incident import AllocatorState, FailedRequest, HolderBlock, Incident, RequestKind
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.readers.bytes import texts
from tfmemlens.readers.contract import Confidence, Sample
from tfmemlens.readers.gathering.inputs import Opened
from tfmemlens.units import Size, parse_size

HOLDS = Holds.FAILURES
SHARED = True
QUOTED = True
SUFFIXES = (".txt",)
_SIZE = r"-?\d+(?:\.\d+)?(?:[kMGTPE]?B)?"
_TOP = regex(
    rf"\s*(?P<flat>{_SIZE})\s+[\d.]+%\s+[\d.]+%\s+{_SIZE}\s+[\d.]+%\s+(?P<name>\S.*?)(?: \(inline\))?\s*\Z"
)
_HEAD = regex(r"\s*flat\s+flat%\s+sum%\s+cum\s+cum%\s*\Z")
_RULE = regex(r"-{8,}\+-{8,}\s*\Z")
_HEAD_BYTES = regex(rb"(?m)^\s*flat +flat% +sum% +cum +cum%")
_RULE_BYTES = regex(rb"(?m)^-{8,}\+-{8,}")
_LABEL = regex(r"\s*(?P<key>\w+): +(?P<value>\S+)\s*\Z")
_VALUE = regex(rf"\s*(?P<size>{_SIZE})\s{{2,}}(?P<name>\S.*?)\s*\Z")
_OF_JAX = regex(
    r"_|<|(?:apply_primitive|backend_compile\w*|cache_miss|compile\w*|reraise_with_filtered_traceback"
    r"|wrapper|bind\w*"
    r"|device_put\w*|batched_device_put|process_primitive|call_impl_cache_miss|fun|main|run_code)\Z"
)
"""Functions of JAX's own, and of Python's modules."""


def sniff(sample: Sample) -> Confidence:
    """Headings that only pprof prints, of a profile of space."""
    head = sample.text
    traces = b"Type: space" in head and _RULE_BYTES.search(head)
    return Confidence.LIKELY if traces or _HEAD_BYTES.search(head) else Confidence.NO


def read(opened: Opened, hints: Hints = Hints()) -> Capture:
    """What is held, a row for each function or stack. Raises UnreadableInput."""
    del hints
    lines = [Line(number, text, opened.label) for number, text in texts.text_lines(opened)[0]]
    rows = list(_of_top(lines) if any(_HEAD.match(line.text) for line in lines) else _of_traces(lines))
    if not rows:
        raise UnreadableInput(
            f"{opened.path} is pprof's text without a row that can be read",
            "give the profile itself, which tells more",
        )
    return Capture(
        Source(opened.path, ("device-memory-profile",), "jax"),
        incidents=tuple(_incident(device, table) for device, table in _by_device(rows)),
    )


def _of_top(lines: list[Line]) -> Iterator[Allocation]:
    """Rows of `-top` that hold something themselves."""
    for line in lines:
        match = _TOP.match(line.text)
        if match and (size := _size(match["flat"])).bytes > 0:
            yield Allocation(match["name"], size.bytes, error_bytes=size.error_bytes, purpose=HELD, line=line)


def _of_traces(lines: list[Line]) -> Iterator[Allocation]:
    """A row for each stack, named after the functions that are not JAX's own, the outermost first."""
    labels: dict[str, str] = {}
    size, first, stack = None, None, list[str]()
    for line in [*lines, Line(0, "-" * 8 + "+" + "-" * 8)]:
        if _RULE.match(line.text):
            if size and first and size.bytes > 0:
                own = [name for name in reversed(stack) if not _OF_JAX.match(name)]
                name = "/".join(own) or stack[0]
                yield Allocation(
                    name,
                    size.bytes,
                    op=stack[0] if own and stack[0] != own[-1] else labels.get("kind"),
                    device=labels.get("device"),
                    error_bytes=size.error_bytes,
                    purpose=HELD,
                    line=first,
                )
            labels, size, first, stack = {}, None, None, []
        elif size is None and (match := _LABEL.match(line.text)):
            labels[match["key"]] = match["value"]
        elif size is None and (match := _VALUE.match(line.text)):
            size, first, stack = _size(match["size"]), line, [match["name"]]
        elif size is not None and line.text.strip():
            stack.append(line.text.strip())


def _size(text: str) -> Size:
    """`6.44GB` in pprof's powers of 1024."""
    number, letter = text.rstrip("B"), ""
    if number[-1] in "kMGTPE":
        number, letter = number[:-1], number[-1].upper()
    return parse_size(f"{number}{letter}iB" if letter else f"{number}B")


def _by_device(rows: list[Allocation]) -> list[tuple[str | None, AllocationTable]]:
    devices = dict.fromkeys(row.device for row in rows)
    tables = [(device, [row for row in rows if row.device == device]) for device in devices]
    tables.sort(key=lambda item: -sum(row.total_bytes for row in item[1]))
    return [
        (device, AllocationTable.of(sorted(held, key=lambda row: -row.total_bytes)))
        for device, held in tables
    ]


def _incident(device: str | None, table: AllocationTable) -> Incident:
    error = sum(row.error_bytes for row in table)
    total = table.total_bytes
    return Incident(
        FailedRequest(RequestKind.PROFILE, device=device or "the device"),
        state=AllocatorState(in_use=Size(total, max(total - error, 0), total + error)),
        holders=(HolderBlock(device, None, table),),
        fatal=False,
    )
