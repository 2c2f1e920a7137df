"""What speaks for memory that the program itself keeps: the code that stores results, and when it failed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from tfmemlens.findings.support.program_lines import code_lines, figures_by_name
from tfmemlens.findings.support.rows import all_in_use
from tfmemlens.findings.support.stage import counters_before
from tfmemlens.knowledge.kept_results import (
    OF_A_LAYER,
    keeps_each_result,
    keeps_whole_states,
    list_that_keeps,
)
from tfmemlens.knowledge.stack_frames import user_frame
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Remedy
from tfmemlens.model.incident import Frame
from tfmemlens.model.line import Line
from tfmemlens.model.live_model import HeldTensors
from tfmemlens.model.program import Program
from tfmemlens.patterns import regex

if TYPE_CHECKING:
    from tfmemlens.findings.support.taped_loop import TapedLoop

_JOINED = regex(
    r"\A\s*(?P<name>[\w.]+)\s*=\s*(?:[^=#]{1,80}\belse\s+)?"
    r"(?:\w+\.)*(?:concat|concatenate|vstack|hstack|append|stack)\("
    r"(?:\s*[\[(])?(?:\s*(?P=name)\s*,(?!\s*(?:axis|0|-?1)\b)|[^=]{0,400}?,\s{0,9}(?P=name)\s*[\])])"
)
"""Code that joins a tensor to itself: `queue = tf.concat([queue, x], 0)`, also behind `x if queue is
None else`. A name alone is a list of parts.
"""
_AXIS = regex(r"(?:axis\s*=\s*|\]\s*,\s*)(?P<axis>-?\d+)\s*\)")
_ASSIGNED = regex(
    r"\bassign\(\s*(?P<name>[\w.]+)\s*,\s*(?:\w+\.)*(?:concat|concatenate"
    r"|stack)\(\s*(?:axis\s*=[^,]{0,9},\s*)?"
    r"[\[(][^\])=]{0,200}?\b(?P=name)\b"
    r"|(?P<own>[\w.]+)\.assign\(\s*(?:\w+\.)*(?:concat|concatenate"
    r"|stack)\(\s*[\[(][^\])=]{0,200}?\b(?P=own)\b"
)
"""A variable that is joined to itself: `tf.assign(seen, tf.concat([seen, x], 0))`, `seen.assign(...)`."""
_GATHERING = regex(r"\b(?P<call>streaming_concat)\((?![^#]{0,400}\bmax_size\s*=\s*[\w(])")
"""A metric that keeps what it is given of every batch; its variable is made anew, larger, when it is full."""
_MAY_GROW = regex(r"\bassign\(|\bconcat(?:enate)?\(|\b[vh]stack\(")
"""Code that may make a variable longer, there or in a line that follows."""
_CUT = regex(r"\)\s*\[[^\]\[]{0,80}:[^\]\[]{0,80}\]")
"""What is joined is cut to a size: `tf.concat([queue, x], 0)[-4096:]`."""
_TAPED = regex(r"\btape\b|loss|grad|training\s*=\s*True|\btrain")
"""Code that most likely runs under a tape, which keeps activations."""
_EPOCH = regex(r"(?i)epoch")
_MANY_A_STEP = 50
_OF_A_LOOP = 1000
"""Chunks of one size that are so many in all, and so many for each step that went well, are a loop's."""


TAPE_INSIDE = Remedy(
    "take the gradient of each turn with a tape of its own inside the loop, and add the gradients up: then"
    " one turn is kept instead of all",
    "total = [t + tf.convert_to_tensor(g) for t, g in zip(total, grads)]   # grads: of this turn",
    slug="tape-inside-loop",
)

TRUNCATE = Remedy(
    "take the gradient of shorter pieces (truncated backpropagation), and stop it between them",
    "state = tf.stop_gradient(state)   # every 50 iterations, with a tape for each piece",
    slug="truncate",
)


def stored_by(request: Request) -> str:
    """The list that the failing line adds to, empty where it adds to none."""
    return list_that_keeps(request.failed.source_text or "") or ""


def kept_on_the_way(request: Request) -> tuple[Frame, str] | None:
    """The user's line on the way to an op that ran by itself that keeps each result, and the name of its
    list, empty where it has none; None where nothing is kept on the device.
    """
    failed = request.failed
    if not is_eager(request) or failed.creating or failed.updating or failed.pipeline:
        return None
    for frame in reversed(failed.frames):
        if frame.name in OF_A_LAYER or not user_frame(frame.place):
            continue
        name = keeps_each_result(frame.text)
        if name is not None:
            return frame, name
    return None


