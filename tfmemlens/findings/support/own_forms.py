"""How a constant of the program makes a tensor large: as the side that it names, as a factor of the rows, in
a shape that the program writes (`(GRID ** 3, FEATURES)`), with a few more beside it (800 kinds and 3
colours), as the side of a kernel, the step between frames, the number of layers in a row.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tfmemlens.findings.support.named_sizes import Meaning, meaning_of
from tfmemlens.knowledge.tree_values import last_name
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.values import dataclass

if TYPE_CHECKING:
    from tfmemlens.knowledge.program_constants import CodeScope, ProgramConstants, Reached, WrittenSize

BATCHES = regex(r"(?i)batch|per_step\Z|\Abs\Z")
LEAST = 24
"""A smaller side is met by chance."""
_FAR_LARGER = 4
_LEAST_ROWS, _LEAST_TIMES = 48, 4
_MOST_BESIDE, _MOSTLY = 16, 0.8
_FEW_OVERLAPS = 4
_LEAST_IN_A_ROW = 6
_PLACED = ("`)", ".py", ".ipynb")
"""How a cause ends that has its places."""


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
    leads: bool = False
    """Whether the program writes the whole shape, so that no batch makes it smaller."""
    of_pairs: bool = False
    """Whether the shape is of each with each: two sides that are written alike."""
    to: int | None = None
    """The value to take, where its use tells."""
    also: str = ""
    """Another way, or another constant, in words."""
    batch: int | None = None
    """The true batch, where it is a factor of the rows beside it."""
    repeated: str = ""
    """The call that makes as many copies of each row, with its place."""
    kinds: str = ""
    """The one-hot call that makes as many channels of it, where the kinds are the task's: nothing to
    lower."""

    @property
    def cause(self) -> str:
        """Why it is this large, with the line of the constant."""
        return f"{self.says} ({self.line.place})" if not self.says.endswith(_PLACED) else self.says


def one_of(fit: Sequence[Reached]) -> Reached | None:
    """The only one, or the one that is no side of an image, or far larger than the rest."""
    if len(fit) > 1:
        fit = [each for each in fit if meaning_of(each.constant.name) is not Meaning.IMAGE] or fit
    fit = sorted(fit, key=lambda each: -each.constant.value)
    alone = len(fit) == 1 or (len(fit) > 1 and fit[0].constant.value >= _FAR_LARGER * fit[1].constant.value)
    return fit[0] if alone else None


def bracketed(shape: Sequence[int]) -> str:
    """`[16,64,64]`."""
    return "[" + ",".join(map(str, shape)) + "]"


def of_folded(
    constants: ProgramConstants,
    reached: Sequence[Reached],
    choice: Sequence[Reached],
    shape: Sequence[int],
    batch: int | None,
) -> OwnConstant | None:
    """Rows that are a batch times a constant: 3,200 are 32 scans x 100 draws."""
    rows = shape[0]
    known = [*constants.constants.values()]
    if len(shape) < 2 or rows < _LEAST_ROWS or any(each.value == rows for each in known):
        return None
    named = {each.value: each.name for each in known if BATCHES.search(each.name)}
    leading = {each.value: each.name for each in known if _leads(constants, each.name)}
    used = {each.constant.value: each.constant.name for each in reached}
    ways = []
    for each in choice:
        value = each.constant.value
        if value < _LEAST_TIMES or rows % value or BATCHES.search(each.constant.name) or rows == value:
            continue
        other = rows // value
        if other != value and (value == batch or value in named):
            continue  # that factor is the batch, whose number this constant has by chance
        name = named.get(other) or leading.get(other) or used.get(other, "")
        sure = other == batch or other in named
        if sure or (name and name != each.constant.name and value >= LEAST):
            ways.append((not sure, other not in leading, each, other, name))
    if not ways:
        return None
    best = min(each[:2] for each in ways)
    chosen = one_of([each[2] for each in ways if each[:2] == best])
    if chosen is None:
        return None
    other, name = next(each[3:] for each in ways if each[2] is chosen)
    constant = chosen.constant
    of_batch = f" (`{name}`)" if name else " samples"
    says = (
        f"the {rows:,} of {bracketed(shape)} are {other:,}{of_batch} x {constant.value:,} (`{constant.name}`)"
    )
    it = f"the {rows:,} of {bracketed(shape)} are {other:,}{of_batch} x {constant.value:,}"
    repeated = _repeated(constants, constant.name)
    return OwnConstant(constant.name, constant.value, constant.line, says, it, batch=other, repeated=repeated)


def _leads(constants: ProgramConstants, name: str) -> bool:
    """Whether shapes that the program writes begin with a constant alone, as those of a batch do."""
    return any(isinstance(each.sides[0], ast.Name) and each.sides[0].id == name for each in constants.shapes)


def split_into(constants: ProgramConstants) -> int:
    """Into how many parts the program cuts its batch: `BATCH // 3`, `tf.split(codes, 3)`."""
    parts = 1
    for call in constants.calls("split"):
        axis = next((each.value for each in call.keywords if each.arg == "axis"), None)
        axis = axis or (call.args[2] if len(call.args) > _AXIS else None)
        first = axis is None or (isinstance(axis, ast.Constant) and axis.value == 0)
        of_library = isinstance(call.func, ast.Attribute) and last_name(call.func.value) in _LIBRARIES
        if of_library and first and len(call.args) > 1 and _is_few(call.args[1]):
            parts = math.lcm(parts, call.args[1].value)  # type: ignore[attr-defined]
    for left, right in constants.divided:
        if BATCHES.search(left) and _is_few(right):
            parts = math.lcm(parts, right.value)  # type: ignore[attr-defined]
    return parts


_AXIS, _MOST_PARTS, _LIBRARIES = 2, 16, ("tf", "np", "numpy", "ops", "jnp")


def _is_few(node: ast.AST) -> bool:
    value = node.value if isinstance(node, ast.Constant) else None
    return type(value) is int and 1 < value <= _MOST_PARTS


_REPEATS = ("repeat", "tile", "repeat_elements", "broadcast_to")


def _repeated(constants: ProgramConstants, name: str) -> str:
    """The one call that repeats rows by this constant, in words."""
    repeats = [
        call
        for call in constants.calls(*_REPEATS)
        if any(
            each.constant.name == name and constants.value_of(part, constants.scope_of(call)) is not None
            for part in _parts(call)
            for each in constants.used_by((part, constants.scope_of(call)))
        )
    ]
    line = constants.line_of(repeats[0]) if len(repeats) == 1 else None
    return f"`{ast.unparse(repeats[0].func)}` ({line.place})" if line else ""


def _parts(call: ast.Call) -> Iterator[ast.expr]:
    """How often a call repeats, for each side where it says so."""
    for each in (*call.args[1:], *(keyword.value for keyword in call.keywords)):
        yield from each.elts if isinstance(each, (ast.Tuple, ast.List)) else (each,)


def _uses(node: ast.AST, name: str) -> bool:
    return any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(node))


def of_written(
    constants: ProgramConstants, written: Sequence[WrittenSize], shape: Sequence[int], leads: bool
) -> OwnConstant | None:
    """A shape that the program writes whole: the constant with which it grows most, and the others."""
    if len({tuple(ast.unparse(side) for side in each.sides) for each in written}) != 1:
        return None
    sides, scope, node = written[0]
    used = [each.constant for each in constants.used_by(*((side, scope) for side in sides))]
    if any(BATCHES.search(each.name) for each in used):
        return None
    grown = []
    for each in used:
        doubled = [constants.value_of(side, scope, {each.name: 2 * each.value}) for side in sides]
        if None not in doubled:
            grown.append(
                (round(math.log2(math.prod(map(int, map(_known, doubled))) / math.prod(shape))), each)
            )
    grown = sorted((each for each in grown if each[0] > 0), key=lambda each: (-each[0], -each[1].value))
    if not grown:
        return None
    power, constant = grown[0]
    line = constants.line_of(node)
    text = ast.unparse(node).strip("()[]")
    pairs = len(sides) == _TWO and ast.unparse(sides[0]) == ast.unparse(sides[1])
    says = f"{bracketed(shape)} is `[{text}]`" + (f" in {line.place}" if line else "")
    others = [f"`{each.name}` ({each.value:,}, {each.line.place})" for _, each in grown[1:3]]
    also = f"; or {' or '.join(others)}, with which it grows less fast" if others and power > 1 else ""
    if others and power == 1:
        also = f"; or {' or '.join(others)}"
    faster = f", grows with the {_POWERS[power]} of `{constant.name}`" if power in _POWERS else ""
    return OwnConstant(
        constant.name,
        constant.value,
        constant.line,
        says,
        says + faster,
        power,
        leads=leads,
        of_pairs=leads and pairs,
        also=also,
    )


_TWO = 2
_POWERS = {2: "square", 3: "third power", 4: "fourth power"}


def _known(value: int | None) -> int:
    return value or 0


_JOINS = ("concat", "concatenate", "Concatenate", "pad", "stack")


def of_sum(
    constants: ProgramConstants,
    reached: Sequence[Reached],
    choice: Sequence[Reached],
    shape: Sequence[int],
    joins: bool,
) -> OwnConstant | None:
    """The one constant that a last side has most of, where the failing line joins it to a few more."""
    if not joins:
        return None
    side = shape[-1]
    near = [
        each
        for each in reached
        if max(LEAST, _MOSTLY * side, side - _MOST_BESIDE) <= each.constant.value < side
        and not BATCHES.search(each.constant.name)
    ]
    if len(near) != 1:
        return None
    constant, more = near[0].constant, side - near[0].constant.value
    it = f"the {side:,} of {bracketed(shape)} are {constant.value:,} and {more} more"
    says = f"the {side:,} of {bracketed(shape)} are {constant.value:,} (`{constant.name}`) and {more} more"
    made = [call for call in constants.calls("one_hot", "to_categorical") if _uses(call, constant.name)]
    kinds = ""
    if near[0] not in choice:
        if len(made) != 1:
            return None
        line = constants.line_of(made[0])
        kinds = f"`{ast.unparse(made[0])}`" + (f" ({line.place})" if line else "")
    return OwnConstant(
        constant.name, constant.value, constant.line, says, it, part=constant.value / side, kinds=kinds
    )


def joins(statement: ast.AST) -> bool:
    """Whether a statement joins or pads tensors."""
    return any(isinstance(each, ast.Call) and last_name(each.func) in _JOINS for each in ast.walk(statement))


_KERNELS = regex(r"(?i)conv\d?d?\Z|convolution|conv[123]d")


def of_kernel(
    constants: ProgramConstants, layer: str, shape: Sequence[int], most: float
) -> OwnConstant | None:
    """The side of a square kernel, of which a patch matrix has the square as columns; `most` is the part of
    the matrix that has room. It is given to the call that makes the layer, or begins the shape of a weight.
    """
    if len(shape) != _RANK_OF_PATCHES:
        return None
    call = constants.making(layer)
    found = {}
    for sides, scope in _kernels(constants, call):
        values = {constants.value_of(side, scope) for side in sides}
        used = [each.constant for each in constants.used_by(*((side, scope) for side in sides))]
        side = values.pop() if len(values) == 1 else None
        if side and side >= _LEAST_TIMES and shape[-1] % side**2 == 0 and len(used) == 1:
            found[used[0].name] = (used[0], side)
    if len(found) != 1:
        return None
    ((constant, side),) = found.values()
    if constant.value != side:
        return None
    lower = max(3, int((side * min(most, 0.5) ** 0.5 - 1) // 2 * 2 + 1))
    channels = shape[-1] // side**2
    columns = (
        f"the {shape[-1]:,} columns of the patch matrix are a kernel of {side} x {side} x {channels} channels"
    )
    return OwnConstant(constant.name, side, constant.line, columns, columns, 2, to=min(lower, side - 1))


_RANK_OF_PATCHES, _RANK_OF_KERNELS = 3, 4


def _kernels(
    constants: ProgramConstants, call: ast.Call | None
) -> Iterator[tuple[Sequence[ast.expr], CodeScope]]:
    """The sides of the kernel that a layer is made with: the second argument of a class, the third of a
    function; where no call has its name, those of all weights that may be kernels.
    """
    if call is None:
        for each in constants.shapes:
            if len(each.sides) == _RANK_OF_KERNELS and ast.unparse(each.sides[0]) == ast.unparse(
                each.sides[1]
            ):
                yield each.sides[:2], each.scope
        return
    name = last_name(call.func)
    at = 1 if name[:1].isupper() else 2
    given = [each.value for each in call.keywords if each.arg == "kernel_size"] or call.args[at : at + 1]
    if _KERNELS.search(name) and given:
        tuples = isinstance(given[0], (ast.Tuple, ast.List))
        yield given[0].elts if tuples else given, constants.scope_of(call)  # type: ignore[attr-defined]


_FRAMES = ("stft", "frame")


def of_hop(
    constants: ProgramConstants, calls: Sequence[ast.Call], shape: Sequence[int]
) -> OwnConstant | None:
    """The step between frames, where frames overlap many times over; a frame may stand in the shape in two
    sides, as pieces that the step divides.
    """
    for call in calls:
        if last_name(call.func) not in _FRAMES:
            continue
        scope = constants.scope_of(call)
        given = {each.arg: each.value for each in call.keywords if each.arg}
        length, step = (
            given.get(name) or (call.args[at] if len(call.args) > at else None)
            for at, name in ((1, "frame_length"), (2, "frame_step"))
        )
        if length is None or step is None:
            continue
        frame, hop = constants.value_of(length, scope), constants.value_of(step, scope)
        used = constants.used_by((step, scope))
        if not frame or not hop or len(used) != 1 or frame < 2 * _FEW_OVERLAPS * hop:
            continue
        if not {frame, frame // 2 + 1} & {*shape, math.prod(shape[-2:])}:
            continue
        constant = used[0].constant
        if constant.value != hop:
            continue
        says = (
            f"a frame of {frame:,} begins every {hop:,} (`{constant.name}`), so that each sample is in"
            f" {frame // hop:,} frames"
        )
        return OwnConstant(
            constant.name, hop, constant.line, says, says.replace(f" (`{constant.name}`)", "", 1),
            to=frame // _FEW_OVERLAPS,
        )  # fmt: skip
    return None


def layers_in_a_row(constants: ProgramConstants, path: str) -> OwnConstant | None:
    """The number of layers that a block of the path makes in a list and runs one after another."""
    for layer in reversed(path.split("/")):
        call = constants.making(layer)
        for init in constants.makers(call) if call else ():
            for name, count in _lists_of(init):
                given = _given(call, init, count)
                value = constants.value_of(given, constants.scope_of(call)) if given and call else None
                used = constants.used_by((given, constants.scope_of(call))) if given and call else []
                if value and value >= _LEAST_IN_A_ROW and len(used) == 1 and used[0].constant.value == value:
                    constant = used[0].constant
                    joins = _joins_all(constants, last_name(call.func), name) if call else False
                    more = (
                        ", each with all before it joined, so that what training keeps grows with the square"
                        if joins
                        else ", and training keeps what each makes"
                    )
                    says = f"`{layer}` runs {value} layers one after another (`self.{name}`){more}"
                    return OwnConstant(
                        constant.name,
                        value,
                        constant.line,
                        says,
                        says,
                        2 if joins else 1,
                        to=max(value // 4, 1),
                    )
    return None


def _lists_of(init: ast.FunctionDef) -> Iterator[tuple[str, str]]:
    """Lists of layers that an `__init__` makes as many of as a parameter says: their names and it."""
    for each in ast.walk(init):
        if not isinstance(each, ast.Assign) or not isinstance(each.value, ast.ListComp):
            continue
        target, through = each.targets[0], each.value.generators[0].iter
        if not isinstance(target, ast.Attribute) or not isinstance(through, ast.Call):
            continue
        if last_name(through.func) == "range" and through.args and isinstance(through.args[-1], ast.Name):
            yield target.attr, through.args[-1].id


def _given(call: ast.Call | None, init: ast.FunctionDef, name: str) -> ast.expr | None:
    """What a call gives for a parameter of the `__init__` that it runs."""
    arguments = [each.arg for each in init.args.args][1:]
    if call is None:
        return None
    by_name = [each.value for each in call.keywords if each.arg == name]
    at = arguments.index(name) if name in arguments else len(call.args)
    return next(iter((*by_name, *call.args[at : at + 1])), None)


def _joins_all(constants: ProgramConstants, owner: str, name: str) -> bool:
    """Whether a loop over the list joins what each of its layers makes to all before."""
    for made in constants.classes(owner):
        for loop in ast.walk(made):
            if not isinstance(loop, ast.For) or last_name(loop.iter) != name:
                continue
            for each in ast.walk(loop):
                if not isinstance(each, ast.Assign) or not isinstance(each.value, ast.Call):
                    continue
                target = last_name(each.targets[0])
                if last_name(each.value.func) in _JOINS and target and _uses(each.value, target):
                    return True
    return False
