"""Follows a JAX program on shapes alone, and notes every array that its lines make.

Names are bound as Python would: a function is followed where it is called, with the call's arguments; a loop
is followed for its first turns. What nothing states stays unknown, and with it all that follows.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from tfmemlens.knowledge.jax_arrays import transforms
from tfmemlens.knowledge.jax_arrays.calls import is_open
from tfmemlens.knowledge.jax_arrays.comments import stated_array
from tfmemlens.knowledge.jax_arrays.control import Control
from tfmemlens.knowledge.jax_arrays.objects import inherited, kind_of, owned
from tfmemlens.knowledge.jax_arrays.values import (
    UNKNOWN,
    Class,
    JaxFunction,
    JaxScope,
    Library,
    Reshaped,
    Thing,
    Transformed,
)
from tfmemlens.knowledge.tree_values import asks_command_line
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program
from tfmemlens.patterns import regex

__all__ = ["followed"]

_ALIASES = {
    "jnp": "jax.numpy",
    "np": "numpy",
    "onp": "numpy",
    "lax": "jax.lax",
    "jax": "jax",
    "partial": "functools.partial",
    "vmap": "jax.vmap",
    "jit": "jax.jit",
    "grad": "jax.grad",
}
_DEVICES = regex(r"xla_force_host_platform_device_count=(?P<many>\d{1,4})")
_FIRST_TURNS = 2
_MOST_TURNS = 16
"""So many turns of a loop over a list or a range are followed; of a longer one the first two."""


class JaxReader(Control):
    """Statements, in the order in which Python would run them."""

    def __init__(self) -> None:
        super().__init__()
        self.reshaped: list[Reshaped] = []

    def run(self, program: Program) -> None:
        """Follow the whole program; a quoted frame has no names of its own, and is left out."""
        for alias, path in _ALIASES.items():
            self.top.names[alias] = Library(path)
        self.top.names["__name__"] = "__main__"
        for statement in program:
            if not statement.of_frame and not statement.inline:
                self.lines = statement.lines
                self.body([statement.node], self.top)
        self.uncalled()

    def uncalled(self) -> None:
        """Functions of the program that nothing in the quoted text calls."""
        for function in list(self.top.names.values()):
            inner = function.inner if isinstance(function, Transformed) else function
            if isinstance(inner, JaxFunction) and inner.node not in self.called:
                self.lines = inner.lines
                self.apply(function, (), {}, inner.node)

    def body(self, nodes: Sequence[ast.stmt], scope: JaxScope) -> Any:
        """What a function's body returns; None where it goes on to its end."""
        for node in nodes:
            self.step()
            if isinstance(node, ast.Return):
                return (self.value(node.value, scope),)
            if (made := self.statement(node, scope)) is not None:
                return made
        return None

    def statement(self, node: ast.stmt, scope: JaxScope) -> Any:
        """Follow a statement; what it returns, in a tuple, where it does."""
        if isinstance(node, ast.Assign):
            self.targets = {ast.unparse(name) for each in node.targets for name in _parts(each)}
            value = self.value(node.value, scope)
            if value is UNKNOWN and isinstance(node.targets[0], ast.Name):
                value = self.stated(node, scope)
            for target in node.targets:
                self.assign(target, value, scope)
        elif isinstance(node, ast.AnnAssign):
            if node.value:
                self.assign(node.target, self.value(node.value, scope), scope)
        elif isinstance(node, ast.AugAssign):
            made = self.binary(node, node.op, node.target, node.value, scope)
            self.assign(node.target, made, scope)
        elif isinstance(node, ast.Expr):
            self.value(node.value, scope)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            scope.names[node.name] = self.decorated(node, scope)
        elif isinstance(node, ast.ClassDef):
            scope.names[node.name] = self.of_class(node, scope)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            self.imports(node, scope)
        else:
            return self.compound(node, scope)
        return None

    def stated(self, node: ast.Assign, scope: JaxScope) -> Any:
        """What the comment behind an assignment says of an array that nothing else tells."""
        if not self.lines:
            return UNKNOWN
        last = self.lines[min(node.end_lineno or node.lineno, len(self.lines)) - 1]
        array = stated_array(last.text, scope)
        return UNKNOWN if array is None else self.note(array, node.value, "stated")

    def compound(self, node: ast.stmt, scope: JaxScope) -> Any:
        """A statement with statements inside it."""
        if isinstance(node, ast.With):
            for item in node.items:
                self.value(item.context_expr, scope)
            return self.body(node.body, scope)
        if isinstance(node, ast.Try):
            return self.body([*node.body, *node.orelse, *node.finalbody], scope)
        if isinstance(node, ast.While):
            return self.body(node.body, scope)
        if isinstance(node, ast.For):
            return self.loop(node, scope)
        if isinstance(node, ast.If):
            return self.branches(node, scope)
        return None

    def branches(self, node: ast.If, scope: JaxScope) -> Any:
        """The branch that is taken; of two that may be, what both make alike."""
        test = self.value(node.test, scope)
        if not is_open(test):
            return self.body(node.body if test else node.orelse, scope)
        if asks_command_line(node.test):
            return self.body(node.orelse, scope)
        before = dict(scope.names)
        made, names = self.body(node.body, scope), scope.names
        scope.names = before
        other = self.body(node.orelse, scope)
        for name in {*names, *scope.names}:
            if names.get(name) != scope.names.get(name):
                scope.names[name] = UNKNOWN
        return made if made == other else None

    def loop(self, node: ast.For, scope: JaxScope) -> Any:
        """Its first turns."""
        self.counters |= {each.id for each in ast.walk(node.target) if isinstance(each, ast.Name)}
        items = transforms.items_of(self.value(node.iter, scope))
        if not items:
            self.assign(node.target, UNKNOWN, scope)
            return self.body(node.body, scope)
        before = {line: len(shapes) for line, shapes in self.given.items()}
        for item in items if len(items) <= _MOST_TURNS else items[:_FIRST_TURNS]:
            self.assign(node.target, item, scope)
            if (made := self.body(node.body, scope)) is not None:
                return made
        if len(items) > _MOST_TURNS:
            self.compare_turns(before)
        return None

    def compare_turns(self, before: Mapping[Line, int]) -> None:
        """Note the compiled functions that two turns of a long loop gave two shapes of one argument."""
        for line, shapes in self.given.items():
            inside = shapes[before.get(line, 0) :]
            if len(inside) != _FIRST_TURNS:
                continue
            for pair in zip(*inside, strict=False):
                alike = len(pair[0]) == len(pair[1])
                changed = [(one, other) for one, other in zip(*pair, strict=False) if alike and one != other]
                if changed:
                    self.reshaped.append(Reshaped(line, changed[0]))
                    break

    def decorated(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: JaxScope) -> Any:
        """A function as its decorators make it."""
        made: Any = JaxFunction(node, scope, self.lines)
        for decorator in reversed(node.decorator_list):
            by = self.value(decorator, scope)
            made = made if by is UNKNOWN else self.apply(by, (made,), {}, decorator)
        return JaxFunction(node, scope, self.lines) if made is UNKNOWN else made

    def of_class(self, node: ast.ClassDef, scope: JaxScope) -> Class:
        """A class, with its functions and fields."""
        made, inside = Class(node.name), JaxScope(scope)
        for base in node.bases:
            inherited(made, self.value(base, scope))
        inside.names = dict(made.values)
        for each in node.body:
            if isinstance(each, ast.FunctionDef):
                made.functions[each.name] = owned(self.decorated(each, inside), made, scope)
                made.kinds[each.name] = kind_of(each)
            elif isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
                if each.target.id not in made.fields:
                    made.fields.append(each.target.id)
                self.statement(each, inside)
            else:
                self.statement(each, inside)
        made.values = inside.names
        return made

    def imports(self, node: ast.Import | ast.ImportFrom, scope: JaxScope) -> None:
        """The names that an import binds."""
        for each in node.names:
            if isinstance(node, ast.Import):
                path = each.name if each.asname else each.name.partition(".")[0]
                scope.names[each.asname or path] = Library(path)
            elif node.module:
                scope.names[each.asname or each.name] = Library(f"{node.module}.{each.name}")

    def assign(self, target: ast.expr, value: Any, scope: JaxScope) -> None:
        """Bind a name, the parts of a tuple, an attribute or an entry of a dict."""
        if isinstance(target, ast.Name):
            scope.names[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List):
            parts = transforms.items_of(value)
            fitting = _taken_apart(target.elts, parts)
            for each, part in zip(target.elts, fitting, strict=True):
                inner = each.value if isinstance(each, ast.Starred) else each
                self.assign(inner, part, scope)
        elif isinstance(target, ast.Attribute):
            of = self.value(target.value, scope)
            if isinstance(of, Thing):
                of.names[target.attr] = value
        elif isinstance(target, ast.Subscript):
            of, key = self.value(target.value, scope), self.value(target.slice, scope)
            if isinstance(of, Library) and of.path == "os.environ":
                self.of_environment(key, value)
            if isinstance(of, dict) and isinstance(key, str | int | tuple):
                of[key] = value
            elif isinstance(of, Thing) and isinstance(key, str):
                of.names[key] = value

    def of_environment(self, name: Any, value: Any) -> None:
        """A variable that tells JAX how many devices it has, or to compute in 64 bits."""
        if name == "JAX_ENABLE_X64":
            self.x64 = str(value).lower() in ("1", "true")
        elif name == "XLA_FLAGS" and (match := _DEVICES.search(str(value))):
            self.devices = int(match["many"])


def _taken_apart(targets: Sequence[ast.expr], parts: Sequence[Any]) -> list[Any]:
    """What each of the targets gets; one behind a star takes what the others leave."""
    stars = [at for at, each in enumerate(targets) if isinstance(each, ast.Starred)]
    if not stars and len(parts) == len(targets):
        return [*parts]
    if len(stars) != 1 or len(parts) < len(targets) - 1:
        return [UNKNOWN] * len(targets)
    first, behind = stars[0], len(targets) - stars[0] - 1
    last = len(parts) - behind
    return [*parts[:first], [*parts[first:last]], *parts[last:]]


def _parts(target: ast.expr) -> Sequence[ast.expr]:
    return target.elts if isinstance(target, ast.Tuple | ast.List) else [target]


def followed(program: Program) -> JaxReader:
    """The program, followed to its end or as far as the steps suffice."""
    reader = JaxReader()
    with suppress(transforms.JaxTooLong, RecursionError):
        reader.run(program)
    return reader