class Joined(NamedTuple):
    """A tensor of the program's that a line joins to itself, and what of it was alive at the failure."""

    name: str
    line: Line
    held: HeldTensors


def joined_by_the_program(case: Case, moment: Moment) -> Joined | None:
    """The tensor that some line of the program joins to itself and that holds much of what is in use, as the
    program recorded it; None where another line cuts it.
    """
    large: dict[str, HeldTensors] = {}
    for group in case.capture.living:
        alone = group.count == 1 and len(group.holders) == 1
        owner = (group.holders[0].name or "").rpartition(".")[2] if alone else ""
        if owner and group.bytes >= _MUCH * (all_in_use(moment) or group.bytes):
            large.setdefault(owner, group)
    code = code_lines(case.capture.surroundings) if large else ()
    for line in code:
        name = _joined_name(line.text, ())
        held = large.get(name.rpartition(".")[2]) if name else None
        if name and held and not _is_cut(name, code):
            return Joined(name, line, held)
    return None


def joined_from_step_to_step(case: Case, moment: Moment, request: Request) -> tuple[str, Line] | None:
    """The tensor that the program joins to itself in each step, where many steps went well and one block has
    much of what is in use, though nothing says of whom it is; trees are read only where there are steps.
    """
    program = case.capture.surroundings.program()
    steps = max((step for step, _ in counters_before(case, request)), default=0)
    largest = max(
        (row.total_bytes for row in moment.attribution.table if row.node is None and row.count <= _COPIES),
        default=0,
    )
    if not program or case.capture.living:
        return None
    many = steps >= _MANY_STEPS and (
        largest >= _MUCH * all_in_use(moment) or rows_of_many_steps(case, request) is not None
    )
    if not many and rows_added(case, request) is None:
        return None
    from tfmemlens.findings.support.joined_code import joined_over_steps

    return next(joined_over_steps(program), None)


def rows_of_many_steps(case: Case, request: Request) -> int | None:
    """How often one side of a matrix that failed is the other, ten times or more: the rows of a batch against
    those of so many steps.
    """
    sides = sorted(size or 0 for size in request.failed.shape or ())
    if len(sides) != 2 or sides[0] < _A_BATCH or sides[1] % sides[0]:
        return None
    times = sides[1] // sides[0]
    steps = max((step for step, _ in counters_before(case, request)), default=0)
    return times if _MANY_STEPS <= times <= _NOT_PRINTED * steps else None


def rows_added(case: Case, request: Request) -> tuple[int, int, int] | None:
    """A side of what failed that no line states, and that is some times a number that the program names, or
    that and one more (a positive beside the negatives): the side, the number and how often.
    """
    numbers = {*figures_by_name(case.capture.surroundings).values()}
    for side in request.failed.shape or ():
        if not side or side < _LEAST_ROWS or side in numbers or side - 1 in numbers:
            continue
        for number in sorted(numbers, reverse=True):
            times, rest = divmod(side, number) if number >= _A_BATCH else (0, 0)
            if times >= _SEVERAL and rest in (0, 1):
                return side, number, times
    return None


_LEAST_ROWS, _SEVERAL = 4096, 4
_NOT_PRINTED = 3
"""Not every step is printed, and some ran after the last that was."""


_A_BATCH = 16
_MUCH, _MANY_STEPS, _COPIES = 0.2, 10, 2
"""Of what is in use; of steps; the old tensor and the new one may be there together."""


def _is_cut(name: str, code: Sequence[Line]) -> bool:
    again = re.escape(name)
    return any(re.search(rf"(?<![\w.]){again}\s*=\s*{again}\[", line.text) for line in code)


def joined_to_itself(request: Request, case: Case | None = None) -> str | None:
    """The name of a tensor that the failing line joins to itself, so that it grows each time; the line may
    join a name that stands for the value of a variable, and leave the assignment to a line that follows.
    """
    text = request.failed.source_text or ""
    program = case.capture.surroundings.program() if case and _MAY_GROW.search(text) else None
    if (name := _joined_name(text, request.failed.shape or ())) or not program:
        return name
    from tfmemlens.findings.support.joined_code import joined_over_steps

    return next(
        (name for name, line in joined_over_steps(program) if line.text.strip() == text.strip()), None
    )


