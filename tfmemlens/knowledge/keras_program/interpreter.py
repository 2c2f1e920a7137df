"""Follows the statements and calls of a program. What data decides is followed both ways, what nothing tells
stays unknown, and the work is bounded.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from tfmemlens.knowledge.keras_program.expressions import (
    MOST_ITEMS,
    MOST_TURNS,
    PLAIN,
    Expressions,
    TooLong,
    elements,
    equal,
)
from tfmemlens.knowledge.keras_program.values import (
    UNKNOWN,
    DataSet,
    External,
    Function,
    Instance,
    Layer,
    Method,
    Names,
    Net,
    Scope,
    Super,
    UserClass,
    bound,
)
from tfmemlens.knowledge.tree_values import asks_command_line
from tfmemlens.model.tensor import TensorType

_MOST_DEPTH = 24
_FIRST_TURNS, _MOST_OF_A_LOOP = 2, 6_000
"""Of a long loop: the turns that are followed in any case, and the steps after which one stands for all."""
_BUILT = " built"
"""No attribute of a program has a blank in its name."""


class Stopped(Exception):
    """A statement ends here."""


class _Returned(Stopped):
    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class _Left(Stopped):
    """`break` or `continue`."""


class Interpreter(Expressions):
    """Follows a program; who inherits it says what calls of what the program did not write give (`external`,
    `method`), and what calling a layer does (`applied`).
    """

    def __init__(self) -> None:
        super().__init__()
        self.depth = 0
        self.scopes: list[str] = []
        self._generators: list[Any] = []
        """What each generator that is being followed gave first."""
        self.followed: set[int] = set()
        """Identities of the functions' trees that were followed."""

    def external(self, path: str, positional: list[Any], named: Names, node: ast.Call) -> Any:
        """The value of a call of something imported."""
        raise NotImplementedError

    def method(self, value: Any, name: str, positional: list[Any], named: Names) -> Any:
        """The value of a call of a method that the program did not write."""
        raise NotImplementedError

    def applied(self, layer: Layer | Net, positional: list[Any], named: Names) -> Any:
        """What a layer or net makes of what it is given."""
        raise NotImplementedError

    def assigned(self, node: ast.Assign, value: Any) -> None:
        """A statement bound a value."""

    def body(self, nodes: Sequence[ast.stmt]) -> None:
        """Follow statements in their order."""
        for node in nodes:
            self.step()
            self._statement(node)

    def _statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assign):
            value = self.value(node.value)
            self.assigned(node, value)
            for target in node.targets:
                self.assign(target, value)
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                self.assign(node.target, self.value(node.value))
        elif isinstance(node, ast.AugAssign):
            self.assign(node.target, self.binary(node.op, self.value(node.target), self.value(node.value)))
        elif isinstance(node, ast.Expr):
            self.value(node.value)
        elif isinstance(node, ast.Return):
            raise _Returned(self.value(node.value) if node.value else None)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            self.frames[-1][node.name] = Function(node, tuple(self.frames))
        elif isinstance(node, ast.ClassDef):
            self._class(node)
        elif isinstance(node, ast.If):
            self._if(node)
        elif isinstance(node, ast.For | ast.AsyncFor):
            self._for(node)
        elif isinstance(node, ast.While):
            self._perhaps(node.body)
        elif isinstance(node, ast.With | ast.AsyncWith):
            self._with(node)
        elif isinstance(node, ast.Try):
            self.body(node.body)
            self.body(node.finalbody)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            self._import(node)
        elif isinstance(node, ast.Break | ast.Continue):
            raise _Left

    def _class(self, node: ast.ClassDef) -> None:
        bases = tuple(self.value(base) for base in node.bases)
        members: Names = {}
        made = UserClass(node.name, members, bases)
        self.frames.append(members)
        try:
            self.body(node.body)
        finally:
            self.frames.pop()
        for member in members.values():
            if isinstance(member, Function):
                member.around = tuple(self.frames)
                member.methods_of = made
        self.frames[-1][node.name] = made

    def _if(self, node: ast.If) -> None:
        known = self.truth(self.value(node.test))
        if known is not None:
            self.body(node.body if known else node.orelse)
            return
        if asks_command_line(node.test):
            self.body(node.orelse)
            return
        self._perhaps(node.body)
        self._perhaps(node.orelse)

    def _perhaps(self, nodes: Sequence[ast.stmt]) -> None:
        """Follow what may run, may not, or runs again and again: what it changes is unknown afterwards."""
        before = dict(self.frames[-1])
        with suppress(_Returned, _Left):
            self.body(nodes)
        now = self.frames[-1]
        for name, value in before.items():
            if now.get(name) is not value and not equal(now.get(name), value):
                now[name] = UNKNOWN

    def _for(self, node: ast.For | ast.AsyncFor) -> None:
        sequence = elements(self.value(node.iter))
        if isinstance(sequence, tuple | list) and sequence:
            self._turns(node, list(sequence))
            return
        element = sequence.element if isinstance(sequence, DataSet) else UNKNOWN
        if isinstance(sequence, TensorType) and sequence.shape:
            element = TensorType(sequence.shape[1:], sequence.dtype)
        self.assign(node.target, element)
        self._perhaps(node.body)

    def _turns(self, node: ast.For | ast.AsyncFor, items: Sequence[Any]) -> None:
        """Follow each turn; of a long loop whose turns are long, one stands for all that are left."""
        begun = self.steps
        held = {name: len(value) for name, value in self.frames[-1].items() if isinstance(value, list)}
        for at, each in enumerate(items):
            if at >= _FIRST_TURNS and len(items) > MOST_TURNS and self.steps - begun > _MOST_OF_A_LOOP:
                self._the_rest(node, items[at:], held)
                return
            self.assign(node.target, each)
            try:
                self.body(node.body)
            except _Left:
                continue

    def _the_rest(self, node: ast.For | ast.AsyncFor, items: Sequence[Any], held: dict[str, int]) -> None:
        """One turn for all that are left; how many elements a list then has, nothing tells."""
        self.assign(node.target, UNKNOWN if isinstance(items[0], PLAIN) else items[0])
        self.turns *= len(items)
        try:
            self._perhaps(node.body)
        finally:
            self.turns //= len(items)
        names = self.frames[-1]
        for name, length in held.items():
            value = names.get(name)
            if isinstance(value, list) and len(value) != length:
                names[name] = UNKNOWN

    def _with(self, node: ast.With | ast.AsyncWith) -> None:
        before = len(self.scopes)
        for item in node.items:
            value = self.value(item.context_expr)
            if isinstance(value, Scope):
                self.scopes.append(value)
            if item.optional_vars is not None:
                self.assign(item.optional_vars, value)
        try:
            self.body(node.body)
        finally:
            del self.scopes[before:]

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        module = (node.module or "") + "." if isinstance(node, ast.ImportFrom) else ""
        for each in node.names:
            plain = isinstance(node, ast.Import) and not each.asname
            name = each.name.partition(".")[0] if plain else each.asname or each.name
            self.frames[-1][name] = External(name if plain else module + each.name)

    def assign(self, target: ast.expr, value: Any) -> None:
        """Bind a name, an attribute, an item or several."""
        if isinstance(target, ast.Tuple | ast.List):
            parts = _parts(value, target.elts)
            for each, part in zip(target.elts, parts, strict=True):
                self.assign(each.value if isinstance(each, ast.Starred) else each, part)
        elif isinstance(target, ast.Name):
            self.frames[-1][target.id] = value
        elif isinstance(target, ast.Attribute):
            owner = self.value(target.value)
            if isinstance(owner, Instance):
                owner.attributes[target.attr] = value
                if isinstance(value, Layer):
                    value.attribute = value.attribute or target.attr
        elif isinstance(target, ast.Subscript):
            owner, key = self.value(target.value), self.value(target.slice)
            if isinstance(owner, dict) and isinstance(key, PLAIN) and len(owner) < MOST_ITEMS:
                owner[key] = value

    def call(self, node: ast.Call) -> Any:
        """The value of a call: arguments first, as Python does."""
        if isinstance(node.func, ast.Name) and node.func.id == "super":
            return self._super()
        function = self.value(node.func)
        positional: list[Any] = []
        for each in node.args:
            value = self.value(each.value if isinstance(each, ast.Starred) else each)
            if isinstance(each, ast.Starred):
                positional += value if isinstance(value, tuple | list) else [UNKNOWN]
            else:
                positional.append(value)
        named: Names = {}
        for keyword in node.keywords:
            value = self.value(keyword.value)
            if keyword.arg:
                named[keyword.arg] = value
            elif isinstance(value, dict):
                named.update({key: each for key, each in value.items() if isinstance(key, str)})
        return self.called(function, positional, named, node)

    def called(self, function: Any, positional: list[Any], named: Names, node: ast.Call) -> Any:
        """The value of a call."""
        if isinstance(function, Function):
            return self.run(function, positional, named)
        if isinstance(function, UserClass):
            return self.instance(function, positional, named)
        if isinstance(function, Instance):
            return self.called_instance(function, positional, named)
        if isinstance(function, Layer | Net):
            return self.applied(function, positional, named)
        if isinstance(function, External):
            return self.external(function.path, positional, named, node)
        if isinstance(function, Method):
            return self.method(function.value, function.name, positional, named)
        return UNKNOWN

    def called_instance(self, model: Instance, positional: list[Any], named: Names) -> Any:
        """A model or layer of the program is called: its own `build` is followed once, and its `call`."""
        build = model.of.member("build") if model.of else None
        if build and isinstance(build[0], Function) and _BUILT not in model.attributes:
            model.attributes[_BUILT] = True
            self.run(
                bound(build[0], model, build[1]), [_shapes(positional[0] if positional else UNKNOWN)], {}
            )
        for name in ("call", "__call__"):
            member = model.of.member(name) if model.of else None
            if member and isinstance(member[0], Function):
                return self.run(bound(member[0], model, member[1]), positional, named)
        return UNKNOWN

    def instance(self, made: UserClass, positional: list[Any], named: Names) -> Instance:
        """An object of a class of the program."""
        name = named.get("name")
        instance = Instance(made, name=name if isinstance(name, str) else "")
        member = made.member("__init__")
        if member and isinstance(member[0], Function):
            self.run(bound(member[0], instance, member[1]), positional, named)
        else:
            instance.attributes.update(named)
        return instance

    def _super(self) -> Any:
        function = self.calling[-1] if self.calling else None
        if function is None or not isinstance(function.of, Instance) or function.methods_of is None:
            return UNKNOWN
        return Super(function.of, function.methods_of)

    def run(self, function: Function, positional: list[Any], named: Names) -> Any:
        """Follow a function of the program with these arguments."""
        self.followed.add(id(function.node))
        with self._within(function, self._bind(function, positional, named)):
            if isinstance(function.node, ast.Lambda):
                return self.value(function.node.body)
            if _yields(function.node):
                return self._generated(function.node.body)
            try:
                self.body(function.node.body)
            except _Returned as end:
                return end.value
        return None

    def yielded(self, value: Any) -> None:
        """The first value of a generator stands for all."""
        if self._generators and self._generators[-1] is UNKNOWN:
            self._generators[-1] = value

    def _generated(self, body: Sequence[ast.stmt]) -> DataSet:
        """What a generator of the program gives, one by one."""
        self._generators.append(UNKNOWN)
        try:
            with suppress(_Returned):
                self.body(body)
        finally:
            element = self._generators.pop()
        return DataSet(element)

    @contextmanager
    def _within(self, function: Function, names: Names) -> Iterator[None]:
        if self.depth >= _MOST_DEPTH:
            raise TooLong
        self.depth += 1
        self.frames.append(names)
        self.calling.append(function)
        try:
            yield
        except _Left:
            return
        finally:
            self.calling.pop()
            self.frames.pop()
            self.depth -= 1

    def _bind(self, function: Function, positional: list[Any], named: Names) -> Names:
        given = function.node.args
        parameters = [*given.posonlyargs, *given.args]
        values = list(positional) if function.of is None else [function.of, *positional]
        names: Names = {each.arg: UNKNOWN for each in (*parameters, *given.kwonlyargs)}
        defaults = zip(reversed(parameters), reversed(given.defaults), strict=False)
        for parameter, default in defaults:
            names[parameter.arg] = self.value(default)
        for parameter, kw_default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
            if kw_default is not None:
                names[parameter.arg] = self.value(kw_default)
        names.update({each.arg: value for each, value in zip(parameters, values, strict=False)})
        rest = {key: value for key, value in named.items() if key not in names}
        names.update({key: value for key, value in named.items() if key in names})
        if given.vararg:
            names[given.vararg.arg] = tuple(values[len(parameters) :])
        if given.kwarg:
            names[given.kwarg.arg] = rest
        return names


def _shapes(given: Any) -> Any:
    """The shape of a layer's input, or of each of several."""
    if isinstance(given, TensorType):
        return UNKNOWN if given.shape is None else given.shape
    return [_shapes(each) for each in given] if isinstance(given, tuple | list) else UNKNOWN


def _yields(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether it is a generator; what functions inside it yield is theirs."""
    waiting: list[ast.AST] = [*function.body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Yield):
            return True
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)
    return False


def _parts(value: Any, targets: Sequence[ast.expr]) -> Sequence[Any]:
    """What each of several targets gets; UNKNOWN each where the value does not tell."""
    if isinstance(value, tuple | list):
        starred = [at for at, each in enumerate(targets) if isinstance(each, ast.Starred)]
        if len(value) == len(targets) and not starred:
            return value
        if len(starred) == 1 and len(value) >= len(targets) - 1:
            at = starred[0]
            end = len(value) - (len(targets) - at - 1)
            return [*value[:at], list(value[at:end]), *value[end:]]
    return [UNKNOWN] * len(targets)
