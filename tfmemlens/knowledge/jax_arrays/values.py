"""The values that a JAX program's names stand for while it is followed on shapes alone."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from typing import Any

from tfmemlens.model.line import Line
from tfmemlens.model.tensor import tensor_bytes
from tfmemlens.values import dataclass, field

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class JaxArray:
    """An array of known shape."""

    shape: Shape
    dtype: str = "float32"
    on_host: bool = False
    """Whether it is NumPy's."""

    @property
    def bytes(self) -> int:
        """Shape x dtype."""
        return tensor_bytes(self.shape, self.dtype) or 0


class NoArray:
    """What nothing tells."""

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = NoArray()


@dataclass(frozen=True, slots=True)
class Library:
    """A name of a library, by its full path: `jax.numpy.zeros`."""

    path: str

    @property
    def last(self) -> str:
        """`zeros`."""
        return self.path.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class JaxMethod:
    """A method of an array, a list or a dict, not yet called."""

    of: Any
    name: str


@dataclass(frozen=True, slots=True)
class Updated:
    """`x.at[...]`, whose methods give an array like `x`."""

    of: JaxArray
    at_a_constant: bool = False
    """Whether the index is made of Python's own numbers, the same ones for every row of a vmap."""


@dataclass(frozen=True, slots=True)
class JaxFunction:
    """A function of the program, with the names that its body sees."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    scope: JaxScope = field(compare=False, repr=False)
    lines: Sequence[Line] = field(compare=False, repr=False, default=())
    bound: Any = None
    """The object whose method it is."""
    owner: Any = field(compare=False, repr=False, default=None)
    """The class that it stands in."""


@dataclass(frozen=True, slots=True)
class Transformed:
    """What `jit`, `grad`, `vmap` … make of a function."""

    kind: str
    inner: Any
    positional: tuple[Any, ...] = ()
    """What `partial` gives it."""
    named: tuple[tuple[str, Any], ...] = ()


MISMATCH = "mismatch"
"""The name of what an operator makes of a row and a column that are as long."""


UPDATE_OF_ROWS = "an update of each row"
"""The name of what `x.at[i].set(v)` makes inside vmap: a whole `x` for each row."""


def is_mismatch(one: Any, other: Any) -> bool:
    """Whether an operator meets [n] and [n,1], most likely by mistake: who wants every pair adds axes to
    both.
    """
    if not isinstance(one, JaxArray) or not isinstance(other, JaxArray):
        return False
    row, column = sorted((one.shape, other.shape), key=len)
    return len(row) == 1 and row[0] > 1 and column == (*row, 1)


@dataclass(frozen=True, slots=True)
class Noted:
    """An array that a line makes."""

    array: JaxArray
    code: str
    """The expression, as the user wrote it."""
    line: Line
    way: tuple[Line, ...]
    """The lines of the program that called it, the outermost first, itself last."""
    name: str = ""
    """The function or operator that made it."""
    compiled: bool = False
    """Whether it stands in a function that is compiled, where XLA may never make it."""
    gradient: bool = False
    """Whether a gradient is taken of the function that it stands in."""
    times: int = 1
    """So many turns of a scan make one each, and a gradient keeps them all."""
    taken_of: Shape = ()
    """The shape of the array whose values it is, where indices in an array take them."""
    carried: int = 0
    """Bytes that each turn of that scan hands to the next, as far as they are known."""
    together: int = 0
    """Of a gradient: the bytes of all arrays that it consists of, this one among them."""


@dataclass(frozen=True, slots=True)
class Reshaped:
    """A compiled function that a loop calls with another shape in each turn."""

    line: Line
    shapes: tuple[Shape, Shape]
    """What it gets in the first turn, and in the second."""


@dataclass(frozen=True, slots=True)
class Derived:
    """A call of what `jacfwd`, `jacrev`, `hessian` or `grad` made."""

    line: Line
    kind: str
    given: int
    """How many numbers the function gives."""
    by: int
    """By how many numbers it is differentiated; of `grad` 0 where that is not known."""
    second: bool
    """Whether what is differentiated is a derivative itself."""


class Class:
    """A class of the program: its functions, and the names of its fields in their order."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.functions: dict[str, Any] = {}
        self.kinds: dict[str, str] = {}
        """By the function's name: `property`, `classmethod`, `staticmethod`."""
        self.bases: list[Class] = []
        self.fields: list[str] = []
        self.values: dict[str, Any] = {}
        self.is_tuple = False


class Thing:
    """An object of a class of the program."""

    def __init__(self, of: Class) -> None:
        self.of = of
        self.names: dict[str, Any] = dict(of.values)


@dataclass(frozen=True, slots=True)
class Above:
    """`super()` in a method of an object's class."""

    thing: Any
    bases: tuple[Class, ...]


class JaxScope:
    """Names, and the scope around them."""

    def __init__(self, around: JaxScope | None = None) -> None:
        self.names: dict[str, Any] = {}
        self.around = around

    def find(self, name: str, otherwise: Any = None) -> Any:
        """What a name stands for; `otherwise` where no scope has it."""
        scope: JaxScope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.around
        return otherwise


def is_number(value: Any) -> bool:
    """Whether it is a number of Python's."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def whole(value: Any) -> int | None:
    """A whole number that fits a size; None of anything else."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1 << 50:
        return int(value)
    fits = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 50
    return int(value) if fits else None


def sizes_of(value: Any) -> Shape | None:
    """A shape given as a number or a tuple of numbers."""
    parts = value if isinstance(value, tuple | list) else (value,)
    sizes = [whole(part) for part in parts]
    known = [size for size in sizes if size is not None and size >= 0]
    return tuple(known) if len(known) == len(sizes) else None


def broadcast(*shapes: Shape) -> Shape | None:
    """The shape of an operation on arrays of these shapes; None where they do not fit."""
    rank = max(map(len, shapes), default=0)
    made = [1] * rank
    for shape in shapes:
        for at, size in enumerate(shape, rank - len(shape)):
            if size != 1 and made[at] not in (1, size):
                return None
            made[at] = size if size != 1 else made[at]
    return tuple(made)


def count(shape: Shape) -> int:
    """Its elements."""
    return math.prod(shape)
