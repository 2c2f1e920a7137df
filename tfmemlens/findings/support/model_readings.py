"""How a program reads its models: for figures alone, within a step beside a tape, or to build on them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from tfmemlens.knowledge.tree_values import last_name
from tfmemlens.model.program import Program

__all__ = ["binds", "dotted", "is_called_in_steps", "is_called_under_a_tape", "reads_figures_alone"]


def dotted(node: ast.AST) -> str:
    """`net` or `self.net`, as a program names a model; empty of anything else."""
    if isinstance(node, ast.Name):
        return node.id
    own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    return f"self.{node.attr}" if own and isinstance(node, ast.Attribute) else ""


def binds(node: ast.AST, name: str) -> bool:
    """Whether a name is bound inside a statement."""
    return any(
        isinstance(part, ast.Name | ast.Attribute)
        and isinstance(part.ctx, ast.Store)
        and dotted(part) == name
        for part in ast.walk(node)
    )


def is_called_in_steps(program: Program, names: frozenset[str]) -> bool:
    """Whether a model of these names is called within functions and loops that hold a tape, is handed to
    objects that know it by another of them, and nothing else, so that no model is built on it.
    """
    nodes = [node for statement in program for node in statement.nodes]
    read = [node for node in nodes if _is_name(node, names)]
    steps = [
        node
        for node in nodes
        if isinstance(node, _STEPS) and any(_is_a_tape(each) for each in ast.walk(node))
    ]
    called = {id(each.func) for step in steps for each in ast.walk(step) if isinstance(each, ast.Call)}
    asked = {id(node.value) for node in nodes if isinstance(node, ast.Attribute) and node.attr in _FIGURES}
    handed = _handed_over(nodes, names)
    known = called | asked | handed
    return bool(called & {id(each) for each in read}) and all(id(each) in known for each in read)


def _handed_over(nodes: Sequence[ast.AST], names: frozenset[str]) -> set[int]:
    """Arguments of the program's own classes, where an attribute is one of the names: `Trainer(net)`."""
    classes = {node.name for node in nodes if isinstance(node, ast.ClassDef)}
    if not any(name.startswith("self.") for name in names):
        return set()
    calls = [node for node in nodes if isinstance(node, ast.Call) and dotted(node.func) in classes]
    given = {
        id(each)
        for call in calls
        for each in [*call.args, *(word.value for word in call.keywords)]
        if _is_name(each, names)
    }
    bound = {
        id(node.value)
        for node in nodes
        if isinstance(node, ast.Assign) and any(dotted(target) in names for target in node.targets)
    }
    return given | bound


def is_called_under_a_tape(program: Program, names: frozenset[str]) -> bool:
    """Whether a tape records what one of the names makes."""
    return any(
        _is_name(each, names)
        for statement in program
        for node in statement.nodes
        if _is_a_tape(node)
        for each in ast.walk(node)
    )


_STEPS = (ast.FunctionDef, ast.For, ast.While)


def _is_a_tape(node: ast.AST) -> bool:
    return isinstance(node, ast.With) and any("GradientTape" in ast.unparse(each) for each in node.items)


def reads_figures_alone(program: Program, name: str) -> bool:
    """Whether every reading of a model, or of the models of a list, asks for figures of it: nothing else is
    built on it or is given it.
    """
    functions = {
        each.name: each
        for statement in program
        for each in statement.nodes
        if isinstance(each, ast.FunctionDef)
    }
    return _Readings(functions).are_figures([each.node for each in program], frozenset((name,)))


