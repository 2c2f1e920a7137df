"""Which constants of a program a line depends on: `MAX_SHIFT = 64` at the top, `range(MAX_SHIFT)` in a
function, `self.max_shift` of a class that is made with it.

Names are followed backwards from an expression: through assignments of the function, what a loop appends, the
parameters to the arguments of its calls, attributes to where a method sets them, calls to what they return.
How many steps it takes is told with each constant, the fewest; another name of the same is no step. A number
in a tuple is a constant, too: `STRANDS[0]`. A size that the program writes as a sum, a product or a power is
computed from them, also with another value for one of them. Nothing is run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tfmemlens.knowledge.tree_values import ARITHMETIC, last_name
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program, Statement
from tfmemlens.values import dataclass

__all__ = ["CodeScope", "ProgramConstant", "ProgramConstants", "Reached", "WrittenSize"]

_MOST_STEPS, _MOST_LOOKED_AT = 12, 4000
_ADDS = ("append", "extend", "insert", "add", "write")
_MAKES = ("__init__", "build")
_RUNS = ("call", "__call__")
_MOST_DEEP, _LARGEST, _LARGEST_POWER = 8, 1 << 62, 8
_SUMS = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)


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


class CodeScope(NamedTuple):
    """Where a name stands: in a function of a class, in a function, or at the left edge."""

    function: ast.FunctionDef | None
    owner: ast.ClassDef | None


class WrittenSize(NamedTuple):
    """A shape that the program writes, side by side, in the scope where it stands."""

    sides: tuple[ast.expr, ...]
    scope: CodeScope
    node: ast.AST


_Todo = list[tuple[ast.AST, CodeScope, int]]
_EDGE = CodeScope(None, None)


class ProgramConstants:
    """The constants of a program, and how its lines depend on them."""

    def __init__(self, program: Program) -> None:
        self._statements = program.whole()
        self._functions: dict[str, list[tuple[ast.FunctionDef, ast.ClassDef | None]]] = {}
        self._classes: dict[str, list[ast.ClassDef]] = {}
        self._scopes: dict[int, CodeScope] = {}
        self._calls: dict[str, list[ast.Call]] = {}
        self._edge: dict[str, list[ast.expr]] = {}
        self._attributes: dict[str, list[tuple[ast.expr, CodeScope]]] = {}
        self._written: list[WrittenSize] = []
        self._made_as: dict[str, set[str]] = {}
        self.divided: list[tuple[str, ast.expr]] = []
        """Names that the program divides without rest, each with by what."""
        for statement in self._statements:
            self._note(statement.node, _EDGE)
        self.constants = {each.name: each for each in self._constants()}

    def at_line(self, file: str, number: int) -> list[Reached]:
        """The constants on which the statement of a line depends, the nearest first."""
        smallest = self.statement_at(file, number)
        if smallest is None:
            return []
        return self._reached([(smallest, self._scopes.get(id(smallest), _EDGE), 0)])

    def of_layer(self, name: str) -> list[Reached]:
        """Those on which the call depends that makes a layer of this name, then those on which what it is
        called with depends; nothing where several calls make one.
        """
        made = self.making(name)
        if made is None:
            return []
        todo: _Todo = [(made, self._scopes[id(made)], 0)]
        called = {
            each
            for names in self._made_as.values()
            for each in names
            if any(made is value for value, _ in self._attributes.get(each, ()))
        }
        todo += [(call, self._scopes[id(call)], 1) for each in called for call in self._calls.get(each, ())]
        return self._reached(todo)

    def making(self, name: str) -> ast.Call | None:
        """The one call that makes a layer of this name."""
        made = [
            call
            for calls in self._calls.values()
            for call in calls
            for keyword in call.keywords
            if keyword.arg == "name" and getattr(keyword.value, "value", None) == name
        ]
        return made[0] if len(made) == 1 else None

    def written(self, shape: Sequence[int]) -> list[WrittenSize]:
        """Where the program writes a shape of exactly these sides, at least one of them by a constant."""
        return [
            each
            for each in self._written
            if len(each.sides) == len(shape)
            and all(
                self.value_of(side, each.scope) == size for side, size in zip(each.sides, shape, strict=True)
            )
            and self.used_by(*((side, each.scope) for side in each.sides))
        ]

    @property
    def shapes(self) -> Sequence[WrittenSize]:
        """All tuples and lists that the program writes."""
        return self._written

    def makers(self, call: ast.Call) -> list[ast.FunctionDef]:
        """The `__init__` and `build` of the class of the program that a call makes one of."""
        return [
            each
            for made in self.classes(last_name(call.func))
            for each in made.body
            if isinstance(each, ast.FunctionDef) and each.name in _MAKES
        ]

    def classes(self, name: str) -> Sequence[ast.ClassDef]:
        """The classes of this name."""
        return self._classes.get(name, ())

    def statement_at(self, file: str, number: int) -> ast.stmt | None:
        """The smallest statement that has a line."""
        for statement in self._statements:
            if statement.line.source != file or not _holds(statement, statement.node, number):
                continue
            inside = [each for each in ast.walk(statement.node) if isinstance(each, ast.stmt)]
            held = [each for each in inside if _holds(statement, each, number)]
            return min(held, key=lambda each: _rows(statement, each), default=None)
        return None

    def used_by(self, *nodes: tuple[ast.AST, CodeScope]) -> list[Reached]:
        """The constants on which these expressions depend, the nearest first."""
        return self._reached([(node, scope, 0) for node, scope in nodes])

    def scope_of(self, node: ast.AST) -> CodeScope:
        """Where a node of the program stands."""
        return self._scopes.get(id(node), _EDGE)

    def sources(self, node: ast.AST, scope: CodeScope) -> list[tuple[ast.AST, CodeScope]]:
        """What a name, `self.table` or the result of a function of the program is set to, each with where."""
        name = last_name(node.func) if isinstance(node, ast.Call) else _name(node)
        if not name:
            return []
        local = [] if isinstance(node, ast.Call) else list(self._inside(name, scope))
        return local or list(self._outside(name))

    def functions(self, name: str) -> list[CodeScope]:
        """The functions and methods of this name."""
        return [CodeScope(function, owner) for function, owner in self._functions.get(name, ())]

    def class_of(self, name: str) -> str:
        """The one class of the program that `model` of `model = Net()` or `self.model` is; else empty."""
        made = [each for each, names in self._made_as.items() if name in names and each in self._classes]
        return made[0] if len(made) == 1 else ""

    def calls(self, *names: str) -> list[ast.Call]:
        """All calls of functions or methods of these names."""
        return [call for name in names for call in self._calls.get(name, ())]

    def line_of(self, node: ast.AST) -> Line | None:
        """The line that a node of the program begins in."""
        owner = next((each for each in self._statements if any(node is one for one in each.nodes)), None)
        return owner.line_of(node) if owner else None

    def value_of(
        self, node: ast.AST, scope: CodeScope, other: Mapping[str, int] | None = None, deep: int = 0
    ) -> int | None:
        """The whole number that an expression has, with other values for some constants where they are
        given; None where it depends on more than constants.
        """
        if deep > _MOST_DEEP:
            return None
        if isinstance(node, ast.Constant):
            return node.value if type(node.value) is int else None
        if isinstance(node, ast.BinOp):
            return _computed(
                node.op,
                self.value_of(node.left, scope, other, deep + 1),
                self.value_of(node.right, scope, other, deep + 1),
            )
        name = _name(node)
        if not name:
            return None
        local = list(self._inside(name, scope))
        if not local and name in self.constants:
            return (other or {}).get(name, self.constants[name].value)
        sources = local or list(self._outside(name))
        return self.value_of(*sources[0], other, deep + 1) if len(sources) == 1 else None

    def _note(self, node: ast.AST, scope: CodeScope) -> None:
        """What a tree defines, sets and calls, with the scope of each of its nodes."""
        self._scopes[id(node)] = scope
        if isinstance(node, ast.FunctionDef):
            self._functions.setdefault(node.name, []).append((node, scope.owner))
            scope = CodeScope(node, scope.owner)
        elif isinstance(node, ast.ClassDef):
            self._classes.setdefault(node.name, []).append(node)
            scope = CodeScope(None, node)
        elif isinstance(node, ast.Call):
            self._calls.setdefault(last_name(node.func), []).append(node)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv) and _name(node.left):
            self.divided.append((_name(node.left), node.right))
        elif (
            isinstance(node, (ast.Tuple, ast.List)) and len(node.elts) > 1 and isinstance(node.ctx, ast.Load)
        ):
            self._written.append(WrittenSize(tuple(node.elts), scope, node))
        for target, value in _assigned(node):
            if isinstance(target, ast.Attribute) and last_name(target.value) == "self":
                self._attributes.setdefault(target.attr, []).append((value, scope))
            elif isinstance(target, ast.Name) and scope == _EDGE:
                self._edge.setdefault(target.id, []).append(value)
            if isinstance(value, ast.Call):
                self._made_as.setdefault(last_name(value.func), set()).add(last_name(target))
        for child in ast.iter_child_nodes(node):
            self._note(child, scope)

    def _constants(self) -> Iterator[ProgramConstant]:
        for statement in self._statements:
            for target, value in _assigned(statement.node):
                name = target.id if isinstance(target, ast.Name) else ""
                if not name or len(self._edge.get(name, ())) != 1:
                    continue
                parts = [(name, value)]
                if isinstance(value, (ast.Tuple, ast.List)):
                    parts = [(f"{name}[{at}]", each) for at, each in enumerate(value.elts)]
                for part, each in parts:
                    number = each.value if isinstance(each, ast.Constant) else None
                    if type(number) is int and number > 1:
                        yield ProgramConstant(part, number, statement.line_of(each))

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

    def _inside(self, name: str, scope: CodeScope) -> Iterator[tuple[ast.AST, CodeScope]]:
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

    def _given(self, name: str, at: int | None, scope: CodeScope) -> Iterator[tuple[ast.AST, CodeScope]]:
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
            calls += [
                call
                for each in sorted(self._made_as.get(owner.name, ()))
                for call in self._calls.get(each, ())
            ]
        for call in calls:
            given = [each.value for each in call.keywords if each.arg == name]
            if not given and at is not None and at < len(call.args):
                given = [call.args[at]]
            yield from ((each, self._scopes[id(call)]) for each in given)

    def _outside(self, name: str) -> Iterator[tuple[ast.AST, CodeScope]]:
        """What a name of the left edge stands for: a value, a function's results, a class."""
        yield from ((each, _EDGE) for each in self._edge.get(name, ()))
        for function, owner in self._functions.get(name, ()):
            for each in ast.walk(function):
                if isinstance(each, (ast.Return, ast.Yield)) and each.value is not None:
                    yield each.value, CodeScope(function, owner)
        for made in self._classes.get(name, ()):
            for each in made.body:
                if isinstance(each, ast.FunctionDef) and each.name in (*_MAKES, *_RUNS):
                    yield each, CodeScope(each, made)


