"""Which constants of a program a line depends on: `MAX_SHIFT = 64` at the top, `range(MAX_SHIFT)` in a
function, `self.max_shift` of a class that is made with it.

Names are followed backwards from an expression: through assignments of the function, what a loop appends, the
parameters to the arguments of its calls, attributes to where a method sets them, calls to what they return.
How many steps it takes is told with each constant, the fewest; another name of the same is no step. Nothing
is run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tfmemlens.knowledge.tree_values import last_name
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program, Statement
from tfmemlens.values import dataclass

__all__ = ["ProgramConstant", "ProgramConstants", "Reached"]

_MOST_STEPS, _MOST_LOOKED_AT = 12, 4000
_ADDS = ("append", "extend", "insert", "add", "write")
_MAKES = ("__init__", "build")
_RUNS = ("call", "__call__")


@dataclass(frozen=True, slots=True)
class ProgramConstant:
    """A whole number that the program sets once, at its left edge."""

    name: str
    value: int
    line: Line


class Reached(NamedTuple):
    """A constant that a line depends on, and in how many steps."""

    constant: ProgramConstant
    steps: int


class _Scope(NamedTuple):
    """Where a name stands: in a function of a class, in a function, or at the left edge."""

    function: ast.FunctionDef | None
    owner: ast.ClassDef | None


_Todo = list[tuple[ast.AST, _Scope, int]]
_EDGE = _Scope(None, None)


class ProgramConstants:
    """The constants of a program, and how its lines depend on them."""

    def __init__(self, program: Program) -> None:
        whole = [each for each in program if not each.of_frame and not each.inline]
        self._statements = [*{(each.line.source, each.line.number): each for each in whole}.values()]
        self._functions: dict[str, list[tuple[ast.FunctionDef, ast.ClassDef | None]]] = {}
        self._classes: dict[str, list[ast.ClassDef]] = {}
        self._scopes: dict[int, _Scope] = {}
        self._calls: dict[str, list[ast.Call]] = {}
        self._edge: dict[str, list[ast.expr]] = {}
        self._attributes: dict[str, list[tuple[ast.expr, _Scope]]] = {}
        for statement in self._statements:
            self._note(statement.node, _EDGE)
        self.constants = {each.name: each for each in self._constants()}

    def at_line(self, file: str, number: int) -> list[Reached]:
        """The constants on which the statement of a line depends, the nearest first."""
        for statement in self._statements:
            if statement.line.source != file or not _holds(statement, statement.node, number):
                continue
            inside = [each for each in ast.walk(statement.node) if isinstance(each, ast.stmt)]
            held = [each for each in inside if _holds(statement, each, number)]
            smallest = min(held, key=lambda each: _rows(statement, each), default=None)
            if smallest is not None:
                return self._reached([(smallest, self._scopes.get(id(smallest), _EDGE), 0)])
        return []

    def of_layer(self, name: str) -> list[Reached]:
        """Those on which the call depends that makes a layer of this name; nothing where several do."""
        made = [
            call
            for calls in self._calls.values()
            for call in calls
            for keyword in call.keywords
            if keyword.arg == "name" and getattr(keyword.value, "value", None) == name
        ]
        return self._reached([(made[0], self._scopes[id(made[0])], 0)]) if len(made) == 1 else []

    def _note(self, node: ast.AST, scope: _Scope) -> None:
        """What a tree defines, sets and calls, with the scope of each of its nodes."""
        self._scopes[id(node)] = scope
        if isinstance(node, ast.FunctionDef):
            self._functions.setdefault(node.name, []).append((node, scope.owner))
            scope = _Scope(node, scope.owner)
        elif isinstance(node, ast.ClassDef):
            self._classes.setdefault(node.name, []).append(node)
            scope = _Scope(None, node)
        elif isinstance(node, ast.Call):
            self._calls.setdefault(last_name(node.func), []).append(node)
        for target, value in _assigned(node):
            if isinstance(target, ast.Attribute) and last_name(target.value) == "self":
                self._attributes.setdefault(target.attr, []).append((value, scope))
            elif isinstance(target, ast.Name) and scope == _EDGE:
                self._edge.setdefault(target.id, []).append(value)
        for child in ast.iter_child_nodes(node):
            self._note(child, scope)

    def _constants(self) -> Iterator[ProgramConstant]:
        for statement in self._statements:
            for target, value in _assigned(statement.node):
                name = target.id if isinstance(target, ast.Name) else ""
                number = getattr(value, "value", None) if isinstance(value, ast.Constant) else None
                if name and type(number) is int and number > 1 and len(self._edge.get(name, ())) == 1:
                    yield ProgramConstant(name, number, statement.line_of(value))

    def _reached(self, todo: _Todo) -> list[Reached]:
        found: dict[str, int] = {}
        seen: set[tuple[str, int, int]] = set()
        looked_at = 0
        while todo and looked_at < _MOST_LOOKED_AT:
            node, scope, steps = todo.pop(0)
            looked_at += 1
            for name in _names(node):
                key = (name, id(scope.function), id(scope.owner))
                if key in seen or steps > _MOST_STEPS:
                    continue
                seen.add(key)
                local = list(self._inside(name, scope))
                if not local and name in self.constants:
                    found.setdefault(name, steps)
                    continue
                for each, at in local or self._outside(name):
                    if isinstance(each, (ast.Name, ast.Attribute)):
                        todo.insert(0, (each, at, steps))  # the same under another name
                    else:
                        todo.append((each, at, steps + 1))
        return sorted(
            (Reached(self.constants[name], steps) for name, steps in found.items()),
            key=lambda each: each.steps,
        )

    def _inside(self, name: str, scope: _Scope) -> Iterator[tuple[ast.AST, _Scope]]:
        """What sets a name within its function, and the arguments of a parameter."""
        if name.startswith("self."):
            known = self._attributes.get(name[5:], [])
            own = [each for each in known if each[1].owner is scope.owner]
            yield from own or known
            return
        function = scope.function
        if function is None:
            return
        yield from ((each, scope) for each in _sources(name, function))
        arguments = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
        if name in arguments or name in [each.arg for each in function.args.kwonlyargs]:
            at = arguments.index(name) if name in arguments else None
            yield from self._given(name, at, scope)

    def _given(self, name: str, at: int | None, scope: _Scope) -> Iterator[tuple[ast.AST, _Scope]]:
        """The expressions that calls give for a parameter."""
        function, owner = scope.function, scope.owner
        assert function is not None
        names = [function.name]
        if owner is not None and function.name in _MAKES:
            names = [owner.name]
        if owner is not None and at is not None and function.args.args[:1]:
            at -= function.args.args[0].arg == "self"
        calls = [call for each in names for call in self._calls.get(each, ())]
        if owner is not None and function.name in _RUNS:
            calls += [
                call
                for call in self._calls.get("", ())
                if isinstance(call.func, ast.Call) and last_name(call.func.func) == owner.name
            ]
        for call in calls:
            given = [each.value for each in call.keywords if each.arg == name]
            if not given and at is not None and at < len(call.args):
                given = [call.args[at]]
            yield from ((each, self._scopes[id(call)]) for each in given)

    def _outside(self, name: str) -> Iterator[tuple[ast.AST, _Scope]]:
        """What a name of the left edge stands for: a value, a function's results, a class."""
        yield from ((each, _EDGE) for each in self._edge.get(name, ()))
        for function, owner in self._functions.get(name, ()):
            for each in ast.walk(function):
                if isinstance(each, (ast.Return, ast.Yield)) and each.value is not None:
                    yield each.value, _Scope(function, owner)
        for made in self._classes.get(name, ()):
            for each in made.body:
                if isinstance(each, ast.FunctionDef) and each.name in (*_MAKES, *_RUNS):
                    yield each, _Scope(each, made)


