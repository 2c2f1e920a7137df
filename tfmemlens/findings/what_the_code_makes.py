"""A line of the program makes, or keeps, what did not fit.

What it means: idioms of TensorFlow and Keras have a price that their line does not show: a one-hot row as
long as there are values, every pair of two sets, all samples of an array in one call, a data set in RAM. A
table of such idioms says what each makes and what would make less.
When it fires: the text shows such a line, and the failure agrees with it: the line is the one that failed or
lies on the way to it, a number that it states is a size of what was asked for, the failing op is of its kind,
or host RAM ran out and the line keeps data there.
What to do: what the idiom's row advises.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tfmemlens.findings.support import remedies, samples
from tfmemlens.findings.support.dense_by_hand import dense_by_hand
from tfmemlens.findings.support.hidden_layer import is_hidden
from tfmemlens.findings.support.kernel_gradients import layer_of_each_sample
from tfmemlens.findings.support.kills import another_program
from tfmemlens.findings.support.one_hot import BESIDE_A_TABLE, by_index, meets_a_table
from tfmemlens.findings.support.penalised_table import penalised_table
from tfmemlens.findings.support.program_lines import code_lines, reads_a_batch
from tfmemlens.findings.support.quoted_line import line_of_op
from tfmemlens.findings.support.rebuilt_table import rebuilt_table
from tfmemlens.findings.support.rows import on_host, requests
from tfmemlens.findings.support.situation import TENSORFLOW, framework_of, situation
from tfmemlens.findings.support.tf_code import TABLE, Agreement, CodeChange, Of, TensorFlowIdiom
from tfmemlens.findings.support.what_grows import fills_no_longer
from tfmemlens.knowledge.stack_frames import user_frame
from tfmemlens.model.attribution import Kind
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import FailedRequest, Frame, RequestKind
from tfmemlens.model.line import Line
from tfmemlens.model.tensor import format_shape
from tfmemlens.patterns import regex
from tfmemlens.units import human

BASIS = Basis.NAME
EXPLAINS = "the request, where the line makes it"

_MOST = 2
"""So many lines are told of."""
_LEAST_NUMBER = 16
"""Smaller numbers are sizes of many tensors by chance."""
_A_HUNDRED = 100
_BASIS = {Agreement.NUMBER: Basis.MEASURED, Agreement.OP: Basis.MEASURED, Agreement.LINE: Basis.SHAPE}
_MARKED = regex(r"\A\s*-{2,}> ?\d{1,5}[ :]\s*(?P<code>\S.*)")
"""A line that a notebook marks as the one that failed."""
_COMPARES = regex(r"(?:\A|/)(?:Maximum|Minimum|(?:Not)?Equal|Greater\w*|Less\w*|Logical\w+)(?:_\d+)?\Z")
"""Ops that no matrix product replaces."""
_BATCH = regex(r"(?i)\Abatch|batch_?size\Z|\Abs\Z")
_FLAG = regex(r"DEFINE_integer\(\s*['\"](?P<name>\w{1,60})['\"]\s*,\s*(?P<value>\d[\d_]{0,12})")


class _Shown(NamedTuple):
    """A line that shows an idiom, and how the failure agrees with it."""

    idiom: TensorFlowIdiom
    told: Agreement
    match: re.Match[str]
    place: str
    """`train.py:30`, `line 12`."""
    line: Line | None
    number: int | None = None


def check(case: Case) -> Iterator[Finding]:
    if framework_of(case) != TENSORFLOW:
        return
    for index, moment, request in list(requests(case))[:1]:
        if not _may_be_code(moment, request):
            continue
        shown = sorted(_shown(case, moment, request), key=lambda each: list(Agreement).index(each.told))
        told: set[str] = set()
        for each in shown:
            if each.match.string not in told and len(told) < _MOST:
                told.add(each.match.string)
                yield _finding(case, index, moment, request, each)


def _may_be_code(moment: Moment, request: Request) -> bool:
    """Whether the failure is one that the user's own lines can explain."""
    of_tensors = (RequestKind.TENSOR, RequestKind.HOST, RequestKind.COPY, RequestKind.DUMP)
    return request.failed.kind in of_tensors and not another_program(moment)


