"""TensorFlow warned that a tf.function is traced again and again.

What it means: a tf.function is traced anew for every new shape, dtype or Python value among its arguments,
and each time it is created. Every trace keeps a graph, its constants and what it captured, so memory grows
with the number of traces; the warning comes after the fifth, and at most twice for a function.
When it fires: the log has the warning before the failure. It is a cause where the warning came again and the
dump has at least as many chunks of one size as there were tracings, which hold three tenths of what is in
use beyond the one that each step needs, or where what is in use rose from failure to failure; also without
a warning where the program recorded itself (`run --trace`), and what five and more traces of a function
keep, constants and tensors that each captured, holds three tenths of what is in use.
Where most of that are variables that nothing else has any more, it is given new models or optimizers.
It is no cause where the code keeps each model that a loop makes: each new model is traced anew; nor of
blocks that the step itself makes, where the program recorded one.
A function is made anew where two warnings tell of two objects of its name, or where a loop or a method of the
program keeps each that another function makes. Where the program was read, its call tells which argument
gets another Python number, string or object each time, or a tensor that a loop makes anew, whose shape then
differs; where it does, and what is traced uses an array of NumPy's from outside, one warning is enough.
What to do: give the function one signature, pass tensors instead of Python numbers; where it is made anew,
which no signature helps, make it once; pass large arrays as arguments, as each trace keeps a copy of what it
uses from outside; one model and one optimizer instead of new ones, whose variables each trace keeps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tfmemlens.findings.support.code_snippets import ONE_SIGNATURE
from tfmemlens.findings.support.growth import (
    counted_tracings,
    maker_of,
    one_for_each,
    rising,
    traced_function,
)
from tfmemlens.findings.support.kept_code import kept as kept_by_code
from tfmemlens.findings.support.kept_code import kept_function
from tfmemlens.findings.support.rows import all_in_use, attributed, chunk_evidence, requests
from tfmemlens.findings.support.unlike_blocks import UnlikeBlocks, unlike_blocks
from tfmemlens.model.allocation import Allocation
from tfmemlens.model.attribution import Kind
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import human, round_up

if TYPE_CHECKING:
    from tfmemlens.findings.support.retraced_code import Retraced
    from tfmemlens.model.live_model import TracedFunction

BASIS = Basis.NAME
EXPLAINS = "the blocks of one size beyond one step's, where each trace may have left one; else no bytes"

_MIN_CHUNK_BYTES = 16 << 10
_MIN_SHARE = 0.3
"""Of what is in use, for chunks that traces left behind to be a cause."""
_LIKELY = "A dump has no names; that each trace left one of these blocks is likely, not proved."
_SIGNATURE = Remedy(
    "give the function one signature, and pass tensors instead of Python numbers",
    ONE_SIGNATURE,
    slug="one-signature",
)
_MODELS = Remedy(
    "compile a model once and reuse it; forget old models before you build the next",
    "tf.keras.backend.clear_session()",
    slug="clear-session",
)


_ARGUMENTS = Remedy(
    "pass large arrays to the function as arguments: each trace keeps a copy of what it uses from outside",
    "step(states, reward)   # not a closure over states",
    slug="pass-arrays",
)

_FEW_LENGTHS = Remedy(
    "let the batches have few lengths: pad each up to a multiple, or bucket them; there is then one trace for"
    " each length that is left, and not for each that comes (a number that is passed with it must follow)",
    "length = -(-length // 256) * 256   # and mask what is padded",
    slug="bucket-sequences",
)
_MIN_TRACES = 5


def _once(maker: str) -> Remedy:
    """One function instead of one for each turn, and one of each array that it uses."""
    where = f"outside of `{maker}`" if maker else "outside of the loop"
    return Remedy(
        f"make the function once, {where}, and the large arrays that it uses, too; give it what changes as a"
        " tensor",
        "step(batch, tf.constant(rate))   # the same step at each turn",
        slug="one-function",
    )


def check(case: Case) -> Iterator[Finding]:
    if known := list(_kept_by_traces(case)):
        yield from known
        return
    told = case.capture.surroundings.retraced
    if told is None:
        return
    times, line = told
    for index, moment, request in list(requests(case))[:1]:
        failed = request.failed.line
        if failed and failed.source == line.source and failed.number < line.number:
            continue
        function, of_keras = traced_function(line)
        tracings = counted_tracings(times, line)
        anew = "" if of_keras else _made_anew(case, line)
        code = None if of_keras or anew else _in_the_program(case, function)
        copies = _copies(code, moment, tracings)
        left = copies or (_left_behind(moment, tracings) if times > 1 else [])
        unlike = _of_other_shapes(moment, tracings) if times > 1 and not (left or of_keras) else None
        growth = _growth(case) if times > 1 else 0
        of_blocks = unlike.bytes if unlike else growth
        explained = sum((row.count - 1) * row.size_bytes for row in left) or of_blocks
        warnings = f"{times} warnings, at least {tracings} tracings" if times > 1 else "a warning"
        warnings += f", at least {tracings} tracings" if times == 1 and left else ""
        kept = "each trace keeps its graph"
        function += _at(code)
        if copies and code and code.embedded:
            array, used = code.embedded
            kept = (
                f"each trace keeps a copy of its own of the NumPy array `{array}` ({used.place}), most likely"
                f" the {_counted(copies).removesuffix(' are')} in use"
            )
        elif left:
            each = "each trace, or each new model," if of_keras else "each trace"
            kept = f"most likely {each} left tensors behind: {_counted(left)} in use"
        elif unlike:
            kept = f"most likely each trace left tensors of another shape behind: {unlike.text()} are in use"
        told_why = times > 1 and _says_why(code) and _is_small(moment)
        by_models = of_keras and any(each.model for each in kept_by_code(case.capture.surroundings))
        yield Finding(
            severity=Severity.CAUSE if (explained or told_why) and not by_models else Severity.FACTOR,
            headline=f"{function} is {anew or 'traced again and again'} ({warnings}): {kept}",
            because=f"{function} is {anew or 'traced again and again'}, and {kept}",
            explains=explained or None,
            basis=Basis.MEASURED if explained else None,
            evidence=(Evidence("the first warning", line), *chunk_evidence(left)),
            detail=_LIKELY if left or unlike else "",
            remedies=(_MODELS,)
            if of_keras
            else (
                *(
                    (_FEW_LENGTHS,)
                    if unlike and not (anew or (code and code.shape and not code.number))
                    else ()
                ),
                *_remedies(line, anew, bool(left or unlike), code=code),
            ),
            moment=index,
            rules_out=_OF_ONE_STEP if told_why or unlike or copies else (),
        )


_SMALL = 0.02
_OF_ONE_STEP = ("smaller-batch", "look-for-lists", "compare-shapes")
"""What makes a step smaller, or looks for what grows, where so little failed that a step is not the cause."""


def _says_why(code: Retraced | None) -> bool:
    """Whether the program's own call tells why its function is traced anew."""
    return code is not None and (code.number is not None or code.shape is not None)