def _names(node: ast.AST) -> Iterator[str]:
    """The names that an expression or a statement uses, `self.width` whole; of a method's call its name."""
    if isinstance(node, (ast.For, ast.While, ast.With, ast.If)) and node.body:
        parts = [each for each in ast.iter_child_nodes(node) if not isinstance(each, ast.stmt)]
    else:
        parts = [node]
    for part in parts:
        for each in ast.walk(part):
            if name := _name(each) if isinstance(each, (ast.Attribute, ast.Subscript)) else "":
                yield name
            elif isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute):
                yield each.func.attr
            elif isinstance(each, ast.Name) and each.id != "self":
                yield each.id


def _name(node: ast.AST) -> str:
    """`STEPS`, `self.width` and `WIDTHS[0]`; empty of what is no name."""
    if isinstance(node, ast.Subscript):
        at = node.slice.value if isinstance(node.slice, ast.Constant) else None
        return f"{node.value.id}[{at}]" if isinstance(node.value, ast.Name) and type(at) is int else ""
    if isinstance(node, ast.Attribute):
        return f"self.{node.attr}" if last_name(node.value) == "self" else ""
    return node.id if isinstance(node, ast.Name) else ""


def _computed(operation: ast.operator, left: int | None, right: int | None) -> int | None:
    """What a sum, a product or a power comes to, where that is a size."""
    if left is None or right is None:
        return None
    if isinstance(operation, ast.Pow):
        small = 0 <= right <= _LARGEST_POWER and abs(left) <= _LARGEST
        result = left**right if small else None
    elif isinstance(operation, (ast.FloorDiv, ast.Mod)) and right == 0:
        return None
    else:
        result = ARITHMETIC[type(operation)](left, right) if isinstance(operation, _SUMS) else None
    return result if result is not None and abs(result) <= _LARGEST else None


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
