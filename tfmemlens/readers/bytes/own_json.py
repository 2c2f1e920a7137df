"""JSON documents that tfmemlens wrote itself, and that somebody may have edited or cut since."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfmemlens.errors import UnreadableInput

if TYPE_CHECKING:
    from tfmemlens.readers.contract import Confidence, Sample
    from tfmemlens.readers.gathering.inputs import Opened

MAX_BYTES = 64 << 20


def sniff(sample: Sample, key: str) -> Confidence:
    """Whether a text is a JSON object that begins with this key."""
    from tfmemlens.readers.contract import Confidence

    head = sample.text[:200].lstrip()
    begins = head.startswith(b"{") and head[1:].lstrip().startswith(f'"{key}"'.encode())
    return Confidence.CERTAIN if begins else Confidence.NO


def read(opened: Opened) -> dict[str, Any]:
    """The document. Raises UnreadableInput where it is cut or too large."""
    import json

    if opened.size > MAX_BYTES:
        raise UnreadableInput(f"{opened.path} is too large for what it should be", "leave it out")
    try:
        document: dict[str, Any] = json.loads(opened.all())
    except (ValueError, RecursionError):
        raise UnreadableInput(
            f"{opened.path} is damaged: it is cut", "the other files of the bundle can be read without it"
        ) from None
    return document


def rows(document: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """The objects in a list of the document; none where there is no such list."""
    listed = document.get(key)
    return [row for row in listed if isinstance(row, dict)] if isinstance(listed, list) else []


def number(row: dict[str, Any], key: str) -> int | None:
    """A whole number that is not negative, None where there is none."""
    value = row.get(key)
    return value if isinstance(value, int) and value >= 0 else None


def open_shape(row: dict[str, Any], key: str) -> tuple[int | None, ...]:
    """The sizes of a shape, None where one is not known."""
    listed = row.get(key)
    return (
        tuple(size if isinstance(size, int) else None for size in listed) if isinstance(listed, list) else ()
    )


def shape(row: dict[str, Any]) -> tuple[int, ...]:
    """The sizes of a shape."""
    listed = row.get("shape")
    sizes = listed if isinstance(listed, list) else []
    return tuple(size if isinstance(size, int) and size >= 0 else 0 for size in sizes)
