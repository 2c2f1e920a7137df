"""Many chunks of one size are alive: one for each iteration, step or layer.

What it means: a dump has no names, but sizes tell: when most of the memory lies in chunks of one size, the
same tensor is kept again and again. In a while loop that is the state of each iteration, kept for the
backward pass, and it may have several sizes. After some steps that went well it is a result that each step
leaves behind. Otherwise it may as well be as many layers of one shape, unless no model has so many.
When it fires: no report names owners, no tape (`kept-by-a-tape`) and no queue (`samples-in-a-queue`) keeps
them, and at least four chunks of the request's size hold half of what is in use, or a hundred of another
size do; sixteen, where steps went well before, where what is in use rose from failure to failure or where an
op failed that ran by itself, ten, where the failing line adds to a list;
so too where a session has served many times what it holds, as only steps that went well make it; a step each
of the sequence that was asked for, where they are as large as that and at least as many; as many as a quoted
`tf.while_loop` has turns, where nothing names the op;
in a loop (by its names, or where the failing line stands in a turn of the program's, or under one tape) and
in one that a session's graph has in full, before a second step was seen, the sizes that have
sixteen chunks and more, from three tenths on. A thousand of one size, and fifty for each step that went
well, are a loop's.
Where an iterator failed and the program shuffles behind `batch`, they are batches in that buffer.
What to do: find the list that keeps them (history of losses or gradients, outputs of a loop); keep numbers
instead of tensors.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tfmemlens.findings import held_by_python, kept_by_a_tape, samples_in_a_queue
from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.collected import Collected, collected, one_by_one
from tfmemlens.findings.support.growth import one_for_each, rising, tracings
from tfmemlens.findings.support.joined_pieces import joined_where_made
from tfmemlens.findings.support.kept import (
    TAPE_INSIDE,
    is_eager,
    loop_of_a_tape,
    of_a_loop,
    stored_by,
    without_tape,
)
from tfmemlens.findings.support.kept_code import kept as kept_by_loops
from tfmemlens.findings.support.largest_layer import stacking_layer
from tfmemlens.findings.support.many_alike import piled_up
from tfmemlens.findings.support.program_lines import code_lines, settings_by_name
from tfmemlens.findings.support.recurrent_steps import RecurrentSteps, recurrent_steps
from tfmemlens.findings.support.rows import (
    LEAST_OF_A_DEVICE,
    all_in_use,
    attributed,
    chunk_evidence,
    enumerated,
    held,
    on_host,
    requests,
    tensor_text,
)
from tfmemlens.findings.support.situation import JAX, framework_of, situation
from tfmemlens.findings.support.taped_loop import TapedLoop
from tfmemlens.findings.support.watching import device_memory
from tfmemlens.findings.support.weights import makes_first_values
from tfmemlens.knowledge.input_queues import OF_A_QUEUE
from tfmemlens.knowledge.kept_elements import (
    KEEPS_ELEMENTS,
    call_that_keeps,
    kept_by,
    size_of_a_shuffle,
)
from tfmemlens.model.allocation import Allocation
from tfmemlens.model.attribution import Kind
from tfmemlens.model.case import Case, FrontEnd, Moment, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.model.tensor import tensor_bytes
from tfmemlens.patterns import regex
from tfmemlens.units import human, percent, round_up

if TYPE_CHECKING:
    from tfmemlens.findings.support.graph_loop import GraphLoop
    from tfmemlens.findings.support.shuffled_batches import ShuffledBatches
    from tfmemlens.findings.support.written_arrays import WrittenArray

BASIS = Basis.MEASURED
EXPLAINS = "the blocks of one size, or those of a loop"

_STACKS = regex(r"(?:\A|[/_])Tensor(?:Array|List)(?:Un)?(?:Stack|Gather|Scatter|FromTensor|Split|Concat|V3)?")
_MIN_REQUEST_BYTES, _FLOAT_BYTES = 16 << 10, 4
_STORED, _MIN_COUNT, _MIN_CERTAIN_COUNT = 10, 16, 100
"""Chunks of one size that something must have left behind: where the failing line adds to a list, with and
without another sign of it."""
_SERVED, _FULL, _LISTED, _LAST_OF_SESSIONS = 5, 0.95, 0.9, (2, 0)
"""So many times the chunks in use an allocator has served, long after a session's first step."""

_ONE_TENSOR = "A dump has no names; that these are the same tensor over and over is likely, not proved."
_MANY_LAYERS = (
    "A dump has no names: these are outputs of as many layers of one shape, or one tensor that is kept again"
    " and again. Only the latter grows from step to step."
)

_OF_A_PROGRAM = ("smaller-batch", "recompute", "gradient-accumulation")
"""What makes a program smaller, and not what is kept beside it."""
_LEAK = "as if each step left one behind (a leak)"


