"""The array of a JAX program that is the request: its code is followed on shapes alone, and what a line makes
is compared with the bytes that were asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tfmemlens.findings.support.diagonals import rows_times_numbers
from tfmemlens.findings.support.jax_code.changes import (
    FEWER_SAMPLES,
    HESSIAN_PRODUCTS,
    IN_BLOCKS,
    RECOMPUTED_STEPS,
    SCAN_OF_BLOCKS,
    SHARDED,
    WAIT_FOR_EACH_CALL,
    gradients_in_parts,
)
from tfmemlens.findings.support.jax_pairs import of_pairs
from tfmemlens.findings.support.jax_products import (
    DIAGONAL_OR_BLOCKS,
    OF_PAIRS_OF_PARAMETERS,
    forward_first,
    is_of_parameters,
    of_itself,
    of_one_hot,
)
from tfmemlens.findings.support.jax_stack import LEAST_BYTES, MadeByLine
from tfmemlens.findings.support.jax_stores import CREATES as _CREATES
from tfmemlens.findings.support.jax_stores import (
    drawn_in_parts,
    fewer,
    is_cache_of_keys,
    main_side,
    store,
    taken_alone,
    that_fit,
)
from tfmemlens.findings.support.main_buffers import CHUNKED, ONE_SHAPE
from tfmemlens.findings.support.program_lines import code_lines, numbers_by_name
from tfmemlens.findings.support.rows import rows, waits_for_another
from tfmemlens.knowledge.jax_arrays import Followed, Noted, arrays_of
from tfmemlens.knowledge.jax_arrays.values import MISMATCH, UPDATE_OF_ROWS, JaxArray
from tfmemlens.knowledge.stack_frames import user_frame
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Basis, Certainty, Remedy
from tfmemlens.model.line import Line
from tfmemlens.model.tensor import format_shape
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, human, round_up
from tfmemlens.values import replace

Advice = Callable[[str, int], MadeByLine | None]
"""What the idioms of a line say of it: its text and the bytes, to what makes less."""
_LONGEST = 60
_LEAST_SHARE = 0.15
"""Of a smaller part of what a program needs nobody would say that it is what fills it."""
_LITTLE_MORE = 1.05
_NEAR = 0.002
"""A compiled program's memory is a multiple of an array up to small buffers beside."""
_WORDS = 8000
_MUCH = 1.5
_MOST_LINES = 4
_LEAST_LETTERS = 6
"""A shorter line stands in many a statement."""
_DRAWS = frozenset("normal uniform truncated_normal".split())


def computed_array(case: Case, moment: Moment, need: int | None, advice: Advice) -> MadeByLine | None:
    """The array that a line of the program makes, where its bytes are the request; None where none is."""
    followed = _followed(case, need)
    if followed is None or need is None:
        return None
    shown = _shown(moment, followed.arrays)
    if of_shape := _of_told_shape(moment, shown) or _first_of_shape(moment, followed.arrays):
        return _told([of_shape], followed, need, advice)
    exact = [each for each in shown if need in (each.array.bytes, round_up(each.array.bytes))]
    eager = [each for each in exact if not each.compiled or _is_result(each, followed)] or exact
    if waits_for_another(moment) and len({each.line for each in eager}) > 1:
        return _one_of_several(eager, followed, need, advice)
    eager.sort(key=lambda each: each.name != "returned")
    return _told(eager, followed, need, advice) if eager else None


def is_told_by_the_code(case: Case, side: int, need: int) -> bool:
    """Whether a line of the program makes an array of the request's bytes that is no square of so many rows,
    or a square of them that is no kernel: of a row and a column, by an update inside vmap, or of the numbers
    that something is differentiated or solved for. Then it is named.
    """
    program = case.capture.surroundings.program()
    arrays = arrays_of(program).arrays if program else ()
    unmeant = (MISMATCH, UPDATE_OF_ROWS)
    squares = [each for each in arrays if each.array.shape == (side, side)]
    others = [each for each in arrays if need in (each.array.bytes, round_up(each.array.bytes))]
    return any(each.name in unmeant or is_of_parameters(each) for each in squares) or bool(
        others and not squares
    )


