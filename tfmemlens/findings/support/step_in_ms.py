"""Frames of a signal whose step is given in milliseconds where samples are meant."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from tfmemlens.findings.support.on_the_way.code import CodePart, argument, failed_at, is_call, parts
from tfmemlens.findings.support.program_lines import figures_by_name
from tfmemlens.knowledge.tree_values import last_name, written_number
from tfmemlens.model.case import Case, Request
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program
from tfmemlens.patterns import regex

_FRAMES = ("stft", "frame")
_IN_MS = regex(r"(?i)(?:_|\b)(?:ms|msecs?|millis\w*)\Z")
_RATE = regex(r"(?i)(?:sample_?|sampling_?|\b)(?:rate|sr|fs|hz|frequency)\b")


class StepInMs(NamedTuple):
    """The setting that is given as the step, its figure, and what makes samples of the length."""

    name: str
    samples: int | None
    rate: int | None
    line: Line
    length: str


def step_in_ms(case: Case, request: Request) -> StepInMs | None:
    """A step whose name ends in milliseconds, unconverted, beside a length that a rate makes into samples; of
    a line that the failure goes through, or the only one.
    """
    program = case.capture.surroundings.program()
    found = [each for part in parts(program) for each in _steps(part)] if program else []
    here = [each for each in found if failed_at(request, each[2])] or (found if len(found) == 1 else [])
    if not here:
        return None
    step, length, line = here[0]
    numbers = _numbers(case, program)
    rate = next((numbers[name] for name in _names(length) if _RATE.search(name) and name in numbers), None)
    name = last_name(step)
    return StepInMs(name, numbers.get(name), rate, line, ast.unparse(length))


def _steps(part: CodePart) -> Iterator[tuple[ast.expr, ast.expr, Line]]:
    for call, line in part.calls():
        if not is_call(call, *_FRAMES):
            continue
        length, step = argument(call, 1, "frame_length"), argument(call, 2, "frame_step")
        if length is None or step is None:
            continue
        length, step = part.value_of(length, line.number), part.value_of(step, line.number)
        converted = any(_RATE.search(name) for name in _names(length))
        if converted and isinstance(step, (ast.Name, ast.Attribute)) and _IN_MS.search(last_name(step)):
            yield step, length, line


def _names(node: ast.expr) -> list[str]:
    return [last_name(each) for each in ast.walk(node) if isinstance(each, (ast.Name, ast.Attribute))]


def _numbers(case: Case, program: Program) -> dict[str, int]:
    """Settings of the program, and what its calls are given by name."""
    given = {
        node.arg: figure
        for statement in program
        for node in statement.nodes
        if isinstance(node, ast.keyword) and node.arg and (figure := written_number(node.value))
    }
    return {**given, **figures_by_name(case.capture.surroundings)}
