"""Which models of a program train, and which no optimizer updates."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from tfmemlens.findings.support.model_readings import (
    binds,
    dotted,
    is_called_in_steps,
    is_called_under_a_tape,
    reads_figures_alone,
)
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program, Statement

if TYPE_CHECKING:
    from tfmemlens.knowledge.keras_program.models import ModelMade

__all__ = [
    "is_frozen",
    "is_untrained",
    "lines_that_keep_nothing",
    "models",
    "names_of",
    "owner_of_gradient",
    "owners_of_gradient",
    "root_of",
    "trained",
]

_TRAINS = frozenset({"fit", "fit_generator", "train_on_batch"})
_OF_A_GRADIENT = frozenset({"trainable_variables", "trainable_weights", "variables", "weights"})


@lru_cache(maxsize=4)
def is_untrained(program: Program, shape: tuple[int, ...]) -> bool:
    """Whether no optimizer updates a weight of this shape: each model that has one is frozen, or gives
    figures alone while another trains.
    """
    owners = [each for each in models(program) if any(one.shape == shape for one in each.weights)]
    return bool(owners) and all(each.name in _untrained(program) for each in owners)


@lru_cache(maxsize=2)
def lines_that_keep_nothing(program: Program) -> frozenset[Line]:
    """Lines whose layers stand in models alone that are called under no tape while another trains, so that no
    backward pass needs what they make.
    """
    figures = {
        each
        for each in _untrained(program)
        if not is_frozen(program, each) and not is_called_under_a_tape(program, names_of(program, each))
    }
    of_those = {line for each in models(program) if each.name in figures for line in each.lines}
    of_others = {line for each in models(program) if each.name not in figures for line in each.lines}
    return frozenset(of_those - of_others)


@lru_cache(maxsize=2)
def models(program: Program) -> tuple[ModelMade, ...]:
    """All models of known weights that have a name."""
    from tfmemlens.knowledge.keras_program.models import models_of

    return models_of(program)


@lru_cache(maxsize=2)
def _untrained(program: Program) -> frozenset[str]:
    """The models that are frozen, or give figures alone while another trains, or are called beside tapes that
    each take the gradient of another's weights.
    """
    trains = {name for name, _ in trained(program)}
    names = {each.name for each in models(program)} if trains else set()
    by_tapes = _all_by_tapes(program)
    return frozenset(
        name
        for name in names - trains
        if is_frozen(program, name)
        or reads_figures_alone(program, name)
        or (by_tapes and is_called_in_steps(program, names_of(program, name)))
    )


def is_frozen(program: Program, name: str) -> bool:
    """Whether the program sets `model.trainable = False`, and nothing else to it."""
    values = [
        node.value.value
        for statement in program
        for node in statement.nodes
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        if ast.unparse(node.targets[0]) == f"{name}.trainable"
    ]
    return values == [False]


def _all_by_tapes(program: Program) -> bool:
    """Whether tapes alone train, each for the weights of a model that is known by name: also within the
    `train_step` of a class whose object is fitted.
    """
    own = _with_own_steps(program)
    gradients = []
    for node in (each for statement in program for each in statement.nodes):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if node.func.attr in _TRAINS and dotted(node.func.value) not in own:
            return False
        if node.func.attr == "gradient":
            gradients.append(node)
    return bool(gradients) and all(owner_of_gradient(program, each) for each in gradients)


def _with_own_steps(program: Program) -> frozenset[str]:
    """Names of objects of the program's own classes that take gradients themselves."""
    classes = {
        node.name
        for statement in program
        for node in statement.nodes
        if isinstance(node, ast.ClassDef)
        if any(isinstance(each, ast.Attribute) and each.attr == "gradient" for each in ast.walk(node))
    }
    return _objects_of(program, classes)


def _objects_of(program: Program, classes: Collection[str]) -> frozenset[str]:
    """What the program calls the objects that it makes of these classes."""
    return frozenset(
        dotted(node.targets[0])
        for statement in program
        for node in statement.nodes
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        if dotted(node.value.func) in classes
    )


@lru_cache(maxsize=2)
def trained(program: Program) -> tuple[tuple[str, Line], ...]:
    """The names of the models that are trained, with the calls, in their order: `fit` and its like, and the
    gradient that a tape takes of a model's weights. Of one within a function or class the call of that.
    """
    return tuple(_trained(program))


def _trained(program: Program) -> Iterator[tuple[str, Line]]:
    for statement in program:
        for node in statement.nodes:
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            name = dotted(node.func.value) if node.func.attr in _TRAINS else ""
            if node.func.attr == "gradient":
                name = owner_of_gradient(program, node)
            if name:
                yield from _callers(program, name, statement, node)


