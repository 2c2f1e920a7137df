"""The constant of the program that makes a side of a tensor: `MAX_SHIFT = 64`, where the line that failed, or
the call that made its layer, depends on it and a side has its value.

Both are asked for, the value and the use: a side of 64 has that value by chance in many programs. Of several
that fit the nearest is meant; where several are as near, the one that is far larger than the others, else
none. What is odd goes first: frames that overlap many times, a large kernel's side, rows that are a batch
times a constant. The sides of pictures are the data's, and no constant to lower in a program that draws them.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING

from tfmemlens.findings.support.named_sizes import Meaning, meaning_of
from tfmemlens.findings.support.own_forms import (
    BATCHES,
    LEAST,
    OwnConstant,
    bracketed,
    joins,
    layers_in_a_row,
    of_folded,
    of_hop,
    of_kernel,
    of_sum,
    of_written,
    one_of,
    split_into,
)
from tfmemlens.findings.support.rows import all_in_use, device_limit
from tfmemlens.knowledge.stack_frames import number_in
from tfmemlens.model.attribution import Kind
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.program import Program
from tfmemlens.patterns import regex
from tfmemlens.values import replace

if TYPE_CHECKING:
    from tfmemlens.knowledge.program_constants import ProgramConstants, Reached

_LEAST_FACTOR = 8
"""A smaller factor of a flat tensor is met by chance."""
_LEAST_SHARE, _MOST = 0.1, 0.5
"""Of what is in use: what a request asks for, or else what its layer holds."""
_KINDS_OF_A_TASK = 1000
"""Fewer kinds than this are those of the task; so many words or items are a choice."""
_MOST_FACTORS = 5
_MOSTLY = 0.8
"""Of the rows of one sample: what a constant makes so much of."""
_FIXED = regex(r"(?i)class|label|steps\Z|epoch|seed|iter|channels?_in|colou?rs?\Z")
"""Names of numbers that the task sets, or that make nothing larger."""
_COUNTS_KINDS = (
    r"\b(?:one_hot|to_categorical)\([^()]{{0,60}},\s*{0}\b|\b(?:integers|randint)\((?:\s*[01]\s*,)?\s*{0}\b"
)
_PLACE = regex(r"\(([^()]{1,80}\.py):(\d+)\)")


def own_constant(case: Case, moment: Moment, batch: int | None) -> OwnConstant | None:
    """The one that the failed tensor comes from; None where the program shows none, or several."""
    program = case.capture.surroundings.program()
    if not program or moment.request is None:
        return None
    shape, starts = _wanted(moment.request, moment)
    if not shape or not starts or min(shape) < 1 or not _is_much(moment):
        return None
    constants = _constants(program)
    if moment.request.owner.kind is Kind.WORKSPACE:
        limit, need = device_limit(case, moment), moment.request.failed.tensor_bytes
        room = _OF_A_LIMIT * limit.bytes / need if limit and need else 1 / 2
        layer = (moment.request.owner.layer or "").rpartition("/")[2]
        if kernel := of_kernel(constants, layer, shape, room):
            return kernel
    if _is_of_weights(moment.request) and (
        written := of_written(constants, constants.written(shape), shape, False)
    ):
        return written
    found = _found(program, shape, starts, batch)
    return None if found and found.value == squared_batch(case, moment) else found


def squared_batch(case: Case, moment: Moment) -> int | None:
    """The batch that the step was given, where the failed tensor begins with its square: every sample with
    every sample. A setting of the same value has no part in it.
    """
    live, shape = case.capture.live_model, moment.request.failed.shape if moment.request else None
    batch = (live.failed_batch or live.batch) if live else None
    return batch if batch and shape and batch > 1 and shape[0] == batch * batch else None


def own_batch(case: Case, moment: Moment) -> int | None:
    """The batch, where a constant of the program makes the rows a multiple of it; None elsewhere."""
    shape = moment.request.failed.shape if moment.request else None
    if moment.request is None or moment.request.fixed or len(shape or ()) < _LEAST_RANK:
        return None
    if (frames := _folded_frames(case, moment.request)) > 1:
        rows_of = shape[0] if shape else None
        return rows_of // frames if rows_of else None
    found = own_constant(case, moment, None)
    return found.batch if found else None


_LEAST_RANK = 3
_BY_TIME = regex(r"(?i)\btime_?distributed")


def _folded_frames(case: Case, request: Request) -> int:
    """How many frames of each sample Keras's TimeDistributed makes rows of the tensor that failed: the first
    side of the one input of the program that has one more; 0 where nothing tells.
    """
    shape, program = request.failed.shape or (), case.capture.surroundings.program()
    if not program or not shape or not shape[0] or not _BY_TIME.search(request.failed.node or ""):
        return 0
    from tfmemlens.knowledge.keras_program.inputs import input_shapes

    frames = {sides[0] for sides in input_shapes(program) if len(sides) == len(shape)}
    rows_of = shape[0]
    return frames.pop() if len(frames) == 1 and all(rows_of % each == 0 for each in frames) else 0


def batch_parts(case: Case) -> int:
    """Into how many equal parts the program splits its batch; 1 where it shows none."""
    program = case.capture.surroundings.program()
    return split_into(_constants(program)) if program else 1


def own_layers(case: Case, moment: Moment) -> OwnConstant | None:
    """The constant that makes so many layers in the block that failed, or in the one that holds most."""
    program, request = case.capture.surroundings.program(), moment.request
    if not program or request is None or request.fixed:
        return None
    layers = [request.owner.layer or ""]
    layers += [group.name or "" for group in moment.drawn.by("layer")[:1]]
    constants = _constants(program)
    return next(filter(None, (layers_in_a_row(constants, each) for each in layers if each)), None)


def _is_of_weights(request: Request) -> bool:
    kinds = (Kind.PARAMETER, Kind.OPTIMIZER_SLOT)
    return request.fixed or request.failed.updating or request.failed.creating or request.owner.kind in kinds


@lru_cache(maxsize=2)
def _constants(program: Program) -> ProgramConstants:
    from tfmemlens.knowledge.program_constants import ProgramConstants  # reads trees

    return ProgramConstants(program)


_OF_A_LIMIT = 0.25


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
    constants = _constants(program)
    files = {each.line.source for each in program if each.line.source}
    for start in starts:
        reached = _reached(constants, start, files)
        chosen = [each for each in reached if not _is_of_the_task(each, program)]
        if found := _by_its_line(constants, start, files, shape) or _of_rows(chosen, shape, batch):
            return found
        if folded := of_folded(constants, reached, chosen, shape, batch):
            return folded
        statement = _statement(constants, start, files)
        beside = statement is not None and joins(statement)
        if summed := of_sum(constants, reached, chosen, shape, beside):
            return summed
        if constants.calls(*_DRAWS_PICTURES):
            sides = {each.constant.value for each in chosen if _is_of_pictures(each)}
            chosen = [each for each in chosen if each.constant.value not in sides]
        if found := _chosen(reached, chosen, shape, batch):
            return found
    return None


_DRAWS_PICTURES = ("Conv2DTranspose", "conv2d_transpose", "UpSampling2D", "depth_to_space", "Conv3DTranspose")


def _is_of_pictures(each: Reached) -> bool:
    return meaning_of(each.constant.name) is Meaning.IMAGE


def _statement(constants: ProgramConstants, start: str, files: set[str]) -> ast.stmt | None:
    """The statement of a place, where it is one of the program's."""
    for file in files:
        if (number := number_in(start, file)) is not None:
            return constants.statement_at(file, number)
    return None


