"""Where bytes come from: files, globs, directories, standard input, gzip, notebooks, text in any encoding.

Big files are not read whole: the last pieces first, then the rest for two literals, and only the regions around what is
found are parsed (measured: an alternation of patterns costs 15 times as much as a literal).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from tfmemlens import progress
from tfmemlens.errors import UnreadableInput

if TYPE_CHECKING:
    import mmap

LITERALS = (b"OOM when allocating tensor with shape", b"ut of memory")
"""Between them they find nearly every failure: TensorFlow's sentence; BFC, XLA, TPU and driver messages."""
TAIL_LITERALS = (
    *LITERALS,
    b"OOM when",
    b"RESOURCE_EXHAUSTED",
    b"esource exhausted",
    b"Dst tensor",
    b"OUT_OF_MEMORY",
    b"That was not possible",
    b"Current usage from",
    b"bfc_allocator",
)
SMALL = 16 << 20
TAIL = 8 << 20
PIECE = 64 << 10
WINDOW = 32 << 20
MAX_REGIONS = 64
_WORTH_A_PROCESS = 256 << 20


@dataclass(frozen=True)
class Input:
    """One thing to read: a file, or a text that was passed directly."""

    path: str
    text: str | None = None
    tag: str | None = None
    """Which of several steps in it is meant, where a directory was searched for steps."""
    step: int | None = None

    @property
    def name(self) -> str:
        """The short name that evidence shows when there are several inputs."""
        return os.path.basename(self.path) or self.path


