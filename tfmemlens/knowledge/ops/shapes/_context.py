"""One node as a shape rule sees it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from tfmemlens.model.graph import Node

Dims = tuple["int | None", ...]
Shape = Dims | None


class Typed(Protocol):
    """A tensor as a rule sees it: its type in a graph, or one that a predicted step holds."""

    @property
    def shape(self) -> Shape:
        """Sizes, None inside where one is not known."""
        ...

    @property
    def dtype(self) -> str | None:
        """NumPy's name of the element type."""
        ...

    @property
    def bytes(self) -> int | None:
        """Bytes of all elements, None where they are not known."""
        ...


class ShapeContext(NamedTuple):
    """A node with what is known of its inputs: types, and the values of whole-number vectors (None inside: an
    element that is not known).
    """

    node: Node
    inputs: Sequence[Typed]
    values: Sequence[Dims | None]
    feed: Dims = ()
    open_feeds: bool = False

    def shape(self, index: int) -> Shape:
        """The shape of an input, None where the rank is unknown."""
        return self.inputs[index].shape if index < len(self.inputs) else None

    def value(self, index: int) -> Dims | None:
        """The numbers in an input, None where they are not known."""
        return self.values[index] if index < len(self.values) else None

    def scalar(self, index: int) -> int | None:
        """The one number in an input, such as an axis; None where it is not known."""
        value = self.value(index)
        return value[0] if value else None

    def numbers(self, name: str) -> list[int]:
        """A list attribute of whole numbers, empty where it is missing."""
        listed = self.node.attributes.get(name)
        return [each for each in listed if isinstance(each, int)] if isinstance(listed, tuple) else []

    def number(self, name: str, default: int = 0) -> int:
        """A whole-number attribute."""
        stated = self.node.attributes.get(name)
        return stated if isinstance(stated, int) else default

    def text(self, name: str, default: str = "") -> str:
        """A text attribute."""
        stated = self.node.attributes.get(name)
        return stated if isinstance(stated, str) else default

    @property
    def layout(self) -> str:
        """`NHWC`, `NCHW`, `NDHWC` or `NCDHW`."""
        return self.text("data_format") or ("NDHWC" if "3D" in self.node.op else "NHWC")


ShapeRule = Callable[[ShapeContext], "list[Shape]"]
ValueRule = Callable[[ShapeContext], "list[Dims | None]"]
