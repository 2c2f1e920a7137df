"""Rows of a tensor that the program made by repeating others."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tfmemlens.findings.support.code_tensors import tensors_made
from tfmemlens.findings.support.program_lines import code_lines, settings_by_name
from tfmemlens.knowledge.tree_values import last_name
from tfmemlens.model.attribution import Kind
from tfmemlens.model.case import Case, Request
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program
from tfmemlens.values import dataclass

_FEWEST_ROWS, _FEWEST_TIMES, _FEWEST_POSITIONS = 32, 3, 16
_REPEATS = frozenset({"repeat", "repeat_elements", "tile_batch"})
_TILES = frozenset({"tile", "broadcast_to"})
_JOINS = frozenset({"concat", "concatenate", "stack"})


class Repetition(NamedTuple):
    """A call that repeats rows: by which setting, how often, and where both stand."""

    name: str
    times: int
    set_at: Line
    called: str
    line: Line


@dataclass(frozen=True, slots=True)
class RepeatedRows:
    """Rows that a setting multiplies."""

    repeat: Repetition
    rows: int
    """As many as the tensor that failed has."""
    of_name: str
    """The setting that says how many rows there are without the repetition; empty where none does."""
    positions: int = 1
    """Of each row, which the tensor has as rows, too."""

    @property
    def each(self) -> int:
        """The rows before the repetition."""
        return self.rows // self.repeat.times // self.positions


def repeated_rows(case: Case, request: Request) -> RepeatedRows | None:
    """The repetition that the rows of the failed tensor come from; None where no setting fits."""
    shape, program = request.failed.shape or (), case.capture.surroundings.program()
    rows_of = (shape[0] if shape else 0) or 0
    weights = request.fixed or request.owner.kind in (Kind.PARAMETER, Kind.OPTIMIZER_SLOT, Kind.GRADIENT)
    if not program or weights or len(shape) < 2 or rows_of < _FEWEST_ROWS:
        return None
    settings = settings_by_name(code_lines(case.capture.surroundings))
    if rows_of in {number for number, _ in settings.values()}:
        return None  # a setting of its own
    for repeat in _repeats(program, settings):
        if repeat.times < _FEWEST_TIMES:
            continue
        for each, positions in _factors(rows_of, repeat, settings):
            names = [name for name, (number, _) in settings.items() if number == each and name != repeat.name]
            if names:
                return RepeatedRows(repeat, rows_of, names[0], positions)
    return _followed(program, rows_of)


def _followed(program: Program, rows_of: int) -> RepeatedRows | None:
    """The call that makes so many rows of fewer, where the program can be followed that far."""
    for made in tensors_made(program):
        fewer = (made.reads[:1] or (0,))[0] or 0
        if made.op not in _REPEATS | _TILES or made.shape[0] != rows_of or not fewer or rows_of % fewer:
            continue
        call = ast.parse(made.code, mode="eval").body if not made.code.endswith("\u2026") else None
        by = times_of(call) if isinstance(call, ast.Call) else None
        if isinstance(call, ast.Call) and by is not None and rows_of // fewer >= _FEWEST_TIMES:
            repeat = Repetition(last_name(by), rows_of // fewer, made.line, ast.unparse(call.func), made.line)
            return RepeatedRows(repeat, rows_of, "")
    return None


def _factors(
    rows_of: int, repeat: Repetition, settings: Mapping[str, tuple[int, Line]]
) -> Iterator[tuple[int, int]]:
    """Into which rows, and positions in each, so many rows fall apart that were repeated: the positions of a
    sequence are rows, too, where a layer multiplies them.
    """
    if rows_of % repeat.times:
        return
    whole = rows_of // repeat.times
    if whole > 1:
        yield whole, 1
    numbers = {number for name, (number, _) in settings.items() if name != repeat.name}
    for positions in sorted(numbers, reverse=True):
        if positions >= _FEWEST_POSITIONS and whole % positions == 0 and whole // positions > 1:
            yield whole // positions, positions


def _repeats(program: Program, settings: Mapping[str, tuple[int, Line]]) -> Iterator[Repetition]:
    for statement in program:
        if statement.of_frame:
            continue
        functions = [each for each in statement.nodes if isinstance(each, ast.FunctionDef)]
        for call in statement.nodes:
            times = times_of(call) if isinstance(call, ast.Call) else None
            if times is None or not isinstance(call, ast.Call):
                continue
            name = _setting(times, call, functions, program, settings)
            if name:
                number, line = settings[name]
                yield Repetition(name, number, line, ast.unparse(call.func), statement.line_of(call))


def times_of(call: ast.Call) -> ast.expr | None:
    """By what a call multiplies the rows of an array; None of another call, and along another axis."""
    name, named = last_name(call.func), {each.arg: each.value for each in call.keywords}
    if name in _REPEATS:
        times = _argument(call, named, 1, "repeats", "rep", "multiplier")
        axis = _argument(call, named, 2, "axis")
        return times if name == "tile_batch" or _is(axis, 0) else None
    if name in _TILES:
        return _of_tile(call, named)
    if name in _JOINS and call.args:
        joined, axis = call.args[0], _argument(call, named, 1, "axis")
        if axis is not None and not _is(axis, 0):
            return None
        if isinstance(joined, ast.BinOp) and isinstance(joined.op, ast.Mult):
            return joined.right if isinstance(joined.left, ast.List) else None
    return None


def _of_tile(call: ast.Call, named: Mapping[str | None, ast.expr]) -> ast.expr | None:
    """`k` of `tile(x, [k, 1, 1])`, and of `tile(expand_dims(x, 1), [1, k, 1])`, which is joined then."""
    by = _argument(call, named, 1, "multiples", "reps")
    while isinstance(by, ast.BinOp) and isinstance(by.op, ast.Add):
        by = by.left  # [1, k] + [1] * rank
    if last_name(call.func) != "tile" or not isinstance(by, (ast.List, ast.Tuple)):
        return None
    others = [each for each in by.elts if not _is(each, 1)]
    if len(others) != 1 or not call.args or isinstance(call.args[0], (ast.List, ast.Tuple)):
        return None
    at = next(at for at, each in enumerate(by.elts) if each is others[0])
    return others[0] if at <= 1 else None


def _argument(call: ast.Call, named: Mapping[str | None, ast.expr], at: int, *names: str) -> ast.expr | None:
    given = next((named[name] for name in names if name in named), None)
    return given or (call.args[at] if len(call.args) > at else None)


def _is(node: ast.expr | None, value: int) -> bool:
    return isinstance(node, ast.Constant) and node.value == value


def _setting(
    times: ast.expr,
    call: ast.Call,
    functions: list[ast.FunctionDef],
    program: Program,
    settings: Mapping[str, tuple[int, Line]],
) -> str:
    """The setting that an expression names, by itself or as what calls give for a parameter; else empty."""
    name = last_name(times)
    if not name:
        return ""
    inside = next(
        (each for each in reversed(functions) if any(node is call for node in ast.walk(each))), None
    )
    given = _given(inside, name, program) if inside and isinstance(times, ast.Name) else set()
    found = [each for each in given if each in settings] or ([name] if name in settings else [])
    return found[0] if len(found) == 1 else ""


def _given(function: ast.FunctionDef, name: str, program: Program) -> set[str]:
    """The names that the program's calls of a function give for one of its parameters."""
    names = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    if name not in names:
        return set()
    at, found = names.index(name), set()
    for call in (each for statement in program for each in statement.nodes):
        if not isinstance(call, ast.Call) or last_name(call.func) != function.name:
            continue
        bound = isinstance(call.func, ast.Attribute) and names[0] in ("self", "cls")
        place = at - bound
        by_name = next((each.value for each in call.keywords if each.arg == name), None)
        value = by_name or (call.args[place] if 0 <= place < len(call.args) else None)
        found.add(last_name(value) if value is not None else "")
    return found - {""}
