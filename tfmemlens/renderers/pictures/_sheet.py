"""A matplotlib figure that prints well: text stays text in SVG, and fonts are TrueType in PDF."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from io import BytesIO
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure

from tfmemlens.escaping import visible

_TRUETYPE = 42
"""Publishers refuse type 3, matplotlib's default."""
_LETTERS_PER_INCH = 12
"""Of a title of 10 points, so that it is wrapped before it is cut."""
_LONGEST_LABEL = 100


class PrintableFigure(Figure):
    """A figure whose files do not depend on the settings of the program that saves it. Without pyplot: it is
    in no window, and nothing has to be closed.
    """

    def savefig(self, fname: Any, **options: Any) -> None:
        """As matplotlib's own."""
        with rc_context({"svg.fonttype": "none", "pdf.fonttype": _TRUETYPE, "ps.fonttype": _TRUETYPE}):
            super().savefig(fname, **options)

    def _repr_png_(self) -> bytes:
        """For notebooks in which no backend is loaded."""
        raw = BytesIO()
        self.savefig(raw, format="png", dpi=100)
        return raw.getvalue()


def sheet(size: tuple[float, float], title: str = "") -> PrintableFigure:
    """An empty figure, its whole title above it. `size` is in inches."""
    figure = PrintableFigure(figsize=size, layout="constrained")
    if title:
        figure.suptitle(plain(textwrap.fill(title, max(int(size[0] * _LETTERS_PER_INCH), 20))), fontsize=10)
    return figure


def plain(text: str) -> str:
    """A text in which matplotlib sees no formula and nothing commands."""
    return "\n".join(visible(line) for line in text.split("\n")).replace("$", r"\$")


def legend_outside(axes: Any, **options: Any) -> None:
    """The legend right of the axes, where it hides nothing."""
    axes.legend(
        loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0, fontsize=8, frameon=False, **options
    )


def distinct(names: Sequence[str], room: int) -> list[str]:
    """Labels of so many letters, or as many more as it takes to tell the names apart: what they all begin
    with goes first, then the middle; equal names get a number.
    """
    start = _common_scope(names)
    rooms = range(room, _LONGEST_LABEL, 8)
    shortened = ([_middle(name[len(start) :], letters) for name in names] for letters in rooms)
    labels = next(
        (labels for labels in shortened if len(set(labels)) == len(set(names))),
        [_middle(name[len(start) :], _LONGEST_LABEL) for name in names],
    )
    seen: dict[str, int] = {}
    told = []
    for label in labels:
        seen[label] = seen.get(label, 0) + 1
        told.append(plain(f"{label} #{seen[label]}" if labels.count(label) > 1 else label))
    return told


def _common_scope(names: Sequence[str]) -> str:
    """The scopes that all names share, with their slash; the last part of a name stays."""
    parts = [name.split("/")[:-1] for name in set(names)]
    shared = []
    for scopes in zip(*parts, strict=False):
        if len(set(scopes)) > 1:
            break
        shared.append(scopes[0])
    return "".join(f"{scope}/" for scope in shared) if len(parts) > 1 else ""


def _middle(text: str, room: int) -> str:
    """Both ends of a long text."""
    half = (room - 1) // 2
    return text if len(text) <= room else f"{text[: room - 1 - half]}…{text[-half:]}"
