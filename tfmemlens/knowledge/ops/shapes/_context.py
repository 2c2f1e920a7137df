"""One node as a shape rule sees it, and how a rule registers itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tfmemlens.model.graph import Node
from tfmemlens.model.tensor import TensorType

Dims = tuple["int | None", ...]


Shape = Dims | None


@dataclass(frozen=True)
class ShapeContext:
    """A node with what is known of its inputs: types, and the values of whole-number vectors (None inside: an
    element that is not known).
    """

    node: Node
    inputs: list[TensorType]
    values: list[Dims | None]
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
        found = self.node.attributes.get(name)
        return [each for each in found if isinstance(each, int)] if isinstance(found, tuple) else []

    def number(self, name: str, default: int = 0) -> int:
        """A whole-number attribute."""
        found = self.node.attributes.get(name)
        return found if isinstance(found, int) else default

    def text(self, name: str, default: str = "") -> str:
        """A text attribute."""
        found = self.node.attributes.get(name)
        return found if isinstance(found, str) else default

    @property
    def layout(self) -> str:
        """`NHWC`, `NCHW`, `NDHWC` or `NCDHW`."""
        return self.text("data_format") or ("NDHWC" if "3D" in self.node.op else "NHWC")


Rule = Callable[[ShapeContext], "list[Shape]"]
RULES: dict[str, Rule] = {}


def rule(ops: str) -> Callable[[Rule], Rule]:
    """Registers a function for these op types, with spaces between them."""

    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(ops.split(), function))
        return function

    return register
