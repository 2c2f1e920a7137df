"""The constant of the program that makes a side of a tensor: `MAX_SHIFT = 64`, where the line that failed, or
the call that made its layer, depends on it and a side has its value.

Both are asked for, the value and the use: a side of 64 has that value by chance in many programs. Of several
that fit the nearest is meant; where several are as near, the one that is far larger than the others, else
none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from tfmemlens.findings.support.named_sizes import Meaning, meaning_of
from tfmemlens.findings.support.rows import all_in_use
from tfmemlens.knowledge.stack_frames import number_in
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program
from tfmemlens.patterns import regex
from tfmemlens.values import dataclass

if TYPE_CHECKING:
    from tfmemlens.knowledge.program_constants import ProgramConstants, Reached

_LEAST, _LEAST_FACTOR = 24, 8
"""A smaller side, or factor of a flat one, is met by chance."""
_FAR_LARGER = 4
_LEAST_SHARE, _MOST = 0.1, 0.5
"""Of what is in use: what a request asks for, or else what its layer holds."""
_KINDS_OF_A_TASK = 1000
"""Fewer kinds than this are those of the task; so many words or items are a choice."""
_MOST_FACTORS = 5
_MOSTLY = 0.8
"""Of the rows of one sample: what a constant makes so much of."""
_BATCHES = regex(r"(?i)batch|per_step\Z|\Abs\Z")
_FIXED = regex(r"(?i)class|label|steps\Z|epoch|seed|iter|channels?_in|colou?rs?\Z")
"""Names of numbers that the task sets, or that make nothing larger."""
_COUNTS_KINDS = (
    r"\b(?:one_hot|to_categorical)\([^()]{{0,60}},\s*{0}\b|\b(?:integers|randint)\((?:\s*[01]\s*,)?\s*{0}\b"
)
_PLACE = regex(r"\(([^()]{1,80}\.py):(\d+)\)")


@dataclass(frozen=True, slots=True)
class OwnConstant:
    """A constant that makes a tensor large."""

    name: str
    value: int
    line: Line
    says: str
    """How the tensor comes from it: `the 64 of [4,64,96,160,24] is `MAX_SHIFT``."""
    it: str
    """The same of it alone: `it is the 64 of [4,64,96,160,24]`."""
    power: int = 1
    """With what power the tensor grows with it."""
    part: float = 1.0
    """What part of the tensor is made by it."""


def own_constant(case: Case, moment: Moment, batch: int | None) -> OwnConstant | None:
    """The one that the failed tensor comes from; None where the program shows none, or several."""
    program = case.capture.surroundings.program()
    if not program or moment.request is None:
        return None
    shape, starts = _wanted(moment.request, moment)
    if not shape or not starts or min(shape) < 1 or not _is_much(moment):
        return None
    return _found(program, shape, starts, batch)


def held_by_its_layer(moment: Moment) -> int:
    """Bytes that the layer of the failed request holds with all within it, as the program counted."""
    layer = moment.request.owner.layer if moment.request else None
    if not layer or moment.counted is None:
        return 0
    groups = moment.counted.by("layer")
    return sum(each.total_bytes for each in groups if f"{each.name}/".startswith(f"{layer}/"))


def _is_much(moment: Moment) -> bool:
    """Whether the request is a good part of what is in use, or its layer holds most of that."""
    in_use = max(all_in_use(moment), 1)
    need = moment.request.needed_bytes if moment.request else None
    return (need or 0) >= _LEAST_SHARE * in_use or held_by_its_layer(moment) >= _MOST * in_use


def _wanted(request: Request, moment: Moment) -> tuple[tuple[int, ...], list[str]]:
    """The shape to explain, and where to begin: places, names of layers."""
    failed, layer = request.failed, request.owner.layer or ""
    starts = [failed.source or ""]
    starts += [f"{file}:{line}" for file, line in _PLACE.findall(layer)]
    starts += [layer.rpartition("/")[2]]
    starts += [
        f"{file}:{line}"
        for group in moment.drawn.by("layer")[:2]
        for file, line in _PLACE.findall(group.name or "")
    ]
    return tuple(size or 0 for size in failed.shape or ()), [each for each in dict.fromkeys(starts) if each]


def _found(
    program: Program, shape: tuple[int, ...], starts: Sequence[str], batch: int | None
) -> OwnConstant | None:
    from tfmemlens.knowledge.program_constants import ProgramConstants  # reads trees

    constants = ProgramConstants(program)
    files = {each.line.source for each in program if each.line.source}
    for start in starts:
        reached = _reached(constants, start, files)
        chosen = [each for each in reached if not _is_of_the_task(each, program)]
        if found := _of_rows(chosen, shape, batch) or _chosen(reached, chosen, shape, batch):
            return found
    return None


def _is_of_the_task(each: Reached, program: Program) -> bool:
    """Whether it counts the kinds that the task tells apart, or what begins no tensor of the net's."""
    name, value = each.constant.name, each.constant.value
    if _FIXED.search(name):
        return True
    counted = _COUNTS_KINDS.format(re.escape(name))
    return value < _KINDS_OF_A_TASK and any(
        name in line.text and re.search(counted, line.text)
        for statement in program
        for line in statement.lines
    )


