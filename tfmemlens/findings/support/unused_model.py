"""A model that is alive while another one trains, though nothing of the program reads it any more."""

from __future__ import annotations

import ast
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from tfmemlens.findings.support.many_alike import size_classes
from tfmemlens.findings.support.model_readings import binds, reads_figures_alone
from tfmemlens.findings.support.rows import all_in_use
from tfmemlens.findings.support.trained_models import models, trained
from tfmemlens.knowledge.stack_frames import user_frame
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.case import Moment
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program
from tfmemlens.patterns import regex
from tfmemlens.units import round_up
from tfmemlens.values import dataclass

if TYPE_CHECKING:
    from tfmemlens.knowledge.keras_program.models import ModelMade

_WORTH_A_LOOK = regex(r"\.(?:fit|fit_generator|train_on_batch|gradient)\(")


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
    trains = trained(program)
    if not trains:
        return None
    made = models(program)
    found = [
        one
        for each in made
        if each.name not in {name for name, _ in trains}
        for one in [_unused(program, each, made, *trains[0])]
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


def _unused(
    program: Program, model: ModelMade, made: tuple[ModelMade, ...], other: str, trains: Line
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
    others = {weight.shape for each in made if each is not model for weight in each.weights}
    own = tuple({weight.shape for weight in model.weights} - others)
    if max(last.number, model.line.number) >= trains.number or _within(program, model, trains):
        return None
    trains_another = any(each.name == other for each in made)
    if not own or not trains_another or not reads_figures_alone(program, model.name):
        return None
    return Unused(model, last, trains, other, own)


def _within(program: Program, model: ModelMade, trains: Line) -> bool:
    """Whether a function makes it under that name, which lets it go at its end, or a loop makes it; not where
    the training stands in the same function.
    """
    for statement in program:
        for node in statement.nodes:
            if not isinstance(node, _AROUND) or not binds(node, model.name):
                continue
            first, last = statement.span(node)
            together = first <= trains.number <= last and statement.line.source == trains.source
            if isinstance(node, ast.For | ast.While) or not together:
                return True
    return False


_AROUND = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.For, ast.While)
