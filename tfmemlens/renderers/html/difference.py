"""What changed between two inputs, as a page without tabs."""

from __future__ import annotations

from tfmemlens.model.difference import Difference
from tfmemlens.model.page import Page
from tfmemlens.renderers.html import page
from tfmemlens.renderers.view import View


def render(difference: Difference, view: View = View()) -> str:
    """The whole page as one text."""
    return page.render(Page((), (difference,)), view)
