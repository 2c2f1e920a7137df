"""A matrix that no op or layer names, of a shape that only weights are likely to have.

What it means: a message of one sentence names no layer. A matrix whose rows are the numbers of a feature map
(25,088 = 7 x 7 x 512) is most likely the kernel of a fully connected layer behind Flatten; one with 100,000
rows and more is such a kernel or an embedding table. Neither depends on the batch, and training keeps it up
to four times: the weight, its gradient, and the slots of its optimizer.
When it fires: the failed tensor is a matrix without an op, node or layer; its rows are those of a flattened
map or very many, and not the batch, or a row of a Keras summary has as many parameters.
Very many rows without such a map may as well be what one call was given: where the text shows that texts are
turned into vectors, most likely a row for each of their words; elsewhere both are told.
What to do: find the layer in `model.summary()` by its parameters; pool before it, or make it narrower; of a
table fewer rows; of texts fewer at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from tfmemlens.findings.support import code_snippets
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.findings.support.remedies import batch_of
from tfmemlens.findings.support.rows import attributed, requests
from tfmemlens.findings.support.situation import TENSORFLOW, framework_of
from tfmemlens.findings.support.weights import in_summary, no_room_at_start
from tfmemlens.knowledge.kernel_shapes import flattened
from tfmemlens.model.capture import StatedSize
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import RequestKind
from tfmemlens.model.line import Line
from tfmemlens.model.tensor import format_shape
from tfmemlens.patterns import regex
from tfmemlens.units import MIB, human

BASIS = Basis.SHAPE
EXPLAINS = "the request"

_FLOAT_BYTES = 4
_LEAST_ROWS, _LEAST_UNITS = 2048, 64
_LEAST_BYTES = 32 * MIB
"""Less than this fails for what else is held."""
_ROWS_OF_A_TABLE = 100_000
_STEPS = 4096
"""So many positions of one sample are likely: more rows for each sample of the batch are no positions."""
_TABLE = "Embedding"


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in list(requests(case))[:1]:
        if framework_of(case) != TENSORFLOW or not _is_nameless(moment, request):
            continue
        rows, units = (size or 1 for size in request.failed.shape or (1, 1))
        if _FLOAT_BYTES * rows * units < _LEAST_BYTES:
            continue
        layers = in_summary(case.capture.surroundings, rows, units)
        if not layers and not _like_a_weight(rows, units, batch_of(case, moment)):
            continue
        told = case.capture.surroundings
        texts = None if layers or told.shows("training") else told.shows("encoding texts")
        if not layers and (stated := _of_positions(case, rows)):
            yield _of_samples(index, request, stated)
        elif texts and not (flattened(rows) or _names_a_table(case)):
            yield _of_texts(case, index, request, texts)
        else:
            yield _finding(case, index, request, layers)


def _is_nameless(moment: Moment, request: Request) -> bool:
    failed = request.failed
    named = failed.node or failed.op or failed.keras_layer or failed.kernel or failed.source_text
    return (
        failed.kind is RequestKind.TENSOR
        and not (named and not _says_nothing(failed.source_text, named))
        and len(failed.shape or ()) == 2
        and all(failed.shape or ())
        and failed.dtype in (None, "float32", "float16", "bfloat16", "float64")
        and not attributed(moment)
    )


def _says_nothing(text: str | None, named: object) -> bool:
    """Whether all that is named is the line that makes or trains a whole network."""
    return named is text and any(
        word in (text or "") for word in ("Dense(", "Flatten(", "Sequential(", ".fit(", ".run(", "Model(")
    )


def _like_a_weight(rows: int, units: int, batch: int | None) -> bool:
    if units < _LEAST_UNITS or rows < _LEAST_ROWS or rows == batch or rows <= units:
        return False
    if batch and batch > 1 and not rows % batch and rows // batch <= _STEPS:
        return False  # a batch of positions
    if units % 4 and units % 10:
        return False  # nobody chooses such a width: classes, or pairs of boxes
    return rows >= _ROWS_OF_A_TABLE or bool(flattened(rows) and rows & (rows - 1))


def _of_positions(case: Case, rows: int) -> StatedSize | None:
    """The shape of data that the text states, whose first two sides make so many rows: samples and what each
    of them has.
    """
    stated = (each for each in case.capture.surroundings.sizes if len(each.sizes) >= _OF_DATA)
    return next((each for each in stated if each.sizes[0] * each.sizes[1] == rows), None)


_OF_DATA = 2


def _of_samples(index: int, request: Request, stated: StatedSize) -> Finding:
    """All samples of a set in one call: a row for each position of each."""
    rows, units = (size or 1 for size in request.failed.shape or (1, 1))
    samples, positions = stated.sizes[:2]
    need = _FLOAT_BYTES * rows * units
    part = max(min(samples // 2, samples * _SMALL_CALL // need), 1)
    part = 1 << (part.bit_length() - 1)
    what = (
        f"a row of {units:,} numbers for each of {samples:,} x {positions:,}, which is the shape of data that"
        f" {stated.line.place} states: so all {samples:,} samples are in one batch"
    )
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        explains=request.failed.tensor_bytes,
        evidence=(
            Evidence(f"requested: {format_shape(request.failed.shape or ())}", request.failed.line),
            Evidence("the shape of the data", stated.line),
        ),
        remedies=(
            Remedy(
                f"give the model fewer samples at once: with {part:,} instead of {samples:,} this takes"
                f" {human(need // samples * part)}",
                saves_bytes=need - need // samples * part,
                certainty=Certainty.EXACT if request.failed.tensor_bytes else None,
                slug="in-batches",
            ),
        ),
        moment=index,
        rules_out=("smaller-batch", "in-pieces"),
    )


def _counted_weights(case: Case, rows: int, units: int) -> StatedSize | None:
    """The number of parameters that the text states, of which such a matrix is nearly all."""
    named = (each for each in case.capture.surroundings.sizes if _COUNTS_WEIGHTS.search(each.name))
    return next((each for each in named if rows * units <= each.sizes[-1] <= _NEARLY * rows * units), None)


_COUNTS_WEIGHTS = regex(r"(?i)\Aparam(?:eter)?s\Z")
_NEARLY = 1.2


def _finding(case: Case, index: int, request: Request, layers: list[tuple[str, str, int, Line]]) -> Finding:
    rows, units = (size or 1 for size in request.failed.shape or (1, 1))
    need = request.failed.tensor_bytes
    size = human(need) if need else f"{human(_FLOAT_BYTES * rows * units)} in float32"
    seen = flattened(rows)
    is_table = any(row[1] == _TABLE for row in layers)
    if layers:
        names = ", ".join(f"`{row[0]}`" for row in layers[:3])
        one = "one of " if len(layers) > 1 else ""
        what = f"it has as many numbers as the weights of {one}{names} ({layers[0][3].place})"
    elif seen:
        side, channels = seen
        what = (
            f"most likely the kernel of a fully connected layer behind Flatten ({rows:,} inputs are, for"
            f" instance, a map of {side} x {side} with {channels} channels)"
        )
    else:
        what = "most likely a weight: an embedding table, or the kernel of a fully connected layer"
    counted = None if layers else _counted_weights(case, rows, units)
    if counted:
        what = (
            f"a weight, which has {rows * units:,} of the {counted.sizes[-1]:,} parameters"
            f" ({counted.line.place}): most likely the kernel of a fully connected layer with {rows:,} inputs"
        )
    kept = f"{what}: {size}, the same for any batch; training keeps its gradient and slots beside it"
    if not (layers or seen or counted or _names_a_table(case)):
        kept = f"{_WEIGHT_OR_ROWS}: {size}; a weight is the same for any batch"
    return Finding(
        severity=Severity.CAUSE,
        headline=kept,
        because=kept,
        explains=need,
        evidence=(
            Evidence(f"requested: {format_shape(request.failed.shape or ())}", request.failed.line),
            *(Evidence(f"{row[0]} ({row[1]}): {row[2]:,} parameters", row[3]) for row in layers[:3]),
        ),
        remedies=(
            *((users,) if (users := no_room_at_start(case, case.moments[index])) else ()),
            *(_fewer_inputs(rows, units, need) if counted else ()),
            *(() if counted else _remedies(case, rows, units, need, layers, is_table)),
        ),
        moment=index,
    )


def _fewer_inputs(rows: int, units: int, need: int | None) -> tuple[Remedy, ...]:
    """What makes the kernel smaller that has nearly all parameters of a model."""
    return (
        Remedy(
            f"bring its {rows:,} inputs down first (pool, stride, a mean over time, a projection, fewer"
            " features): half as many inputs halve the matrix, its gradient and slots",
            slug="pool-first",
        ),
        Remedy(
            f"or make it narrower: {units:,} -> {max(units // 2, 1):,}",
            saves_bytes=need and need // 2,
            certainty=Certainty.BOUND if need else None,
            slug="narrower-layer",
        ),
    )


_WEIGHT_OR_ROWS = (
    "a weight (an embedding table, or the kernel of a fully connected layer), or so many rows given to one"
    " call"
)
_OF_A_TABLE = regex(
    r"\bEmbedding\(|embedding_lookup|(?i:vocab|n(?:um|b)?_words\b)|\bget_variable\(|\btf\.Variable\("
    r"|\bFlatten\b|\bDense\("
)


def _names_a_table(case: Case) -> bool:
    """Whether the quoted code, or the name of a number in the text, is of a table or of a layer."""
    told = case.capture.surroundings
    lines = (*code_lines(told), *(each.line for each in told.sizes if each.name))
    return any(_OF_A_TABLE.search(line.text) for line in lines)


def _of_texts(case: Case, index: int, request: Request, texts: Line) -> Finding:
    """A row for each word of the texts that one call was given."""
    rows, units = (size or 1 for size in request.failed.shape or (1, 1))
    need = _FLOAT_BYTES * rows * units
    chunk = _chunk(case, rows)
    of_all = f"the {chunk[0]:,} texts of one call ({chunk[1].place})" if chunk else "all texts of one call"
    what = (
        f"most likely a row of {units:,} numbers for each of {rows:,} words (tokens) of {of_all}, since texts"
        f" are turned into vectors ({texts.place})"
    )
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        explains=request.failed.tensor_bytes,
        evidence=(
            Evidence(f"requested: {format_shape(request.failed.shape or ())}", request.failed.line),
            Evidence("what is done", texts),
        ),
        remedies=tuple(_fewer_texts(rows, need, chunk)),
        moment=index,
        rules_out=("gradient-accumulation", "mixed-precision"),
    )


_SMALL_CALL = 64 * MIB
_FEW = 32
"""Texts of one call that are few: then each of them is long."""
_LOOP_OF_PARTS = regex(r"\brange\(\s*0\s*,\s*[^,\n]{1,40},\s*(?P<step>\w{1,40})\s*\)")
_SETS = regex(r"\A\s*(?P<name>[A-Za-z_]\w{0,40})\s*=\s*(?P<value>\d[\d_]{0,9})\b")


def _chunk(case: Case, rows: int) -> tuple[int, Line] | None:
    """How many texts a call is given, by the step of a loop over slices or a batch that is set."""
    code = code_lines(case.capture.surroundings)
    steps = {match["step"] for line in code if (match := _LOOP_OF_PARTS.search(line.text))}
    names = steps or {"batch_size", "chunk_size"}
    for line in code:
        match = _SETS.match(line.text)
        if match and match["name"] in names and 1 < int(match["value"]) < rows:
            return int(match["value"]), line
    return None


def _fewer_texts(rows: int, need: int, chunk: tuple[int, Line] | None) -> Iterator[Remedy]:
    shorter = Remedy(
        "cut long texts, or split them into sentences: one call's rows are the words of all its texts"
        + (f", here {rows // chunk[0]:,} a text on average" if chunk else ""),
        slug="shorter-sequences",
    )
    if chunk and chunk[0] <= _FEW:
        yield shorter
        yield Remedy(f"or give it fewer texts in one call: {chunk[0]} -> 1", slug="fewer-texts")
        return
    if chunk:
        part = max(1, chunk[0] * _SMALL_CALL // need)
        part = min(10 ** (len(str(part)) - 1), chunk[0] // 2)
        then = f": {chunk[0]:,} -> {part:,}, so that this takes {human(need * part // chunk[0])}"
    else:
        then = ", a few hundred, and keep the results on the host"
    yield Remedy(
        f"give the model fewer texts in one call{then}; it makes no batches of its own",
        "for i in range(0, len(texts), n): out.append(model(texts[i:i + n]).numpy())",
        slug="fewer-texts",
    )
    yield shorter


_FIRST_OF_VGG = (25_088, 4096)
_OTHER_BACKBONE = Remedy(
    "in a VGG16 or VGG19 it is the first dense layer, which no smaller batch or image shrinks: take a"
    " backbone without such layers (ResNet, MobileNet), or a GPU with more memory. With its gradient and the"
    " optimizer's slots it takes 1.2 GiB with momentum, 1.5 GiB with Adam; see that nobody else holds the"
    " GPU",
    "nvidia-smi",
    slug="other-backbone",
)


def _remedies(
    case: Case,
    rows: int,
    units: int,
    need: int | None,
    layers: list[tuple[str, str, int, Line]],
    is_table: bool,
) -> Iterator[Remedy]:
    guessed = not (layers or flattened(rows) or _names_a_table(case))
    table = Remedy(
        "fewer rows: a smaller vocabulary, one token for rare words, or hashing"
        + ("" if is_table else ", if it is an embedding table"),
        slug="smaller-vocabulary",
    )
    if (rows, units) == _FIRST_OF_VGG and not layers:
        yield _OTHER_BACKBONE
        return
    if guessed:
        yield _find_the_layer(rows, units, "; if no layer has so many, give the call fewer rows at once")
    if is_table:
        yield table
    elif flattened(rows) or not (layers or guessed):
        yield Remedy(
            f"{_IF_FLATTENED}pool before that layer, so that only the channels are left",
            code_snippets.pooled(code_snippets.of_functions(case.api)),
            slug="pool-first",
        )
    if not is_table:
        half = max(units // 2, 1)
        yield Remedy(
            f"{_IF_A_WEIGHT if guessed else ''}make it narrower: {units:,} -> {half:,} halves the matrix, its"
            " gradient and slots",
            saves_bytes=need and need // 2,
            certainty=Certainty.BOUND if need else None,
            slug="narrower-layer",
        )
    if not (layers or guessed):
        yield _find_the_layer(rows, units)
    if not is_table and rows >= _ROWS_OF_A_TABLE and not layers:
        yield table


_IF_FLATTENED, _IF_A_WEIGHT = "if its inputs are a flattened image: ", "if it is a weight, "


def _find_the_layer(rows: int, units: int, more: str = "") -> Remedy:
    parameters = prod((rows, units))
    return Remedy(
        f"to find the layer: it has {parameters:,} parameters, or {parameters + units:,} with a bias{more}",
        "model.summary()",
        slug="find-the-layer",
    )