def _shown(case: Case, moment: Moment, request: Request) -> Iterator[_Shown]:
    """The idioms that the text shows and that the failure agrees with, each once."""
    failed = request.failed
    own = [frame for frame in failed.frames if user_frame(frame.place) and frame.text]
    code = code_lines(case.capture.surroundings)
    last = _last_lines(failed, own) or _marked(failed, code) or _quoted(request, code)
    numbers = _numbers(case.capture.surroundings)
    of_a_kernel = layer_of_each_sample(request) is not None
    for idiom in TABLE:
        if of_a_kernel and idiom.slug == "logits":
            continue
        if not _fits(idiom, request) or _is_harmless(idiom, code) or not _may_have_run(idiom, failed):
            continue
        if idiom.slug == "replay-buffer" and failed.kind is RequestKind.HOST:
            continue  # NumPy's, in host RAM: what ran out there is told of by its own rule
        if idiom.slug == "cache" and fills_no_longer(case.capture.surroundings):
            continue
        shown = (
            _of_frames(idiom, Agreement.LINE, last, request, numbers)
            or _of_frames(idiom, Agreement.WAY, list(reversed(own)), request, numbers)
            or _of_text(idiom, moment, request, code, numbers)
        )
        if shown is None:
            continue
        if idiom.slug == "logits" and is_hidden(shown.match.string, shown.match["number"], code):
            continue
        penalised = idiom.slug == "embedding-table" and penalised_table(case, request)
        rebuilt = idiom.of is Of.WEIGHT and rebuilt_table(case, request)
        by_hand = idiom.of is Of.WEIGHT and dense_by_hand(case, request)
        if not (penalised or rebuilt or by_hand):
            yield shown  # rules of their own tell what makes the gradient of a table dense


def _last_lines(failed: FailedRequest, own: Sequence[Frame]) -> list[Frame]:
    """The user's lines that failed: the one that made the op, and the one that ran it."""
    lines = [Frame(failed.source or "", failed.source_text)] if failed.source_text else []
    lines += [failed.ran_by] if failed.ran_by and failed.ran_by.text else []
    return lines + list(own[-1:])


def _quoted(request: Request, code: Sequence[Line]) -> list[Frame]:
    """The only quoted line that makes such an op, where the failure names none."""
    line = line_of_op(request, code)
    return [Frame(line.place, line.text.strip())] if line else []


def _marked(failed: FailedRequest, code: Sequence[Line]) -> list[Frame]:
    """The line that a notebook's arrow marks, where no frame is told: the last one above the failure."""
    above = [line for line in code if failed.line is None or line.number <= failed.line.number]
    marked = ((line, _MARKED.search(line.text)) for line in reversed(above))
    return next(([Frame(line.place, match["code"])] for line, match in marked if match), [])


def _fits(idiom: TensorFlowIdiom, request: Request) -> bool:
    """Whether what was asked for can be what such a line makes, by its kind and its size."""
    failed = request.failed
    if idiom.of is Of.DATA and _is_weight(request):
        return False
    if idiom.op is not None and Agreement.OP not in idiom.told and not idiom.op.search(_names(failed)):
        return False
    if idiom.keeps or (Agreement.RAM in idiom.told and failed.kind is RequestKind.HOST):
        return True
    shape, need = failed.shape, request.needed_bytes
    if need is None or shape is None:
        of_set = any(each.slug == "in-batches" for each in idiom.advice)
        return failed.kind is RequestKind.COPY and (of_set or not (idiom.ranks or idiom.least_first))
    if need < idiom.least_bytes or (idiom.ranks and len(shape) not in idiom.ranks):
        return False
    return ((shape[0] or 0) if shape else 0) >= idiom.least_first


