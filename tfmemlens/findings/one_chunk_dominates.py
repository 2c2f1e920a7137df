"""One chunk holds most of what is in use, while something small failed.

What it means: a dump has no names, but one chunk that holds most of the memory is one tensor: a one-hot, an
outer difference of all pairs, a data set. The op that failed is the next one after it. What is lost to
rounding bounds how large the tensor in the chunk is; where that is a whole multiple of what failed, the
failing op most likely reduces it. Where the program stands beside the dump, a layer whose output has that
size at the batch of the failure is named; where it recorded itself, the variable that holds the tensor.
When it fires: no report names owners, one chunk holds at least half of what is in use (two fifths, where the
program names the layer and at most an eighth of it failed), and what failed is at most half of it or, where
another copy of it failed, as large; nothing tells that it is a constant (`data-set-as-constant`). Where a
copy of unknown size failed, the chunk must hold a quarter of the device.
What to do: find the tensor of that size. Its rows, its classes or its pairs are what to make fewer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from tfmemlens.findings import data_set_as_constant, kept_by_a_loop, whole_set_in_one_batch
from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.code_outputs import CodeOutput, code_outputs
from tfmemlens.findings.support.given_whole import GivenWhole, held_alone, held_whole
from tfmemlens.findings.support.program_lines import code_lines, settings_by_name
from tfmemlens.findings.support.rows import (
    LEAST_OF_A_DEVICE,
    all_in_use,
    attributed,
    device_limit,
    held,
    is_fragmented,
    requests,
    tensor_in,
)
from tfmemlens.findings.support.situation import JAX, TENSORFLOW, framework_of
from tfmemlens.findings.support.tried import runs_with_less
from tfmemlens.model.allocation import Allocation
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import RequestKind
from tfmemlens.model.line import Line
from tfmemlens.model.tensor import format_shape
from tfmemlens.model.what_if import Shrunk
from tfmemlens.patterns import regex
from tfmemlens.units import MIB, human, percent

BASIS = Basis.MEASURED
EXPLAINS = "the block"

_SHARE, _IMAGE = 0.5, 4
_SHARE_BESIDE_LITTLE, _LITTLE = 0.4, 8
"""So much of what is in use is enough where an eighth of the block or less failed, and a layer is named."""
_LEAST, _FLOAT = 16 * MIB, 4
_OF_THE_DEVICE = 0.25
_KINDS = (RequestKind.TENSOR, RequestKind.DUMP, RequestKind.COPY)
_MAX_FACTOR = 65536
_REDUCTION = regex(r"reduction_ops|(?:\A|[/ ])(?:Sum|Mean|Max|Min|Prod|ArgMax|ArgMin)(?:_\d+)?(?:\Z| )")
_ALL_PAIRS = regex(r"\[[^\]]*\b(?:None|tf\.newaxis|np\.newaxis)\b[^\]]*\]|\bexpand_dims\(")
"""Code that adds a dimension to be broadcast along."""


def _made_of_many(case: Case) -> bool:
    """Whether a whole set goes through the network at once."""
    found = next(iter(whole_set_in_one_batch.check(case)), None)
    return found is not None and bool(found.explains) and "smaller-batch" in found.rules_out


_LAST_DROP = 0.02


def _grows(case: Case, need: int, block: int) -> bool:
    """Whether a line of the program keeps something of each of many steps that went well, before so small a
    request failed: the large block was there in each of them.
    """
    return need <= _LAST_DROP * block and any(kept_by_a_loop.check(case))


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in requests(case):
        chunk, need = _largest(moment), request.needed_bytes
        if chunk is None or request.failed.kind not in _KINDS or held_whole(case, moment):
            continue
        if data_set_as_constant.slices_beside_an_iterator(case, moment, request):
            continue
        if not need:
            yield from _beside_a_copy(case, index, moment, chunk)
            yield from _of_a_dump(case, index, moment, chunk)
            continue
        low, high = tensor_in(chunk, moment)
        if request.failed.dtype == "bool" and low <= _FLOAT * need <= high:
            continue  # a mask of what the block holds: who makes masks tells of both
        again = low <= need <= high and request.failed.shape is None
        if need > chunk.size_bytes // 2 and not again:
            continue
        known = held_alone(case, moment)
        if known is not None:
            yield _of_a_name(moment, index, known)
            continue
        size = human(chunk.size_bytes)
        of_all = percent(chunk.size_bytes, all_in_use(moment))
        range_ = f"about {human((low + high) // 2)}" if high - low < MIB else f"{human(low)} to {human(high)}"
        made = _made_by_the_code(case, request, low, high)
        if made is None and chunk.size_bytes < _SHARE * all_in_use(moment):
            continue  # one of several, which nothing names
        grows = made is None and not again and _grows(case, need, chunk.size_bytes)
        if made is None and not again and _made_of_many(case):
            continue  # most likely another map of the same samples, as whose the request is known
        wide = None if made or again else _named_width(case, request, low, high)
        tensor = f"one tensor of {range_}"
        meaning = ", and a second one as large was requested" if again else _guess(request, low, high)
        if made:
            shape = format_shape(made.shape)
            meaning = f", most likely what {made.named_with_line} makes: {shape}, {human(made.bytes)}"
        elif wide:
            meaning = (
                f", most likely {format_shape((wide.rows, wide.width))}: `{wide.name}` ({wide.line.place})"
                f" numbers for each of the {wide.rows:,} rows"
            )
        yield Finding(
            severity=Severity.FACTOR if grows else Severity.CAUSE,
            headline=f"one block of {size}, {of_all} of what is in use, holds {tensor}{meaning}",
            because=f"one block of {size} holds {of_all} of what is in use, {tensor}{meaning}",
            explains=chunk.size_bytes,
            evidence=(Evidence(f"1 x {size}", chunk.line), Evidence("requested", request.failed.line)),
            detail=(
                "A dump has no names. The allocator may give a tensor a larger block than it needs, by less"
                " than the tensor's own size and less than 128 MiB."
            ),
            remedies=tuple(_advice(case, moment, made or wide, meaning, high)),
            moment=index,
        )


def _advice(
    case: Case, moment: Moment, of: CodeOutput | _Wide | None, meaning: str, high: int
) -> Iterator[Remedy]:
    """What makes the tensor smaller: by the layer or the number that the code shows, else by its size."""
    if isinstance(of, _Wide):
        return _of_width(case, moment, of)
    return _of_layer(case, moment, of) if of else _of_a_tensor(case, moment, meaning, high)


class _Wide(NamedTuple):
    """A matrix of as many rows as failed, and of as many columns as the program names."""

    rows: int
    width: int
    name: str
    line: Line


def _named_width(case: Case, request: Request, low: int, high: int) -> _Wide | None:
    """The one number of the program that makes a tensor of the block's size of the rows that failed: logits
    of a vocabulary, whose gradient towards the layer before them fails next.
    """
    shape = [size or 0 for size in request.failed.shape or ()]
    rows = math.prod(shape[:-1])
    item = (request.failed.tensor_bytes or 0) // max(rows * shape[-1], 1) if shape else 0
    if not item or rows < _FEWEST_ROWS:
        return None
    numbers = settings_by_name(code_lines(case.capture.surroundings))
    found = [
        _Wide(rows, figure, name, line)
        for name, (figure, line) in numbers.items()
        if figure >= _LEAST_WIDTH and low <= rows * figure * item <= high
    ]
    return found[0] if len({each.width for each in found}) == 1 else None


_FEWEST_ROWS, _LEAST_WIDTH = 16, 1000


def _of_width(case: Case, moment: Moment, wide: _Wide) -> Iterator[Remedy]:
    """Fewer rows at once, or a loss that makes no number for each column."""
    yield from remedies.offered(case, moment, "smaller-batch")
    yield Remedy(
        f"or compute the {wide.width:,} numbers of `{wide.name}` and their loss for a part of the rows at a"
        " time, and let the backward pass compute each part again; where they are the scores of a vocabulary"
        " or of classes, a sampled loss never makes all of them",
        "tf.nn.sampled_softmax_loss(weights, biases, labels, inputs, num_sampled=1024, num_classes="
        f"{wide.name})",
        slug="sampled-loss",
    )
    yield Remedy(f"or lower `{wide.name}` ({wide.line.place})", slug="smaller-vocabulary")


def _of_a_name(moment: Moment, index: int, known: GivenWhole) -> Finding:
    """A variable of the program's held it at the failure: nothing is left to guess."""
    share = percent(known.block_bytes, all_in_use(moment))
    block = f" in a block of {human(known.block_bytes)}" if known.block_bytes > known.bytes + MIB else ""
    what = f"{known.label}, holds {human(known.bytes)}{block}, {share} of what is in use: Python refers to it"
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        explains=known.block_bytes,
        evidence=(Evidence(f"the program recorded it: {human(known.bytes)}", known.line),),
        remedies=(
            Remedy(
                f"make `{known.name}` for a part of its rows at a time where they are used, such as one batch"
                " in the data set's `map`; or let the name go (`del`) before the step, where it is used no"
                " more",
                saves_bytes=known.block_bytes,
                certainty=Certainty.BOUND,
                slug="in-blocks",
            ),
        ),
        moment=index,
    )