def check(case: Case) -> Iterator[Finding]:
    nameless = [each for each in requests(case) if not attributed(each[1])]
    if nameless and (any(kept_by_a_tape.check(case)) or any(samples_in_a_queue.check(case))):
        return
    for index, moment, request in nameless:
        if _tells_too_little(moment):
            continue
        meaning, equal = _meaning(case, moment), _of_the_request(moment, request)
        alive = equal or _of_any_size(case, moment, request)
        if not alive:
            continue
        size = sum(row.total_bytes for row in alive)
        count = f"{sum(row.count for row in alive)} blocks of exactly this size are in use already"
        told = count if equal else f"{_counted(alive)} are in use"
        whole = "the blocks that are here" if _is_cut(moment) else "what is in use"
        what = f"{told}, {human(size)}, {percent(size, _whole(moment))} of {whole}"
        most = max(row.count for row in alive)
        kept = bool(meaning) or most >= _MIN_CERTAIN_COUNT
        built = not meaning and _of_weights(case, moment)
        meaning = ": most likely weights or slots, as the model was being built" if built else meaning
        guessed = kept and not meaning and (_of_a_session(case) or _in_a_fit(request))
        if guessed:
            meaning = ": most likely what layers of one shape, or the turns of a loop, made in one step"
        counted = any(held_by_python.check(case))
        of_one = _ONE_TENSOR if kept else _MANY_LAYERS
        yield Finding(
            severity=Severity.CAUSE if kept and not counted else Severity.FACTOR,
            headline=what,
            because=f"{what}{meaning if equal else _guessed(meaning)}",
            explains=size,
            basis=Basis.NAME if built or guessed or not meaning or _of_traces(case, moment) else None,
            evidence=(
                Evidence(f"requested: {tensor_text(moment)}", request.failed.line),
                *chunk_evidence(alive),
            ),
            detail="" if built else of_one,
            remedies=() if counted else tuple(_remedies(case, moment, kept)),
            moment=index,
            rules_out=_OF_A_PROGRAM
            if _cached(case) or (kept and _leaves_behind(meaning)) or _of_batches(case, moment)
            else (),
        )


def _of_a_session(case: Case) -> bool:
    """Whether a session's graph ran, whose results lie in host RAM: no list of Python's keeps such blocks."""
    return case.api.newest < _FIRST_EAGER


def _in_a_fit(request: Request) -> bool:
    """Whether a layer failed within Keras's own step of training, which keeps no tensor of another step."""
    return request.failed.keras_call in _FITS and bool(request.failed.frames)


_FITS = ("fit", "fit_generator", "train_on_batch")
_FIRST_EAGER = (1, 14)
"""Before it hardly anybody ran TensorFlow eagerly."""
_LESS_OF_A_STEP = Remedy(
    "make one step smaller: a smaller batch, smaller images or shorter sequences. These blocks are on the"
    " device within one run of the graph; what sess.run returns lies in host RAM",
    slug="smaller-batch",
)


def _guessed(meaning: str) -> str:
    """The meaning of blocks of other sizes than the request's, as a guess."""
    return meaning if "most likely" in meaning else meaning.replace(": ", ": most likely ")


def _of_traces(case: Case, moment: Moment) -> bool:
    """Whether each tracing of a tf.function that is traced again and again may have left one of a size."""
    told, table = tracings(case), moment.attribution.table
    most = max(table, key=lambda row: row.count, default=None)
    return told is not None and most is not None and one_for_each(most, table, told)


def _of_the_request(moment: Moment, request: Request) -> list[Allocation]:
    """The chunks of the request's size, where they are half of all."""
    need = request.needed_bytes or _in_float32(moment, request)
    if need is None or need < _MIN_REQUEST_BYTES:
        return []
    equal = [row for row in moment.attribution.table if row.size_bytes == round_up(need)]
    return equal if sum(row.count for row in equal) >= 4 and _share(moment, equal) >= 0.5 else []


def _in_float32(moment: Moment, request: Request) -> int | None:
    """The bytes of a shape that releases before 1.5 print without its type, where a chunk is as large."""
    shape = request.failed.shape
    if not shape or not all(shape) or request.failed.dtype is not None:
        return None
    need = _FLOAT_BYTES * math.prod(side or 0 for side in shape)
    return need if any(row.size_bytes == round_up(need) for row in moment.attribution.table) else None


