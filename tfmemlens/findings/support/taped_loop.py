"""A loop that stands under one tape, in the program itself: the tape keeps what every turn makes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from tfmemlens.knowledge.stack_frames import number_in
from tfmemlens.knowledge.tree_values import last_name
from tfmemlens.model.incident import Frame
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program, Statement
from tfmemlens.values import dataclass


@dataclass(frozen=True, slots=True)
class TapedLoop:
    """A loop that calls something between the beginning of a tape and its gradient."""

    tape: Line
    loop: Line
    over: str
    """What it goes over, or its condition, as it is written."""
    asks: bool = False
    """Whether that is a condition."""
    called: bool = False
    """Whether it stands in a function or a layer that the tape's code calls: its turns are one forward pass,
    and no gradient can be taken of each.
    """
    calls: frozenset[str] = frozenset()
    """What its turns call by name."""
    last: int = 0
    """The number of its last line."""

    @property
    def words(self) -> str:
        """The loop over `range(9)`, or that while `t < 9`."""
        return f"loop {'while' if self.asks else 'over'} `{self.over}`"

    def holds(self, source: str | None) -> bool:
        """Whether a place of the program, `train.py:30`, lies in one of its turns."""
        number = number_in(source, self.loop.source)
        return number is not None and self.loop.number < number <= self.last


def taped_loop(program: Program) -> TapedLoop | None:
    """The first loop that runs in a `with GradientTape()` and takes no gradient inside, else the first in
    what it calls; None without one.
    """
    tapes = [
        (statement, tape)
        for statement in program
        for tape in statement.nodes
        if isinstance(tape, ast.With) and any(_opens_a_tape(item) for item in tape.items)
    ]
    for statement, tape in tapes:
        for loop in _loops(tape.body):
            lines = statement.line_of(tape), statement.line_of(loop)
            return TapedLoop(
                *lines,
                *_goes_over(loop),
                calls=frozenset(_called(loop)),
                last=statement.span(loop)[1],
            )
    for statement, tape in tapes:
        for where, loop in _loops_called(program, tape):
            return TapedLoop(statement.line_of(tape), where.line_of(loop), *_goes_over(loop), called=True)
    return None


Loop = ast.For | ast.While


def _goes_over(loop: Loop) -> tuple[str, bool]:
    """What it goes over, or the condition that it asks, and which of both."""
    if isinstance(loop, ast.For):
        return ast.unparse(loop.iter), False
    return ast.unparse(loop.test), True


def _loops(body: list[ast.stmt]) -> Iterator[Loop]:
    for loop in (each for part in body for each in ast.walk(part)):
        if isinstance(loop, Loop) and _calls(loop.body) and not _takes_a_gradient(loop):
            yield loop


def _loops_called(program: Program, tape: ast.With) -> Iterator[tuple[Statement, Loop]]:
    """Loops over a range in functions and methods of the program that a tape's code calls by name, and in the
    `call` of its own layers and models, if it calls any object.
    """
    calls = [each for part in tape.body for each in ast.walk(part) if isinstance(each, ast.Call)]
    names = {last_name(each.func) for each in calls}
    defined = [
        (statement, each)
        for statement in program
        for each in statement.nodes
        if isinstance(each, ast.FunctionDef)
    ]
    plain = {each.func.id for each in calls if isinstance(each.func, ast.Name)}
    objects = plain - {each.name for _, each in defined}
    seen: set[int] = set()
    for _ in range(_DEEPEST):
        reached = [
            (statement, function)
            for statement, function in defined
            if id(function) not in seen
            and (function.name in names or (objects and function.name in _FORWARD))
        ]
        for statement, function in reached:
            seen.add(id(function))
            yield from ((statement, loop) for loop in _loops(function.body) if _over_a_range(loop))
        names = {
            last_name(each.func)
            for _, function in reached
            for each in ast.walk(function)
            if isinstance(each, ast.Call)
        }
        objects = set()


_DEEPEST = 3
"""Calls between a tape and a loop."""


_FORWARD = ("call", "__call__")


def _over_a_range(loop: Loop) -> bool:
    """Whether it counts its turns: over a range, or as long as a condition holds."""
    if isinstance(loop, ast.While):
        return isinstance(loop.test, ast.Compare)
    call = loop.iter
    return isinstance(call, ast.Call) and last_name(call.func) == "range"


@dataclass(frozen=True, slots=True)
class EachOutput:
    """A loop under a tape that takes a gradient of each of several outputs with a tape inside that one."""

    outer: Line
    loop: Line
    tape: str
    """The name of the inner tape."""
    by: str
    """By what is derived, as it is written."""


def gradient_of_each(program: Program) -> EachOutput | None:
    """The first such loop, or comprehension, whose variable stands in what is derived."""
    for statement in program:
        for outer in statement.nodes:
            if not isinstance(outer, ast.With) or not any(map(_opens_a_tape, outer.items)):
                continue
            own = {last_name(each.optional_vars) for each in outer.items if each.optional_vars}
            inside = {
                last_name(item.optional_vars)
                for part in outer.body
                for each in ast.walk(part)
                if isinstance(each, ast.With)
                for item in each.items
                if _opens_a_tape(item) and item.optional_vars
            }
            for part in outer.body:
                for loop in ast.walk(part):
                    if derived := _derives_each(loop, inside - own):
                        return EachOutput(statement.line_of(outer), statement.line_of(loop), *derived)
    return None


def _derives_each(loop: ast.AST, tapes: set[str]) -> tuple[str, str] | None:
    """Which of these tapes derives what names the loop's variable, and by what."""
    if isinstance(loop, ast.For):
        targets: list[ast.expr] = [loop.target]
    elif isinstance(loop, (ast.ListComp, ast.GeneratorExp)):
        targets = [each.target for each in loop.generators]
    else:
        return None
    names = {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}
    for each in ast.walk(loop):
        if (
            isinstance(each, ast.Call)
            and isinstance(each.func, ast.Attribute)
            and each.func.attr == "gradient"
            and last_name(each.func.value) in tapes
            and len(each.args) == 2
            and any(isinstance(part, ast.Name) and part.id in names for part in ast.walk(each.args[0]))
        ):
            return ast.unparse(each.func.value), ast.unparse(each.args[1])
    return None