def _made_by_the_code(case: Case, request: Request, low: int, high: int) -> CodeOutput | None:
    """The one layer of the program's code whose output has the chunk's size at the batch of the failure."""
    others = [each for each in code_outputs(case, request.failed.shape) if not each.asked]
    asked = (each.request.failed.shape for each in case.moments[1:] if each.request and not each.predicted)
    others = others or next(filter(None, (code_outputs(case, shape) for shape in asked)), [])
    fitting = [each for each in others if low <= each.bytes <= high]
    return fitting[0] if len({each.bytes for each in fitting}) == 1 else None


def _of_layer(case: Case, moment: Moment, made: CodeOutput) -> Iterator[Remedy]:
    """A smaller output of that layer, and what makes all of them smaller."""
    if len(made.shape) == _IMAGE and min(made.shape[1:3]) > 1:
        yield remedies.of_tensor(
            case,
            f"make the map of {made.name} smaller: half of its height and width make it a quarter, and what"
            " is made of it, too",
            Shrunk("smaller-input", made.bytes, axes=2, certainty=Certainty.ESTIMATE),
        )
    yield from remedies.offered(case, moment, "smaller-batch")


def _beside_a_copy(case: Case, index: int, moment: Moment, chunk: Allocation) -> Iterator[Finding]:
    """A copy of unknown size failed beside one tensor that holds most of the device."""
    request, limit = moment.request, device_limit(case, moment)
    if request is None or request.failed.kind is not RequestKind.COPY:
        return
    if limit is None or chunk.size_bytes < _OF_THE_DEVICE * limit.bytes:
        return
    size, of_all = human(chunk.size_bytes), percent(chunk.size_bytes, all_in_use(moment))
    what = f"one tensor holds {size} already, {of_all} of what is in use"
    yield Finding(
        severity=Severity.CAUSE,
        headline=f"{what}: most likely a whole data set that was copied to the device",
        because=f"{what}, most likely a whole data set that was copied to the device",
        explains=chunk.size_bytes,
        evidence=(Evidence(f"1 x {size}", chunk.line),),
        remedies=(
            Remedy(
                "keep the data on the host, and copy one batch at a time: a generator, or a data set built"
                " under the CPU device",
                "with tf.device('CPU:0'): dataset = tf.data.Dataset.from_tensor_slices(x).batch(32)",
                slug="keep-off-the-device",
            ),
        ),
        moment=index,
    )


