"""Where bytes come from: files, globs, directories, standard input, gzip."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from tfmemlens import progress
from tfmemlens.errors import UnreadableInput

SMALL = 16 << 20
"""What is kept in memory; a text above it is not read whole."""


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
    """The inputs that a path, a glob, a directory, `-`, a list of these, or a pasted text stand for. Raises
    UnreadableInput.
    """
    if isinstance(source, str | os.PathLike):
        return _one(source)
    found = [each for part in source for each in _one(part)]
    return list({each.path if each.text is None else id(each): each for each in found}.values())


def expand(source: str | os.PathLike[str]) -> list[str]:
    """The paths that a path, a directory or a glob stands for, directories unopened. Raises
    UnreadableInput.
    """
    text = os.fspath(source)
    return [text] if os.path.isdir(text) else [found.path for found in _one(source) if found.text is None]


def _one(source: str | os.PathLike[str]) -> list[Input]:
    text = os.fspath(source)
    if isinstance(source, str) and ("\n" in text or len(text) > 4096):
        return [Input("(text)", text)]
    if text == "-":
        return [Input("-")]
    if os.path.isdir(text):
        files = sorted(
            os.path.join(folder, name)
            for folder, _, names in os.walk(text)
            for name in names
            if _may_tell(name)
        )
        if not files:
            raise UnreadableInput(
                f"{text} is an empty directory", "name a log, a trace, or a directory that holds some"
            )
        return [Input(each) for each in files]
    if os.path.exists(text):
        return [Input(text)]
    import glob

    matches = sorted(each for each in glob.glob(text, recursive=True) if os.path.isfile(each))
    if matches:
        return [Input(each) for each in matches]
    if isinstance(source, str) and _looks_pasted(text):
        return [Input("(text)", text)]
    raise UnreadableInput(
        f"{text} does not exist", "check the path, or pipe the text: `tfmemlens explain - < train.log`"
    )


_PROFILER_PAGES = tuple(
    f".{page}.pb"
    for page in (
        "input_pipeline",
        "kernel_stats",
        "overview_page",
        "tensorflow_stats",
        "op_stats",
        "pod_viewer",
    )
)
"""What the profiler made of an XSpace for TensorBoard's other pages."""


def _may_tell(name: str) -> bool:
    """Whether a file of a directory can have anything to say; one that is named by the user is always
    read.
    """
    return not name.startswith(".") and not name.endswith(
        (
            ".ll",
            ".o",
            ".mlir",
            ".debug_options",
            ".py",
            ".pyc",
            ".png",
            ".npy",
            ".npz",
            ".index",
            ".h5",
            ".keras",
            ".dot",
            ".svg",
            *_PROFILER_PAGES,
        )
    )


def _looks_pasted(text: str) -> bool:
    return any(
        word in text
        for word in (
            "OOM when",
            "ut of memory",
            "RESOURCE_EXHAUSTED",
            "esource exhausted",
            " from device",
            "MiB from",
        )
    )


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
        """Bytes from the start, from within and from the end: what a big log is about may not stand in its
        first lines.
        """
        places = (self.size * quarter // 4 for quarter in (1, 2, 3)) if self.size > count else ()
        return self.head(count) + b"".join(
            self._at(place, count) for place in (*places, max(self.size - count, 0))
        )

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
    except IsADirectoryError:
        raise UnreadableInput(f"{source.path} is a directory", "name a file in it") from None
    except OSError as error:
        raise UnreadableInput(
            f"{source.path} cannot be read: {error.strerror or error}", "check the path and its permissions"
        ) from None


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