def _reached(constants: ProgramConstants, start: str, files: set[str]) -> list[Reached]:
    for file in files:
        if (number := number_in(start, file)) is not None:
            return constants.at_line(file, number)
    return constants.of_layer(start) if re.fullmatch(r"[A-Za-z_]\w{1,60}", start) else []


def _chosen(
    reached: Sequence[Reached], choice: Sequence[Reached], shape: tuple[int, ...], batch: int | None
) -> OwnConstant | None:
    if len(shape) == 1:
        return _of_a_product(reached, choice, shape[0])
    sides = shape[1:] if _begins_with_batch(reached, shape, batch) else shape
    fit = [
        each
        for each in choice
        if each.constant.value >= _LEAST
        and each.constant.value in sides
        and not _BATCHES.search(each.constant.name)
    ]
    nearest = [each for each in fit if each.steps == fit[0].steps]
    if chosen := _one_of(nearest):
        value, name = chosen.constant.value, chosen.constant.name
        told = "[" + ",".join(map(str, shape)) + "]"
        says, it = f"the {value:,} of {told} is `{name}`", f"it is the {value:,} of {told}"
        return OwnConstant(name, value, chosen.constant.line, says, it, min(sides.count(value), 2))
    return None


def _begins_with_batch(reached: Sequence[Reached], shape: tuple[int, ...], batch: int | None) -> bool:
    named = any(
        each.constant.value == shape[0] and _BATCHES.search(each.constant.name) is not None
        for each in reached
    )
    return len(shape) > 2 or named or batch == shape[0]


def _one_of(fit: Sequence[Reached]) -> Reached | None:
    """The only one, or the one that is no side of an image, or far larger than the rest."""
    if len(fit) > 1:
        fit = [each for each in fit if meaning_of(each.constant.name) is not Meaning.IMAGE] or fit
    fit = sorted(fit, key=lambda each: -each.constant.value)
    alone = len(fit) == 1 or (len(fit) > 1 and fit[0].constant.value >= _FAR_LARGER * fit[1].constant.value)
    return fit[0] if alone else None


def _of_a_product(reached: Sequence[Reached], choice: Sequence[Reached], number: int) -> OwnConstant | None:
    """Of a flat tensor: constants whose product it is, in one way only."""
    known = {each.constant.name: each for each in reached if each.constant.value >= _LEAST_FACTOR}
    ways = [
        way
        for count in range(2, _MOST_FACTORS + 1)
        for way in combinations(sorted(known), count)
        if math.prod(known[name].constant.value for name in way) == number
    ]
    if len(ways) != 1:
        return None
    parts = [known[name] for name in ways[0]]
    chosen = _one_of([each for each in parts if each in choice and not _BATCHES.search(each.constant.name)])
    if chosen is None:
        return None
    told = " x ".join(f"{each.constant.value:,} (`{each.constant.name}`)" for each in parts)
    product = " x ".join(f"{each.constant.value:,}" for each in parts)
    says, it = f"[{number}] is {told}", f"it is a factor of [{number}], {product}"
    return OwnConstant(chosen.constant.name, chosen.constant.value, chosen.constant.line, says, it)


def _of_rows(reached: Sequence[Reached], shape: tuple[int, ...], batch: int | None) -> OwnConstant | None:
    """Of rows that a batch of samples looked up: the constant that most rows of a sample come from."""
    if len(shape) != 2 or not batch or batch < 2 or shape[0] % batch or shape[0] < _LEAST * batch:
        return None
    rows = shape[0] // batch
    most = [each.constant for each in reached if _MOSTLY * rows <= each.constant.value <= rows]
    if len(most) != 1:
        return None
    constant = most[0]
    name = f" (`{constant.name}`)" if constant.value == rows else ""
    which = "" if name else f", of which {constant.value:,} are `{constant.name}`"
    says = f"{shape[0]:,} rows are {batch:,} samples x {rows:,}{name}{which}"
    it = f"it makes {constant.value:,} of the {rows:,} rows of each of {batch:,} samples"
    return OwnConstant(constant.name, constant.value, constant.line, says, it, 1, constant.value / rows)
