"""Blocks of text at a fixed width: paragraphs, tables, bars, quotes."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

from tfmemlens.escaping import visible
from tfmemlens.patterns import regex
from tfmemlens.renderers.view import UNICODE_TO_ASCII, View

_UNIT = regex(r"(\d) (B|[KMGTPE]iB|%|ms|s|GB|MB)(?![\w])")
_NAMED = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "yellow": "33",
    "green": "32",
    "cyan": "36",
}
STYLES = _NAMED | {f"color-{number}": f"38;5;{number}" for number in range(16, 256)}
"""What stands between `ESC [` and `m`; `color-N` is a colour of the 256."""
_TEXT = 18
"""Columns that a text beside others needs."""
_SECOND = "\ufdd2"
"""Stands for the second column of an East Asian letter while lines are wrapped; no input keeps it."""
_AS_WRITTEN = {ord("\N{NO-BREAK SPACE}"): " ", ord(_SECOND): None}
_MARK = regex("\ufdd0([a-z0-9-]*)\ufdd1")
"""A style's place in a text, in letters that no input keeps: `visible` writes them out."""


def styled(text: str, style: str, color: bool) -> str:
    """The text in a style, or plain. `as_text` turns the marks into what a terminal understands."""
    return f"\ufdd0{style}\ufdd1{visible(text)}\ufdd0\ufdd1" if color and text else visible(text)


def heading(text: str, view: View) -> list[str]:
    """A section's name, with an empty line before it."""
    return ["", styled(text.upper(), "bold", view.color)]


def as_text(lines: Iterable[str], view: View) -> str:
    """The finished page, in letters that the terminal has."""
    text = "\n".join(_finished(line.rstrip()) for line in lines).strip("\n") + "\n"
    return text if view.unicode else text.translate(UNICODE_TO_ASCII).encode("ascii", "replace").decode()


def _finished(line: str) -> str:
    """A line with its styles, everything else in it made visible."""
    pieces = _MARK.split(line)
    pieces[::2] = map(visible, pieces[::2])
    pieces[1::2] = (f"\x1b[{STYLES.get(style, '0')}m" for style in pieces[1::2])
    return "".join(pieces)


def paragraph(text: str, width: int, indent: str = "", first: str | None = None) -> list[str]:
    """Wrapped lines; long names are not broken, so that they can be copied, and a number stays beside its
    unit.
    """
    text = visible(" ".join(text.split("\n")))
    joined, start = _UNIT.sub("\\1\N{NO-BREAK SPACE}\\2", text), indent if first is None else first
    if not text.isascii():
        joined = "".join(letter + _SECOND * (_letter_width(letter) - 1) for letter in joined)
    wrapped = textwrap.wrap(
        joined,
        width,
        initial_indent=start,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.translate(_AS_WRITTEN) for line in wrapped] or [indent.rstrip()]


def display_width(text: str) -> int:
    """Columns that a text takes: East Asian letters take two."""
    if text.isascii():
        return len(text)
    return sum(map(_letter_width, text))


def _letter_width(letter: str) -> int:
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def shorten(text: str, width: int) -> str:
    """A name that fits: the middle goes, since both ends of a scope path tell most."""
    text = visible(text)
    if display_width(text) <= width:
        return text
    keep = max(width - 1, 2)
    tail = keep * 2 // 3
    return f"{begun(text, keep - tail)}…{begun(text[-tail:][::-1], tail)[::-1]}"


def begun(text: str, width: int) -> str:
    """As much of its beginning as so many columns hold."""
    kept = text[:width]
    while display_width(kept) > width:
        kept = kept[:-1]
    return kept


def pad(text: str, width: int) -> str:
    """Left-aligned in so many columns."""
    return text + " " * max(width - display_width(text), 0)


def bar(share: float, width: int, letter: str = "█") -> str:
    """A bar for a share of 1; something that exists shows at least one cell."""
    return letter * (max(1, round(share * width)) if share > 0 else 0)


def stacked_bar(parts: Sequence[tuple[str, int]], whole: int, width: int) -> str:
    """Letters in proportion to bytes; every part that exists shows at least one cell, and the whole is never
    exceeded.
    """
    if whole <= 0:
        return ""
    whole = max(whole, sum(size for _, size in parts if size > 0))  # what is less than nothing has no cell
    cells = [(letter, size * width / whole) for letter, size in parts if size > 0]
    counts = [max(1, int(share)) for _, share in cells]
    target = min(width, round(sum(share for _, share in cells)))
    for index in sorted(range(len(cells)), key=lambda at: counts[at] - cells[at][1]):
        if sum(counts) >= target:
            break
        counts[index] += 1
    while sum(counts) > width:
        counts[counts.index(max(counts))] -= 1
    return "".join(letter * count for (letter, _), count in zip(cells, counts, strict=True))


def narrowed(
    rows: Sequence[Sequence[str]], width: int, least: Mapping[int, int], gap: int = 2
) -> list[list[str]]:
    """The rows with the cells of some columns shortened so that all fit; `least` says how far each of these
    may shrink.
    """
    sizes = [max(display_width(row[at]) for row in rows) for at in range(len(rows[0]))]
    excess = sum(sizes) + gap * (len(sizes) - 1) - width
    for at in sorted(least, key=lambda at: -sizes[at]):
        taken = max(min(excess, sizes[at] - least[at]), 0)
        sizes[at] -= taken
        excess -= taken
    return [
        [shorten(cell, sizes[at]) if at in least else cell for at, cell in enumerate(row)] for row in rows
    ]


def columns(
    rows: Iterable[Sequence[str]], right: frozenset[int] = frozenset(), gap: str = "  ", indent: str = "  "
) -> list[str]:
    """Aligned columns; those in `right` are right-aligned."""
    table = [list(map(visible, row)) for row in rows]
    if not table:
        return []
    widths = [max(display_width(row[at]) for row in table) for at in range(len(table[0]))]
    return [
        indent
        + gap.join(
            " " * (size - display_width(cell)) + cell if at in right else pad(cell, size)
            for at, (cell, size) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]


def fitting(tables: Iterable[Sequence[Sequence[str]]], width: int, right: Iterable[str] = ()) -> list[str]:
    """The first of these tables that fits, else the last; cells below a head in `right` are right-aligned."""
    lines: list[str] = []
    for table in tables:
        lines = columns(table, frozenset(at for at, name in enumerate(table[0]) if name in set(right)))
        if max(map(display_width, lines), default=0) <= width:
            break
    return lines


def with_texts(rows: Sequence[Sequence[str]], width: int, right: frozenset[int] = frozenset()) -> list[str]:
    """Aligned columns, the last of which holds texts that may need several lines."""
    lines = []
    starts = columns([row[:-1] for row in rows], right)
    first = max(map(display_width, starts), default=0) + 2
    for start, row in zip(starts, rows, strict=True):
        if width - first < _TEXT:
            lines += [start, *(paragraph(row[-1], width, " " * 6) if row[-1] else [])]
        else:
            lines += paragraph(row[-1], width, " " * first, pad(start, first)) if row[-1] else [start]
    return lines
