"""What lines of JAX programs make, as data: the pattern of the line or of a library's frame, what it makes,
and what makes less of it. `jax_lines` reads the table; tests run every row's examples and near misses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tfmemlens.findings.support.jax_code import arrays, beside, kept, mapped
from tfmemlens.findings.support.jax_code.changes import IN_BLOCKS
from tfmemlens.findings.support.jax_code.idiom import JaxIdiom, Where
from tfmemlens.knowledge.stack_frames import user_frame
from tfmemlens.model.incident import Frame
from tfmemlens.model.line import Line
from tfmemlens.units import square_side

__all__ = ["IN_BLOCKS", "OF_ONE_LINE", "TABLE", "JaxIdiom", "Where", "shown_by"]

_FLOATS = (4, 8)
_ALONE = (
    *("one-hot", "one-hot-of-keras", "attention-scores", "attention-mask", "logits"),
    *("restored-beside", "gathered-from-all"),
)
OF_ONE_LINE: tuple[JaxIdiom, ...] = tuple(row for row in (*kept.ROWS, *arrays.ROWS) if row.slug in _ALONE)
"""Rows of a failing line that are plain enough to be believed of quoted code, where no traceback is."""
TABLE: tuple[JaxIdiom, ...] = (*kept.ROWS, *mapped.ROWS, *arrays.ROWS, *beside.ROWS)
"""Every idiom: of several that a line shows the first counts."""


def _many(side: int | None) -> bool:
    """Whether a square of so many rows is no chance: a power of two has one as often as not."""
    return side is not None and side & (side - 1) != 0


def shown_by(
    frames: Sequence[Frame],
    text: str,
    code: Sequence[Line],
    need: int,
    *,
    way: bool = True,
    on_tpu: bool = False,
) -> Iterator[tuple[JaxIdiom, re.Match[str] | None, Line | None]]:
    """The rows that the failing line, the frames or quoted code show, the surest first; the line where it is
    quoted code alone. Without `way` no line above the failing one is asked.
    """
    own = [frame.text for frame in reversed(frames) if user_frame(frame.place) and frame.text != text]
    library = [frame for frame in frames if not user_frame(frame.place)]
    fitting = [
        row
        for row in TABLE
        if need >= row.least_bytes
        and not (on_tpu and row.of_gpus)
        and not (row.no_square and any(map(_many, (square_side(need, item) for item in _FLOATS))))
        and not (row.not_in and any(re.search(row.not_in, f"{at.place} {at.name}") for at in library))
        and (not row.beside or any(re.search(row.beside, each) for each in (text, *(at.text for at in code))))
    ]
    for row in fitting:
        if match := row.in_line(text):
            yield row, match, None
    for row in fitting:
        if any(map(row.in_frame, library)):
            lines = [text, *own, *(line.text for line in code)]
            yield row, next(filter(None, map(row.in_line, lines)), None), None
    for row in fitting if way else ():
        if row.where is not Where.LINE and (match := next(filter(None, map(row.in_line, own)), None)):
            yield row, match, None
    for row in fitting:
        for line in reversed(code) if row.where is Where.CODE else ():
            if match := row.in_line(line.text):
                yield row, match, line
                break