def owner_of_gradient(program: Program, gradient: ast.Call) -> str:
    """The model whose weights a tape's gradient is for: `net.trainable_variables`, or a name that stands for
    them alone; empty where nothing tells, or of several.
    """
    owners = owners_of_gradient(program, gradient)
    return owners.pop() if len(owners) == 1 else ""


def owners_of_gradient(program: Program, gradient: ast.Call) -> set[str]:
    """The models and layers whose weights, joined by `+`, a tape's gradient is for; empty where one of them
    is something else.
    """
    weights = gradient.args[1] if len(gradient.args) > 1 else None
    if isinstance(weights, ast.Name):
        values = {
            ast.unparse(node.value): node.value
            for statement in program
            for node in statement.nodes
            if isinstance(node, ast.Assign) and dotted(node.targets[0]) == weights.id
        }
        weights = next(iter(values.values())) if len(values) == 1 else None
    owners = {_owner(each) for each in _summands(weights)} if weights is not None else set()
    return set() if "" in owners else owners


def _summands(value: ast.expr) -> Iterator[ast.expr]:
    """The parts of a sum of lists."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        yield from _summands(value.left)
        yield from _summands(value.right)
    else:
        yield value


def _owner(weights: ast.expr) -> str:
    """The name of whose weights these are; empty of all that an object holds, and of anything else."""
    if isinstance(weights, ast.Attribute) and weights.attr in _OF_A_GRADIENT:
        name = dotted(weights.value)
        return "" if name == "self" else name
    return ""


def _callers(program: Program, name: str, statement: Statement, node: ast.Call) -> Iterator[tuple[str, Line]]:
    """The model and the line that train it: where a function of the program does, what it is given and the
    calls of it; where a class does, what its object is given and the call of that.
    """
    around = statement.node
    if isinstance(around, ast.ClassDef):
        places = _calls_of_objects(program, around.name)
        yield root_of(program, name), next(iter(places), statement.line_of(node))
        return
    if not isinstance(around, ast.FunctionDef) or binds(around, name):
        yield name, statement.line_of(node)
        return
    at = next((at for at, each in enumerate(around.args.args) if each.arg == name), None)
    calls = [(each, call) for each, call in _calls(program) if dotted(call.func) == around.name]
    if not calls:
        yield name, statement.line_of(node)
    for each, call in calls:
        given = call.args[at] if at is not None and at < len(call.args) else None
        yield (dotted(given) if given is not None else "") or name, each.line_of(call)


def _calls(program: Program) -> Iterator[tuple[Statement, ast.Call]]:
    for statement in program:
        for node in statement.nodes:
            if isinstance(node, ast.Call):
                yield statement, node


def _calls_of_objects(program: Program, name: str) -> list[Line]:
    """Lines that call a method of an object of this class, the last first: what trains comes at the end."""
    objects = _objects_of(program, (name,))
    found = [
        statement.line_of(call)
        for statement, call in _calls(program)
        if isinstance(call.func, ast.Attribute) and dotted(call.func.value) in objects
    ]
    return sorted(found, key=lambda each: -each.number)


def names_of(program: Program, name: str) -> frozenset[str]:
    """The name of a model, and the attributes under which objects that are given it know it."""
    return frozenset((name, *(alias for alias, root in _aliases(program).items() if root == name)))


def root_of(program: Program, name: str) -> str:
    """The name outside of a class for what a class calls `self.net`."""
    return _aliases(program).get(name, name)


@lru_cache(maxsize=2)
def _aliases(program: Program) -> dict[str, str]:
    """By `self.net` what a class of the program is given for it: `student` of `Trainer(net=student)`. What
    differs between calls or classes is left out.
    """
    found: dict[str, set[str]] = {}
    for statement in program:
        for node in statement.nodes:
            made = node if isinstance(node, ast.ClassDef) else None
            init = next((each for each in made.body if _is_init(each)), None) if made else None
            if made is None or not isinstance(init, ast.FunctionDef):
                continue
            kept = {
                dotted(value): dotted(target)
                for each in ast.walk(init)
                if isinstance(each, ast.Assign)
                for target, value in _pairs(each)
                if dotted(target).startswith("self.")
            }
            for _, call in _calls(program):
                if dotted(call.func) != made.name:
                    continue
                given = dict(zip((each.arg for each in init.args.args[1:]), call.args, strict=False))
                given.update({word.arg: word.value for word in call.keywords if word.arg})
                for parameter, value in given.items():
                    if parameter in kept and dotted(value):
                        found.setdefault(kept[parameter], set()).add(dotted(value))
    return {alias: roots.pop() for alias, roots in found.items() if len(roots) == 1}


def _pairs(node: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What each target is assigned: of `self.a, self.b = a, b` one by one."""
    target, value = node.targets[0], node.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        yield from zip(target.elts, value.elts, strict=True)
    else:
        yield target, value


def _is_init(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name == "__init__"
