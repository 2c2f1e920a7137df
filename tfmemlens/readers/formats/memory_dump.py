"""The binary `MemoryDump` that BFC writes at each failed attempt under `TF_BFC_MEMORY_DUMP=<prefix>`
(TensorFlow 2.1 and later).

Every chunk with its address, its size and what its client asked for, exact to the byte. Wheels from PyPI name
no op behind a chunk; builds with `TENSORFLOW_MEM_DEBUG` do. The request that failed is not in the file, and
neither is the limit.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tfmemlens.errors import UnreadableInput
from tfmemlens.model.capture import Capture, Hints, Holds, Source
from tfmemlens.model.incident import AllocatorState, ChunkMap, FailedRequest, Incident, RequestKind
from tfmemlens.model.line import ReadNote
from tfmemlens.readers.bytes.wire import whole_prefix
from tfmemlens.readers.contract import Confidence, Sample
from tfmemlens.readers.gathering.inputs import Opened
from tfmemlens.units import Size
from tfmemlens.values import replace

HOLDS = Holds.FAILURES
FORMAT = "memory-dump"
SUFFIXES = (".bin",)
BESIDE_STEPS = ("bfc_*",)
"""What `tfmemlens run` calls them: the chunks that variables lie in."""
_NAME, _BIN, _CHUNK = 0x0A, 0x12, 0x1A
"""The tags of the first fields: allocator name, bin summary, chunk."""


def sniff(sample: Sample) -> Confidence:
    """The file begins with an allocator's name and goes on with bins or chunks."""
    head = sample.binary
    if len(head) < 4 or head[0] != _NAME or not 0 < head[1] < 100:
        return Confidence.NO
    name, rest = head[2 : 2 + head[1]], head[2 + head[1] : 3 + head[1]]
    printable = name.isascii() and name.decode("ascii").isprintable()
    known = printable and rest in (bytes([_BIN]), bytes([_CHUNK]))
    return Confidence.LIKELY if known else Confidence.NO


def read(opened: Opened, hints: Hints = Hints()) -> Capture:
    """The state of the allocator at the failure. Raises UnreadableInput."""
    del hints
    from google.protobuf.message import DecodeError

    from tfmemlens.schema import message

    dump, notes = message("MemoryDump")(), []
    raw = opened.all()
    try:
        dump.ParseFromString(raw)
    except DecodeError:
        dump, kept = _before_the_cut(raw)
        notes.append(
            ReadNote(
                f"the file is cut or damaged after {kept:,} of {len(raw):,} bytes; the chunks before that are"
                " shown"
            )
        )
        if not dump.chunk:
            raise UnreadableInput(
                f"{opened.path} looks like a MemoryDump, and no chunk of it can be read",
                "copy the file again, in binary mode",
            ) from None
    source = Source(opened.path, ("memory-dump",), "tensorflow", ("2.1", "2.21"))
    return Capture(source, incidents=(_incident(dump, complete=not notes),), notes=tuple(notes))


def _before_the_cut(raw: bytes) -> tuple[Any, int]:
    """The chunks before the damage, and how many bytes they take; nothing where a damaged field stands among
    them, since then none can be trusted.
    """
    from google.protobuf.message import DecodeError

    from tfmemlens.schema import message, parse

    whole = whole_prefix(raw, depth=0)
    try:
        return parse("MemoryDump", whole), len(whole)
    except DecodeError:
        return message("MemoryDump")(), 0