def _of_any_size(case: Case, moment: Moment, request: Request) -> list[Allocation]:
    """The sizes of which a loop keeps many chunks, or the one of which something else does."""
    table = sorted(moment.attribution.table, key=lambda row: -row.total_bytes)
    taped = loop_of_a_tape(case, request)
    if _in_loop(case, request) or of_a_loop(case, moment) or _steps_of_sequence(moment) or taped:
        kept = [row for row in table if row.count >= _MIN_COUNT and _share(moment, [row]) >= 0.01]
        return kept if _share(moment, kept) >= 0.3 else []
    if without_tape(case, request):
        kept = [row for row in table if row.count >= _MIN_COUNT and _share(moment, [row]) >= 0.01]
        return kept if _share(moment, kept) >= 0.5 else []
    elements = _of_one_element(moment)
    if elements and _share(moment, elements) >= 0.5 and _kept_elements(case, moment):
        return sorted(elements, key=lambda row: -row.total_bytes)
    if _stores(case, request):
        least = _STORED
    else:
        least = _MIN_COUNT if _meaning(case, moment) or is_eager(request) else _MIN_CERTAIN_COUNT
    most = [row for row in table if row.count >= least][:1]
    return most if _share(moment, most) >= 0.5 else []


def _share(moment: Moment, chunks: list[Allocation]) -> float:
    return sum(row.total_bytes for row in chunks) / max(_whole(moment), 1)


def _whole(moment: Moment) -> int:
    """All that is in use, which the summary of a dump may not reach; of a part of its chunks that part."""
    return held(moment) if _is_cut(moment) else all_in_use(moment)


def _is_cut(moment: Moment) -> bool:
    """Whether only a stretch of a dump's chunks, or of its summary, is here."""
    incident = moment.incident
    if incident is None or moment.balance.in_use:
        return False
    chunks = incident.chunks
    of_chunks = chunks is not None and not chunks.complete
    return bool(incident.size_classes) or of_chunks


def _tells_too_little(moment: Moment) -> bool:
    """Whether the part of a dump that is here is too small to be what filled a device."""
    return _is_cut(moment) and held(moment) < LEAST_OF_A_DEVICE


def _counted(alive: list[Allocation]) -> str:
    """`208 chunks of 128.0 KiB and 31 of 512.0 KiB`; of many sizes the largest two and the rest together."""
    first, *others = alive
    told = [f"{first.count} blocks of {human(first.size_bytes)}"]
    told += [f"{row.count} of {human(row.size_bytes)}" for row in others[:1]]
    if len(others) > 1:
        told.append(f"{sum(row.count for row in others[1:])} of other sizes")
    return enumerated(told)


def _steps(case: Case) -> int:
    return len({step for step, _ in case.capture.surroundings.steps})


def _as_many_as_steps(case: Case, moment: Moment) -> int | None:
    """The number of the step that failed, where as many chunks of one size are in use."""
    most = max((row.count for row in moment.attribution.table), default=0)
    steps = [step for step, _ in case.capture.surroundings.steps if step >= _MIN_CERTAIN_COUNT]
    return next((step for step in reversed(steps) if abs(most - step) <= 0.02 * step), None)


def _pinned(moment: Moment) -> bool:
    """Whether these are batches in pinned host RAM, from which they are copied to the GPU."""
    failed = moment.request.failed if moment.request else None
    of_iterator = failed is not None and "Iterator" in f"{failed.op} {failed.node}"
    return of_iterator and "host_bfc" in ((failed.allocator if failed else None) or "")


def _of_batches(case: Case, moment: Moment) -> ShuffledBatches | None:
    """The shuffle buffer behind `batch` whose batches these are, where an iterator failed to make one more;
    trees are read only where there are any.
    """
    told, failed = case.capture.surroundings, moment.request.failed if moment.request else None
    if failed is None or not told.program() or not (moment.request and moment.request.needed_bytes):
        return None
    if not (failed.pipeline or "Iterator" in f"{failed.op} {failed.node}"):
        return None
    from tfmemlens.findings.support.shuffled_batches import shuffled_batches

    return shuffled_batches(told.program())


