"""The program's own call of `fit`: with how many samples at a time it trains and validates."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tfmemlens.findings.support.program_lines import code_lines, numbers_by_name
from tfmemlens.model.line import Line
from tfmemlens.values import dataclass

if TYPE_CHECKING:
    from tfmemlens.model.capture import Surroundings
    from tfmemlens.model.program import Statement

_VALIDATES = "validation_batch_size"


@dataclass(frozen=True, slots=True)
class FitCall:
    """A call of `fit` that was running when the program failed, as far as it states its batches."""

    batch: int | None
    validation: str | None
    """What it says of the validation set's batch, as it is written: `validation_batch_size=len(x_test)`."""
    validation_line: Line | None


def fit_call(told: Surroundings) -> FitCall | None:
    """The call of `fit` that the traceback goes through; None without one, or where several may be it."""
    program = told.program()
    if not program:
        return None
    calls = {
        ast.unparse(node): (statement, node)
        for statement in program
        if not statement.of_frame
        for node in statement.nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "fit"
        if statement.runs(node)
    }
    if len(calls) != 1:
        return None
    named = {name: number for name, (number, _) in numbers_by_name(code_lines(told)).items()}
    return _of_call(*next(iter(calls.values())), named)


def _of_call(statement: Statement, call: ast.Call, named: Mapping[str, int]) -> FitCall:
    words = {word.arg: word.value for word in call.keywords if word.arg}
    validation = words.get(_VALIDATES)
    return FitCall(
        _number(words.get("batch_size"), named),
        f"{_VALIDATES}={ast.unparse(validation)}" if validation else None,
        statement.line_of(validation) if validation else None,
    )


def _number(value: ast.expr | None, named: Mapping[str, int]) -> int | None:
    """A whole number that is written there, or under a name that the program assigns once."""
    if isinstance(value, ast.Constant) and isinstance(value.value, int):
        return value.value or None
    return named.get(value.id) if isinstance(value, ast.Name) else None
