"""Which tensors a program cuts slice by slice in a loop of Python's, where a gradient flows through them.

A graph that Python builds turn by turn has an op for each slice, and each has a gradient of its own, as large
as the whole tensor: zeros with the slice in its place. What no weight is behind has no gradient.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from tfmemlens.knowledge.keras_program.reader import FollowedProgram, ProgramReader
from tfmemlens.knowledge.keras_program.values import External, Instance, Layer, Method, Names, Net, tensors_in
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program
from tfmemlens.model.tensor import TensorType
from tfmemlens.values import dataclass

__all__ = ["Sliced", "sliced"]

_WEIGHTS = frozenset("get_variable Variable add_weight trainable_weights embedding_lookup".split())
_OF_LAYERS = ("layers.", "slim.", "contrib.rnn", "nn.rnn_cell")
_STOPS = frozenset("stop_gradient argmax one_hot cast shape".split())


@dataclass(frozen=True, slots=True)
class Sliced:
    """A tensor that one place of the program cuts."""

    line: Line
    code: str
    whole: TensorType
    times: int
    """How many slices the program takes there."""
    axis: int
    """Which side an index of its own is given to."""


def sliced(program: Program) -> tuple[Sliced, ...]:
    """The places where a tensor behind which weights stand is indexed several times, those of most slices
    first. Nothing is run.
    """
    reader = _Slices(FollowedProgram(program))
    reader.follow()
    return reader.found()


class _Slices(ProgramReader):
    """Notes each index into a tensor that a gradient flows through."""

    def __init__(self, source: FollowedProgram) -> None:
        super().__init__(source)
        self._learned: dict[int, TensorType] = {}
        """What weights stand behind, by its identity; it stays alive, so that no other gets it."""
        self._cut: dict[tuple[int, int], tuple[ast.Subscript, TensorType, int]] = {}
        self._indexing: list[ast.Subscript] = []

    def found(self) -> tuple[Sliced, ...]:
        """Each place once for each tensor, with as many slices as are taken of it there."""
        most: dict[int, Sliced] = {}
        for (at, _), (node, whole, times) in self._cut.items():
            line, axis = self.source.line_of(node), _axis(node)
            if line is not None and axis is not None and times > (most[at].times if at in most else 1):
                most[at] = Sliced(line, ast.unparse(node), whole, times, axis)
        return tuple(sorted(most.values(), key=lambda each: -each.times))

    def called(self, function: Any, positional: list[Any], named: Names, node: ast.Call) -> Any:
        """The value of a call: a layer's output has weights behind it, and so has what is made of one."""
        made = super().called(function, positional, named, node)
        if isinstance(function, Layer | Net) or self._learns(function, [positional, list(named.values())]):
            self._learn(made)
        return made

    def _learns(self, function: Any, given: Sequence[Any]) -> bool:
        if isinstance(function, External | Method):
            path = function.name if isinstance(function, Method) else function.path
            name = path.rpartition(".")[2]
            of_weights = name in _WEIGHTS or any(each in f"{path}." for each in _OF_LAYERS)
            value = function.value if isinstance(function, Method) else None
            return name not in _STOPS and (
                of_weights or isinstance(value, Instance) or self._any_learned([*given, value])
            )
        return False

    def _any_learned(self, values: Any) -> bool:
        return any(id(each) in self._learned for each in tensors_in(values))

    def _learn(self, made: Any) -> None:
        for each in tensors_in(made):
            self._learned[id(each)] = each

    def binary(self, op: ast.operator, left: Any, right: Any) -> Any:
        """What an operator makes of two values."""
        made = super().binary(op, left, right)
        if self._any_learned([left, right]):
            self._learn(made)
        return made

    def value(self, node: ast.expr | None) -> Any:
        """What an expression is; an index knows which one it is."""
        if not isinstance(node, ast.Subscript):
            return super().value(node)
        self._indexing.append(node)
        try:
            return super().value(node)
        finally:
            self._indexing.pop()

    def _item(self, value: Any, key: Any) -> Any:
        made = super()._item(value, key)
        if isinstance(value, TensorType) and id(value) in self._learned and self._indexing:
            node = self._indexing[-1]
            _, _, times = self._cut.get((id(node), id(value)), (node, value, 0))
            self._cut[id(node), id(value)] = node, value, times + self.turns
            self._learn(made)
        return made


def _axis(node: ast.Subscript) -> int | None:
    """The one side that is indexed by something other than a constant; None where none or several are."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if any(isinstance(each, ast.Constant) and each.value in (None, ...) for each in parts):
        return None
    varied = [at for at, each in enumerate(parts) if _varies(each)]
    return varied[0] if len(varied) == 1 else None


def _varies(node: ast.expr) -> bool:
    """Whether another turn may index another place: by a name, which is no constant."""
    ends = [node.lower, node.upper] if isinstance(node, ast.Slice) else [node]
    return any(
        each is not None and any(isinstance(part, ast.Name) for part in ast.walk(each)) for each in ends
    )