def _joined_name(text: str, shape: Sequence[int | None]) -> str | None:
    if _CUT.search(text):
        return None
    if (assigned := _ASSIGNED.search(text)) and not re.search(r"axis\s*=\s*-?[1-9]", text):
        return assigned["name"] or assigned["own"]
    joined, match = _JOINED.search(text), _AXIS.search(text)
    axis = int(match["axis"]) if match else 0
    if axis == -1 or (axis != 0 and len(shape) >= 4):
        return None  # channels of a network's layers
    return joined["name"] if joined else None


def gathered_by_a_metric(request: Request) -> str | None:
    """The metric of the failing line that keeps the values of every batch, `streaming_concat`."""
    gathering = _GATHERING.search(request.failed.source_text or "")
    return gathering["call"] if gathering else None


def is_eager(request: Request) -> bool:
    """Whether an op failed that ran by itself, in no function and no graph."""
    failed = request.failed
    return (failed.function or "").startswith("__wrapped__") or bool(
        failed.op and failed.function is None and failed.node in (None, failed.op)
    )


def without_tape(case: Case, request: Request) -> bool:
    """Whether an op failed that ran by itself, in code that nothing shows to be recorded: then only the
    program keeps results.
    """
    text = request.failed.source_text
    told = case.capture.surroundings
    taped = told.shows("training") or bool(_TAPED.search(text or ""))
    return is_eager(request) and bool(text) and not taped and not records_gradients(told.program())


def loop_of_a_tape(case: Case, request: Request) -> TapedLoop | None:
    """The loop under one tape in whose turns an op failed: one that ran by itself, or whose line stands there
    or in a function that they call by name; trees are read only where there is a program.
    """
    name = _TRACED.sub("", request.failed.function or "")
    program = case.capture.surroundings.program() if is_eager(request) or name else None
    if not program:
        return None
    from tfmemlens.findings.support.taped_loop import taped_loop

    taped = taped_loop(program)
    within = taped and (is_eager(request) or name in taped.calls or taped.holds(request.failed.source))
    return taped if within else None


_TRACED = regex(r"\A_*(?:inference|forward|wrapped)_|_\d+\Z")
"""What TensorFlow puts around the name of a function that it traced."""


def records_gradients(program: Program) -> bool:
    """Whether the program opens a tape; trees are read only where there is one."""
    if not program:
        return False
    from tfmemlens.findings.support.taped_loop import opens_a_tape

    return opens_a_tape(program)


def under_a_tape(case: Case, request: Request) -> bool:
    """Whether one of the user's lines on the way to the op stands in a tape of the program: a layer that is
    called without `training=True` there is trained all the same.
    """
    program = case.capture.surroundings.program()
    if not program:
        return False
    from tfmemlens.findings.support.taped_loop import tape_around

    return any(tape_around(program, frame.place) for frame in request.failed.frames)


def of_a_loop(case: Case, moment: Moment) -> bool:
    """Whether so many chunks of one size are in use for the steps that went well that one step makes them."""
    steps = [number for number, line in case.capture.surroundings.steps if not _EPOCH.search(line.text)]
    most = max((row.count for row in moment.attribution.table), default=0)
    return bool(steps) and most >= _OF_A_LOOP and most > _MANY_A_STEP * (max(steps) + 1)


def whole_states(case: Case, moment: Moment) -> str | None:
    """The list that keeps whole states of a model, where a later epoch than the first failed for less than
    all temporaries that a compiler's account lists; None where nothing tells of any.
    """
    told = case.capture.surroundings
    listed = moment.incident and moment.incident.compiler and moment.incident.compiler.temporaries
    if listed or not told.stores or not keeps_whole_states(told.stores[1].text):
        return None
    at = told.progress_before(moment.request.failed.line if moment.request else None)
    return told.stores[0] if at and (at.epoch or 0) >= 2 else None


def without_states(name: str) -> tuple[Remedy, ...]:
    """What keeps a model's states off the device, in JAX."""
    return (
        Remedy(
            "copy each state to the host before it is kept: the list then holds no memory of the device",
            f"{name}.append(jax.device_get(state))",
            slug="keep-numbers",
        ),
        Remedy(
            "or write checkpoints to disk, and keep the best one only",
            "ocp.CheckpointManager(path, options=ocp.CheckpointManagerOptions(max_to_keep=1))",
            slug="drop-results",
        ),
    )