def makes_pairs(case: Case, need: int, sides: Sequence[int]) -> bool:
    """Whether a line of the program makes an array of the request's bytes with both of these sides."""
    program = case.capture.surroundings.program()
    arrays = arrays_of(program).arrays if program else ()
    exact = [each for each in arrays if need in (each.array.bytes, round_up(each.array.bytes))]
    return any(set(sides) <= set(each.array.shape) for each in exact)


def _is_result(noted: Noted, followed: Followed) -> bool:
    """Whether a line that is not compiled itself gets this gradient as the result of a compiled function:
    beside it others run one by one.
    """
    around = noted.way[:-1]
    return noted.name == "gradient" and any(
        not each.compiled and each.way[:-1] == around for each in followed.arrays
    )


def _one_of_several(made: Sequence[Noted], followed: Followed, need: int, advice: Advice) -> MadeByLine:
    """Of lines that all make the request's size nobody knows which one asked, where the call that failed was
    an earlier one; the first of them is the origin of the others where it makes a gradient of each sample.
    """
    first = made[0]
    lines = [*dict.fromkeys(each.line for each in made)]
    each_sample = _of_each_sample(first)
    what = (
        f"JAX runs ahead, so the message does not tell which line asked: {_places(lines)} of"
        f" {first.line.source or 'the program'} each make {human(need)}, the request to the byte;"
        f" {_at(first)} runs first and makes {_sized(first.array, first.array.shape, followed)}"
    )
    if each_sample:
        what += f", a gradient for each of {first.array.shape[0]:,} samples by itself"
    if larger := _larger(first, followed):
        what += f"; {larger}"
    of_first = _remedies([first], need, 1, followed, advice)
    way = first.way[:-1]  # what a function makes later is made of the first
    of_one_call = bool(way) and all(each.way[: len(way)] == way for each in made)
    known = each_sample or of_one_call
    remedies = (*of_first, WAIT_FOR_EACH_CALL) if known else (WAIT_FOR_EACH_CALL, *of_first)
    out = _without_effect(first, followed, of_first)
    return MadeByLine(what, remedies, Basis.SHAPE, first.line, rules_out=out, shape=first.array.shape)


def _without_effect(made: Noted, followed: Followed, remedies: Sequence[Remedy]) -> tuple[str, ...]:
    """Remedies of other rules that make this array no smaller: of a batch, where the program names all its
    sizes and none is one; of a store that is told how many of its rows fit, what says so in general.
    """
    names = [followed.names.get(size) for size in made.array.shape if size >= _LEAST_SIZE]
    of_none = bool(names) and all(name and not _A_BATCH.search(name) for name in names)
    told = any(each.slug == "smaller-buffer" for each in remedies)
    return (*(_OF_A_BATCH if of_none else ()), *(("smaller-replay",) if told else ()))


_LEAST_SIZE = 3
_OF_A_BATCH = ("smaller-batch", "gradient-accumulation", "gradient-checkpointing")
_OF_A_MATRIX = 2


def _of_each_sample(made: Noted) -> bool:
    """Whether it is the gradient of a matrix or kernel for each sample by itself."""
    return made.name == "gradient" and len(made.array.shape) > _OF_A_MATRIX


def gradient_of_each_sample(case: Case, moment: Moment) -> Line | None:
    """The program's line whose gradients of each sample are the largest buffer of a listed program: XLA names
    it by what it does with them first.
    """
    need = moment.request.needed_bytes if moment.request else None
    largest = next(iter(rows(moment, lambda row: row.allocation.purpose != "parameter")), None)
    followed = _followed(case, need)
    if largest is None or followed is None:
        return None
    wanted = largest.allocation.shape, largest.allocation.dtype
    return next(
        (
            each.line
            for each in followed.arrays
            if _of_each_sample(each) and (each.array.shape, each.array.dtype) == wanted
        ),
        None,
    )


_A_BATCH = regex(r"(?i)batch|\bbs\b|\bn_?(?:samples|examples)\b")