def _meaning(case: Case, moment: Moment) -> str:
    request = moment.request
    if request and request.needed_bytes and (batches := _of_batches(case, moment)):
        return batches.meaning(request.needed_bytes)
    if request and (loop := _graph_loop(case, request)):
        turns = f"each of the {loop.turns:,} turns" if loop.turns else "each turn"
        return (
            f": what {turns} of `{loop.call}` ({loop.line.place}) makes, kept for the gradient of"
            f" {loop.gradient.place}"
        )
    if request and (counted := _counted_loop(case, moment, request)):
        inside, count = counted
        return (
            f": as many as the {count:,} turns of `{inside.call}` ({inside.line.place}), so most likely what"
            " each makes, kept for the backward pass"
        )
    elements = None if request and _in_loop(case, request) else _kept_elements(case, moment)
    if request and not elements and (_in_loop(case, request) or of_a_loop(case, moment)):
        if written := _written(case, moment):
            return f": what each iteration of a loop writes into `{written.name}` ({written.line.place})"
        layer = stacking_layer(case)
        of = f" of `{layer}`" if layer and layer != request.owner.layer else ""
        return f": the state that a loop{of} keeps of each iteration"
    if steps := _steps_of_sequence(moment):
        layer = stacking_layer(case)
        who = f"`{layer}`" if layer else "a recurrent layer"
        return f": one step each of a sequence of {steps:,}, which {who} keeps for its backward pass"
    if _pinned(moment):
        return ": batches that wait in pinned host RAM for their copy to the GPU (prefetch)"
    if _of_the_pipeline(moment):
        likely = "" if moment.incident and moment.incident.request.pipeline else "most likely "
        return f": {likely}elements that the input pipeline keeps ({_buffers(case)})"
    if elements:
        return f": elements that the input pipeline keeps in RAM ({elements[0]}{_of_line(elements[1])})"
    if request and (recurrent := _recurrent(case, request)):
        each = f"each of the {recurrent.steps:,} steps" if recurrent.steps else "each step"
        called = f"{recurrent.line.place} (`{recurrent.called}`)"
        return f": most likely what {each} of {called} makes, kept for the backward pass"
    if request and (name := _stores(case, request)):
        if joins := joined_where_made(case.capture.surroundings.program(), name):
            return f": pieces that `{name}` collects until {joins.place} joins them, and then both exist"
        return f": the list `{name}` keeps them"
    if cached := _cached(case):
        return f": the cache of `{cached[0]}` keeps them ({cached[1].place})"
    if found := collected(case, moment):
        return f": most likely results of `{found.call}`, which {_in_line(found)} keeps all together"
    if request and (taped := loop_of_a_tape(case, request)):
        return (
            f": most likely what each turn of the {taped.words} ({taped.loop.place}) makes, which"
            f" the tape of {taped.tape.place} keeps until the gradient is taken"
        )
    if step := _as_many_as_steps(case, moment):
        return f", about as many as steps ({step:,}), as if each left one behind (a leak)"
    if request and (unrolled := _unrolled(case, moment, request)):
        return (
            f": most likely what each of the {unrolled.turns:,} turns of `{unrolled.call}`"
            f" ({unrolled.line.place}) makes in one step, kept for the gradient of {unrolled.gradient.place}"
        )
    long_after = _long_after_its_start(case, moment) and (on_host(moment) or not _of_a_session(case))
    if _steps(case) >= 3 or rising(case) or long_after:
        return f", {_LEAK}"
    if request and without_tape(case, request):
        return ": most likely results that the program keeps"
    if piled_up(moment) and case.api.front_end is not FrontEnd.SESSION:
        return f", more than one step makes of one tensor, {_LEAK}"
    return ""


def _in_line(found: Collected) -> str:
    return f"`{found.frame.text.strip()}` ({found.place})"


def _leaves_behind(meaning: str) -> bool:
    """Whether something grows from run to run, so that a smaller step only fails later."""
    return _LEAK in meaning or "keeps all together" in meaning


def _cached(case: Case) -> tuple[str, Line] | None:
    """A function of a JAX program whose results a cache keeps."""
    if framework_of(case) != JAX:
        return None
    from tfmemlens.findings.support.kept_by_settings import cached_arrays  # reads trees

    return cached_arrays(case.capture.surroundings)


def _long_after_its_start(case: Case, moment: Moment) -> bool:
    """Whether a session's graph failed on a full device after its allocator had served many times the chunks
    that are in use: earlier steps fitted, so something was left behind since. A first step keeps most of what
    it gets; eager code, which came with 2.0, serves thousands before it.
    """
    if situation(case, moment).program:
        return False  # another language's bindings run each op by itself
    served = moment.incident.state.allocations if moment.incident else None
    in_use, limit = moment.balance.in_use, moment.balance.limit
    if served is None or in_use is None or limit is None or case.api.newest > _LAST_OF_SESSIONS:
        return False
    if _made_by_one_step(moment):
        return False
    if held(moment) < _LISTED * in_use.bytes:
        return False  # the summary begins above this part: nobody can tell how many chunks there are
    chunks = sum(row.count for row in moment.attribution.table)
    return in_use.bytes >= _FULL * limit.bytes and served >= _SERVED * chunks


def _made_by_one_step(moment: Moment) -> bool:
    """Whether most of what the program counted are outputs that a step keeps for its backward pass."""
    if moment.counted is None:
        return False
    pairs = zip(moment.counted.table, moment.counted.owners, strict=True)
    made = sum(row.total_bytes for row, owner in pairs if owner.kind is Kind.ACTIVATION)
    return made >= _OF_ONE_STEP * all_in_use(moment)


_OF_ONE_STEP = 0.5


def _in_loop(case: Case, request: Request) -> bool:
    """Whether it failed in a loop, or where the tensors of a loop's turns are stacked or dealt out."""
    named = request.owner.in_loop or bool(_STACKS.search(request.failed.node or ""))
    return named or _graph_loop(case, request) is not None


