"""What a quoted program appends to its lists: tensors of known shape, with an open batch."""

from __future__ import annotations

import ast
from typing import Any

from tfmemlens.knowledge.keras_program.reader import FollowedProgram, ProgramReader
from tfmemlens.knowledge.keras_program.values import Method, Names
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program
from tfmemlens.model.tensor import TensorType


def appended(program: Program) -> dict[Line, TensorType]:
    """By the line that appends it, the one tensor that it appends."""
    reader = _Appended(FollowedProgram(program))
    reader.follow()
    return reader.found


class _Appended(ProgramReader):
    """Notes what `list.append` is given."""

    def __init__(self, source: FollowedProgram) -> None:
        super().__init__(source)
        self.found: dict[Line, TensorType] = {}

    def called(self, function: Any, positional: list[Any], named: Names, node: ast.Call) -> Any:
        """The value of a call."""
        if isinstance(function, Method) and function.name == "append" and len(positional) == 1:
            line, value = self.source.line_of(node), positional[0]
            if line is not None and isinstance(value, TensorType) and value.shape:
                self.found.setdefault(line, value)
        return super().called(function, positional, named, node)