def _is_small(moment: Moment) -> bool:
    """Whether so little was asked for that only what had grown before explains the failure: not where what
    the step itself makes is most of what is in use.
    """
    need, whole = moment.request.needed_bytes if moment.request else None, all_in_use(moment)
    of_step = sum(size * count for size, count in _of_the_step(moment).items())
    return need is not None and need <= _SMALL * whole and 2 * of_step < whole


def _kept_by_traces(case: Case) -> Iterator[Finding]:
    """The function whose traces keep most, as the program counted them; nothing where that is little."""
    model, told = case.capture.live_model, case.capture.surroundings.retraced
    function = next(iter(model.functions), None) if model else None
    for index, moment, _ in list(requests(case))[:1]:
        beyond = function.bytes - function.bytes // function.traces if function else 0
        whole = all_in_use(moment)
        if function is None or function.traces < _MIN_TRACES or not beyond >= _MIN_SHARE * whole > 0:
            return
        kept = f"{function.traces} traces keep {human(function.bytes)} of constants and captured tensors"
        line = told[1] if told else None
        named = f"the tf.function `{function.name}`"
        if 2 * function.variable_bytes > function.bytes:
            yield _of_new_models(
                function, named + _line_of(_in_the_program(case, named)), beyond, line, index
            )
            return
        anew = _made_anew(case, line)
        again = anew or "traced again and again"
        code = None if anew else _in_the_program(case, named)
        named += _at(code)
        yield Finding(
            severity=Severity.CAUSE,
            headline=f"{named} is {again}: its {kept}",
            because=f"{named} is {again}, and its {kept}",
            explains=beyond,
            basis=Basis.MEASURED,
            evidence=(Evidence("the first warning", told[1]),) if told else (),
            detail="Counted in the graphs that Python held; NumPy arrays that a function uses from outside"
            " are constants of each trace, tensors made while it is traced are captured by it.",
            remedies=_remedies(line, anew, captures=True, counted=True, code=code),
            moment=index,
        )


_ONE_MODEL = Remedy(
    "make the model and its optimizer once, before the loop, and give the function always the same: set the"
    " weights anew instead, and zero what the optimizer keeps",
    "model.set_weights(start)   # not clone_model(...) or a new model for each turn",
    slug="one-model",
)
_OWN_FUNCTION = Remedy(
    "or make the tf.function where the model is made, so that it goes with it",
    "step = tf.function(step_of(model, optimizer))   # inside of the turn",
    slug="own-function",
)