def _is_harmless(idiom: TensorFlowIdiom, code: Sequence[Line]) -> bool:
    """Whether another line of the text shows that this idiom is no cause here."""
    return idiom.unless is not None and any(idiom.unless.search(line.text) for line in code)


def _may_have_run(idiom: TensorFlowIdiom, failed: FailedRequest) -> bool:
    """Whether the method that makes it may be the one that failed: no other ran, and no layer made the op."""
    if idiom.runs is None:
        return True
    of_a_layer = bool(failed.keras_layer) or "/" in (failed.node or "")
    return failed.keras_call in (None, idiom.runs) and not of_a_layer


def _is_weight(request: Request) -> bool:
    failed = request.failed
    if failed.kind is RequestKind.HOST:
        return False  # an array of Python's
    of_weights = request.owner.kind in (Kind.PARAMETER, Kind.OPTIMIZER_SLOT)
    return failed.creating or failed.updating or request.fixed or of_weights


def _of_frames(
    idiom: TensorFlowIdiom,
    told: Agreement,
    frames: Sequence[Frame],
    request: Request,
    numbers: Mapping[str, int],
) -> _Shown | None:
    """A frame of the traceback that shows the idiom."""
    if told not in idiom.told:
        return None
    for frame in frames:
        match = idiom.match(frame.text)
        if match is None:
            continue
        number = _agreeing(idiom, match, request, numbers)
        if number is None and idiom.axis is not None and _stated(match, numbers):
            continue  # it makes something of another size
        return _Shown(idiom, told, match, frame.place, request.failed.line, number)
    return None


def _by_their_numbers(
    idiom: TensorFlowIdiom, code: Sequence[Line], shape: Sequence[int | None] | None
) -> Sequence[Line]:
    """Where several lines show the idiom: first the one that states, with the rest of its statement, most of
    the tensor's last size. Columns side by side are one tensor, which the widest makes.
    """
    showing = [at for at, line in enumerate(code) if idiom.match(line.text)]
    last = shape[-1] if shape else None
    if len(showing) < 2 or not last:
        return code
    states = {at: max(_numbers_of_a_statement(code, at, last), default=0) for at in showing}
    widest = max(states, key=lambda at: states[at])
    return (code[widest], *code) if 2 * states[widest] >= last else code


def _numbers_of_a_statement(code: Sequence[Line], at: int, most: int) -> Iterator[int]:
    opened = 0
    for line in code[at : at + _MOST_LINES_OF_A_STATEMENT]:
        stated = (int(number.replace("_", "")) for number in _NUMBER.findall(line.text))
        yield from (number for number in stated if number <= most)
        opened += line.text.count("(") - line.text.count(")")
        if opened <= 0:
            return


_MOST_LINES_OF_A_STATEMENT = 6
_OF_A_SET = ("array-of-files", "array-converted")
"""Lines that hold all samples, unless they stand where one batch is read."""
_NUMBER = regex(r"(?<![\w.])\d[\d_]{0,12}(?![\w.])")


def _of_text(
    idiom: TensorFlowIdiom, moment: Moment, request: Request, code: Sequence[Line], numbers: Mapping[str, int]
) -> _Shown | None:
    """A line of code that the text quotes, with whose numbers, op or place of memory the failure agrees."""
    failed = request.failed
    by_op = Agreement.OP in idiom.told and idiom.op is not None and bool(idiom.op.search(_names(failed)))
    by_op = by_op and (idiom.of is not Of.WEIGHT or _is_weight(request))
    in_ram = Agreement.RAM in idiom.told and on_host(moment) and _is_of_ram(idiom, failed)
    by_number = Agreement.NUMBER in idiom.told and failed.shape is not None
    quoted = Agreement.TEXT in idiom.told and not in_ram
    if not (by_op or in_ram or by_number or quoted):
        return None
    agreeing = ((Agreement.OP, by_op), (Agreement.RAM, in_ram), (Agreement.TEXT, quoted))
    told = next((way for way, agrees in agreeing if agrees), Agreement.NUMBER)
    for line in _by_their_numbers(idiom, code, failed.shape) if by_op else code:
        match = idiom.match(line.text)
        if match is None or (idiom.slug in _OF_A_SET and reads_a_batch(line, code)):
            continue
        place = line.place
        if by_number and (number := _agreeing(idiom, match, request, numbers)):
            return _Shown(idiom, Agreement.NUMBER, match, place, line, number)
        if by_op or in_ram or quoted:
            return _Shown(idiom, told, match, place, line)
    return None