def _of_a_dump(case: Case, index: int, moment: Moment, chunk: Allocation) -> Iterator[Finding]:
    """Of a dump that does not say what was asked for; most likely another, where less was free."""
    request, limit = moment.request, device_limit(case, moment)
    if request is None or request.failed.kind is not RequestKind.DUMP or request.failed.shape is not None:
        return
    size, in_use = human(chunk.size_bytes), moment.balance.in_use
    of_all = percent(chunk.size_bytes, all_in_use(moment))
    in_part = in_use is None and moment.balance.limit is None
    if in_part and held(moment) < LEAST_OF_A_DEVICE:
        return  # so little explains no device that is full
    whole = "the blocks of this part of a dump" if in_part else "what is in use"
    of_xla = framework_of(case) != TENSORFLOW
    tensor = "one array or all temporaries of one program of XLA's" if of_xla else "one tensor"
    share = f"holds {of_all} of {whole}"
    if in_part and len(moment.attribution.table) == 1:
        share = "is in use, and the text quotes no other block of the dump"
    what = f"one block of {size}, {tensor}, {share}"
    free = limit.bytes - in_use.bytes if limit and in_use else 0
    if limit and _A_LOT * limit.bytes <= free < chunk.size_bytes:
        what += (
            f"; as about {human(free)} was free, most likely a second one as large was asked for (a guess)"
        )
    yield Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        explains=chunk.size_bytes,
        evidence=(Evidence(f"1 x {size}", chunk.line),),
        remedies=(
            *((_ITS_PROGRAM,) if framework_of(case) == JAX else ()),
            _what_it_may_be(case, size),
            *(remedies.offered(case, moment, "smaller-batch") or (remedies.less_at_once(case),)),
        ),
        moment=index,
    )


def _what_it_may_be(case: Case, size: str) -> Remedy:
    """Where to look for a tensor of which only the size is known; no batch makes one smaller that stayed."""
    told = case.capture.surroundings
    same = told.shows("a smaller batch in vain")
    if same and not runs_with_less(told):
        return Remedy(
            f"find what takes {size} at any batch ({same.place}), and make it smaller: a table or an output"
            " layer with a row for each word of a large vocabulary, its gradient or a slot, a wide dense"
            " layer, or a whole data set on the device",
            slug="in-blocks",
        )
    return Remedy(
        f"find what takes {size} at once, and make it smaller: a prediction or an evaluation of a"
        " whole set, a number for each word of a vocabulary at each position, a one-hot, a table or a"
        " wide dense layer; if it has a row for each sample, give it fewer at a time",
        slug="in-blocks",
    )


