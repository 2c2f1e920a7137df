"""Expressions of a JAX program: operators, indexing, and calls of its own functions and of libraries'."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tfmemlens.knowledge.jax_arrays import transforms
from tfmemlens.knowledge.jax_arrays.builtin import METHODS_OF_TREES, called_builtin, called_on, operated
from tfmemlens.knowledge.jax_arrays.indexing import indexed
from tfmemlens.knowledge.jax_arrays.objects import METHODS_OF_THINGS, bound, changed, made_object, under
from tfmemlens.knowledge.jax_arrays.rules import Call, elementwise, matmul, narrowed
from tfmemlens.knowledge.jax_arrays.table import RULES, drawn
from tfmemlens.knowledge.jax_arrays.transforms import leaves
from tfmemlens.knowledge.jax_arrays.values import (
    MISMATCH,
    UNKNOWN,
    UPDATE_OF_ROWS,
    Above,
    Class,
    Derived,
    JaxArray,
    JaxFunction,
    JaxMethod,
    JaxScope,
    Library,
    Noted,
    Shape,
    Thing,
    Transformed,
    Updated,
    count,
    is_mismatch,
    is_number,
)
from tfmemlens.knowledge.tree_values import asks_command_line
from tfmemlens.model.line import Line
from tfmemlens.values import replace

_MOST_STEPS = 60_000
_DEEPEST = 40
_PARSER = "argparse"
_SUPER = "super()"
"""Under this name, which no program can have, a method's scope keeps what is above its class."""
CONTROLLED = frozenset("scan map fori_loop while_loop cond switch associative_scan vjp jvp linearize".split())
"""Functions of JAX that run functions that they are given."""
_GIVEN_BACK = frozenset("apply_updates block_until_ready device_get".split())
"""What gives back a tree like the first that it gets."""
_FIRST_YIELDED = 2
"""So many of what a generator hands on are followed."""
_COMPILED = frozenset({"jit", "filter_jit", "pjit", "xla_computation", "pmap", "scan"})


def is_open(value: Any) -> bool:
    """Whether nothing tells if it is true."""
    return value is UNKNOWN or isinstance(value, JaxArray | Library)


def has_axes(code: ast.expr) -> bool:
    """Whether an expression must be an array, by its own code: `x[:, None]`, `x @ w`."""
    return any(
        (isinstance(each, ast.BinOp) and isinstance(each.op, ast.MatMult))
        or (isinstance(each, ast.Subscript) and _adds_an_axis(each.slice))
        for each in ast.walk(code)
    )


def _gathers(index: Any) -> bool:
    """Whether each of its parts is an array of indices."""
    parts = index if isinstance(index, tuple | list) else (index,)
    return bool(parts) and all(isinstance(each, JaxArray) and each.shape for each in parts)


def _adds_an_axis(index: ast.expr) -> bool:
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    return any(ast.unparse(each) in ("None", "jnp.newaxis", "np.newaxis") for each in parts)