def _by_its_line(
    constants: ProgramConstants, start: str, files: set[str], shape: tuple[int, ...]
) -> OwnConstant | None:
    """What stands in the failing line itself: the step between frames, or the whole shape."""
    statement = _statement(constants, start, files)
    inside = [*ast.walk(statement)] if statement else []
    calls = [each for each in inside if isinstance(each, ast.Call)]
    if hop := of_hop(constants, calls, shape):
        return hop
    written = [each for each in constants.written(shape) if any(each.node is node for node in inside)]
    return of_written(constants, written, shape, True) if written else None


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
        if each.constant.value >= LEAST
        and each.constant.value in sides
        and not BATCHES.search(each.constant.name)
    ]
    nearest = [each for each in fit if each.steps == fit[0].steps]
    if chosen := one_of(nearest):
        value, name = chosen.constant.value, chosen.constant.name
        told = bracketed(shape)
        says, it = f"the {value:,} of {told} is `{name}`", f"it is the {value:,} of {told}"
        return OwnConstant(name, value, chosen.constant.line, says, it, _power(sides, value, name))
    if len(nearest) == _TWO:  # either may be meant: both are told
        first, other = sorted(nearest, key=lambda each: -each.constant.value)
        found = _chosen(reached, [first], shape, batch)
        return (
            replace(
                found,
                also=f"; or `{other.constant.name}` ({other.constant.value:,}, {other.constant.line.place})",
            )
            if found
            else None
        )
    return None


_TWO = 2


def _power(sides: Sequence[int], value: int, name: str) -> int:
    """With what power a tensor grows with a side that it has twice: of a picture, or where its last two are
    of each with each; elsewhere one of them may have the value by chance.
    """
    alike = meaning_of(name) is Meaning.IMAGE or tuple(sides[-2:]) == (value, value)
    return min(sides.count(value), 2) if alike else 1


def _begins_with_batch(reached: Sequence[Reached], shape: tuple[int, ...], batch: int | None) -> bool:
    named = any(
        each.constant.value == shape[0] and BATCHES.search(each.constant.name) is not None for each in reached
    )
    return len(shape) > 2 or named or batch == shape[0]


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
    chosen = one_of([each for each in parts if each in choice and not BATCHES.search(each.constant.name)])
    if chosen is None:
        return None
    told = " x ".join(f"{each.constant.value:,} (`{each.constant.name}`)" for each in parts)
    product = " x ".join(f"{each.constant.value:,}" for each in parts)
    says, it = f"[{number}] is {told}", f"it is a factor of [{number}], {product}"
    return OwnConstant(chosen.constant.name, chosen.constant.value, chosen.constant.line, says, it)


def _of_rows(reached: Sequence[Reached], shape: tuple[int, ...], batch: int | None) -> OwnConstant | None:
    """Of rows that a batch of samples looked up: the constant that most rows of a sample come from."""
    if len(shape) != 2 or not batch or batch < 2 or shape[0] % batch or shape[0] < LEAST * batch:
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
