"""One node as a shape rule sees it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeVar

from tfmemlens.errors import MalformedNode
from tfmemlens.model.graph import Node

Side = TypeVar("Side", int, "int | None")
Dims = tuple["int | None", ...]
Shape = Dims | None
MAX_OUTPUTS = 100_000
"""No node has more; a larger number is damage."""


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
        return self.inputs[index].shape if 0 <= index < len(self.inputs) else None

    def value(self, index: int) -> Dims | None:
        """The numbers in an input, None where they are not known."""
        return self.values[index] if 0 <= index < len(self.values) else None

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

    def count(self, name: str, default: int = 1) -> int:
        """How many outputs or inputs an attribute says that the node has. Raises MalformedNode."""
        stated = self.number(name, default)
        if not 0 < stated <= MAX_OUTPUTS:
            raise MalformedNode(f"its {name} is {stated}")
        return stated

    def sides(self, name: str) -> Shape:
        """A shape attribute, None where it is missing or something else. Raises MalformedNode where it lists
        what no shape has.
        """
        stated = self.node.attributes.get(name)
        return shape_of(stated) if isinstance(stated, tuple) else None

    def text(self, name: str, default: str = "") -> str:
        """A text attribute."""
        stated = self.node.attributes.get(name)
        return stated if isinstance(stated, str) else default

    @property
    def layout(self) -> str:
        """`NHWC`, `NCHW`, `NDHWC` or `NCDHW`."""
        return self.text("data_format") or ("NDHWC" if "3D" in self.node.op else "NHWC")


def shape_of(stated: object) -> Shape:
    """A shape that a graph states, None for an unknown rank. Raises MalformedNode where it is none."""
    if stated is None:
        return None
    if not isinstance(stated, tuple) or any(
        side is not None and (not isinstance(side, int) or side < 0) for side in stated
    ):
        raise MalformedNode("what it states for a shape is none")
    return stated


def side_of(sides: Sequence[Side], at: int) -> Side:
    """One side of a shape, or one number of a vector. Raises MalformedNode where there are too few."""
    if not -len(sides) <= at < len(sides):
        raise MalformedNode(f"side {at} is missing from {list(sides)}")
    return sides[at]


def positive(numbers: Sequence[int], at: int) -> int:
    """One number of a list of strides or sizes. Raises MalformedNode where it is missing or not above 0."""
    number = side_of(numbers, at)
    if number <= 0:
        raise MalformedNode(f"{number} stands in {list(numbers)}")
    return number


def axis_of(axis: int, rank: int) -> int:
    """An axis, counted from the front. Raises MalformedNode where the tensor does not have it."""
    if not -rank <= axis < rank:
        raise MalformedNode(f"its axis is {axis}, its tensor of rank {rank}")
    return axis % rank


ShapeRule = Callable[[ShapeContext], "list[Shape]"]
ValueRule = Callable[[ShapeContext], "list[Dims | None]"]
