"""Where bytes come from: files, globs, directories, texts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Set
from typing import BinaryIO, NamedTuple

from tfmemlens.errors import MissingInput, UnreadableInput
from tfmemlens.model.line import ReadNote
from tfmemlens.readers import catalogue
from tfmemlens.readers.bytes import own_pages
from tfmemlens.values import dataclass, field

SMALL = 16 << 20
"""What is kept in memory; a text above it is not read whole."""
TAIL = 8 << 20
"""Bytes at the end of a big log that are searched first, for more words."""


class LogPart(NamedTuple):
    """A part of a long log: where it begins in that, and how many bytes it has."""

    start: int
    size: int


@dataclass(frozen=True)
class Input:
    """One thing to read: a file, or a text that was passed directly."""

    path: str
    text: str | None = None
    tag: str | None = None
    """Which of several steps in it is meant, where a directory was searched for steps."""
    step: int | None = None
    raw: bytes | None = None
    """Its bytes, where somebody else read them: out of storage, an archive, a part of a long log."""
    parts: tuple[LogPart, ...] = ()
    """Of which parts of a long log these bytes are made; lines are then numbered by their byte positions."""

    @property
    def name(self) -> str:
        """The short name that evidence shows when there are several inputs."""
        return os.path.basename(self.path) or self.path


Place = str | os.PathLike[str]
Source = Place | Iterable[Place]


def places(source: Source) -> tuple[Place, ...]:
    """What the user named, once: a generator gives its paths to whoever asks first, so nobody else asks. Of a
    set the order is that of the names.
    """
    if isinstance(source, str | os.PathLike):
        return (source,)
    return tuple(sorted(source, key=os.fspath) if isinstance(source, Set) else source)


def resolve(source: Source) -> list[Input]:
    """The inputs that a path, a glob, a directory, `-`, several of these, or a pasted text stand for. Raises
    UnreadableInput.
    """
    inputs = [each for place in places(source) for each in _one(place)]
    return list({each.path if each.text is None else id(each): each for each in inputs}.values())


def expand(source: Place) -> list[str]:
    """The paths that a path, a directory or a glob stands for, directories unopened. Raises
    UnreadableInput.
    """
    text = os.fspath(source)
    return [text] if os.path.isdir(text) else [each.path for each in _one(source) if each.text is None]


def _one(source: Place) -> list[Input]:
    text = os.fspath(source)
    if isinstance(source, str) and ("\n" in text or len(text) > 4096):
        return [Input("(text)", text)]
    if text == "-":
        return [Input("-")]
    if os.path.isdir(text):
        passed_over = catalogue.passed_over()
        files = [file for file in files_in(text) if not file.endswith(passed_over)]
        if not files:
            raise UnreadableInput(
                f"{text} is an empty directory", "name a log, a trace, or a directory that holds some"
            )
        return [Input(each) for each in _without_own_pages(files)]
    if os.path.exists(text):
        return [Input(text)]
    import glob

    matches = sorted(each for each in glob.glob(text, recursive=True) if os.path.isfile(each))
    if matches:
        return [Input(each) for each in matches]
    if isinstance(source, str) and _looks_pasted(text):
        return [Input("(text)", text)]
    raise MissingInput(text, "check the path, or pipe the text: `tfmemlens explain - < train.log`")


def _without_own_pages(files: list[str]) -> list[str]:
    """What a directory holds besides pages that were made here; where there is nothing else, these."""
    return [file for file in files if not (file.endswith(own_pages.ENDINGS) and _is_own(file))] or files


def _is_own(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return own_pages.is_own(file.read(own_pages.HEAD))
    except OSError:  # who reads it will say so
        return False


def files_in(folder: str) -> list[str]:
    """The files of a directory and its folders by name, without hidden ones; a pipe or a socket among them is
    none, and would never end.
    """
    paths = (
        os.path.join(inner, name) for inner, _, names in os.walk(folder) for name in names if name[0] != "."
    )
    return sorted(filter(os.path.isfile, paths))


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
    label: str = ""
    """The source that its evidence lines carry, where there are several inputs."""
    is_text: bool = False
    """Whether it is known to be text, as what somebody pasted is."""
    taken: tuple[Callable[[str], bool], ...] = ()
    """Whose lines other formats of the same text read."""
    notes: list[ReadNote] = field(default_factory=list)
    """What had to be left out when it was opened."""
    parts: tuple[LogPart, ...] = ()
    """Of which parts of a long log it is made; none where it is a whole."""

    def head(self, count: int = 1 << 16) -> bytes:
        """The first bytes."""
        self.file.seek(0)
        return self.file.read(count)

    def samples(self, count: int = 1 << 16) -> bytes:
        """Bytes from the start, from within and the last megabytes: what a big log is about may not stand in
        its first lines.
        """
        within = (self.size * quarter // 4 for quarter in (1, 2, 3)) if self.size > count else ()
        end = self._at(max(self.size - TAIL, 0), TAIL)
        return b"".join((self.head(count), *(self._at(place, count) for place in within), end))

    def _at(self, place: int, count: int) -> bytes:
        self.file.seek(place)
        return self.file.read(count)

    def all(self) -> bytes:
        """Everything, for formats that need it."""
        self.file.seek(0)
        return self.file.read()