_ITS_PROGRAM = Remedy(
    "see which of your compiled programs has so much in temporaries, which XLA takes as one block: a step"
    " that has none was given or keeps an array as large",
    "print(jax.jit(step).lower(*args).compile().memory_analysis())",
    slug="read-the-analysis",
)
_A_LOT = 0.1
"""Of the limit: so much free memory is not lost to its pieces."""


def _of_a_tensor(case: Case, moment: Moment, meaning: str, high: int) -> Iterator[Remedy]:
    """What makes a tensor without a name smaller. A smaller batch goes first where a layer of a network
    failed beside it, nothing tells that it is another matrix, and no free block tells which batch fits.
    """
    request = moment.request
    if request is None:
        return
    part = _remedy(request, meaning, high)
    of_a_batch = request.owner.layer and not request.fixed and not is_fragmented(moment.balance)
    smaller = remedies.offered(case, moment, "smaller-batch")
    if part.slug != "in-blocks" or meaning or not of_a_batch or not smaller:
        yield part
        return
    yield from smaller
    yield Remedy(
        f"if the tensor of about {human(high)} stays as large with a smaller batch, it is a whole data set, a"
        " weight or a matrix of all pairs: compute it for a part of its rows at a time",
        slug="in-blocks",
    )


def _remedy(request: Request, meaning: str, high: int) -> Remedy:
    """What makes the tensor smaller: of a data set that is given as arrays another way to give it."""
    if "Iterator" in f"{request.owner.op or ''} {request.failed.op or ''} {request.failed.node or ''}":
        return Remedy(
            "give the data set in batches, not as whole arrays: from_tensor_slices copies all of it to the"
            " device",
            "ds = tf.data.Dataset.from_generator(rows, output_signature=spec).batch(64)",
            slug="in-batches",
        )
    what = "this matrix" if "matrix" in meaning else f"the tensor of about {human(high)}"
    return Remedy(
        f"compute {what} for a part of its rows at a time (as a rule it is a one-hot, a difference of all"
        " pairs, a whole data set, or weights)",
        slug="in-blocks",
    )


def _largest(moment: Moment) -> Allocation | None:
    """The one chunk that holds most of what is in use."""
    if attributed(moment) or not len(moment.attribution.table):
        return None
    chunk = max(moment.attribution.table, key=lambda row: row.size_bytes)
    need = (moment.request.needed_bytes if moment.request else None) or 0
    share = _SHARE_BESIDE_LITTLE if 0 < need * _LITTLE <= chunk.size_bytes else _SHARE
    large = chunk.count == 1 and chunk.size_bytes >= max(share * all_in_use(moment), _LEAST)
    return chunk if large else None


def _guess(request: Request, low: int, high: int) -> str:
    """What the tensor most likely is, by the shape that failed and its op, as far as these tell."""
    shape = [size or 0 for size in request.failed.shape or ()]
    op = f"{request.owner.op or ''} {request.failed.op or ''} {request.failed.node or ''}"
    if _REDUCTION.search(f"{request.failed.kernel or ''} {op}"):
        reduced = _reduced(request, low, high)
        if reduced is None:
            return ""
        text = request.failed.source_text or ""
        pairs = ": every pair of rows" if _ALL_PAIRS.search(text) else ""
        return f", most likely the {format_shape(reduced)} that this op sums up{pairs}"
    if len(shape) == 2 and "MatMul" in op and max(shape) >= 1000 and request.failed.tensor_bytes:
        wide = max(shape)
        row = request.failed.tensor_bytes // min(shape)
        first, last = low // row, -(-high // row)
        if first >= 2 and last - first <= 0.05 * last:
            return f", most likely a matrix of {wide:,} columns and {first:,} to {last:,} rows"
    return ""


def _reduced(request: Request, low: int, high: int) -> tuple[int, ...] | None:
    """The request's shape with the one further dimension at its end that fits the tensor's size."""
    failed = request.failed
    shape = [size or 0 for size in failed.shape or ()]
    unit = failed.tensor_bytes
    if not unit or not all(shape) or math.prod(shape) < 1000:
        return None
    first, last = -(-low // unit), high // unit
    return (*shape, last) if first == last and 2 <= last <= _MAX_FACTOR else None