def without_a_batch(case: Case, moment: Moment) -> Remedy | None:
    """What makes the largest buffers smaller where a smaller batch does not: the program names its batch, and
    it names every size of the array that they are, none of them after a batch.
    """
    need = moment.request.needed_bytes if moment.request else None
    listed = rows(moment, lambda row: row.allocation.purpose != "parameter" and bool(row.allocation.shape))
    followed = _followed(case, need) if listed else None
    stated = numbers_by_name(code_lines(case.capture.surroundings))
    batches = [number for name, (number, _) in stated.items() if _A_BATCH.search(name)]
    if followed is None or need is None or not batches:
        return None
    most = listed[0].allocation.total_bytes
    alike = [row.allocation for row in listed if row.allocation.total_bytes == most]
    if 2 * most * len(alike) < sum(row.allocation.total_bytes for row in listed):
        return None
    shapes = {(each.shape, each.dtype) for each in alike}
    for made in followed.arrays:
        names = [followed.names.get(size) for size in made.array.shape if size > 1]
        free = all(name and not _A_BATCH.search(name) for name in names)
        if (made.array.shape, made.array.dtype) in shapes and len(names) > 1 and free:
            return None if set(batches) & set(made.array.shape) else _in_parts(made, need, followed)
    return None


_TOLD = regex(r"\[shape = '\w{1,9}\[(?P<sizes>\d{1,12}(?:,\d{1,12}){1,7})\]")
"""The array that a TPU's message names; what lies beside it may have another dtype of its own."""


def _of_told_shape(moment: Moment, arrays: Sequence[Noted]) -> Noted | None:
    """The first array of the shape that the message states."""
    line = moment.request.failed.line if moment.request else None
    match = _TOLD.search(line.text) if line else None
    sizes = tuple(map(int, match["sizes"].split(","))) if match else ()
    return next((each for each in arrays if each.array.shape == sizes), None) if sizes else None


def _first_of_shape(moment: Moment, arrays: Sequence[Noted]) -> Noted | None:
    """The first array of the shape that a kernel has which XLA tried: JAX runs ahead, so an operation before
    the failing line may have made it.
    """
    compiler = moment.incident.compiler if moment.incident else None
    shape = moment.request.failed.shape if moment.request and compiler and compiler.tried else None
    return next((each for each in arrays if each.array.shape == shape), None) if shape else None


def computed_within(case: Case, moment: Moment, need: int | None, advice: Advice) -> MadeByLine | None:
    """The largest array of a compiled function, where much of what was asked for can be it: a guess."""
    followed = _followed(case, need)
    if followed is None or need is None:
        return None
    inside = _in_the_program(moment, followed)
    if of_each := _all_of_each_sample(inside, need, followed):
        return of_each
    fitting = [each for each in inside if _held(each) <= need]  # no program is smaller than a part of it
    largest = max(fitting, key=_held, default=None)
    if largest is None or _held(largest) < need * _LEAST_SHARE:
        return None
    if any(_held(each) > need * (1 + _NEAR) for each in inside) and not _is_times(largest, need):
        return None  # something larger is never made whole: what is may be anything
    alike = [each for each in inside if _held(each) == _held(largest)]
    return _told(alike, followed, need, advice)


def _is_times(largest: Noted, need: int) -> bool:
    """Whether what is asked for is one, two … of this array and next to nothing else."""
    times = round(need / _held(largest))
    return times <= _FEW_TIMES and 0 <= need - times * _held(largest) <= _EXACTLY * need


