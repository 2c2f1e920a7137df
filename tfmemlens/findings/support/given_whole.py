"""Arrays that a program gives TensorFlow whole: as it recorded the constants, else as its code makes them."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tfmemlens.findings.support.rows import all_in_use, attributed, tensor_in
from tfmemlens.model.attribution import Kind
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.line import Line
from tfmemlens.model.live_model import HeldTensors, Holder, LiveModel
from tfmemlens.model.tensor import TensorType
from tfmemlens.units import MIB
from tfmemlens.values import dataclass

if TYPE_CHECKING:
    from tfmemlens.knowledge.program_shapes import Made

_LEAST_BYTES, _LEAST_SHARE = 16 * MIB, 0.25


@dataclass(frozen=True, slots=True)
class GivenWhole:
    """An array that is held as a constant."""

    label: str
    """What the user calls it, with its line."""
    bytes: int
    block_bytes: int
    line: Line | None = None
    recorded: bool = False
    """Whether the program recorded it; else its bytes fit, and no more is known."""
    name: str | None = None
    """The variable that holds it, as far as the program recorded one."""
    call: str = ""
    """What copied it, with its line: `fit`; empty where a constant holds it."""
    together: tuple[tuple[str, TensorType], ...] = ()
    """All arrays of that call as the program names them, in its order, where it is known."""


def held_whole(case: Case, moment: Moment) -> GivenWhole | None:
    """The largest, where it holds a good part of what is in use."""
    found = _recorded(case, moment) or _copied(case, moment) or _by_the_code(case, moment)
    least = max(_LEAST_BYTES, int(_LEAST_SHARE * all_in_use(moment)))
    return found if found and found.block_bytes >= least else None


def of_bytes(case: Case, low: int, high: int, block: int = 0) -> GivenWhole | None:
    """The one array that the code gives whole with so many bytes."""
    fitting = [each for each in _given(case) if low <= each.bytes <= high and each.bytes >= _LEAST_BYTES]
    lines = {(each.line.source, each.line.number) for each in fitting}
    if len(lines) != 1:
        return None
    made = fitting[0]
    return GivenWhole(f"`{made.code}` ({made.line.place})", made.bytes, block or made.bytes, made.line)


def held_alone(case: Case, moment: Moment) -> GivenWhole | None:
    """The one tensor that a name of the program's held at the failure, which fits the largest block alone and
    was counted for it.
    """
    table = moment.attribution.table
    if attributed(moment) or not len(table):
        return None
    chunk = max(table, key=lambda row: row.size_bytes)
    low, high = tensor_in(chunk, moment)
    fitting = [
        (group, holder)
        for group in case.capture.living
        for holder in group.holders
        if group.count == holder.count == 1 and low <= group.bytes <= high
    ]
    if chunk.count != 1 or len(fitting) != 1 or fitting[0][0].bytes < _LEAST_BYTES:
        return None
    group, holder = fitting[0]
    counted = moment.counted.ranked if moment.counted else ()
    its_block = any(
        owner.kind is Kind.HELD and owner.layer == holder.name and row.size_bytes == chunk.size_bytes
        for row, owner, _ in counted
    )
    if not its_block or holder.name is None or holder.kind != _VARIABLE:
        return None
    place = f" ({holder.place})" if holder.place else ""
    label = f"`{holder.name}`{place}, {group.tensor}"
    return GivenWhole(label, group.bytes, chunk.size_bytes, holder.line, recorded=True, name=holder.name)


_VARIABLE = "variable"
"""What the recorder calls a name of a function or module that holds the tensor itself."""


def _recorded(case: Case, moment: Moment) -> GivenWhole | None:
    model = case.capture.live_model
    if model is None or moment.counted is None or not model.constants:
        return None
    names = {each.name for each in model.constants}
    for row, owner, _ in moment.counted.ranked:
        if row.node in names and owner.kind is Kind.CONSTANT and row.count == 1:
            size = row.requested_bytes or row.size_bytes
            label, line = _placed(case, model, row.node, size)
            return GivenWhole(label, size, row.size_bytes, line, recorded=True)
    return None


def _copied(case: Case, moment: Moment) -> GivenWhole | None:
    """The array of the program's that a call took whole, by the copy that was counted."""
    given = [(group, holder) for group, holder in _given_arrays(case) if holder.call in _TAKE_ALL]
    for row, owner, _ in moment.counted.ranked if moment.counted else ():
        for group, holder in given:
            same = owner.layer == holder.name and (row.shape, row.dtype) == (
                group.tensor.shape,
                group.tensor.dtype,
            )
            if same and row.count == 1:
                place = f" ({holder.place})" if holder.place else ""
                return GivenWhole(
                    f"`{holder.name}`, {group.tensor},",
                    group.tensor.bytes or 0,
                    row.size_bytes,
                    holder.line,
                    recorded=True,
                    name=holder.name,
                    call=f"`{holder.call}`{place}",
                    together=_in_order(case, holder),
                )
    return None