class _Readings:
    """Looks how statements read a model, those of the functions that are given it too."""

    def __init__(self, functions: dict[str, ast.FunctionDef]) -> None:
        self._functions = functions
        self._asked: set[tuple[str, str]] = set()

    def are_figures(self, body: Sequence[ast.stmt], names: frozenset[str], local: bool = False) -> bool:
        """Whether these statements read the names for figures alone; in a function that is given the model
        and brings something to the host (`local`), a call of the model may be assigned.
        """
        for statement in body:
            own = names
            if isinstance(statement, ast.FunctionDef):
                own = names - {each.arg for each in statement.args.args}
            if isinstance(statement, ast.For) and _goes_through(statement.iter, names):
                own = names | _names_in(statement.target)
            inner = [each for part in _BODIES for each in getattr(statement, part, ())]
            if inner and not self.are_figures([*_statements(inner)], own, local):
                return False
            if not inner and not self._is_simple(statement, own, local):
                return False
        return True

    def _is_simple(self, statement: ast.stmt, names: frozenset[str], local: bool) -> bool:
        """The same of one statement by itself: `predict`, or a call whose result goes to the host at once."""
        inside = [*ast.walk(statement)]
        through = [
            each for each in inside if isinstance(each, ast.comprehension) and _goes_through(each.iter, names)
        ]
        names = names.union(*(_names_in(each.target) for each in through))
        loads = sum(_is_name(node, names) for node in inside)
        if not loads:
            return True
        to_host = local or any(isinstance(node, ast.Call) and _goes_to_host(node) for node in inside)
        figures = sum(
            isinstance(node, ast.Attribute) and node.attr in _FIGURES and _is_name(node.value, names)
            for node in inside
        )
        calls = [node for node in inside if isinstance(node, ast.Call)]
        called = sum(_is_name(node.func, names) for node in calls) if to_host else 0
        iterated = [each.iter for each in through]
        counted = sum(node not in iterated and _goes_through(node, names) for node in calls)
        given = sum(self._given(node, names) for node in calls)
        return loads == figures + called + len(through) + counted + given

    def _given(self, call: ast.Call, names: frozenset[str]) -> bool:
        """Whether a function of the program is given the model, and asks for figures alone."""
        function = self._functions.get(call.func.id) if isinstance(call.func, ast.Name) else None
        places = [at for at, each in enumerate(call.args) if _is_name(each, names)]
        if function is None or len(places) != 1 or places[0] >= len(function.args.args):
            return False
        name = function.args.args[places[0]].arg
        if (function.name, name) in self._asked:
            return True
        self._asked.add((function.name, name))
        local = any(isinstance(node, ast.Call) and _goes_to_host(node) for node in ast.walk(function))
        return self.are_figures(function.body, frozenset((name,)), local)


_BODIES = ("body", "orelse", "finalbody", "handlers")
_THROUGH = frozenset({"enumerate", "zip", "reversed", "list", "sorted", "values", "items", "len"})


def _statements(inner: Sequence[ast.AST]) -> Iterator[ast.stmt]:
    """Statements, those of `except` in its place."""
    for each in inner:
        if isinstance(each, ast.ExceptHandler):
            yield from each.body
        elif isinstance(each, ast.stmt):
            yield each


def _goes_through(node: ast.expr, names: frozenset[str]) -> bool:
    """Whether an expression is a list of the models, or goes through it as `enumerate` and `zip` do."""
    if isinstance(node, ast.Call) and last_name(node.func) in _THROUGH:
        root = node.func.value if isinstance(node.func, ast.Attribute) else None
        return any(_is_name(each, names) for each in (root, *node.args) if each is not None)
    return _is_name(node, names)


def _names_in(target: ast.expr) -> set[str]:
    return {each.id for each in ast.walk(target) if isinstance(each, ast.Name)}


def _is_name(node: ast.AST, names: frozenset[str]) -> bool:
    load = isinstance(node, ast.Name | ast.Attribute) and not isinstance(node.ctx, ast.Store)
    return load and dotted(node) in names


def _goes_to_host(call: ast.Call) -> bool:
    root = call.func.value if isinstance(call.func, ast.Attribute) else None
    of_numpy = isinstance(root, ast.Name) and root.id in ("np", "numpy")
    return of_numpy or last_name(call.func) in ("numpy", "convert_to_numpy", "device_get")


_FIGURES = frozenset(
    {"predict", "predict_on_batch", "evaluate", "summary", "load_weights", "set_weights", "compile", "build"}
    | {"trainable", "count_params", "append"}
)
"""What is asked of a model, or done to it, that gives no tensor of the device."""