@dataclass(frozen=True, slots=True)
class WatchedInput:
    """A tensor that a tape watches, and whose gradient is all that is taken of it."""

    watched: str
    """As the program writes it: `images`."""
    watch: Line
    gradient: Line


def watched_input(program: Program, frames: Sequence[Frame]) -> WatchedInput | None:
    """What the tape watches in which frames of a traceback lie; None where they lie in other tapes as well,
    which need the gradient of this one's gradient. Code that was pasted has no numbers: then the texts of the
    lines tell.
    """
    around = [
        (statement, tape, item.optional_vars.id)
        for statement in program
        for tape in statement.nodes
        if isinstance(tape, ast.With)
        for item in tape.items
        if _opens_a_tape(item) and isinstance(item.optional_vars, ast.Name)
        if any(_lies_in(statement, tape, frame.place) or _quotes(statement, tape, frame) for frame in frames)
    ]
    if len(around) != 1:
        return None
    statement, tape, name = around[0]
    watches = [
        call
        for call in _of_tape(tape, name, "watch")
        if len(call.args) == 1 and isinstance(call.args[0], ast.Name)
    ]
    taken = [
        call
        for each in _scope(program, statement, tape)
        for call in _of_tape(each, name, "gradient")
        if len(call.args) > 1
    ]
    watched = {ast.unparse(call.args[0]) for call in watches}
    if len(watched) != 1 or {ast.unparse(call.args[1]) for call in taken} != watched:
        return None
    line = next(each.line_of(taken[0]) for each in program if taken[0] in each.nodes)
    return WatchedInput(watched.pop(), statement.line_of(watches[0]), line)


def _scope(program: Program, statement: Statement, tape: ast.With) -> list[ast.AST]:
    """The innermost function that a tape stands in; of one outside of all, the statements outside of all."""
    functions = [each for each in statement.nodes if isinstance(each, ast.FunctionDef)]
    within = [each for each in functions if any(node is tape for node in ast.walk(each))]
    if within:
        return [within[-1]]
    return [each.node for each in program if not isinstance(each.node, (ast.FunctionDef, ast.ClassDef))]


def _lies_in(statement: Statement, block: ast.With, place: str) -> bool:
    number = number_in(place, statement.line_of(block).source)
    first, last = statement.span(block)
    return number is not None and first < number <= last


def _quotes(statement: Statement, block: ast.With, frame: Frame) -> bool:
    """Whether a frame's line stands in a block of which nobody knows the file."""
    if statement.line_of(block).source:
        return False
    first, last = statement.span(block)
    inside = (line for line in statement.lines if first < line.number <= last)
    return bool(frame.text) and any(line.text.strip() == frame.text.strip() for line in inside)


def _of_tape(node: ast.AST, tape: str, method: str) -> list[ast.Call]:
    """The calls of a tape's method."""
    return [
        each
        for each in ast.walk(node)
        if isinstance(each, ast.Call)
        and isinstance(each.func, ast.Attribute)
        and each.func.attr == method
        and last_name(each.func.value) == tape
    ]


def opens_a_tape(program: Program) -> bool:
    """Whether the program records anything at all."""
    nodes = (each for statement in program for each in statement.nodes)
    return any(isinstance(each, ast.With) and any(map(_opens_a_tape, each.items)) for each in nodes)


def tape_around(program: Program, place: str) -> bool:
    """Whether a place, `train.py:30`, lies in the block of a `with GradientTape()`."""
    for statement in program:
        for each in statement.nodes:
            if (
                isinstance(each, ast.With)
                and any(map(_opens_a_tape, each.items))
                and _lies_in(statement, each, place)
            ):
                return True
    return False


def _opens_a_tape(item: ast.withitem) -> bool:
    call = item.context_expr
    return isinstance(call, ast.Call) and last_name(call.func) == "GradientTape"


def _calls(body: list[ast.stmt]) -> bool:
    return any(isinstance(each, ast.Call) for part in body for each in ast.walk(part))


def _called(loop: Loop) -> Iterator[str]:
    for each in ast.walk(loop):
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Name):
            yield each.func.id


def _takes_a_gradient(loop: Loop) -> bool:
    return any(name in ("gradient", "jacobian", "stop_recording") for name in _methods(loop))


def _methods(loop: Loop) -> Iterator[str]:
    for each in ast.walk(loop):
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute):
            yield each.func.attr
