"""Writing where the user asked for it. What the system refuses is a UsageError with a hint."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tfmemlens import progress
from tfmemlens.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOTS_AN_INCH = 150
"""Of a picture of dots, unless asked for otherwise."""


@contextmanager
def writing(path: str) -> Iterator[None]:
    """Around anything that writes to this file. Raises UsageError."""
    try:
        yield
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written: {error.strerror or error}", "check the folder and its permissions"
        ) from None


def write(content: str | bytes, path: str) -> None:
    """Text as UTF-8, or bytes as they are, to a file, or to standard output for `-`. Raises UsageError."""
    raw = content.encode("utf-8", "replace") if isinstance(content, str) else content
    if path == "-":
        progress.done()  # a line of how far it is may stand on the same terminal
        sys.stdout.flush()
        if (buffer := getattr(sys.stdout, "buffer", None)) is None:  # a notebook's, or a text in memory
            sys.stdout.write(raw.decode("utf-8", "replace"))
        else:
            buffer.write(raw)
        return
    with writing(path):
        Path(path).write_bytes(raw)


def draw(figure: Figure, path: str, dpi: int = DOTS_AN_INCH) -> None:
    """A picture to a file whose ending says which format; `dpi` dots an inch in those of dots. Raises
    UsageError.
    """
    try:
        with writing(path):
            figure.savefig(path, dpi=dpi)
    except ValueError as error:
        raise UsageError(str(error), "end the file's name in .png, .svg or .pdf") from None
