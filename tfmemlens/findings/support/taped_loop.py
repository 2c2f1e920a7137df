"""A loop that stands under one tape, in the program itself: the tape keeps what every turn makes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tfmemlens.model.line import Line
from tfmemlens.model.program import Program
from tfmemlens.values import dataclass


@dataclass(frozen=True, slots=True)
class TapedLoop:
    """A loop that calls something between the beginning of a tape and its gradient."""

    tape: Line
    loop: Line
    over: str
    """What it goes over, as it is written."""


def taped_loop(program: Program) -> TapedLoop | None:
    """The first loop that runs in a `with GradientTape()` and takes no gradient inside; None without one."""
    for statement in program:
        for tape in ast.walk(statement.node):
            if not isinstance(tape, ast.With) or not any(_opens_a_tape(item) for item in tape.items):
                continue
            for loop in (each for part in tape.body for each in ast.walk(part)):
                if isinstance(loop, ast.For) and _calls(loop.body) and not _takes_a_gradient(loop):
                    over = ast.unparse(loop.iter)
                    return TapedLoop(statement.line_of(tape), statement.line_of(loop), over)
    return None


def opens_a_tape(program: Program) -> bool:
    """Whether the program records anything at all."""
    nodes = (each for statement in program for each in ast.walk(statement.node))
    return any(isinstance(each, ast.With) and any(map(_opens_a_tape, each.items)) for each in nodes)


def _opens_a_tape(item: ast.withitem) -> bool:
    call = item.context_expr
    name = call.func if isinstance(call, ast.Call) else None
    last = name.attr if isinstance(name, ast.Attribute) else getattr(name, "id", "")
    return last == "GradientTape"


def _calls(body: list[ast.stmt]) -> bool:
    return any(isinstance(each, ast.Call) for part in body for each in ast.walk(part))


def _takes_a_gradient(loop: ast.For) -> bool:
    return any(name in ("gradient", "jacobian", "stop_recording") for name in _methods(loop))


def _methods(loop: ast.For) -> Iterator[str]:
    for each in ast.walk(loop):
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute):
            yield each.func.attr
