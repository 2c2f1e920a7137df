"""A model that is alive while another one trains, though nothing of the program reads it any more."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from tfmemlens.findings.support.many_alike import size_classes
from tfmemlens.findings.support.rows import all_in_use
from tfmemlens.knowledge.stack_frames import user_frame
from tfmemlens.knowledge.tree_values import last_name
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.case import Moment
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program
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
    from tfmemlens.knowledge.keras_program.models import models_of

    models = models_of(program)
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
    trained = {name for name, _ in _trained(program)}
    if not trained:
        return False
    from tfmemlens.knowledge.keras_program.models import models_of

    owners = [each.name for each in models_of(program) if any(one.shape == shape for one in each.weights)]
    return bool(owners) and all(
        name not in trained and (_is_frozen(program, name) or _only_figures(program, name)) for name in owners
    )


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
    gradient that a tape takes of a model's weights.
    """
    for statement in program:
        for node in statement.nodes:
            func = node.func if isinstance(node, ast.Call) else None
            if not isinstance(func, ast.Attribute) or not isinstance(node, ast.Call):
                continue
            of = func.value if func.attr in _TRAINS else None
            if func.attr == "gradient" and len(node.args) > 1:
                weights = node.args[1]
                named = isinstance(weights, ast.Attribute) and weights.attr in _OF_A_GRADIENT
                of = weights.value if isinstance(weights, ast.Attribute) and named else None
            if isinstance(of, ast.Name):
                yield of.id, statement.line_of(node)


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
    if max(last.number, model.line.number) >= trains.number or _within(program, model):
        return None
    trains_another = any(each.name == other for each in models)
    if not own or not trains_another or not _only_figures(program, model.name):
        return None
    return Unused(model, last, trains, other, own)


def _within(program: Program, model: ModelMade) -> bool:
    """Whether a function makes it under that name, which lets it go at its end, or a loop makes it."""
    around = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.For | ast.While
    return any(
        isinstance(part, ast.Name) and part.id == model.name and isinstance(part.ctx, ast.Store)
        for statement in program
        for node in statement.nodes
        if isinstance(node, around)
        for part in ast.walk(node)
    )


def _only_figures(program: Program, name: str) -> bool:
    """Whether every reading of a model asks for figures of it: nothing else is built on it or is given it."""
    for statement in program:
        for node in statement.nodes:
            if isinstance(node, ast.stmt) and not _is_simple(node, name):
                return False
    return True


def _is_simple(statement: ast.stmt, name: str) -> bool:
    """The same of one statement by itself: `predict`, or a call whose result goes to the host at once."""
    if isinstance(statement, ast.For | ast.While | ast.With | ast.If | ast.Try):
        return True  # of what stands inside it is asked by itself
    inside = [*ast.walk(statement)]
    loads = sum(_is_name(node, name) for node in inside)
    if not loads:
        return True
    to_host = any(isinstance(node, ast.Call) and _goes_to_host(node) for node in inside)
    figures = sum(
        isinstance(node, ast.Attribute) and node.attr in _FIGURES and _is_name(node.value, name)
        for node in inside
    )
    calls = sum(isinstance(node, ast.Call) and _is_name(node.func, name) for node in inside)
    return loads == figures + (calls if to_host else 0)


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Store)


def _goes_to_host(call: ast.Call) -> bool:
    root = call.func.value if isinstance(call.func, ast.Attribute) else None
    of_numpy = isinstance(root, ast.Name) and root.id in ("np", "numpy")
    return of_numpy or last_name(call.func) in ("numpy", "convert_to_numpy", "device_get")


_FIGURES = frozenset(
    {"predict", "predict_on_batch", "evaluate", "summary", "load_weights", "set_weights", "compile", "build"}
    | {"trainable", "count_params"}
)
"""What is asked of a model, or done to it, that gives no tensor of the device."""