class Calls:
    """The names and the arrays of a program as far as it has been followed."""

    def __init__(self) -> None:
        self.noted: list[Noted] = []
        self.top = JaxScope()
        self.lines: Sequence[Line] = ()
        self.steps = 0
        self.x64 = False
        self.devices = 0
        self.counters: set[str] = set()
        self.targets: set[str] = set()
        self.flags: dict[str, Any] = {}
        self.kept: dict[Line, int] = {}
        self.given: dict[Line, list[tuple[tuple[Shape, ...], ...]]] = {}
        self.called: set[ast.AST] = set()
        self.way: list[Line] = []
        self.rows: list[int] = []
        self.turns: list[int] = []
        self.carried: list[int] = []
        self.kinds: list[str] = []
        self.derived: list[Derived] = []
        self.yielded: list[list[Any]] = []
        self.generators: dict[ast.AST, bool] = {}

    def step(self) -> None:
        """Count one; too many end the reading."""
        self.steps += 1
        if self.steps > _MOST_STEPS:
            raise transforms.JaxTooLong

    def body(self, nodes: Sequence[ast.stmt], scope: JaxScope) -> Any:
        """Follow statements; what they return, in a tuple, where they do."""
        raise NotImplementedError

    def assign(self, target: ast.expr, value: Any, scope: JaxScope) -> None:
        """Bind a target."""
        raise NotImplementedError

    def transformed(
        self, function: Transformed, args: tuple[Any, ...], named: dict[str, Any], node: ast.AST
    ) -> Any:
        """A call of what a transformation made."""
        raise NotImplementedError

    def controlled(self, name: str, args: tuple[Any, ...], named: dict[str, Any], node: ast.AST) -> Any:
        """A loop of `jax.lax`."""
        raise NotImplementedError

    def line_of(self, node: ast.AST) -> Line:
        """The line that a node begins in."""
        return self.lines[min(getattr(node, "lineno", 1), len(self.lines)) - 1]

    def note(self, value: Any, node: ast.AST, name: str) -> Any:
        """Remember an array that an expression makes; gives it back."""
        made = value if isinstance(value, tuple) else (value,)
        for each in made:
            if isinstance(each, JaxArray) and self.lines:
                line = self.line_of(node)
                self.noted.append(
                    Noted(
                        replace(each, shape=(*self.rows, *each.shape)),
                        ast.unparse(node),
                        line,
                        (*self.way, line),
                        name,
                        name != "returned" and not _COMPILED.isdisjoint(self.kinds),
                        any(kind in transforms.GRADIENTS for kind in self.kinds),
                        self.turns[-1] if self.turns else 1,
                        carried=self.carried[-1] if self.carried else 0,
                    )
                )
        return value

    def value(self, node: ast.expr | None, scope: JaxScope) -> Any:
        """What an expression is; `UNKNOWN` where nothing tells."""
        self.step()
        if node is None:
            return None
        reading = getattr(self, f"_of_{type(node).__name__.lower()}", None)
        return UNKNOWN if reading is None else reading(node, scope)

    def _of_constant(self, node: ast.Constant, scope: JaxScope) -> Any:
        del scope
        return node.value

    def _of_name(self, node: ast.Name, scope: JaxScope) -> Any:
        return scope.find(node.id, Library(node.id))

    def _of_tuple(self, node: ast.Tuple, scope: JaxScope) -> Any:
        return tuple(self.parts(node.elts, scope))

    def _of_list(self, node: ast.List, scope: JaxScope) -> Any:
        return list(self.parts(node.elts, scope))

    def parts(self, nodes: Sequence[ast.expr], scope: JaxScope) -> Iterator[Any]:
        """Values in their order, those behind a star one by one."""
        for node in nodes:
            if isinstance(node, ast.Starred):
                yield from transforms.items_of(self.value(node.value, scope)) or [UNKNOWN]
            else:
                yield self.value(node, scope)

    def _of_dict(self, node: ast.Dict, scope: JaxScope) -> Any:
        made: dict[Any, Any] = {}
        for key, each in zip(node.keys, node.values, strict=True):
            value = self.value(each, scope)
            if key is None:
                made |= value if isinstance(value, dict) else {}
            elif isinstance(name := self.value(key, scope), str | int | tuple):
                made[name] = value
        return made

    def _of_joinedstr(self, node: ast.JoinedStr, scope: JaxScope) -> Any:
        parts = [self.value(each, scope) for each in node.values]
        return "".join(map(str, parts)) if all(isinstance(each, str | int) for each in parts) else UNKNOWN

    def _of_formattedvalue(self, node: ast.FormattedValue, scope: JaxScope) -> Any:
        return self.value(node.value, scope)

    def _of_lambda(self, node: ast.Lambda, scope: JaxScope) -> Any:
        return JaxFunction(node, scope, self.lines)

    def _of_ifexp(self, node: ast.IfExp, scope: JaxScope) -> Any:
        test = self.value(node.test, scope)
        if is_open(test) and asks_command_line(node.test):
            return self.value(node.orelse, scope)
        return UNKNOWN if is_open(test) else self.value(node.body if test else node.orelse, scope)

    def _of_listcomp(self, node: ast.ListComp | ast.GeneratorExp, scope: JaxScope) -> Any:
        made = []
        for inside in self.turns_of(node.generators, scope):
            if inside is None:
                return UNKNOWN
            made.append(self.value(node.elt, inside))
        return made or UNKNOWN

    _of_generatorexp = _of_listcomp

    def _of_dictcomp(self, node: ast.DictComp, scope: JaxScope) -> Any:
        made: dict[Any, Any] = {}
        for inside in self.turns_of(node.generators, scope):
            key = UNKNOWN if inside is None else self.value(node.key, inside)
            if inside is None or not isinstance(key, str | int | tuple):
                return UNKNOWN
            made[key] = self.value(node.value, inside)
        return made

    def turns_of(self, generators: Sequence[ast.comprehension], scope: JaxScope) -> Iterator[JaxScope | None]:
        """The names of each turn of a comprehension; None where nothing tells which turns there are."""
        if not generators:
            yield scope
            return
        first, *others = generators
        items = transforms.items_of(self.value(first.iter, scope))
        if not items:
            yield None
        for item in items:
            inside = JaxScope(scope)
            self.assign(first.target, item, inside)
            tests = [self.value(test, inside) for test in first.ifs]
            if any(map(is_open, tests)):
                yield None
            elif all(tests):
                yield from self.turns_of(others, inside)

    def _of_yield(self, node: ast.Yield, scope: JaxScope) -> Any:
        if self.yielded:
            self.yielded[-1].append(self.value(node.value, scope))
        return UNKNOWN

    def _of_yieldfrom(self, node: ast.YieldFrom, scope: JaxScope) -> Any:
        if self.yielded:
            self.yielded[-1].extend(transforms.items_of(self.value(node.value, scope))[:_FIRST_YIELDED])
        return UNKNOWN

    def _of_namedexpr(self, node: ast.NamedExpr, scope: JaxScope) -> Any:
        value = self.value(node.value, scope)
        self.assign(node.target, value, scope)
        return value

    def _of_compare(self, node: ast.Compare, scope: JaxScope) -> Any:
        values = [self.value(each, scope) for each in (node.left, *node.comparators)]
        if any(isinstance(each, JaxArray) for each in values):
            return self.note(elementwise(*values, dtype="bool") or UNKNOWN, node, "compare")
        return operated(node.ops[0], values)

    def _of_boolop(self, node: ast.BoolOp, scope: JaxScope) -> Any:
        value: Any = UNKNOWN
        for each in node.values:
            value = self.value(each, scope)
            if is_open(value) or bool(value) is isinstance(node.op, ast.Or):
                return value if not is_open(value) or each is node.values[-1] else UNKNOWN
        return value

    def _of_unaryop(self, node: ast.UnaryOp, scope: JaxScope) -> Any:
        value = self.value(node.operand, scope)
        if isinstance(value, JaxArray):
            return self.note(value, node, "negative")
        if isinstance(node.op, ast.Not) and value is not UNKNOWN:
            return not value
        return -value if isinstance(node.op, ast.USub) and isinstance(value, int | float) else UNKNOWN

    def _of_binop(self, node: ast.BinOp, scope: JaxScope) -> Any:
        return self.binary(node, node.op, node.left, node.right, scope)

    def binary(
        self, node: ast.AST, op: ast.operator, left: ast.expr, right: ast.expr, scope: JaxScope
    ) -> Any:
        """An operator on two values."""
        one, other = self.value(left, scope), self.value(right, scope)
        if isinstance(one, JaxArray) or isinstance(other, JaxArray):
            product = isinstance(op, ast.MatMult)
            if any(has_axes(code) for code, each in ((left, one), (right, other)) if each is UNKNOWN):
                return UNKNOWN
            if not product:  # what nothing tells is most often a number: a rate, a temperature
                one, other = (0.5 if each is UNKNOWN else each for each in (one, other))
            made = matmul(one, other) if product else elementwise(one, other)
            if made is not None and not made.on_host and not self.x64:
                made = replace(made, dtype=narrowed(made.dtype))
            if not product and is_mismatch(one, other):
                return self.note(made or UNKNOWN, node, MISMATCH)
            return self.note(made or UNKNOWN, node, "matmul" if product else "operator")
        return operated(op, [one, other])

    def _of_subscript(self, node: ast.Subscript, scope: JaxScope) -> Any:
        value, index = self.value(node.value, scope), self.index(node.slice, scope)
        if isinstance(value, Library) and value.last == "mgrid":
            return self.note(self.grid(value, index) or UNKNOWN, node, "mgrid")
        if isinstance(value, Updated):
            parts = index if isinstance(index, tuple) else (index,)
            return replace(value, at_a_constant=all(map(is_number, parts)))
        if isinstance(value, JaxArray):
            made = self.note(indexed(value, index) or UNKNOWN, node, "index")
            if isinstance(made, JaxArray) and self.lines and _gathers(index):
                self.noted[-1] = replace(self.noted[-1], taken_of=value.shape)
            return made
        if isinstance(value, Thing) and isinstance(index, str):
            return value.names.get(index, UNKNOWN)
        if isinstance(value, Thing):
            value = transforms.items_of(value)
        if isinstance(value, dict):
            return value.get(index, UNKNOWN) if isinstance(index, str | int | tuple) else UNKNOWN
        inside = isinstance(value, list | tuple | range | str)
        if inside and isinstance(index, slice):
            return value[index]
        known = inside and isinstance(index, int) and -len(value) <= index < len(value)
        return value[index] if known else UNKNOWN

    def grid(self, of: Library, index: Any) -> JaxArray | None:
        """`mgrid[:64, :64]`."""
        parts = index if isinstance(index, tuple) else (index,)
        sides = [
            len(range(each.start or 0, each.stop, each.step or 1))
            for each in parts
            if isinstance(each, slice) and isinstance(each.stop, int)
        ]
        if len(sides) < len(parts) or not sides:
            return None
        host = of.path.startswith("numpy")
        return JaxArray((len(sides), *sides), "int64" if host or self.x64 else "int32", host)

    def index(self, node: ast.expr, scope: JaxScope) -> Any:
        """An index, with slices of Python's own."""
        if isinstance(node, ast.Slice):
            ends = [self.value(each, scope) for each in (node.lower, node.upper, node.step)]
            return slice(*ends) if all(each is None or isinstance(each, int) for each in ends) else UNKNOWN
        if isinstance(node, ast.Tuple):
            return tuple(self.index(each, scope) for each in node.elts)
        return self.value(node, scope)

    def _of_attribute(self, node: ast.Attribute, scope: JaxScope) -> Any:
        value = self.value(node.value, scope)
        if isinstance(value, Library):
            return UNKNOWN if scope.find(value.path) is UNKNOWN else Library(f"{value.path}.{node.attr}")
        if isinstance(value, JaxArray):
            known = {
                "shape": value.shape,
                "ndim": len(value.shape),
                "size": count(value.shape),
                "nbytes": value.bytes,
                "dtype": value.dtype,
                "at": Updated(value),
            }
            if node.attr in ("T", "mT"):
                return self.note(replace(value, shape=value.shape[::-1]), node, "transpose")
            return known.get(node.attr, JaxMethod(value, node.attr))
        if isinstance(value, Thing):
            return self.of_thing(value, node)
        if isinstance(value, Class):
            function = value.functions.get(node.attr, value.values.get(node.attr, UNKNOWN))
            return bound(function, value) if value.kinds.get(node.attr) == "classmethod" else function
        if isinstance(value, Above):
            return under(value, node.attr)
        return UNKNOWN if value is UNKNOWN else JaxMethod(value, node.attr)

    def of_thing(self, thing: Thing, node: ast.Attribute) -> Any:
        """What an object has by a name, or what its class makes of it."""
        if node.attr in thing.names:
            return thing.names[node.attr]
        function = thing.of.functions.get(node.attr)
        if function is None:
            return JaxMethod(thing, node.attr) if node.attr in METHODS_OF_THINGS else UNKNOWN
        kind = thing.of.kinds.get(node.attr)
        if kind == "property":
            return self.apply(bound(function, thing), (), {}, node)
        if kind == "staticmethod":
            return function
        return bound(function, thing.of if kind == "classmethod" else thing)

    def _of_call(self, node: ast.Call, scope: JaxScope) -> Any:
        function = self.value(node.func, scope)
        if isinstance(function, Library) and function.path == "super":
            return scope.find(_SUPER, UNKNOWN)
        args = tuple(self.parts(node.args, scope))
        named: dict[str, Any] = {}
        for each in node.keywords:
            value = self.value(each.value, scope)
            if each.arg:
                named[each.arg] = value
            elif isinstance(value, dict):
                named |= {key: inner for key, inner in value.items() if isinstance(key, str)}
        return self.apply(function, args, named, node)

    def apply(self, function: Any, args: tuple[Any, ...], named: dict[str, Any], node: ast.AST) -> Any:
        """What a call gives."""
        if isinstance(function, JaxFunction):
            return self.within(function, args, named, node)
        if isinstance(function, Class):
            return self.made(function, args, named, node)
        if isinstance(function, Transformed):
            return self.transformed(function, args, named, node)
        if isinstance(function, Thing):
            call = function.of.functions.get("__call__")
            return UNKNOWN if call is None else self.apply(bound(call, function), args, named, node)
        if isinstance(function, JaxMethod):
            return self.method(function, args, named, node)
        return self.library(function, args, named, node) if isinstance(function, Library) else UNKNOWN

    def made(self, of: Class, args: tuple[Any, ...], named: dict[str, Any], node: ast.AST) -> Any:
        """An object of the program's class."""
        thing = Thing(of)
        if start := of.functions.get("__init__"):
            self.apply(bound(start, thing), args, named, node)
            return thing
        thing.names |= dict(zip(of.fields, args, strict=False)) | named
        if after := of.functions.get("__post_init__"):
            self.apply(bound(after, thing), (), {}, node)
        return thing

    def within(
        self, function: JaxFunction, args: tuple[Any, ...], named: dict[str, Any], node: ast.AST
    ) -> Any:
        """Follow a function of the program with these arguments."""
        if len(self.way) >= _DEEPEST:
            return UNKNOWN
        self.called.add(function.node)
        given, scope = function.node.args, JaxScope(function.scope)
        names = [each.arg for each in (*given.posonlyargs, *given.args)]
        values = args if function.bound is None else (function.bound, *args)
        defaults = [self.value(each, function.scope) for each in given.defaults]
        scope.names |= dict.fromkeys(names, UNKNOWN)
        scope.names |= dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
        for each, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
            scope.names[each.arg] = UNKNOWN if default is None else self.value(default, function.scope)
        scope.names |= dict(zip(names, values, strict=False)) | named
        if given.vararg:
            scope.names[given.vararg.arg] = values[len(names) :]
        if given.kwarg:
            own = {*names, *(each.arg for each in given.kwonlyargs)}
            scope.names[given.kwarg.arg] = {key: each for key, each in named.items() if key not in own}
        if function.owner is not None:
            scope.names[_SUPER] = Above(function.bound, tuple(function.owner.bases))
        if self.yields(function.node):
            return self.generated(function, scope, node)
        return self.ran(function, scope, node)

    def yields(self, node: ast.AST) -> bool:
        """Whether a function is a generator."""
        if node not in self.generators:
            self.generators[node] = any(
                isinstance(each, ast.Yield | ast.YieldFrom) for each in ast.walk(node)
            )
        return self.generators[node]

    def generated(self, function: JaxFunction, scope: JaxScope, node: ast.AST) -> Any:
        """What a generator yields in the turns that are followed."""
        with self.pushed(self.yielded, []):
            self.ran(function, scope, node)
            return [*self.yielded[-1]]

    def ran(self, function: JaxFunction, scope: JaxScope, node: ast.AST) -> Any:
        """What a function returns, whose names are bound."""
        before, targets = self.lines, self.targets
        with self.pushed(self.way, self.line_of(node)):
            self.lines = function.lines or before
            try:
                if isinstance(function.node, ast.Lambda):
                    return self.value(function.node.body, scope)
                made = self.body(function.node.body, scope)
            finally:
                self.lines, self.targets = before, targets
        return made[0] if made else None

    @contextmanager
    def pushed(self, stack: list[Any], value: Any) -> Iterator[None]:
        """Something that holds for what is followed inside."""
        stack.append(value)
        try:
            yield
        finally:
            stack.pop()

    def method(self, method: JaxMethod, args: tuple[Any, ...], named: dict[str, Any], node: ast.AST) -> Any:
        """A method of an array, a list or a dict."""
        of = method.of
        if isinstance(of, Updated):
            if self.rows and of.at_a_constant and all(map(is_number, args)):
                return of.of  # nothing of it depends on the row: one copy serves all
            return self.note(of.of, node, UPDATE_OF_ROWS if self.rows else "update")
        if isinstance(of, JaxArray):
            if method.name in ("random", "normal", "uniform", "integers"):
                return UNKNOWN
            if method.name == "block_until_ready":
                return of
            rule = RULES.get(method.name)
            call = Call(method.name, (of, *args), named, of.on_host, self.x64)
            return self.note(UNKNOWN if rule is None else rule(call) or UNKNOWN, node, method.name)
        if isinstance(of, Thing):
            return changed(of, method.name, named)
        if isinstance(of, JaxFunction | Transformed) or of is UNKNOWN:
            return UNKNOWN
        if method.name == "append" and args:
            there = [leaf for leaf in leaves(args[0]) if isinstance(leaf, JaxArray) and not leaf.on_host]
            self.kept[self.line_of(node)] = sum(leaf.bytes for leaf in there)
        return called_on(of, method.name, args, named)

    def library(self, of: Library, args: tuple[Any, ...], named: dict[str, Any], node: ast.AST) -> Any:
        """A function of JAX, NumPy, or Python itself."""
        path, name = of.path, of.last
        if name in ("device_count", "local_device_count") and self.devices:
            return self.devices
        if name == "update" and path.startswith("jax.config"):
            self.x64 = self.x64 or (args[:1] == ("jax_enable_x64",) and args[1:] == (True,))
            return None
        if path.startswith(_PARSER):
            return self.of_parser(name, args, named)
        if (thing := made_object(path, args, named)) is not None:
            return thing
        if name == "field" and path != "jax.field":
            factory = named.get("default_factory")
            return named.get("default", UNKNOWN) if factory is None else self.apply(factory, (), {}, node)
        if path in ("functools.partial", "partial"):
            return Transformed("partial", args[0] if args else UNKNOWN, args[1:], tuple(named.items()))
        if name in transforms.FUNCTIONS:
            settings = tuple(named.items())
            return (
                Transformed(name, args[0], args[1:], settings)
                if args
                else Transformed("with", of, (), settings)
            )
        if name == "ravel_pytree" and args:
            return self.flattened(args[0], node)
        if name in METHODS_OF_TREES or "tree" in path:
            return self.of_tree(path, args, node)
        if path == "map" and len(args) > 1:
            rows = zip(*map(transforms.items_of, args[1:]), strict=False)
            return [self.apply(args[0], row, {}, node) for row in rows] or UNKNOWN
        if path.startswith("jax.") and name in CONTROLLED:
            return self.controlled(name, args, named, node)
        host = path.startswith("numpy")
        if not host and not path.startswith(("jax", "flax", "optax")):
            return called_builtin(path, args, named)
        call = Call(name, args, named, host, self.x64)
        if host and path in ("numpy.random.default_rng", "numpy.random.RandomState"):
            return Library("numpy.random")
        if path.startswith("jax.nn.initializers.") and not any(isinstance(each, JaxArray) for each in args):
            return Library("jax.random.initializer")
        if name in _GIVEN_BACK and args:
            return args[0]
        if ".random." in path:
            return self.note(drawn(call, with_key=not host) or UNKNOWN, node, name)
        rule = RULES.get(name)
        if rule is None:
            return UNKNOWN
        if not host:
            moved = transforms.on_device(args, call.stored)
            call = replace(call, args=moved if isinstance(moved, tuple) else args)
        return self.note(rule(call) or UNKNOWN, node, name)

    def of_parser(self, name: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """`argparse`: what the program runs with where nobody says otherwise."""
        if name == "ArgumentParser":
            return Library(f"{_PARSER}.parser")
        if name == "add_argument" and args and isinstance(args[-1], str):
            flag = named.get("dest", args[-1].lstrip("-").replace("-", "_"))
            of_action = {"store_true": False, "store_false": True}.get(str(named.get("action")), UNKNOWN)
            self.flags[flag] = named.get("default", of_action)
        if name in ("add_argument_group", "add_mutually_exclusive_group"):
            return Library(f"{_PARSER}.parser")
        if name == "set_defaults":
            self.flags |= named
        settings = Thing(Class("Namespace"))
        settings.names = dict(self.flags)
        if name == "parse_known_args":
            return settings, []
        return settings if name == "parse_args" else UNKNOWN

    def flattened(self, tree: Any, node: ast.AST) -> Any:
        """`ravel_pytree`: all numbers of a tree in one array, and what makes a tree of such an array."""
        given = [leaf.shape if isinstance(leaf, JaxArray) else leaf for leaf in leaves(tree)]
        known = [each for each in given if isinstance(each, tuple)]
        if not known or len(known) < len(given):
            return UNKNOWN
        flat = JaxArray((sum(map(count, known)),))
        return self.note(flat, node, "ravel_pytree"), Transformed("unravelled", UNKNOWN, (tree,))

    def of_tree(self, path: str, args: tuple[Any, ...], node: ast.AST) -> Any:
        """A function of `jax.tree`."""
        name = path.rpartition(".")[2]
        if name in ("map", "tree_map") and len(args) >= 2:
            return transforms.mapped(lambda *parts: self.apply(args[0], parts, {}, node), args[1], *args[2:])
        if name in ("leaves", "tree_leaves") and args:
            return leaves(args[0])
        if name in ("flatten", "tree_flatten") and args:
            return leaves(args[0]), args[0]
        return UNKNOWN
