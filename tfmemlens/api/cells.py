"""What this code runs in: a notebook's cell, which shows values as cards, or anything else."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from tfmemlens.api.answers import Answer


def in_notebook() -> bool:
    """Whether a kernel of IPython runs this code."""
    ask = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return getattr(ask() if ask else None, "kernel", None) is not None


def show(answer: Answer) -> None:
    """Show a card below the cell now, as the cell's value would be."""
    module: Any = sys.modules["IPython"]
    display: Callable[[object], object] = module.display.display
    display(answer)