def _written(case: Case, moment: Moment) -> WrittenArray | None:
    """The TensorArray that keeps these blocks, where the loop is no part of a training: there its state is
    kept as well, and nothing tells them apart.
    """
    told, request = case.capture.surroundings, moment.request
    if request is None or not told.program():
        return None
    from tfmemlens.findings.support.written_arrays import keeps_for_no_gradient, written_array  # reads trees

    if situation(case, moment).training is not False and not keeps_for_no_gradient(told.program()):
        return None
    return written_array(told.program(), request.failed.shape)


def _graph_loop(case: Case, request: Request) -> GraphLoop | None:
    """The loop of the program's graph in whose turns it failed; trees are read only where there are any."""
    told = case.capture.surroundings
    if is_eager(request) or not told.program():
        return None
    from tfmemlens.findings.support.graph_loop import graph_loop

    return graph_loop(told, request.failed)


def _unrolled(case: Case, moment: Moment, request: Request) -> GraphLoop | None:
    """The loop of Python's that a session's graph has in full, before a second step was seen: one run makes
    so many tensors, as many as a leak would leave.
    """
    told = case.capture.surroundings
    if _steps(case) >= 3 or rising(case) or is_eager(request) or not told.program():
        return None
    if case.api.newest > _LAST_OF_SESSIONS and case.api.front_end is not FrontEnd.SESSION:
        return None
    from tfmemlens.findings.support.graph_loop import unrolled_loop

    return unrolled_loop(told, max((row.count for row in moment.attribution.table), default=0))


def _counted_loop(case: Case, moment: Moment, request: Request) -> tuple[GraphLoop, int] | None:
    """A loop of the program's graph of which nothing names the failing op, where as many chunks as it has
    turns are as large as the request.
    """
    told = case.capture.surroundings
    if request.failed.node or request.failed.source or is_eager(request) or not told.program():
        return None
    from tfmemlens.findings.support.graph_loop import loops_of_turns

    count = sum(row.count for row in _of_the_request(moment, request))
    alike = (loop for loop in loops_of_turns(told) if loop.turns and loop.turns == count >= _MIN_COUNT)
    found = next(alike, None)
    return (found, count) if found else None