def resolve(source: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[Input]:
    """The inputs that a path, a glob, a directory, `-`, a list of these, or a pasted text stand for. Raises UnreadableInput."""
    if isinstance(source, str | os.PathLike):
        return _one(source)
    found = [each for part in source for each in _one(part)]
    return list({each.path if each.text is None else id(each): each for each in found}.values())


def expand(source: str | os.PathLike[str]) -> list[str]:
    """The paths that a path, a directory or a glob stands for, directories unopened. Raises UnreadableInput."""
    text = os.fspath(source)
    return [text] if os.path.isdir(text) else [found.path for found in _one(source) if found.text is None]


def _one(source: str | os.PathLike[str]) -> list[Input]:
    text = os.fspath(source)
    if isinstance(source, str) and ("\n" in text or len(text) > 4096):
        return [Input("(text)", text)]
    if text == "-":
        return [Input("-")]
    if os.path.isdir(text):
        files = sorted(os.path.join(folder, name) for folder, _, names in os.walk(text) for name in names if _may_tell(name))
        if not files:
            raise UnreadableInput(f"{text} is an empty directory", "name a log, a trace, or a directory that holds some")
        return [Input(each) for each in files]
    if os.path.exists(text):
        return [Input(text)]
    import glob

    matches = sorted(each for each in glob.glob(text, recursive=True) if os.path.isfile(each))
    if matches:
        return [Input(each) for each in matches]
    if isinstance(source, str) and _looks_pasted(text):
        return [Input("(text)", text)]
    raise UnreadableInput(f"{text} does not exist", "check the path, or pipe the text: `tfmemlens explain - < train.log`")


_PROFILER_PAGES = tuple(f".{page}.pb" for page in ("input_pipeline", "kernel_stats", "overview_page", "tensorflow_stats", "op_stats", "pod_viewer"))
"""What the profiler made of an XSpace for TensorBoard's other pages."""


def _may_tell(name: str) -> bool:
    """Whether a file of a directory can have anything to say; one that is named by the user is always read."""
    return not name.startswith(".") and not name.endswith(
        (".ll", ".o", ".mlir", ".debug_options", ".py", ".pyc", ".png", ".npy", ".npz", ".index", ".h5", ".keras", ".dot", ".svg", *_PROFILER_PAGES)
    )


def _looks_pasted(text: str) -> bool:
    return any(word in text for word in ("OOM when", "ut of memory", "RESOURCE_EXHAUSTED", "esource exhausted", " from device", "MiB from"))


@dataclass
class Opened:
    """An input ready for random access: its first bytes and the whole as a file on disk or in memory."""

    path: str
    name: str
    file: BinaryIO
    size: int

    def head(self, count: int = 1 << 16) -> bytes:
        """The first bytes."""
        self.file.seek(0)
        return self.file.read(count)

    def samples(self, count: int = 1 << 16) -> bytes:
        """Bytes from the start, from within and from the end: what a big log is about may not stand in its first lines."""
        places = (self.size * quarter // 4 for quarter in (1, 2, 3)) if self.size > count else ()
        return self.head(count) + b"".join(self._at(place, count) for place in (*places, max(self.size - count, 0)))

    def _at(self, place: int, count: int) -> bytes:
        self.file.seek(place)
        return self.file.read(count)

    def all(self) -> bytes:
        """Everything, for formats that need it."""
        self.file.seek(0)
        return self.file.read()


def open_input(source: Input) -> Opened:
    """Open a file, unzip it, or spool standard input to disk. Raises UnreadableInput."""
    try:
        if source.text is not None:
            return _spooled(source, iter([source.text.encode("utf-8", "surrogateescape")]))
        if source.path == "-":
            return _spooled(source, iter(lambda: sys.stdin.buffer.read(1 << 20), b""))
        file = open(source.path, "rb")
        if file.read(2) == b"\x1f\x8b":
            file.seek(0)
            return _spooled(source, _unzipped(file))
        return Opened(source.path, source.name, file, os.fstat(file.fileno()).st_size)
    except OSError as error:
        raise UnreadableInput(f"{source.path} cannot be read: {error.strerror or error}", "check the path and its permissions") from None


def unzipped_start(path: str, count: int = 1 << 18) -> bytes:
    """The first bytes of what a gzip file holds, nothing for a file that is none."""
    import zlib

    with open(path, "rb") as file:
        raw = file.read(count)
    if raw[:2] != b"\x1f\x8b":
        return b""
    try:
        return zlib.decompressobj(wbits=31).decompress(raw, count)
    except zlib.error:
        return b""


def _unzipped(file: BinaryIO) -> Iterator[bytes]:
    """A cut archive still gives what comes before the cut."""
    import zlib

    decoder = zlib.decompressobj(wbits=31)
    with file:
        while raw := file.read(1 << 18):
            while raw:
                try:
                    yield decoder.decompress(raw)
                except zlib.error:
                    return
                raw = decoder.unused_data
                if decoder.eof:  # archives may follow each other
                    decoder = zlib.decompressobj(wbits=31)


def _spooled(source: Input, pieces: Iterator[bytes]) -> Opened:
    import tempfile

    spool = tempfile.SpooledTemporaryFile(max_size=SMALL)
    size = 0
    for piece in pieces:
        size += len(piece)
        progress.at(source.name, size)
        spool.write(piece)
    return Opened(source.path, source.name, spool, size)  # type: ignore[arg-type]


def encoding_of(head: bytes) -> str:
    """UTF-16 by its mark or its zeros, else UTF-8 with stray bytes kept."""
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    if len(head) > 8 and head[1:200:2].count(0) > 0.6 * len(head[1:200:2]):
        return "utf-16-le"
    if len(head) > 8 and head[0:200:2].count(0) > 0.6 * len(head[0:200:2]):
        return "utf-16-be"
    return "utf-8-sig"


def speaks_of_memory(opened: Opened) -> bool:
    """Whether a file that looks binary still holds a log's words, as one does in which a full disk left zeros."""
    piece = opened.all() if opened.size <= SMALL else opened.head(SMALL)
    return any(word in piece for word in TAIL_LITERALS)


def text_lines(opened: Opened) -> tuple[Iterator[tuple[int, str]], bool]:
    """The lines worth parsing, numbered, and whether that is all of the file.

    In a file above 16 MiB only regions are read, and a line's number is its byte position: counting the lines before it
    would take longer than finding it.
    """
    encoding = encoding_of(opened.head(4096))
    if opened.size <= SMALL or encoding.startswith("utf-16"):
        return _numbered(opened.all().decode(encoding, "replace"), 1), True
    return _regions(opened, encoding), False


def _numbered(text: str, first: int) -> Iterator[tuple[int, str]]:
    """Lines with their numbers; a carriage return starts a new line of the same number, as progress bars use it."""
    for number, line in enumerate(text.split("\n"), first):
        line = line.removesuffix("\r")
        if "\r" in line:
            yield from ((number, part) for part in line.split("\r"))
        else:
            yield number, line


def _regions(opened: Opened, encoding: str) -> Iterator[tuple[int, str]]:
    """The lines of the head, of every region with a failure, and of the tail; their numbers are byte positions."""
    for start, end in _merge([(0, PIECE), *_found(opened), (max(opened.size - 4 * PIECE, 0), opened.size)]):
        opened.file.seek(start)
        piece = opened.file.read(end - start)
        position = start
        for index, line in enumerate(piece.split(b"\n")):
            if index or not start:
                for part in line.removesuffix(b"\r").split(b"\r"):
                    yield position, part.decode(encoding, "replace")
            position += len(line) + 1


def _found(opened: Opened) -> list[tuple[int, int]]:
    tail_start = max(opened.size - TAIL, 0)
    opened.file.seek(tail_start)
    tail = opened.file.read()
    hits = [tail_start + at for literal in TAIL_LITERALS for at in _all(tail, literal)]
    del tail
    if not hits:
        hits = _search(opened, tail_start)
    ranges: list[tuple[int, int]] = []
    for hit in sorted(hits)[:: max(len(hits) // MAX_REGIONS, 1)]:
        if not ranges or hit >= ranges[-1][1]:
            ranges.append(_grow(opened, hit))
    return ranges


def _all(piece: bytes, literal: bytes, limit: int = 200) -> list[int]:
    found: list[int] = []
    at = piece.find(literal)
    while at >= 0 and len(found) < limit:
        found.append(at)
        at = piece.find(literal, at + PIECE)
    return found


def _search(opened: Opened, end: int) -> list[int]:
    """Where the literals stand before `end`; a second process takes half of a big file, since the search is all there is to do."""
    middle = end // 2 // WINDOW * WINDOW
    if end < _WORTH_A_PROCESS or (os.cpu_count() or 1) < 2 or not hasattr(os, "fork"):
        return _search_range(opened, 0, end)
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:  # only system calls from here: whatever goes wrong, the parent notices and searches itself
        try:
            os.write(send, b"".join(hit.to_bytes(8, "big") for hit in _search_range(opened, middle, end)) + b"!")
        finally:
            os._exit(0)
    os.close(send)
    hits = _search_range(opened, 0, middle)
    with open(receive, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    if not answer.endswith(b"!"):
        return hits + _search_range(opened, middle, end)
    return hits + [int.from_bytes(answer[at : at + 8], "big") for at in range(0, len(answer) - 1, 8)]


def _search_range(opened: Opened, start: int, end: int) -> list[int]:
    hits: list[int] = []
    for offset in range(start, end, WINDOW):
        with _window(opened, offset, min(WINDOW + 4096, opened.size - offset)) as view:
            for literal in LITERALS:
                at = view.find(literal)
                while at >= 0 and len(hits) < 4 * MAX_REGIONS:
                    hits.append(offset + at)
                    at = view.find(literal, at + PIECE)
    return hits


def _window(opened: Opened, start: int, length: int) -> mmap.mmap:
    """A piece of the file as memory that the system may drop again."""
    import mmap

    fileno = opened.file.fileno()
    return mmap.mmap(fileno, length, access=mmap.ACCESS_READ, offset=start)


def _grow(opened: Opened, hit: int) -> tuple[int, int]:
    """Around a hit, as long as the neighbourhood still speaks the allocator's language."""
    start, end = max(hit - PIECE, 0), min(hit + PIECE, opened.size)
    while start > 0 and _noisy(opened, max(start - PIECE, 0), start):
        start = max(start - PIECE, 0)
    while end < opened.size and _noisy(opened, end, min(end + PIECE, opened.size)):
        end = min(end + PIECE, opened.size)
    return start, end


def _noisy(opened: Opened, start: int, end: int) -> bool:
    opened.file.seek(start)
    piece = opened.file.read(end - start)
    lines = piece.count(b"\n") + 1
    return sum(piece.count(word) for word in (b"bfc_allocator", b"iB from ", b" of size ")) > 0.2 * lines


def _merge(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def notebook_text(head: bytes, whole: bytes) -> str | None:
    """The saved outputs of a Jupyter notebook as text, None if this is no notebook."""
    if head.lstrip()[:1] != b"{" or (b'"cells"' not in whole[: 1 << 20] and b'"worksheets"' not in whole[: 1 << 20]):
        return None
    import json

    try:
        notebook = json.loads(whole)
    except ValueError:
        return None
    cells = notebook.get("cells") or [cell for sheet in notebook.get("worksheets", []) for cell in sheet.get("cells", [])]
    return "\n".join(_joined(piece) for cell in cells for piece in _cell(cell))


def _cell(cell: dict[str, object]) -> Iterator[object]:
    yield cell.get("source") or cell.get("input") or ""
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else []:
        yield output.get("text") or (output.get("data") or {}).get("text/plain") or ""
        yield "\n".join(output.get("traceback") or [])


def _joined(piece: object) -> str:
    return "".join(map(str, piece)) if isinstance(piece, list) else str(piece)
