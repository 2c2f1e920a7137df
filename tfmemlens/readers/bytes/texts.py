"""The lines of a text: in any encoding, of any size, and out of notebooks."""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.readers.bytes import regions
from tfmemlens.readers.gathering.inputs import SMALL, Opened


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
    """Whether a file that looks binary still holds a log's words, as one does in which a full disk left
    zeros.
    """
    piece = opened.all() if opened.size <= SMALL else opened.head(SMALL)
    return any(word in piece for word in regions.TAIL_LITERALS)


def text_lines(opened: Opened) -> tuple[Iterator[tuple[int, str]], bool]:
    """The lines worth parsing, numbered, and whether that is all of the file.

    In a file above 16 MiB only regions are read, and a line's number is its byte position: counting the lines
    before it would take longer than finding it.
    """
    encoding = encoding_of(opened.head(4096))
    if opened.size <= SMALL or encoding.startswith("utf-16"):
        return _numbered(opened.all().decode(encoding, "replace"), 1), True
    return regions.numbered(opened, encoding), False


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


def notebook_text(head: bytes, whole: bytes) -> str | None:
    """The saved outputs of a Jupyter notebook as text, None if this is no notebook."""
    if head.lstrip()[:1] != b"{" or (
        b'"cells"' not in whole[: 1 << 20] and b'"worksheets"' not in whole[: 1 << 20]
    ):
        return None
    import json

    try:
        notebook = json.loads(whole)
    except ValueError:
        return None
    cells = notebook.get("cells") or [
        cell for sheet in notebook.get("worksheets", []) for cell in sheet.get("cells", [])
    ]
    return "\n".join(_joined(piece) for cell in cells for piece in _cell(cell))


def _cell(cell: dict[str, object]) -> Iterator[object]:
    yield cell.get("source") or cell.get("input") or ""
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else []:
        yield output.get("text") or (output.get("data") or {}).get("text/plain") or ""
        yield "\n".join(output.get("traceback") or [])


def _joined(piece: object) -> str:
    return "".join(map(str, piece)) if isinstance(piece, list) else str(piece)