def _all_of_each_sample(inside: Sequence[Noted], need: int, followed: Followed) -> MadeByLine | None:
    """Gradients of all weights for each sample, where they are most of what is asked for."""
    sets = [each for each in inside if _of_each_sample(each) and _MOST_OF_IT * need <= each.together <= need]
    largest = max(sets, key=lambda each: each.array.bytes, default=None)
    if largest is None:
        return None
    samples = largest.array.shape[0]
    weights = largest.together // samples // _FLOAT
    name = followed.names.get(samples)
    many = f"{samples:,} samples" + (f" (`{name}`)" if name else "")
    part = max(samples // _SIXTEEN, 1)
    few = human(largest.together // samples * part)
    return MadeByLine(
        f"most likely {_at(largest)} inside vmap makes a gradient of all weights for each of {many} before"
        f" anything adds them up: {samples:,} x {weights:,} float32, {human(largest.together)}: the"
        f" compiled function asks for {_times(need / largest.together)} this; the largest of them is"
        f" {_sized(largest.array, largest.array.shape, followed)}",
        (
            replace(
                gradients_in_parts(samples),
                saves_bytes=largest.together - largest.together // samples * part,
                certainty=Certainty.ESTIMATE,
            ),
            replace(FEWER_SAMPLES, text=_FEWER_AT_ONCE.format(part, samples, few), code=None),
        ),
        Basis.SHAPE,
        largest.line,
        rules_out=_OF_ACTIVATIONS,
        shape=largest.array.shape,
    )


_FLOAT, _SIXTEEN, _MOST_OF_IT = 4, 16, 0.4
_FEWER_AT_ONCE = "or give a step fewer samples: {:,} instead of {:,} have gradients of {}"
_OF_ACTIVATIONS = ("recompute", "recompute-body", "gradient-checkpointing")
"""What makes less of what layers give, and leaves gradients as they are."""


def computed_for_certain(case: Case, moment: Moment, need: int | None, advice: Advice) -> MadeByLine | None:
    """The same where what the array is for is known as well, which no other reading of the code outweighs."""
    made = computed_within(case, moment, need, advice)
    return made if made and made.rules_out in (OF_PAIRS_OF_PARAMETERS, _OF_ACTIVATIONS) else None


_FEW_TIMES, _EXACTLY = 4, 0.0002


def _in_the_program(moment: Moment, followed: Followed) -> list[Noted]:
    """What a compiled function makes; where none is shown and a program failed, what any line makes."""
    shown = _shown(moment, followed.arrays)
    inside = [each for each in shown if each.compiled]
    return inside or ([*shown] if _compiled_alone(moment) else [])


def _compiled_alone(moment: Moment) -> bool:
    """Whether it failed when a program was compiled: then its text hides the call, and no line ran alone."""
    compiler = moment.incident.compiler if moment.incident else None
    on_chip = moment.request is not None and moment.request.failed.allocator == "hbm"
    return on_chip and bool(compiler and compiler.capacity)


def computed_in_all(case: Case, moment: Moment, need: int | None, advice: Advice) -> MadeByLine | None:
    """The largest arrays of a compiled function that asks for many times the largest: a guess, which says
    where to begin.
    """
    followed = _followed(case, need)
    if followed is None or need is None:
        return None
    inside = _in_the_program(moment, followed)
    by_line: dict[int, Noted] = {}
    for each in sorted(inside, key=_held, reverse=True):
        by_line.setdefault(each.line.number, each)
    first = next(iter(by_line.values()), None)
    if first is None or not need * _LEAST_PART <= _held(first) <= need:
        return None
    least, most = _held(first) // 2, _held(first) * _NO_COPY
    second = next((each for each in by_line.values() if least <= _held(each) <= most), None)
    told = " and ".join(
        f"{_at(each)}, {_sized(each.array, each.array.shape, followed)} ({human(_held(each))})"
        for each in (first, second)
        if each
    )
    call = f" called in {first.way[0].place}" if len(first.way) > 1 else ""
    what = f"most likely the compiled function{call} as a whole; the largest of what it makes: {told}"
    samples = first.array.shape[0] if first.array.shape else 1
    common = samples > 1 and (second is None or second.array.shape[:1] == (samples,))
    fewer = (replace(FEWER_SAMPLES, text=FEWER_SAMPLES.text.format(f"{samples:,}")),) if common else ()
    rest = tuple(_remedies([first], need, 1, followed, advice))
    alone = bool(common and need // samples > _BEYOND_A_DEVICE)  # one sample is too much by itself
    remedies = (*rest[:1], *fewer, *rest[1:]) if alone and rest else (*fewer, *rest)
    return MadeByLine(what, remedies, Basis.SHAPE, first.line, shape=first.array.shape)


_BEYOND_A_DEVICE = 64 * GIB
"""What hardly any device has room for beside all else."""
_NO_COPY, _LEAST_PART = 0.95, 0.01
"""Up to what part of the largest an array is none of its copies; of what part of the request it is told."""


def _followed(case: Case, need: int | None) -> Followed | None:
    """What the program's code makes, where the request is large enough to be asked about."""
    if need is None or need < LEAST_BYTES:
        return None
    program = case.capture.surroundings.program()
    return arrays_of(program) if program else None


def _shown(moment: Moment, arrays: Sequence[Noted]) -> Sequence[Noted]:
    """The arrays that the failing line makes, itself or in what it calls; all where it only waits for them,
    or where no line is known.
    """
    failed = moment.request.failed if moment.request else None
    texts = {frame.text.strip() for frame in failed.frames if user_frame(frame.place)} if failed else set()
    if failed is None or not texts or waits_for_another(moment):
        return arrays
    last = next(frame.text.strip() for frame in reversed(failed.frames) if user_frame(frame.place))
    return [each for each in arrays if any(_is(line, last) for line in each.way)]


def _is(line: Line, quoted: str) -> bool:
    """Whether a traceback quotes this line: of a statement of several lines it may quote all of them."""
    text, whole = line.text.replace(" ", ""), quoted.replace(" ", "")
    return bool(text) and (text == whole or (len(text) >= _LEAST_LETTERS and text in whole))


def _held(noted: Noted) -> int:
    """The bytes of it that live at once: a gradient keeps what every turn of a scan makes."""
    return noted.array.bytes * _turns(noted)


def _turns(noted: Noted) -> int:
    return noted.times if noted.gradient and noted.compiled else 1


def _told(made: Sequence[Noted], followed: Followed, need: int, advice: Advice) -> MadeByLine:
    """The first of these arrays, in words: its line, its shape, how much of the request it is."""
    first = made[0]
    exact = need in (first.array.bytes, round_up(first.array.bytes))
    turns = 1 if exact else _turns(first)
    what = _in_words(first, turns, followed)
    shapes = {each.array.shape for each in made}
    others = _places([each.line for each in made if each.line != first.line])
    told = not exact and need < _held(first)
    if exact:
        what += ", the request to the byte"
    elif told:
        what += f", {human(first.array.bytes)}, the shape that the message names"
    elif need in (_held(first), round_up(_held(first))):
        what = f"most likely {what}, {human(need)}, the request to the byte"
    else:
        what = f"most likely {what}, {human(_held(first))}: the compiled function asks for"
        what += f" {_times(need / _held(first))} this"
    if exact and len(shapes) > 1:
        what = f"most likely {what}"
    if first.name == MISMATCH:
        what += f"; most likely by mistake: [{first.array.shape[-1]}] meets [{first.array.shape[-1]},1]"
    if use := of_one_hot(first, followed):
        what += f"; {use.what}"
    if is_of_parameters(first):
        what += f"; {_PAIRS_OF_PARAMETERS.format(first.array.shape[0])}"
    if others:
        what += f"; as large: {others}"
    if exact and (larger := _larger(first, followed)):
        what += f"; {larger}"
    remedies = _remedies(made, need, turns, followed, advice)
    out = _without_effect(first, followed, remedies) if exact else ()
    if use or is_of_parameters(first):
        out = OF_PAIRS_OF_PARAMETERS
    return MadeByLine(what, remedies, Basis.SHAPE, first.line, rules_out=out, shape=first.array.shape)


_PAIRS_OF_PARAMETERS = "a row and a column for each of {:,} parameters, however few rows of data there are"


def _in_words(made: Noted, turns: int, followed: Followed) -> str:
    """`q @ k.T` (line 9) makes [64,64] float32."""
    shape = (turns, *made.array.shape) if turns > 1 else made.array.shape
    size, at = _sized(made.array, shape, followed), _at(made)
    if turns > 1:
        return f"the gradient keeps {at} for each of {turns:,} turns of the scan: {size}"
    if made.name == "returned":
        return f"{at} makes {size} beside the array that it is given"
    return f"the gradient at {at} has {size}" if made.name == "gradient" else f"{at} makes {size}"


def _sized(array: JaxArray, shape: Sequence[int], followed: Followed) -> str:
    return f"{format_shape(shape)} {array.dtype}{_named(shape, followed)}"


def _at(made: Noted) -> str:
    """The code, cut to a length, with its line."""
    code = made.code if len(made.code) <= _LONGEST else f"{made.code[: _LONGEST - 3]}..."
    return f"`{code}` ({made.line.place})"


def _times(share: float) -> str:
    """How much of it the request is."""
    if share < _LITTLE_MORE:
        return "little more than"
    whole = abs(share - round(share)) <= _NEAR * share
    return f"{round(share)} times" if whole else f"about {share:.1f} times"


def _places(lines: Sequence[Line]) -> str:
    """`lines 3, 7` without their file, which the first line names."""
    numbers = sorted({line.number for line in lines})[:_MOST_LINES]
    if not numbers:
        return ""
    return f"line {numbers[0]}" if len(numbers) == 1 else f"lines {', '.join(map(str, numbers))}"


def _larger(made: Noted, followed: Followed) -> str:
    """An array that the program makes by itself and that is much larger than the one that failed."""
    eager = [each for each in followed.arrays if not each.compiled]
    largest = max(eager, key=lambda each: each.array.bytes, default=made)
    if largest.array.bytes < _MUCH * made.array.bytes:
        return ""
    size = f"{format_shape(largest.array.shape)} {largest.array.dtype}"
    return f"the largest array is of {largest.line.place}, {size}: {human(largest.array.bytes)}"


_LEAST_ALIKE = 16


def _by_chance(size: int, shape: Sequence[int]) -> bool:
    """Whether a small size stands there twice: one name is then no name of both."""
    return size < _LEAST_ALIKE and list(shape).count(size) > 1


def _named(shape: Sequence[int], followed: Followed) -> str:
    """` (BATCH x SEQ x VOCAB)`, where the program gives names to most of the sizes."""
    names = [None if _by_chance(size, shape) else followed.names.get(size) for size in shape]
    known = sum(name is not None for name in names)
    if not known or 2 * known < len(names):
        return ""
    return f" ({' x '.join(name or f'{size:,}' for name, size in zip(names, shape, strict=True))})"


def _remedies(
    made: Sequence[Noted], need: int, turns: int, followed: Followed, advice: Advice
) -> tuple[Remedy, ...]:
    """What makes the array smaller: by how it is made, by the idiom of its line, else by its sizes."""
    first = made[0]
    cache = next((each for each in made if each.name in _CREATES and is_cache_of_keys(each, followed)), None)
    remedies = tuple(store(cache, followed) if cache else _of_kind(first, turns, need, followed))
    if (
        first.name == "diag"
        and len(first.array.shape) == _OF_A_MATRIX
        and (of := _DIAGONAL.search(first.code))
    ):
        return (rows_times_numbers(of["of"], first.array.bytes),)
    if not remedies and (idiom := advice(first.code, need)):
        remedies = tuple(each for each in idiom.remedies if each.slug != _HALF.slug)  # the dtype is known
        if not (followed.derived or any(each.gradient for each in followed.arrays)):
            of_none = tuple(each for each in remedies if not each.text.startswith("under a gradient"))
            remedies = of_none if of_none == remedies else (*of_none, _TURNS_TO_THE_HOST)
        remedies = _under_a_gradient(first, of_pairs(first, followed, remedies))
    remedies = remedies or (_in_parts(first, need, followed),)
    if any(each.name == "returned" for each in made):
        remedies = (_donated(first), *remedies)
    if first.array.dtype in ("float64", "complex128"):
        half = first.array.bytes // 2
        remedies = (replace(_HALF, saves_bytes=half, certainty=Certainty.EXACT), *remedies)
    return remedies


_OF_A_MATRIX, _DIAGONAL = 2, regex(r"\bdiag\(\s*(?P<of>[^(),]{1,60})\)")
_TURNS_TO_THE_HOST = Remedy(
    "or run a part of the turns at a time, and bring the rows of each part to the host (pictures as uint8)",
    "carry, rows = jax.lax.scan(body, carry, part); kept.append(np.asarray(rows))   # for each part of xs",
    slug="in-pieces",
)
_HALF = Remedy(
    "compute in float32: half of this",
    "jax.config.update('jax_enable_x64', False)",
    slug="single-precision-jax",
)


def _donated(made: Noted) -> Remedy:
    return Remedy(
        "give the compiled function its old arrays to keep: the new ones then take their place",
        "f = jax.jit(f, donate_argnums=(0, 1))   # x = f(x): the old x is gone afterwards",
        made.array.bytes,
        Certainty.ESTIMATE,
        slug="donate-buffers",
    )


def _of_kind(made: Noted, turns: int, need: int, followed: Followed) -> list[Remedy]:
    """What the way in which it is made tells by itself."""
    shape, name = made.array.shape, made.name
    if name == MISMATCH:
        return [ONE_SHAPE]
    if use := of_one_hot(made, followed):
        return [use.remedy]
    if is_of_parameters(made):
        return [*of_itself(made, followed)] or [*_OF_A_HESSIAN]
    if name == UPDATE_OF_ROWS:
        in_parts = _in_parts(made, need, followed)
        once = _ONE_UPDATE if _ADDS.search(made.code) else replace(_ONE_UPDATE, code=None)
        return [once, replace(in_parts, text=f"or {in_parts.text}")]
    if turns > 1 and (forward := forward_first(followed)):
        return [forward, RECOMPUTED_STEPS]
    if turns > 1 and name == "gradient":
        return [_blocks_of_turns(made, turns)]
    if turns > 1 and made.carried >= _AS_LARGE * made.array.bytes:
        return [_blocks_of_carries(made, turns)]
    if turns > 1:
        return [RECOMPUTED_STEPS, SCAN_OF_BLOCKS]
    if name == "gradient" and len(shape) > _OF_A_MATRIX:
        return [gradients_in_parts(shape[0])]
    if name == "gradient" and shape[0] >= _WORDS:
        return [
            Remedy(
                "if its rows are looked up: differentiate by the rows of the batch instead of by the table",
                "g = jax.grad(loss)(table[ids]); table = table.at[ids].add(-lr * g)   # table donated",
                slug="rows-of-the-batch",
            ),
            SHARDED,
        ]
    if name == "matmul" and made.gradient and len(shape) == len(_SQUARE) and len(set(shape)) == 1:
        return [
            _SQUARE[0],
            replace(_SQUARE[1], text=f"or lower the {shape[0]:,}: half of them take a quarter of this"),
        ]
    if name == "matmul" and made.gradient and len(shape) > 1 and shape[-1] >= _WORDS:
        return [CHUNKED]
    if name in _DRAWS and (parts := drawn_in_parts(made, followed)):
        return parts
    if name in ("einsum", "matmul", "operator") and (few := taken_alone(made, followed)):
        return few
    if name in _CREATES and len(shape) > 1:
        return store(made, followed)
    return []


_OF_A_HESSIAN = (
    replace(
        HESSIAN_PRODUCTS,
        text="take products with vectors, which never make the matrix: conjugate gradients solve with them,"
        " and Lanczos finds the largest eigenvalues",
    ),
    DIAGONAL_OR_BLOCKS,
)


def _blocks_of_turns(made: Noted, turns: int) -> Remedy:
    """Of gradient steps in a scan: the weights that are carried are as large as the gradient, so that a step
    that is computed again leaves as much.
    """
    blocks = max(round(turns**0.5), 1)
    left = (blocks + -(-turns // blocks)) * made.array.bytes
    return replace(
        SCAN_OF_BLOCKS,
        text=f"scan over about {blocks} blocks of steps, with jax.checkpoint around each block: of these"
        f" arrays about {human(left)} are left; around each step alone it leaves as much as now, since the"
        " weights that are carried on are as large (without xs: blocks = jnp.zeros((blocks, steps)))",
    )


_AS_LARGE = 0.5
"""Of what a turn makes: where so much is carried on, computing each turn again leaves too much."""


def _blocks_of_carries(made: Noted, turns: int) -> Remedy:
    """Of a scan that carries as much as it makes: a turn that is computed again leaves its carry."""
    blocks = max(round(turns**0.5), 1)
    steps = -(-turns // blocks)
    left = blocks * made.carried + steps * max(made.array.bytes, made.carried)
    return replace(
        SCAN_OF_BLOCKS,
        text=f"scan over about {blocks:,} blocks of {steps:,} steps, with jax.checkpoint around each block:"
        f" the carries between blocks and one block are left, {human(left)} for each array of a step that is"
        f" kept; around each step alone all carries stay, {human(turns * made.carried)} (without xs: blocks"
        " = jnp.zeros((blocks, steps)))",
    )


_LARGE_MATRIX = 1 << 30
"""A matrix of all pairs that is itself too large to be kept several times."""


def _under_a_gradient(made: Noted, remedies: tuple[Remedy, ...]) -> tuple[Remedy, ...]:
    """Blocks of rows of which a gradient keeps nothing but the rows; before the matrix product, where the
    matrix that this leaves is large still.
    """
    if not made.gradient:
        return remedies
    found = [_again(each) for each in remedies]
    pairs = made.array.bytes // (made.array.shape[-1] or 1) if len(made.array.shape) > _OF_A_MATRIX else 0
    product = next((each for each in found if each.slug == "matrix-product"), None)
    if product is None or len(found) == 1 or pairs < _LARGE_MATRIX:
        return tuple(found)
    found.remove(product)
    alone = (
        f"{product.text}; alone it leaves {human(pairs)} for each matrix of all pairs, and the gradient keeps"
        " several"
    )
    return (*found, replace(product, text=alone))


def _again(remedy: Remedy) -> Remedy:
    """Blocks that the backward pass computes again: a gradient keeps what each block makes, else."""
    told = f"{remedy.text} {remedy.code or ''}"
    if remedy == IN_BLOCKS:
        return replace(remedy, text=_IN_BLOCKS_AGAIN, code=_BLOCKS_AGAIN)
    if remedy.slug not in _PARTS or "checkpoint" in told:
        return remedy
    code = remedy.code or ""
    for plain, checkpointed in _LOOPS_AGAIN:
        code = plain.sub(checkpointed, code)
    text = (
        f"{remedy.text}; let the backward pass compute each block again, else the gradient keeps all of them"
    )
    return replace(remedy, text=text, code=code or None)


_PARTS = ("in-blocks", "in-pieces")
_LOOPS_AGAIN = (
    (regex(r"\blax\.map\((?P<f>[\w.]{1,40}),"), r"lax.map(jax.checkpoint(\g<f>),"),
    (
        regex(r"\bout = jax\.lax\.fori_loop\(0, blocks, (?P<f>\w{1,40}), out\)"),
        r"out, _ = jax.lax.scan(jax.checkpoint(\g<f>), out, blocks)   # gives (out + its sum, None)",
    ),
)
_IN_BLOCKS_AGAIN = (
    "go through the rows in blocks, reduce each row at once, and let the backward pass compute each block"
    " again: else the gradient keeps all of them"
)
_BLOCKS_AGAIN = "y = jax.lax.map(jax.checkpoint(f), x, batch_size=256)   # f of one row against all others"
_ONE_UPDATE = Remedy(
    "inside vmap, an update at an index copies the whole array for each row: update it for all rows at once,"
    " outside of vmap, or compute what you need of it from the index without making it",
    "x = x.at[indices].add(values)   # once, instead of vmap(lambda i: x.at[i].add(...))",
    slug="update-once",
)
_ADDS = regex(r"\.(?:add|subtract)\(")
"""Updates that go together: of those that set, each row has one of its own."""
_SQUARE = (
    Remedy(
        "compute a block of its rows at a time, with their loss, and let the backward pass compute it again:"
        " all of it then never exists",
        "loss = jax.lax.map(jax.checkpoint(loss_of_rows), (row_parts, label_parts)).sum()",
        slug="in-blocks",
    ),
    Remedy("", slug="in-pieces"),
)
"""Of a number for each pair of rows that a gradient is taken of."""


def _in_parts(made: Noted, need: int, followed: Followed) -> Remedy:
    """The size that matters most, and how many of it take little."""
    if made.name in _CREATES | _DRAWS:
        return fewer(made, followed)
    shape = made.array.shape
    largest, at = main_side(shape)
    few, takes = that_fit(made.array.bytes, largest)
    name = followed.names.get(largest)
    where = f"size {at + 1} of {len(shape)}" + (f", `{name}`" if name else "")
    text = f"{few:,} of its {largest:,} ({where}) at a time take {human(takes)}"
    saves = max(min(made.array.bytes, need) - takes, 0)
    if made.gradient:
        return Remedy(
            "go through it in parts, and let the backward pass compute each part again (jax.checkpoint;"
            f" without it every part is kept): {text}",
            f"y = jax.lax.map(jax.checkpoint(f), xs, batch_size={few})   # or jax.lax.scan, its body in"
            " jax.checkpoint",
            saves,
            Certainty.ESTIMATE,
            slug="in-pieces",
        )
    return Remedy(
        f"go through it in parts, and reduce each part before the next: {text}",
        saves_bytes=saves,
        certainty=Certainty.ESTIMATE,
        slug="in-pieces",
    )
