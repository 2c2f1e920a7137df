"""The lines of a text: in any encoding, of any size, and out of notebooks."""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.readers.bytes import regions
from tfmemlens.readers.gathering.inputs import SMALL, Opened


def encoding_of(head: bytes) -> str:
    """UTF-16 by its mark or by zeros in every other place, else UTF-8 with stray bytes kept."""
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    even, odd = head[0:200:2], head[1:200:2]
    if len(head) > 8 and odd.count(0) > 0.6 * len(odd) > even.count(0):
        return "utf-16-le"
    if len(head) > 8 and even.count(0) > 0.6 * len(even) > odd.count(0):
        return "utf-16-be"
    return "utf-8-sig"


def looks_binary(head: bytes) -> bool:
    """Whether first bytes hold what no text has; a log with holes (a full disk leaves zeros) may, too."""
    if encoding_of(head).startswith("utf-16"):
        return False
    sample = head[:4096]
    return sum(byte < 9 or 13 < byte < 27 for byte in sample) > 0.02 * len(sample)


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
    if opened.size <= SMALL or encoding.startswith("utf-16"):
        return _without(opened, _numbered(opened.all().decode(encoding, "replace"), 1)), True
    return _without(opened, regions.numbered(opened, encoding)), False


def _without(opened: Opened, lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    if not opened.taken:
        return lines
    return (line for line in lines if not any(takes(line[1]) for takes in opened.taken))


def _numbered(text: str, first: int) -> Iterator[tuple[int, str]]:
    """Lines with their numbers; a carriage return starts a new line of the same number, as progress bars use
    it.
    """
    for number, line in enumerate(text.split("\n"), first):
        line = line.removesuffix("\r")
        if "\r" in line:
            yield from ((number, part) for part in line.split("\r"))
        else:
            yield number, line