def _names(node: ast.AST) -> Iterator[str]:
    """The names that an expression or a statement uses, `self.width` whole; of a method's call its name."""
    if isinstance(node, (ast.For, ast.While, ast.With, ast.If)) and node.body:
        parts = [each for each in ast.iter_child_nodes(node) if not isinstance(each, ast.stmt)]
    else:
        parts = [node]
    for part in parts:
        for each in ast.walk(part):
            if isinstance(each, ast.Attribute) and last_name(each.value) == "self":
                yield f"self.{each.attr}"
            elif isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute):
                yield each.func.attr
            elif isinstance(each, ast.Name) and each.id != "self":
                yield each.id


def _assigned(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Targets with what they are given, of tuples each with its own where the values are told apart."""
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        yield node.target, node.value
    if not isinstance(node, ast.Assign):
        return
    for target in node.targets:
        if not isinstance(target, (ast.Tuple, ast.List)):
            yield target, node.value
        elif isinstance(node.value, (ast.Tuple, ast.List)) and len(node.value.elts) == len(target.elts):
            yield from zip(target.elts, node.value.elts, strict=True)
        else:
            yield from ((each, node.value) for each in target.elts)


def _sources(name: str, function: ast.FunctionDef) -> Iterator[ast.AST]:
    """What a function gives to a name of its own: values, what a loop goes through, and what is appended in a
    loop, with what the loop goes through.
    """
    yield from _sources_in(name, function.body, ())


def _sources_in(name: str, body: Sequence[ast.stmt], loops: tuple[ast.expr, ...]) -> Iterator[ast.AST]:
    for each in body:
        for target, value in _assigned(each):
            if isinstance(target, ast.Name) and target.id == name:
                yield value
        if isinstance(each, ast.AugAssign) and isinstance(each.target, ast.Name) and each.target.id == name:
            yield each.value
        if isinstance(each, ast.For):
            if any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(each.target)):
                yield each.iter
            yield from _sources_in(name, [*each.body, *each.orelse], (*loops, each.iter))
            continue
        call = each.value if isinstance(each, ast.Expr) else None
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and call.func.attr in _ADDS
            and isinstance(call.func.value, ast.Name)
            and call.func.value.id == name
        ):
            yield from loops
            yield from call.args
        for inner in ("body", "orelse", "finalbody"):
            if not isinstance(each, (ast.FunctionDef, ast.ClassDef)):
                yield from _sources_in(name, getattr(each, inner, ()), loops)


def _holds(statement: Statement, node: ast.AST, number: int) -> bool:
    first, last = statement.span(node)
    return first <= number <= last


def _rows(statement: Statement, node: ast.AST) -> int:
    first, last = statement.span(node)
    return last - first