def _of_new_models(
    function: TracedFunction, named: str, beyond: int, line: Line | None, index: int
) -> Finding:
    """It is given a new model or optimizer at each turn: a new Python object is a new trace, which keeps the
    memory of its variables after Python has dropped them.
    """
    kept = (
        f"its {function.traces} traces keep {human(function.variable_bytes)} of variables"
        " that nothing else has"
    )
    again = "traced anew for new models or optimizers"
    return Finding(
        severity=Severity.CAUSE,
        headline=f"{named} is {again}: {kept}",
        because=f"{named} is {again}, and {kept}",
        explains=beyond,
        basis=Basis.MEASURED,
        evidence=(Evidence("the first warning", line),) if line else (),
        detail="Counted in the graphs that Python held: a trace keeps what it used, and a new object among"
        " the arguments is a new trace. To drop the model, or to collect garbage, frees none of it.",
        remedies=(_ONE_MODEL, _OWN_FUNCTION),
        moment=index,
        rules_out=("clear-session", "drop-models"),
    )


def _line_of(code: Retraced | None) -> str:
    return f" ({code.line.place})" if code is not None else ""


def _made_anew(case: Case, line: Line | None) -> str:
    """How the function is made again and again, as words for it; empty where nothing shows that it is."""
    told = case.capture.surroundings
    keeping = kept_function(told)
    maker = maker_of(line) if line else ""
    if keeping:
        by = f" by `{maker}`" if maker else ""
        return f"made anew{by} again and again (`{keeping.container}`, {keeping.line.place}, keeps each)"
    return f"made anew at each call of `{maker}`" if told.made_anew and maker else ""


def _remedies(
    line: Line | None, anew: str, captures: bool, counted: bool = False, code: Retraced | None = None
) -> tuple[Remedy, ...]:
    """No signature helps a function that is made anew; what only counts traces does not tell why they are,
    unless the program's own call does.
    """
    once, arrays = _once(maker_of(line) if line else ""), [_arguments(code)] if captures else []
    if anew:
        return (once, *arrays)
    told = code is not None and (code.number is not None or code.shape is not None)
    if code is not None and code.shape is not None and not code.number:
        return (*_few_shapes(*code.shape), *arrays)
    return (_signature(code), *arrays, *([once] if counted and not told else []))


def _few_lengths(unlike: UnlikeBlocks | None, anew: str, code: Retraced | None) -> tuple[Remedy, ...]:
    """Few lengths, where each trace left other sizes; not where the argument that differs is known."""
    named = code is not None and code.shape is not None and not code.number
    return (_FEW_LENGTHS,) if unlike and not (anew or named) else ()


def _in_the_program(case: Case, function: str) -> Retraced | None:
    """The function as the program's code has it; trees are read only where there is a program."""
    program, name = case.capture.surroundings.program(), function.partition("`")[2].partition("`")[0]
    if not program or not name:
        return None
    from tfmemlens.findings.support.retraced_code import retraced

    return retraced(program, name.rpartition(".")[2])


def _at(code: Retraced | None) -> str:
    """Where the function stands, and which argument is another number each time."""
    if code is None:
        return ""
    if code.number is None and code.shape is not None:
        argument, line = code.shape
        likely = f"most likely the shape of its `{argument}` differs from call to call"
        return f" ({code.line.place}; {likely}, {line.place}: no Python number is given)"
    if code.number is None:
        return f" ({code.line.place})"
    argument, given, line = code.number
    what = "a new Python object" if code.kind == "object" else f"the Python {code.kind}"
    return f" ({code.line.place}; {line.place} gives its `{argument}` {what} `{given}`)"


def _few_shapes(argument: str, line: Line) -> tuple[Remedy, ...]:
    """What makes fewer traces of a function that gets tensors of many shapes."""
    return (
        Remedy(
            f"give `{argument}` a few shapes ({line.place}): pad its lengths up to multiples of 64, or bucket"
            " them; there is then one trace for each",
            "length = -(-length // 64) * 64   # and mask what is padded",
            slug="bucket-sequences",
        ),
        Remedy(
            "or one signature with None for what differs; within the function x.shape is then None there, so"
            " take tf.shape(x)",
            ONE_SIGNATURE,
            slug="one-signature",
        ),
    )


def _signature(code: Retraced | None) -> Remedy:
    if code is None or code.number is None:
        return _SIGNATURE
    argument, given, line = code.number
    if code.kind != "number":
        return _of_a_value(argument, line, code.kind)
    others, called = "", f"{argument}=tf.constant({given})   # tf.cast({argument}, tf.float32) inside"
    if code.other_shapes and not code.embedded:
        others = "; and let its arrays have sides of any length, where theirs differ from call to call, too"
        called = (
            f"@tf.function(reduce_retracing=True)   # and, where it is called: {argument}=tf.constant(...)"
        )
    return Remedy(
        f"give `{argument}` a tensor ({line.place}): each new Python number is traced anew, a tensor is not;"
        f" cast it where it meets floats{', take tf.minimum and tf.maximum of it' * code.compared}{others}",
        called,
        slug="one-signature",
    )


