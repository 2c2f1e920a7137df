"""The array that the failing line of Python makes with a shape of its own: `np.zeros((n, size, size, 3))`.

Its sides are written out, or are settings that the text states: `memory_size`, `config.height`. Where all are
known, so are its bytes; else the names say what to lower.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from typing import NamedTuple

from tfmemlens.model.capture import StatedSize, Surroundings
from tfmemlens.model.incident import FailedRequest
from tfmemlens.model.tensor import tensor_bytes
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, rough

_MAKES = frozenset(("zeros", "ones", "empty", "full"))
_CALL = regex(r"\b(?:np|numpy)\.(?:zeros|ones|empty|full)\(")
_LEAST_BYTES = GIB // 4
_TYPES = {"float": "float64", "int": "int64", "bool": "bool"}


class ArraySide(NamedTuple):
    """A side of the array."""

    text: str
    size: int | None


class NewArray(NamedTuple):
    """What a line makes: its sides, the type, and the bytes where all sides are known."""

    sides: tuple[ArraySide, ...]
    dtype: str
    bytes: int | None

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sides that are known."""
        return tuple(side.size for side in self.sides if side.size is not None)

    @property
    def named(self) -> str:
        """Its sides as the line writes them, without those that are numbers: `` `len(data)` x `maxlen` ``."""
        return " x ".join(f"`{side.text}`" for side in self.sides if not side.text.isdigit())

    @property
    def words(self) -> str:
        """`: 1,000,000 x 84 x 84 as float16 are 13.1 GiB`, empty where a side is unknown or all is little."""
        if self.bytes is None or self.bytes < _LEAST_BYTES:
            return ""
        sides = " x ".join(f"{size:,}" for size in self.sizes)
        return f": {sides} as {self.dtype} are {rough(self.bytes)}"


def new_array(failed: FailedRequest, stated: Sequence[StatedSize]) -> NewArray | None:
    """The array that the failing line makes; None where it makes none."""
    call = _call(failed.source_text or "")
    return _of_call(call, stated) if call else None


def _of_call(call: ast.Call, stated: Sequence[StatedSize]) -> NewArray | None:
    if not call.args:
        return None
    first = call.args[0]
    nodes = first.elts if isinstance(first, ast.Tuple | ast.List) else [first]
    sides = tuple(ArraySide(ast.unparse(node), _size(node, stated)) for node in nodes)
    dtype = _dtype(call)
    sizes = [side.size for side in sides]
    return NewArray(sides, dtype, tensor_bytes(sizes, dtype) if dtype else None)


def made_by_a_line(failed: FailedRequest, told: Surroundings) -> NewArray | None:
    """The same of the failing line, or of the one line of the text that makes an array of sides that its
    program counts; None where neither does.
    """
    if made := new_array(failed, told.sizes):
        return made if _is_counted(made) else None
    if failed.source_text:
        return None
    lines = [line for line in told.code if _CALL.search(line.text)]
    found = [_of_call(call, told.sizes) for call in (_call(line.text) for line in lines) if call]
    counted = [each for each in found if each and _is_counted(each)]
    return counted[0] if len(counted) == 1 else None


def _is_counted(made: NewArray) -> bool:
    """Whether it has more than one side, and one of them is no number."""
    return len(made.sides) > 1 and any(not side.text.isdigit() for side in made.sides)


def _call(text: str) -> ast.Call | None:
    """The call of NumPy that makes it, of a line that may be a part of a statement."""
    if not _CALL.search(text):
        return None
    try:
        tree = ast.parse(text.strip())
    except (SyntaxError, ValueError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MAKES:
            return node
    return None


def _size(node: ast.expr, stated: Sequence[StatedSize]) -> int | None:
    """The number that a side is: written out, or stated by the text under its name."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, int) else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        parts = [_size(node.left, stated), _size(node.right, stated)]
        known = [part for part in parts if part is not None]
        return math.prod(known) if len(known) == len(parts) else None
    name = _name(node)
    if not name:
        return None
    named = [each for each in stated if len(each.sizes) == 1 and each.name.lower().strip("_")]
    exact = {each.sizes[0] for each in named if each.name.lower() == name.lower()}
    ends = {each.sizes[0] for each in named if each.name.lower().endswith(f"_{name.lower()}")}
    found = exact or ends
    return found.pop() if len(found) == 1 else None


def _dtype(call: ast.Call) -> str:
    """Its type, NumPy's own float64 where none is given; empty where it is given in a way unknown here."""
    place = 2 if isinstance(call.func, ast.Attribute) and call.func.attr == "full" else 1
    given = next((each.value for each in call.keywords if each.arg == "dtype"), None)
    given = given or (call.args[place] if len(call.args) > place else None)
    if given is None:
        return "float64"
    if isinstance(given, ast.Constant) and isinstance(given.value, str):
        return given.value
    return _TYPES.get(_name(given), _name(given))


def _name(node: ast.expr) -> str:
    """`height` of `config.height` and of `height`; empty where it is no name."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