def _is_of_ram(idiom: TensorFlowIdiom, failed: FailedRequest) -> bool:
    """Whether RAM as a whole ran out; where a cache keeps all, one element of the data set tells it, too."""
    if failed.kind is RequestKind.HOST:
        return True
    element = failed.pipeline or (failed.shape and samples.in_colours(failed.shape))
    return bool(idiom.slug == "cache" and failed.kind is RequestKind.TENSOR and element)


def _names(failed: FailedRequest) -> str:
    return " ".join(filter(None, (failed.node, failed.op, failed.forward_node, *(failed.keras_layer or ()))))


def _numbers(told: Surroundings) -> dict[str, int]:
    """Numbers that the text gives a name, by their names in small letters."""
    flags = (match for line in told.code for match in _FLAG.finditer(line.text))
    named = {match["name"].lower(): int(match["value"].replace("_", "")) for match in flags}
    for stated in told.sizes:
        if stated.name and len(stated.sizes) == 1:
            named.setdefault(stated.name.lower(), stated.sizes[0])
    return named


def _agreeing(
    idiom: TensorFlowIdiom, match: re.Match[str], request: Request, numbers: Mapping[str, int]
) -> int | None:
    """The figure of the line that is a size of what was asked for."""
    value, shape = _stated(match, numbers), request.failed.shape
    if value is None or not shape or value < _LEAST_NUMBER:
        return None
    if idiom.times:
        times, rest = divmod(shape[0] or 0, value)
        return value if times >= idiom.times and not rest else None
    sizes = shape if idiom.axis is None else (shape[idiom.axis],)
    return value if any(size in (value, value + 1) for size in sizes) else None


def _stated(match: re.Match[str], numbers: Mapping[str, int]) -> int | None:
    """The number that the line states, or that what it names is elsewhere in the text."""
    groups = match.groupdict()
    stated = groups.get("number") or groups.get("rows") or ""
    digits = stated.replace("_", "")
    return int(digits) if digits.isdigit() else numbers.get(stated.rpartition(".")[2].lower())


def _finding(case: Case, index: int, moment: Moment, request: Request, shown: _Shown) -> Finding:
    idiom, words = shown.idiom, _words(request, shown)
    words["factors"] = _factors(case.capture.surroundings, request.failed.shape)
    what = idiom.makes.format_map(words)
    table = meets_a_table(case, shown.match.string)
    guess = "most likely " if shown.told in (Agreement.WAY, Agreement.RAM, Agreement.TEXT) else ""
    return Finding(
        severity=Severity.CAUSE,
        headline=f"{guess}{what}",
        because=f"{guess}{what}",
        explains=None if idiom.keeps else request.needed_bytes,
        basis=Basis.NAME if idiom.keeps else _BASIS.get(shown.told, Basis.NAME),
        evidence=(
            Evidence(f"the line `{shown.match.string.strip()}`: {shown.told.value}", shown.line),
            *((Evidence("the request", request.failed.line),) if shown.line != request.failed.line else ()),
        ),
        remedies=(
            *((remedies.WRONG_SIZE,) if remedies.has_a_wrong_size(request) else ()),
            *((by_index(table),) if table else ()),
            *_advised(case, moment, request, idiom, words, of_table=bool(table)),
        ),
        moment=index,
        rules_out=(*idiom.rules_out, *BESIDE_A_TABLE) if table else idiom.rules_out,
    )