def _of_a_value(argument: str, line: Line, kind: str) -> Remedy:
    """A string or an object that is new for each call."""
    if kind == "string":
        return Remedy(
            f"give `{argument}` no string that differs from call to call ({line.place}): each new one is"
            " traced anew; use it outside of the function, or give a tensor",
            f"{argument}=tf.constant(...)   # for names of files and logs: after the call",
            slug="one-signature",
        )
    return Remedy(
        f"make `{argument}` once, before the loop ({line.place}), and give its numbers as tensors: each new"
        " Python object is traced anew, whatever it holds",
        f"{argument} = ...   # once; in the loop only what changes: tf.constant(weight)",
        slug="one-signature",
    )


def _arguments(code: Retraced | None) -> Remedy:
    if code is not None and code.array is None and code.number is not None and code.embedded is not None:
        name, line = code.embedded
        return Remedy(
            f"make `{name}` a tensor once, outside of the function ({line.place} uses it): a trace copies a"
            " NumPy array, and shares a tensor or a variable",
            f"{name} = tf.constant({name})   # once, where it is made; of a dictionary each of its arrays",
            slug="pass-arrays",
        )
    if code is None or code.array is None:
        return _ARGUMENTS
    name, line = code.array
    return Remedy(
        f"pass `{name}` to the function as an argument, made a tensor once: each trace keeps the copy that"
        f" {line.place} makes",
        f"{name} = tf.constant({name})   # once, outside",
        slug="pass-arrays",
    )


def _left_behind(moment: Moment, tracings: int) -> list[Allocation]:
    """The sizes with a chunk for each tracing, largest first, where they hold enough of all."""
    if attributed(moment):
        return []
    of_step = _of_the_step(moment)
    rows = [
        row
        for row in moment.attribution.table
        if row.size_bytes >= _MIN_CHUNK_BYTES
        and 2 * of_step[row.size_bytes] < row.count
        and one_for_each(row, moment.attribution.table, tracings)
    ]
    whole = all_in_use(moment)
    beyond = sum((row.count - 1) * row.size_bytes for row in rows)
    return sorted(rows, key=lambda row: -row.total_bytes) if beyond >= _MIN_SHARE * whole > 0 else []


def _of_other_shapes(moment: Moment, tracings: int) -> UnlikeBlocks | None:
    """Blocks of ever other sizes that fill the dump, as many at least as traces are counted."""
    if attributed(moment) or moment.is_counted:
        return None
    unlike = unlike_blocks(moment.attribution.table, all_in_use(moment))
    return unlike if unlike and unlike.blocks >= tracings else None


def copied_by_traces(case: Case, moment: Moment) -> bool:
    """Whether each trace most likely left a copy of an array of the program's, as its own call tells why
    there are so many traces.
    """
    told = case.capture.surroundings.retraced
    if told is None:
        return False
    times, line = told
    function, of_keras = traced_function(line)
    if of_keras or _made_anew(case, line):
        return False
    return bool(_copies(_in_the_program(case, function), moment, counted_tracings(times, line)))


def _copies(code: Retraced | None, moment: Moment, tracings: int) -> list[Allocation]:
    """The blocks that may be copies of the array which each trace embeds: not what the step failed to make
    one more of.
    """
    if code is None or code.number is None or code.embedded is None:
        return []
    request = moment.request
    need = round_up(request.needed_bytes or 0) if request else 0
    named = (request.failed.op or request.failed.node or "") if request else ""
    of_step = bool(named) and not _OF_A_TRACE.search(named)
    return [row for row in _left_behind(moment, tracings) if not (of_step and row.size_bytes == need)]


_OF_A_TRACE = regex(r"__inference|PartitionedCall|Const")
"""What fails while a trace gets its copy: the call as a whole, or the constant."""


_IN_A_STEP = (Kind.ACTIVATION, Kind.GRADIENT, Kind.WORKSPACE)


def _of_the_step(moment: Moment) -> Counter[int]:
    """By their size how many blocks are what the step itself makes, as far as the program recorded it."""
    counts = Counter[int]()
    if moment.is_counted:
        for row, owner in zip(moment.drawn.table, moment.drawn.owners, strict=True):
            counts[row.size_bytes] += row.count if owner.kind in _IN_A_STEP else 0
    return counts


def _growth(case: Case) -> int:
    """By how much use rose from failure to failure, in bytes."""
    rose = rising(case)
    return rose[-1] - rose[0] if rose else 0


def _counted(rows: list[Allocation]) -> str:
    """The chunks of the size that holds most: `15 chunks of 15.26 MiB are`."""
    return f"{rows[0].count} blocks of {human(rows[0].size_bytes)} are"
