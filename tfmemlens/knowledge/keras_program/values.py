"""What names of a followed program stand for: numbers and texts are themselves, tensors are their types."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from tfmemlens.model.tensor import TensorType
from tfmemlens.values import dataclass, field


class Unknown:
    """What nothing tells."""

    def __repr__(self) -> str:
        return "unknown"


UNKNOWN = Unknown()
Names = dict[str, Any]


@dataclass(slots=True)
class Layer:
    """A layer that a call makes, before and after it is called itself."""

    class_name: str
    config: Mapping[str, Any]
    node: ast.Call
    wrapped: Any = None
    """What a wrapper repeats."""
    attribute: str = ""
    """What the program's object calls it: `encoder` of `self.encoder`."""


@dataclass(slots=True)
class Net:
    """A Sequential or functional model: its layers in their order, or what it returns."""

    layers: list[Any] = field(default_factory=list)
    inputs: Any = None
    outputs: Any = None
    name: str = ""


@dataclass(slots=True)
class Function:
    """A function or lambda of the program, with the names around it."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    around: tuple[Names, ...]
    of: Any = None
    """The instance whose method it is."""
    methods_of: Any = None
    """The class that it is defined in, for `super()`."""


@dataclass(slots=True)
class UserClass:
    """A class of the program."""

    name: str
    members: Names
    bases: tuple[Any, ...] = ()

    def member(self, name: str) -> tuple[Any, UserClass] | None:
        """A member by its name and the class that it stands in, its own before its bases'."""
        if name in self.members:
            return self.members[name], self
        inherited = (base.member(name) for base in self.bases if isinstance(base, UserClass))
        return next((each for each in inherited if each), None)


@dataclass(slots=True)
class Instance:
    """An object of such a class: a model, a layer, a record of settings."""

    of: UserClass | None
    attributes: Names = field(default_factory=dict)
    name: str = ""
    """What the program calls it, by `name=`."""


@dataclass(slots=True)
class DataSet:
    """A `tf.data.Dataset`: what one element is."""

    element: Any


@dataclass(slots=True)
class Super:
    """`super()`: the base classes' methods, bound to the instance."""

    instance: Instance
    below: UserClass


@dataclass(slots=True)
class Method:
    """A method of a value that the program did not write: `x.astype`, `model.fit`, `dataset.batch`."""

    value: Any
    name: str


@dataclass(slots=True)
class External:
    """A name that the program imports: `tf.keras.layers.Dense`."""

    path: str


class Scope(str):
    """A `tf.variable_scope` or `tf.name_scope` that a `with` opens."""

    __slots__ = ()


def size_within(value: Any, most: int) -> int | None:
    """A value that is a size of at least 1 and at most so much, else None."""
    whole = isinstance(value, int) and not isinstance(value, bool) and 0 < value <= most
    return value if whole else None


def tensors_in(value: Any, depth: int = 4) -> list[TensorType]:
    """All tensors of nested tuples, lists and dictionaries."""
    if isinstance(value, TensorType):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, tuple | list) and depth:
        return [each for part in value for each in tensors_in(part, depth - 1)]
    return []


def bound(member: Any, instance: Instance, of: UserClass) -> Any:
    """A member of a class as its instance has it."""
    if not isinstance(member, Function):
        return member
    static = [each.id for each in getattr(member.node, "decorator_list", ()) if isinstance(each, ast.Name)]
    owner = None if "staticmethod" in static else instance
    return Function(member.node, member.around, owner, of)
