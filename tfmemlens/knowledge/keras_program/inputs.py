"""The shapes of the inputs that a program's models are made with, without their batch."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import Any

from tfmemlens.knowledge.keras_program.reader import FollowedProgram, ProgramReader
from tfmemlens.knowledge.keras_program.values import Names
from tfmemlens.model.program import Program

__all__ = ["input_shapes"]


@lru_cache(maxsize=2)
def input_shapes(program: Program) -> tuple[tuple[int, ...], ...]:
    """Of each `Input` and `input_shape` of which all sides are known, in the program's order."""
    reader = _Inputs(FollowedProgram(program))
    reader.follow()
    return tuple(dict.fromkeys(reader.shapes))


class _Inputs(ProgramReader):
    """Notes what inputs are given."""

    def __init__(self, source: FollowedProgram) -> None:
        super().__init__(source)
        self.shapes: list[tuple[int, ...]] = []

    def outside(self, path: str, positional: list[Any], named: Names, node: ast.Call) -> None:
        """Something was called that the program did not write: an input, or a first layer."""
        shape = named.get("input_shape")
        if path.rpartition(".")[2] == "Input":
            shape = positional[0] if positional else named.get("shape")
        sides = tuple(shape) if isinstance(shape, tuple | list) else ()
        if sides and all(isinstance(side, int) and side > 0 for side in sides):
            self.shapes.append(sides)
        super().outside(path, positional, named, node)
