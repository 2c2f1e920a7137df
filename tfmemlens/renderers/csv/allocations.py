"""Every allocation of traced steps as CSV: one row each, bytes, and microseconds of the trace's clock. A name
that a sheet would take for a formula is made inert.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfmemlens.escaping import inert
from tfmemlens.renderers.view import View

if TYPE_CHECKING:
    import pandas


def render(frame: pandas.DataFrame, view: View = View()) -> str:
    """The table."""
    del view  # a table has all columns
    table = frame.copy()
    for name in ("node", "op", "layer", "device", "allocator"):
        if name in table:
            table[name] = [inert(cell) if isinstance(cell, str) else cell for cell in table[name]]
    text: str = table.to_csv(index=False)
    return text