def _advised(
    case: Case,
    moment: Moment,
    request: Request,
    idiom: TensorFlowIdiom,
    words: Mapping[str, str],
    *,
    of_table: bool,
) -> tuple[Remedy, ...]:
    """The changes of the code, and what helps any step; a smaller batch first where the tensor has the batch
    and blocks help a training only if the backward pass computes each again.
    """
    compares = _COMPARES.search(request.failed.op or request.failed.node or "") is not None
    fitting = [each for each in idiom.advice if not (compares and each.slug == "matrix-product")]
    changes = () if of_table else tuple(_remedy(each, case, moment, request, words) for each in fitting)
    others = tuple(remedies.offered(case, moment, *idiom.also))
    shape = request.failed.shape or (None,)
    of_batch = shape[0] is not None and remedies.batch_of(case, moment) == shape[0]
    trains = situation(case, moment).training is True and idiom.slug == "broadcast-whole"
    return (*others, *changes) if trains and of_batch else (*changes, *others)


def _factors(told: Surroundings, shape: Sequence[int | None] | None) -> str:
    """` = 16 (batch_size) x 32`: the first size as the batch times a number that the text states, too."""
    first = (shape[0] or 0) if shape else 0
    batches = [(size.name, size.sizes[0]) for size in told.sizes if _BATCH.search(size.name)]
    others = {number for size in told.sizes for number in size.sizes}
    for name, batch in batches:
        if 1 < batch < first and not first % batch and first // batch in others:
            return f" = {batch} ({name}) x {first // batch}"
    return ""


def _words(request: Request, shown: _Shown) -> dict[str, str]:
    """What the sentences of a row may name; nothing of a shape that is not known."""
    shape, need = request.failed.shape or (), request.needed_bytes
    sizes = [str(size) if size is None else f"{size:,}" for size in shape]
    groups = {name: text or "" for name, text in shown.match.groupdict().items()}
    samples = 1
    for size in shape[:-1]:
        samples *= size or 1
    inner = [size for size in (shape[1:-1] if len(shape) == 3 else shape[1:]) if size]
    per_hundred = need // (shape[0] or 1) * _A_HUNDRED if need and shape else None
    groups |= {
        "at": f" ({shown.place})" if shown.place else "",
        "shape": f"{format_shape(shape)} ({human(need)})" if shape and need else "the whole of it",
        "bytes": human(need) if need else "as much",
        "first": sizes[0] if sizes else "all",
        "second": sizes[1] if len(sizes) > 1 else "",
        "third": sizes[2] if len(sizes) > 2 else "",
        "last": sizes[-1] if sizes else "many",
        "samples": f"{samples:,}" if len(shape) > 1 else "the",
        "longest": f"{max(inner):,}" if inner else "the longest",
        "per_hundred": human(per_hundred) if per_hundred else "less",
    }
    groups["times"] = groups["half"] = ""
    if shown.number is not None:
        times = (shape[0] or 0) // shown.number if shape else 0
        groups |= {"number": f"{shown.number:,}", "times": str(times), "half": str(max(times // 2, 1))}
    return groups


def _remedy(
    advice: CodeChange, case: Case, moment: Moment, request: Request, words: Mapping[str, str]
) -> Remedy:
    session = situation(case, moment).session
    code = advice.tf1 if session and advice.tf1 is not None else advice.code
    text, need, shape = advice.text.format_map(words), request.needed_bytes, request.failed.shape
    first = (shape[0] or 0) if shape else 0
    if advice.slug == "in-batches" and need and first > _A_HUNDRED:
        return Remedy(text, code, need - need // first * _A_HUNDRED, Certainty.EXACT, slug=advice.slug)
    return Remedy(text, code or None, slug=advice.slug)