def _steps_of_sequence(moment: Moment) -> int | None:
    """How many steps the sequence has that was asked for, where most of the chunks are one of its steps each:
    as large as it without that dimension, and at least as many.
    """
    failed = moment.request.failed if moment.request else None
    if failed and (failed.pipeline or OF_A_QUEUE.search(failed.op or failed.node or "")):
        return None  # samples that wait to be a batch
    most = max(moment.attribution.table, key=lambda row: row.total_bytes, default=None)
    need, shape = (failed.tensor_bytes, failed.shape) if failed else (None, None)
    if most is None or not need or not shape or len(shape) < 3 or not all(shape):
        return None
    lengths = (
        steps
        for steps in shape[:2]
        if steps
        and steps >= _MIN_COUNT
        and most.count >= steps
        and most.size_bytes == round_up(need // steps)
    )
    return next(lengths, None)


def _recurrent(case: Case, request: Request) -> RecurrentSteps | None:
    """The recurrent layer of the program whose steps make tensors like the one that failed."""
    trains = _gradients_are_taken(case)
    return (
        recurrent_steps(case.capture.surroundings.program(), request.failed.shape or ()) if trains else None
    )


def _gradients_are_taken(case: Case) -> bool:
    return any(_TRAINS.search(line.text) for line in code_lines(case.capture.surroundings))


_TRAINS = regex(
    r"\.fit\(|GradientTape\(|\.minimize\(|\.train\(|train_on_batch|tf\.gradients\(|compute_gradients"
)


def _stores(case: Case, request: Request) -> str:
    """The list that the failing line adds tensors to; empty where the code tells that what it adds is one
    number of each turn.
    """
    name = stored_by(request)
    numbers = (each for each in kept_by_loops(case.capture.surroundings) if each.number) if name else ()
    return "" if any(each.container == name for each in numbers) else name


def _of_the_pipeline(moment: Moment) -> bool:
    return bool(moment.request and moment.request.failed.pipeline)


def _kept_elements(case: Case, moment: Moment) -> tuple[str, Line] | None:
    """What keeps decoded elements beside a network on the CPU, whose memory they share: `cache()` or a
    shuffle buffer that the log or the program shows, where no list and no loop explains so many chunks.
    """
    most = max((row.count for row in moment.attribution.table), default=0)
    most = max(most, sum(row.count for row in _of_one_element(moment)))
    if not on_host(moment) or most < _MIN_CERTAIN_COUNT or (moment.request and _stores(case, moment.request)):
        return None
    if moment.request and _are_of_a_layer(moment, moment.request):
        return None
    told = case.capture.surroundings
    reported = told.pipeline_buffers[0] if told.pipeline_buffers else None
    settings = settings_by_name(code_lines(told))
    for line in code_lines(told):
        match = KEEPS_ELEMENTS.search(line.text)
        if match is None and (name := size_of_a_shuffle(line.text)):
            called = call_that_keeps(line.text) or ""
            number = settings[name][0] if name in settings else most
            if number >= most and not (reported and called.partition("(")[0] not in reported[0]):
                return called, line
        if match is None or (reported and kept_by(match).partition("(")[0] not in reported[0]):
            continue
        if reported or match["cache"] or int((match["buffer"] or "0").replace("_", "")) >= most:
            return kept_by(match), line
    return reported


_A_HALF_MORE = 2.2
"""Up to so many times what failed in a pipeline an element takes in its block: it is resized on its way, and
BFC gives it a block of up to twice its size.
"""


def _of_one_element(moment: Moment) -> list[Allocation]:
    """The blocks that may hold an element, or what it was before its last step, where a step of the input
    pipeline failed.
    """
    failed = moment.request.failed if moment.request else None
    need = moment.request.needed_bytes if moment.request else None
    if failed is None or not failed.pipeline or not need or need < _MIN_REQUEST_BYTES:
        return []
    return [row for row in moment.attribution.table if need <= row.size_bytes <= _A_HALF_MORE * need]


def _are_of_a_layer(moment: Moment, request: Request) -> bool:
    """Whether most of the chunks are as large as what the failing layer was given, or was to make: then they
    are what layers make.
    """
    failed = request.failed
    if not failed.keras_layer:
        return False
    most = max(moment.attribution.table, key=lambda row: row.total_bytes, default=None)
    given = [tensor_bytes(each.shape, each.dtype or "float32") for each in failed.arguments if each.shape]
    sizes = {round_up(size) for size in (failed.tensor_bytes, *given) if size}
    return most is not None and most.size_bytes in sizes


def _of_line(line: Line) -> str:
    return f", {line.place}"


def _buffers(case: Case) -> str:
    """What keeps elements, as the log says, else what may."""
    told = [what for what, _ in case.capture.surroundings.pipeline_buffers]
    if not told:
        lines = ((call_that_keeps(line.text), line) for line in code_lines(case.capture.surroundings))
        told = [*dict.fromkeys(f"{call}{_of_line(line)}" for call, line in lines if call)]
    return " and ".join(told) or "shuffle buffer, cache() or prefetch"


def _of_elements(keeps: str) -> Iterator[Remedy]:
    """What lets a pipeline keep less; of a cache first the file."""
    if keeps.startswith("cache"):
        yield Remedy(
            "leave cache() out, or cache what is small: before elements are decoded, converted to floats or"
            " cut into windows that overlap; or cache to a file, one of its own for training and for"
            " validation",
            "ds = read.cache().map(decode)   # or: ds.cache(f'/local/cache_{split}')",
            slug="cache-to-file",
        )
        return
    yield Remedy(
        "shuffle file names or indices before the elements are decoded, and keep only a small buffer of"
        " decoded ones",
        "data = names.shuffle(10_000).map(decode)",
        slug="shuffle-files",
    )


_WEIGHTS = Remedy(
    "have one model in the process: these are this model's weights and slots, or those of models that were"
    " built before it, which go only when nothing refers to them",
    "del model; gc.collect(); tf.keras.backend.clear_session()",
    slug="drop-models",
)


def _of_weights(case: Case, moment: Moment) -> bool:
    """Whether a model was being built, and nothing shows steps that left something behind."""
    if moment.request is None or not makes_first_values(moment.request):
        return False
    return not (_steps(case) or rising(case) or _stores(case, moment.request))


def _remedies(case: Case, moment: Moment, kept: bool) -> Iterator[Remedy]:
    if _pinned(moment):
        yield Remedy(
            "prefetch fewer batches, to the GPU as well, or make them smaller (uint8, fewer samples)",
            "ds.batch(n).prefetch(1)",
            slug="smaller-pipeline",
        )
        return
    need = moment.request.needed_bytes if moment.request else None
    if need and (batches := _of_batches(case, moment)):
        numbers = f"ds.shuffle({batches.buffer or 'n'}).batch({batches.batch or 'batch_size'})"
        yield Remedy(batches.advice(need), numbers, slug="shuffle-before-batch")
        return
    if kept_there := _kept_elements(case, moment):
        yield from _of_elements(kept_there[0])
        return
    if _of_the_pipeline(moment):
        yield Remedy(
            f"make the input pipeline keep fewer elements, or smaller ones: {_buffers(case)}; shuffle file"
            " names or indices before the elements are decoded, and cache to a file",
            "data = names.shuffle(10_000).map(decode)   # data.cache('/tmp/cache')",
            slug="smaller-pipeline",
        )
        return
    if moment.request and _of_weights(case, moment):
        yield _WEIGHTS
        return
    if written := _written(case, moment):
        then = f" ({written.read.place} reads it)" if written.read else ""
        yield Remedy(
            f"write into `{written.name}` only what is wanted of each iteration in the end{then}: the largest"
            " value, a mean, the few best, not the whole tensor; or compute it in the loop, and carry one",
            f"{written.name} = {written.name}.write(t, tf.reduce_max(value, axis=-1))",
            slug="write-less",
        )
    if cached := _cached(case):
        from tfmemlens.findings.support.kept_by_settings import without_cache  # reads trees

        yield without_cache(*cached)
        return
    if found := collected(case, moment):
        yield from one_by_one(case, found)
        return
    if not kept:
        look = _LOOK_FOR_LISTS
        smaller = remedies.offered(case, moment, "smaller-batch")
        shown = case.capture.surroundings.shows("training")
        yield from (
            (look, *smaller)
            if moment.request and is_eager(moment.request) and not shown
            else (*smaller, look)
        )
        return
    request = moment.request
    taped = loop_of_a_tape(case, request) if request else None
    if request and taped and not _stores(case, request):
        if taped.called:
            yield from _of_a_called_loop(taped)
        else:
            yield TAPE_INSIDE
        yield from remedies.offered(case, moment, "smaller-batch")
    elif steps := _steps_of_sequence(moment):
        yield Remedy(
            f"shorter sequences: {steps:,} -> {steps // 2:,} steps keep half as much (cut or bucket the data,"
            " or truncate backpropagation)",
            slug="shorter-sequences",
        )
        yield from remedies.offered(case, moment, "smaller-batch")
    elif request and (counted := _counted_loop(case, moment, request)):
        yield from _of_graph_loop(counted[0])
        yield from remedies.offered(case, moment, "smaller-batch")
    elif request and (loop := _graph_loop(case, request)):
        yield from _of_graph_loop(loop)
        yield from remedies.offered(case, moment, "smaller-batch")
    elif request and (_in_loop(case, request) or of_a_loop(case, moment)):
        if not _in_loop(case, request):
            yield Remedy(
                "compare this step's sequence length with those before, which fitted; cap or bucket the"
                " lengths",
                slug="compare-shapes",
            )
        fewer = list(remedies.offered(case, moment, "smaller-batch"))
        first = (remedies.batch_of(case, moment) or 0) >= _WORTH_HALVING  # which changes no gradient
        again = (_PIECES_AGAIN,) if _has_a_loop_of_its_own(case) else ()
        yield from (*fewer, *again, _TRUNCATE) if first else (*again, _TRUNCATE, *fewer)
    elif request and (recurrent := _recurrent(case, request)):
        half = f": {recurrent.steps:,} -> {recurrent.steps // 2:,} steps" if recurrent.steps else ""
        yield Remedy(
            f"shorter sequences keep less in proportion{half} (cut or bucket the data, take frames further"
            " apart, or truncate backpropagation)",
            slug="shorter-sequences",
        )
        yield from remedies.offered(case, moment, "smaller-batch")
    elif (
        request
        and (name := _stores(case, request))
        and (joins := joined_where_made(case.capture.surroundings.program(), name))
    ):
        yield Remedy(
            f"let each piece end in something small before it goes into `{name}`, by what follows"
            f" {joins.place}, and compute it again in the backward pass (tf.recompute_grad in TensorFlow 2)",
            slug="in-blocks",
        )
        yield from remedies.offered(case, moment, "smaller-batch")
    elif request and (name := _stores(case, request)):
        yield Remedy(
            f"keep no tensors in `{name}`: keep numbers, or arrays on the host, or add up as you go",
            f"{name}.append(y.numpy())   # gradients: total = [a + b for a, b in zip(total, grads)]",
            slug="keep-numbers",
        )
    elif _as_many_as_steps(case, moment):
        yield Remedy(
            "a list or buffer of your program keeps one of each step: keep arrays on the host in it, or cap"
            " its length",
            "buffer = collections.deque(maxlen=500); buffer.append(y.numpy())",
            slug="keep-numbers",
        )
    elif request and (unrolled := _unrolled(case, moment, request)):
        yield from remedies.offered(case, moment, "smaller-batch")
        yield from _of_graph_loop(unrolled)
    elif on_host(moment) and _long_after_its_start(case, moment) and not _steps(case):
        on_the_cpu = " (on the CPU such an array is the tensor's own memory)" if on_host(moment) else ""
        yield Remedy(
            "keep no results of sess.run in a list, a hook or a callback, but a mean of them, or a file"
            f"{on_the_cpu}",
            "kept.append(codes.mean())   # not kept.append(codes)",
            slug="look-for-lists",
        )
    elif request and _in_a_fit(request) and not _meaning(case, moment):
        yield from remedies.offered(case, moment, "smaller-batch", "recompute")
        yield _LOOK_FOR_LISTS
    elif _of_a_session(case) and not _meaning(case, moment):
        yield from remedies.offered(case, moment, "smaller-batch") or (_LESS_OF_A_STEP,)
    elif _meaning(case, moment):
        yield Remedy(
            "keep numbers, not tensors, between steps",
            "history.append(float(loss))   # not history.append(loss); of arrays: y.numpy()",
            slug="keep-numbers",
        )
    else:
        yield Remedy(
            "see whether their number grows from step to step: then a list keeps tensors (losses, gradients"
            " to be accumulated, outputs of a Python loop); if it does not, they are one piece for each"
            " layer, or for each matrix of an op such as eigh, SVD or QR, which then takes fewer at a time",
            device_memory(case, moment),
            slug="look-for-lists",
        )
        yield from remedies.offered(case, moment, "smaller-batch")


def _has_a_loop_of_its_own(case: Case) -> bool:
    """Whether the program's code runs a loop of the graph, of whose turns a part can be a function."""
    return any(_GRAPH_LOOP.search(line.text) for line in code_lines(case.capture.surroundings))


_GRAPH_LOOP = regex(r"\btf\.(?:while_loop|scan|foldl|foldr)\(")
_PIECES_AGAIN = Remedy(
    "let the backward pass compute the loop again, a piece at a time: kept are what goes into each piece and"
    " the turns of one (the call stands around the graph's loop, not in its body, where its variables cannot"
    " be captured)",
    "piece = tf.recompute_grad(lambda s: run(s, turns=10))   # then: for _ in range(n // 10): s = piece(s)",
    slug="pieces-again",
)
_WORTH_HALVING = 4
_TRUNCATE = Remedy(
    "cut the sequence into pieces (truncated backpropagation): memory grows with the number of iterations",
    slug="truncate",
)


def _of_graph_loop(loop: GraphLoop) -> Iterator[Remedy]:
    """Fewer turns under one gradient: of a number that the program names its half."""
    if loop.turns and loop.turns > 1:
        name = (
            f"`{loop.named[0]}` of {loop.named[1].place}" if loop.named else f"the turns of {loop.line.place}"
        )
        yield Remedy(
            f"fewer turns: {name}, {loop.turns:,} -> {loop.turns // 2:,}, keeps half as much",
            f"{loop.named[0]} = {loop.turns // 2}" if loop.named else None,
            slug="fewer-turns",
        )
    if loop.call.endswith("while_loop"):
        yield Remedy(
            "let the loop keep what its turns make in host RAM until the gradient needs it (GPU only,"
            " slower)",
            "tf.while_loop(cond, body, loop_vars, swap_memory=True)",
            slug="swap-to-host",
        )
    yield _PIECES_AGAIN
    yield Remedy(
        "run the loop in pieces, each with a gradient of its own, the next from where the last one ended"
        " (truncated backpropagation)",
        slug="truncate",
    )


_LOOK_FOR_LISTS = Remedy(
    "if memory grows from step to step: append numbers to your lists (losses, gradients, outputs), not"
    " tensors",
    "history.append(float(loss))   # not history.append(loss)",
    slug="look-for-lists",
)


def _of_a_called_loop(taped: TapedLoop) -> Iterator[Remedy]:
    """Turns that are one forward pass: their body is computed again, or they are fewer; of the steps of a
    sequence pieces have a gradient of their own.
    """
    yield Remedy(
        f"compute each turn of {taped.loop.place} again in the backward pass, so that only what goes from"
        " turn to turn is kept; the results are the same, for about a third more time",
        "body = tf.recompute_grad(one_turn)   # one_turn(x): the lines of the loop; then: x = body(x)",
        slug="recompute-turns",
    )
    if _REPEATS_ITSELF.search(taped.over):
        yield Remedy(
            f"or take fewer turns: memory grows with the number in `{taped.over}`",
            slug="fewer-turns",
        )
        return
    yield _A_TAPE_FOR_EACH


_REPEATS_ITSELF = regex(
    r"(?i)iter|refine|sweep|round|inner|unroll|depth|layers?\b|blocks?\b|sinkhorn|sub_?steps?"
)
"""Numbers of an algorithm's turns, which are no steps of a sequence."""
_A_TAPE_FOR_EACH = Remedy(
    "or cut the sequence into pieces, and take the gradient of each with a tape of its own (truncated"
    " backpropagation): memory grows with the number of iterations under one tape",
    slug="truncate",
)
