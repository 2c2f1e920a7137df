"""A model that is alive while another one trains, though nothing of the program reads it any more."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from tfmemlens.findings.support.many_alike import size_classes
from tfmemlens.findings.support.rows import all_in_use
from tfmemlens.knowledge.stack_frames import user_frame
from tfmemlens.knowledge.tree_values import last_name
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.case import Moment
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program, Statement
from tfmemlens.patterns import regex
from tfmemlens.units import round_up
from tfmemlens.values import dataclass

if TYPE_CHECKING:
    from tfmemlens.knowledge.keras_program.models import ModelMade

_TRAINS = frozenset({"fit", "fit_generator", "train_on_batch"})
_WORTH_A_LOOK = regex(r"\.(?:fit|fit_generator|train_on_batch|gradient)\(")
_OF_A_GRADIENT = frozenset({"trainable_variables", "trainable_weights", "variables", "weights"})


@dataclass(frozen=True, slots=True)
class Unused:
    """The model, the last line that reads it, and the call that trains another."""

    model: ModelMade
    read: Line
    trains: Line
    other: str
    """The name of the model that trains."""
    own: tuple[tuple[int, ...], ...]
    """Shapes of its weights that no other model has."""


@lru_cache(maxsize=2)
def unused_model(program: Program) -> Unused | None:
    """The largest of these; None where each model trains, is read later, or is let go."""
    lines = [line for each in program for line in each.lines]
    if not any(_WORTH_A_LOOK.search(line.text) for line in lines):
        return None
    trained = list(_trained(program))
    if not trained:
        return None
    models = _models(program)
    found = [
        one
        for each in models
        if each.name not in {name for name, _ in trained}
        for one in [_unused(program, each, models, *trained[0])]
        if one is not None
    ]
    return max(found, key=lambda each: each.model.bytes, default=None)


def unused_beside(moment: Moment, told: Surroundings) -> tuple[Unused, int] | None:
    """The model, and what blocks of the size of its own weights take, where that is a good part of it: of a
    size no more than it has weights.
    """
    program = told.program() if size_classes(moment) else None
    unused = unused_model(program) if program else None
    if unused is None or program is None or _failed_before(moment, program, unused):
        return None
    own = Counter(round_up(each.bytes) for each in unused.model.weights if each.shape in unused.own)
    held = sum(
        min(each.count, own[each.size_bytes]) * each.size_bytes
        for each in size_classes(moment)
        if each.size_bytes >= _LEAST_BYTES
    )
    whole = max(all_in_use(moment), 1)
    good = held >= _GOOD_PART * whole and held >= _GOOD_PART * unused.model.bytes
    return (unused, held) if good else None


_LEAST_BYTES, _GOOD_PART = 1 << 20, 0.25


def _failed_before(moment: Moment, program: Program, unused: Unused) -> bool:
    """Whether the line that was on its way stands above the last one that reads the model, or is that."""
    frames = moment.request.failed.frames if moment.request else ()
    first = next((frame.text.strip() for frame in frames if user_frame(frame.place)), "")
    if not first and moment.request:
        first = (moment.request.failed.source_text or "").strip()
    lines = [line for each in program if not each.of_frame for line in each.lines]
    return bool(first) and any(
        line.number <= unused.read.number and line.text.strip() == first
        for line in lines
        if line.source == unused.read.source
    )


@lru_cache(maxsize=4)
def is_untrained(program: Program, shape: tuple[int, ...]) -> bool:
    """Whether no optimizer updates a weight of this shape: each model that has one is frozen, or gives
    figures alone while another trains.
    """
    owners = [each for each in _models(program) if any(one.shape == shape for one in each.weights)]
    return bool(owners) and all(each.name in _names_of_untrained(program) for each in owners)


@lru_cache(maxsize=2)
def lines_that_keep_nothing(program: Program) -> frozenset[Line]:
    """Lines whose layers stand in models alone that are called under no tape while another trains, so that no
    backward pass needs what they make.
    """
    figures = {
        each
        for each in _names_of_untrained(program)
        if not _is_frozen(program, each) and not _is_called_under_a_tape(program, each)
    }
    of_those = {line for each in _models(program) if each.name in figures for line in each.lines}
    of_others = {line for each in _models(program) if each.name not in figures for line in each.lines}
    return frozenset(of_those - of_others)


@lru_cache(maxsize=2)
def _models(program: Program) -> tuple[ModelMade, ...]:
    from tfmemlens.knowledge.keras_program.models import models_of

    return models_of(program)


@lru_cache(maxsize=2)
def _names_of_untrained(program: Program) -> frozenset[str]:
    """The models that are frozen, or give figures alone while another trains, or are called beside tapes that
    each take the gradient of another's weights.
    """
    trained = {name for name, _ in _trained(program)}
    names = {each.name for each in _models(program)} if trained else set()
    by_tapes = _all_by_tapes(program)
    return frozenset(
        name
        for name in names - trained
        if _is_frozen(program, name)
        or _only_figures(program, name)
        or (by_tapes and _is_called_in_steps(program, name))
    )


def _all_by_tapes(program: Program) -> bool:
    """Whether tapes alone train, each for the weights of a model that is known by name."""
    calls = [node for statement in program for node in statement.nodes if isinstance(node, ast.Call)]
    named = [each for each in calls if isinstance(each.func, ast.Attribute)]
    if any(last_name(each.func) in _TRAINS for each in named):
        return False
    gradients = [each for each in named if last_name(each.func) == "gradient"]
    return bool(gradients) and all(_model_of(program, each) for each in gradients)


def _is_called_in_steps(program: Program, name: str) -> bool:
    """Whether a model is called within functions and loops that hold a tape, and nowhere else, so that no
    model is built on it.
    """
    read = [node for statement in program for node in statement.nodes if _is_name(node, frozenset((name,)))]
    steps = [
        node
        for statement in program
        for node in statement.nodes
        if isinstance(node, _STEPS) and any(_is_a_tape(each) for each in ast.walk(node))
    ]
    called = {id(each.func) for step in steps for each in ast.walk(step) if isinstance(each, ast.Call)}
    asked = {
        id(node.value)
        for statement in program
        for node in statement.nodes
        if isinstance(node, ast.Attribute) and node.attr in _FIGURES
    }
    return bool(read) and all(id(each) in called or id(each) in asked for each in read)


def _is_called_under_a_tape(program: Program, name: str) -> bool:
    return any(
        _is_name(each, frozenset((name,)))
        for statement in program
        for node in statement.nodes
        if _is_a_tape(node)
        for each in ast.walk(node)
    )


_STEPS = (ast.FunctionDef, ast.For, ast.While)


def _is_a_tape(node: ast.AST) -> bool:
    return isinstance(node, ast.With) and any("GradientTape" in ast.unparse(each) for each in node.items)


def _is_frozen(program: Program, name: str) -> bool:
    """Whether the program sets `model.trainable = False`, and nothing else to it."""
    values = [
        node.value.value
        for statement in program
        for node in statement.nodes
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        if ast.unparse(node.targets[0]) == f"{name}.trainable"
    ]
    return values == [False]


def _trained(program: Program) -> Iterator[tuple[str, Line]]:
    """The names of the models that are trained, with the calls, in their order: `fit` and its like, and the
    gradient that a tape takes of a model's weights. Of a gradient within a function the call of that.
    """
    for statement in program:
        for node in statement.nodes:
            func = node.func if isinstance(node, ast.Call) else None
            if not isinstance(func, ast.Attribute) or not isinstance(node, ast.Call):
                continue
            of = func.value if func.attr in _TRAINS else None
            if func.attr == "gradient":
                of = _model_of(program, node)
            if isinstance(of, ast.Name):
                yield from _callers(program, of.id, statement, node)


def _model_of(program: Program, gradient: ast.Call) -> ast.Name | None:
    """The model whose weights a tape's gradient is for: `net.trainable_variables`, or a name that stands for
    them alone.
    """
    weights = gradient.args[1] if len(gradient.args) > 1 else None
    if isinstance(weights, ast.Name):
        values = [
            node.value
            for statement in program
            for node in statement.nodes
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == weights.id
        ]
        weights = values[0] if len(values) == 1 else None
    named = isinstance(weights, ast.Attribute) and weights.attr in _OF_A_GRADIENT
    of = weights.value if isinstance(weights, ast.Attribute) and named else None
    return of if isinstance(of, ast.Name) else None


def _callers(program: Program, name: str, statement: Statement, node: ast.Call) -> Iterator[tuple[str, Line]]:
    """The model and the line that train it: where a function of the program does, what it is given and the
    calls of it.
    """
    function = statement.node
    if not isinstance(function, ast.FunctionDef) or _binds(function, name):
        yield name, statement.line_of(node)
        return
    at = _place_of(function, name)
    calls = [
        (each, one)
        for each in program
        for one in each.nodes
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id == function.name
    ]
    if not calls:
        yield name, statement.line_of(node)
    for each, call in calls:
        given = call.args[at] if at is not None and at < len(call.args) else None
        yield (given.id if isinstance(given, ast.Name) else name), each.line_of(call)


def _place_of(function: ast.FunctionDef, name: str) -> int | None:
    return next((at for at, each in enumerate(function.args.args) if each.arg == name), None)


def _binds(node: ast.AST, name: str) -> bool:
    """Whether a name is bound inside a statement."""
    return any(
        isinstance(part, ast.Name) and part.id == name and isinstance(part.ctx, ast.Store)
        for part in ast.walk(node)
    )


def _unused(
    program: Program, model: ModelMade, models: tuple[ModelMade, ...], other: str, trains: Line
) -> Unused | None:
    """A model whose last reading stands before the training, in the same file and outside of functions."""
    read = [
        (statement.line_of(node), type(node.ctx))
        for statement in program
        for node in statement.nodes
        if isinstance(node, ast.Name) and node.id == model.name
    ]
    bound = [line for line, how in read if how is ast.Store]
    let_go = any(how is ast.Del for _, how in read)
    places = [line for line, how in read if how is ast.Load]
    if let_go or len(bound) != 1 or not places or any(line.source != trains.source for line in places):
        return None
    last = max(places, key=lambda line: line.number)
    others = {weight.shape for each in models if each is not model for weight in each.weights}
    own = tuple({weight.shape for weight in model.weights} - others)
    if max(last.number, model.line.number) >= trains.number or _within(program, model, trains):
        return None
    trains_another = any(each.name == other for each in models)
    if not own or not trains_another or not _only_figures(program, model.name):
        return None
    return Unused(model, last, trains, other, own)


def _within(program: Program, model: ModelMade, trains: Line) -> bool:
    """Whether a function makes it under that name, which lets it go at its end, or a loop makes it; not where
    the training stands in the same function.
    """
    for statement in program:
        for node in statement.nodes:
            if not isinstance(node, _AROUND) or not _binds(node, model.name):
                continue
            first, last = statement.span(node)
            together = first <= trains.number <= last and statement.line.source == trains.source
            if isinstance(node, ast.For | ast.While) or not together:
                return True
    return False


_AROUND = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.For, ast.While)


def _only_figures(program: Program, name: str) -> bool:
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
    return isinstance(node, ast.Name) and node.id in names and not isinstance(node.ctx, ast.Store)


def _goes_to_host(call: ast.Call) -> bool:
    root = call.func.value if isinstance(call.func, ast.Attribute) else None
    of_numpy = isinstance(root, ast.Name) and root.id in ("np", "numpy")
    return of_numpy or last_name(call.func) in ("numpy", "convert_to_numpy", "device_get")


_FIGURES = frozenset(
    {"predict", "predict_on_batch", "evaluate", "summary", "load_weights", "set_weights", "compile", "build"}
    | {"trainable", "count_params", "append"}
)
"""What is asked of a model, or done to it, that gives no tensor of the device."""