_TAKE_ALL = ("fit", "evaluate", "predict", "from_tensor_slices", "from_tensors")
"""Calls that make one tensor of a whole array, and batches of it afterwards."""


def _given_arrays(case: Case) -> list[tuple[HeldTensors, Holder]]:
    return [(group, each) for group in case.capture.living for each in group.holders if each.is_given]


def _in_order(case: Case, first: Holder) -> tuple[tuple[str, TensorType], ...]:
    """What the call of one array takes, in its order; empty where that is not known of all that it takes."""
    where = (first.file, first.code_line, first.call)
    same = {
        each.name: group.tensor
        for group, each in _given_arrays(case)
        if each.name and (each.file, each.code_line, each.call) == where
    }
    for statement in case.capture.surroundings.program():
        for node in ast.walk(statement.node):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                names = [ast.unparse(each) for each in _data(node)]
                if node.func.attr == first.call and first.name in names and {*names} <= {*same}:
                    return tuple((name, same[name]) for name in names)
    return ()


def _data(call: ast.Call) -> list[ast.expr]:
    """What a call takes of a data set: of `fit` the first two, of the others the first, out of a tuple."""
    several = isinstance(call.func, ast.Attribute) and call.func.attr in ("fit", "evaluate")
    taken = call.args[: 2 if several else 1]
    taken += [each.value for each in call.keywords if each.arg in ("x", "y", "sample_weight", "tensors")]
    if len(taken) == 1 and isinstance(taken[0], ast.Tuple):
        return taken[0].elts
    return taken


def _placed(case: Case, model: LiveModel, name: str, size: int) -> tuple[str, Line | None]:
    """The constant's name with its line, as far as the recorder or the code tells it."""
    op = name.rpartition("/")[2]
    place = next((each for each in model.places if {name, op} & {*each.ops}), None)
    if place is not None:
        return f"`{op}` ({place.file}:{place.code_line})", None
    by_code = of_bytes(case, size, size)
    return (by_code.label, by_code.line) if by_code else (f"`{name}`", None)


def _by_the_code(case: Case, moment: Moment) -> GivenWhole | None:
    """The array that fits the largest block alone, where nothing names blocks."""
    if attributed(moment) or not len(moment.attribution.table):
        return None
    chunk = max(moment.attribution.table, key=lambda row: row.size_bytes)
    if chunk.count != 1 or chunk.size_bytes < _LEAST_BYTES:
        return None
    return of_bytes(case, *tensor_in(chunk, moment), block=chunk.size_bytes)


def _given(case: Case) -> Sequence[Made]:
    program = case.capture.surroundings.program()
    if not program:
        return ()
    from tfmemlens.knowledge.program_shapes import Role, made_by

    return [each for each in made_by(program) if each.role is Role.GIVEN]