def _incident(dump: Any, complete: bool) -> Incident:
    sizes = [chunk.size for chunk in dump.chunk]
    used = [chunk.in_use for chunk in dump.chunk]
    regions, region = _regions(dump.chunk)
    free = [size for size, busy in zip(sizes, used, strict=True) if not busy]
    asked = sum(chunk.requested_size for chunk in dump.chunk if chunk.in_use)
    in_use = dump.stats.bytes_in_use if dump.HasField("stats") else sum(sizes) - sum(free)
    ops = [chunk.op_name or None for chunk in dump.chunk]
    state = AllocatorState(
        in_use=Size.exactly(in_use),
        peak=Size.exactly(dump.stats.peak_bytes_in_use) if dump.HasField("stats") else None,
        pool=Size.exactly(sum(sizes)) if complete else None,
        free=Size.exactly(sum(free)) if complete else None,
        largest_free_chunk=Size.exactly(max(free, default=0)) if complete else None,
        free_chunks=len(free) if complete else None,
        requested_in_use=Size.exactly(asked) if complete else None,
        allocations=dump.stats.num_allocs if dump.HasField("stats") else None,
    )
    chunks = ChunkMap(
        address=[chunk.address for chunk in dump.chunk],
        size_bytes=sizes,
        in_use=used,
        region=region,
        requested_bytes=[chunk.requested_size for chunk in dump.chunk],
        op=ops if any(ops) else (),
        regions=tuple(regions),
        complete=complete,
    )
    return Incident(
        FailedRequest(RequestKind.DUMP, allocator=dump.allocator_name or None),
        state=state,
        chunks=chunks,
        era=("2.1", "2.21"),
    )


def join(captures: list[Capture]) -> list[Capture]:
    """Give each dump to the failure it belongs to: same allocator, same bytes in use. A dump that fits none
    stays by itself, but for the newest beside the one failure of its allocator that states no bytes: a
    traceback without the allocator's own lines.
    """
    logs = [capture for capture in captures if FORMAT not in capture.source.formats]
    dumps = [capture for capture in captures if FORMAT in capture.source.formats]
    left = [dump for dump in dumps if not _taken(dump, logs, _same)]
    for folder in dict.fromkeys(map(_folder, left)):
        mine = [dump for dump in left if _folder(dump) == folder]
        newest = max(mine, key=lambda dump: dump.source.path.rpartition(".")[2])
        places = [at for at, log in enumerate(logs) if _folder(log) == folder]
        near = [logs[at] for at in places]
        if _taken(newest, near, _is_silent_alone(list(near))):
            left.remove(newest)
            for at, log in zip(places, near, strict=True):
                logs[at] = log
    return logs + left


def _folder(capture: Capture) -> str:
    """Each rank has one of its own."""
    return str(Path(capture.source.path).parent)


Belongs = Callable[[Incident, Incident], bool]


def _taken(dump: Capture, logs: list[Capture], belongs: Belongs) -> bool:
    """Whether a log has a failure that the dump belongs to, which then has it."""
    told = dump.incidents[0]
    for at, log in enumerate(logs):
        if any(belongs(incident, told) for incident in log.incidents):
            known = (_with(each, told) if belongs(each, told) else each for each in log.incidents)
            source = replace(log.source, formats=(*log.source.formats, FORMAT))
            logs[at] = replace(log, incidents=tuple(known), source=source)
            return True
    return False


def _is_silent_alone(logs: list[Capture]) -> Belongs:
    """Whether a failure is the only one of the dump's allocator, and says nothing of what was in use."""

    def belongs(failure: Incident, dump: Incident) -> bool:
        allocator = dump.request.allocator
        alike = [each for log in logs for each in log.incidents if each.request.allocator == allocator]
        return allocator is not None and alike == [failure] and failure.state.in_use is None

    return belongs


def _same(failure: Incident, dump: Incident) -> bool:
    mine, stated = dump.state.in_use, failure.state.in_use
    return failure.request.allocator == dump.request.allocator and bool(
        mine and stated and stated.may_be(mine.bytes)
    )


def _with(failure: Incident, dump: Incident) -> Incident:
    exact = {
        name: value
        for name in ("in_use", "pool", "free", "largest_free_chunk", "free_chunks", "requested_in_use")
        if (value := getattr(dump.state, name)) is not None
    }
    return replace(failure, state=replace(failure.state, **exact), chunks=dump.chunks)


def _regions(chunks: Any) -> tuple[list[int], list[int]]:
    """Sizes of the regions, and each chunk's region: a new one begins where the addresses do not follow each
    other.
    """
    sizes: list[int] = []
    index: list[int] = []
    end = None
    for chunk in chunks:
        if chunk.address != end:
            sizes.append(0)
        sizes[-1] += chunk.size
        index.append(len(sizes) - 1)
        end = chunk.address + chunk.size
    return sizes, index
