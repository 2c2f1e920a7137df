"""The lines of a text: in any encoding, of any size, and out of notebooks."""

from __future__ import annotations

import codecs
from collections.abc import Iterator

from tfmemlens.readers.bytes import regions
from tfmemlens.readers.gathering.inputs import SMALL, Opened

_PIECE = 1 << 20
_NO_TEXT = bytes([*range(7), *range(14, 27)])
"""A bell and a backspace are text: Keras 2 draws its progress with as many backspaces as letters."""
_MAX_BLANK = 8
"""So many blank lines in a row say all that more of them say."""


def encoding_of(head: bytes) -> str:
    """UTF-16 by its mark or by zeros in every other place, else UTF-8 with stray bytes kept."""
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    even, odd = head[0:200:2], head[1:200:2]
    few = 0.25 * len(odd)  # small whole numbers of four bytes have zeros in three of them
    if len(head) > 8 and odd.count(0) > 0.6 * len(odd) and even.count(0) < few:
        return "utf-16-le"
    if len(head) > 8 and even.count(0) > 0.6 * len(even) and odd.count(0) < few:
        return "utf-16-be"
    return "utf-8-sig"


def looks_binary(head: bytes) -> bool:
    """Whether first bytes hold what no text has; a log with holes (a full disk leaves zeros) may, too."""
    if encoding_of(head).startswith("utf-16"):
        return False
    sample = head[:4096]
    return len(sample) - len(sample.translate(None, _NO_TEXT)) > 0.02 * len(sample)


def speaks_of_memory(opened: Opened) -> bool:
    """Whether a file that looks binary still holds a log's words, as one does in which a full disk left
    zeros.
    """
    piece = opened.all() if opened.size <= SMALL else opened.head(SMALL)
    return any(word in piece for word in regions.TAIL_LITERALS)


def text_lines(opened: Opened) -> tuple[Iterator[tuple[int, str]], bool]:
    """The lines worth parsing, numbered, and whether that is all of the file; those that another format of
    the same text takes are left out.

    In a file above 16 MiB only regions are read, and a line's number is its byte position: counting the lines
    before it would take longer than finding it.
    """
    encoding = encoding_of(opened.head(4096))
    if opened.parts:
        return _without(opened, _of_parts(opened, encoding)), False
    if opened.size <= SMALL:
        return _without(opened, _numbered(opened.all().decode(encoding, "replace"), 1)), True
    if encoding.startswith("utf-16"):
        return _without(opened, _recoded(opened, encoding)), False
    return _without(opened, regions.numbered(opened, encoding)), False


def _of_parts(opened: Opened, encoding: str) -> Iterator[tuple[int, str]]:
    """The lines of some parts of a long log, which begin and end where lines do."""
    opened.file.seek(0)
    for part in opened.parts:
        yield from regions.lines_from(part.start, opened.file.read(part.size), encoding)


def _recoded(opened: Opened, encoding: str) -> Iterator[tuple[int, str]]:
    """A big text of two bytes a character, searched as UTF-8 is; line numbers are byte positions in that."""
    import tempfile

    decoder = codecs.getincrementaldecoder(encoding)("replace")
    with tempfile.TemporaryFile() as file:
        opened.file.seek(0)
        while piece := opened.file.read(_PIECE):
            file.write(decoder.decode(piece).encode("utf-8", "replace"))
        recoded = Opened(opened.path, opened.name, file, file.tell(), opened.label, is_text=True)
        yield from regions.numbered(recoded, "utf-8")


def _without(opened: Opened, lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    if not opened.taken:
        return lines
    return (line for line in lines if not any(takes(line[1]) for takes in opened.taken))


def _numbered(text: str, first: int) -> Iterator[tuple[int, str]]:
    """Lines with their numbers; a carriage return starts a new line of the same number, as progress bars use
    it. Of blank lines in a row only the first few.
    """
    blank = 0
    for number, line in enumerate(text.split("\n"), first):
        line = line.removesuffix("\r")
        for part in line.split("\r") if "\r" in line else (line,):
            blank = 0 if part else blank + 1
            if blank <= _MAX_BLANK:
                yield number, part
