"""Attention scores grow with the square of the sequence length.

What it means: each head holds a matrix of length x length for every sample: the scores, their softmax and, in
training, a dropout mask, each [batch, heads, length, length]. Twice the length is four times the memory.
When it fires: the failing tensor, or one that is held, has two equal long last dimensions in an op of
attention.
What to do: shorter sequences (bucket or truncate), a smaller batch, attention in blocks or with a local
window.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.attention_levels import levels, without_level
from tfmemlens.findings.support.batch_bound import batch_bound
from tfmemlens.findings.support.in_pieces import RUNS_A_MODEL
from tfmemlens.findings.support.kernel_gradients import layer_of_each_sample
from tfmemlens.findings.support.named_sizes import stated_length
from tfmemlens.findings.support.on_the_way import on_the_way
from tfmemlens.findings.support.program_lines import code_lines, line_of_layer
from tfmemlens.findings.support.rows import (
    Row,
    alike,
    attributed,
    place,
    requests,
    rows,
    tensor_in,
    tensor_text,
)
from tfmemlens.findings.support.situation import situation
from tfmemlens.findings.support.tool_settings import instead_of_a_batch, of_batch, tool
from tfmemlens.model.attribution import Kind
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import FailedRequest
from tfmemlens.model.tensor import format_shape
from tfmemlens.model.what_if import Shrunk
from tfmemlens.patterns import regex
from tfmemlens.units import MIB, human
from tfmemlens.values import replace

BASIS = Basis.SHAPE
EXPLAINS = "the failing scores, and held ones of the same size"

_WORDS = regex(
    r"att(?:entio)?n|attend|(?:\b|_)att(?=\b|_|\d)|\bmha|softmax|transformer|bert|scores|einsum|query"
    r"|(?:\b|_)heads\b|MatMul|dot_general",
    re.IGNORECASE,
)
_CODE = regex(r"att(?:entio)?n|\bmha\b|scores|einsum|\bquery\b|\bq\b.*\bk\b", re.IGNORECASE)
"""What a line of the user's code says of attention; `self` is every method's."""
_IMAGES = regex(
    r"u_?net|diffus|ddpm|\bvae\b|image|spatial|pixel|(?:\b|_)(?:vit|swin|gan)(?:\b|_)"
    r"|[a-z]_?2d(?![a-z])|\bnon_?local",
    re.IGNORECASE,
)
"""Names of nets whose positions are an image's."""
_FEATURE_MAPS = regex(
    r"conv|pool|(?:batch|group|layer|instance)_?norm|relu|gelu|swish|bias_?add|resize|up_?sampl|pad"
    r"|depth_?to|space_?to",
    re.IGNORECASE,
)
"""Ops and layers that make feature maps: two equal sides are an image's there."""
_OPS = frozenset(
    "BatchMatMul BatchMatMulV2 BatchMatMulV3 Einsum Softmax MatMul Softmax_grad dot_general".split()
)
_SHORTEST = 64


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in requests(case):
        failed = request.failed
        if moment.incident and moment.incident.compiler and moment.incident.compiler.tried:
            continue  # the rule of that kernel knows its op and the program's sizes
        if on_the_way(case, moment, request):
            continue  # large-on-the-way tells which line makes it, and why it need not
        if (sides := _pairs_of_positions(failed.shape)) and not _repeats(request):
            yield _of_positions(index, moment, sides)
            continue
        shape = _scores(failed.shape) or _flattened_scores(failed)
        if shape is None or _is_feature_map(request, shape):
            continue
        if _is_a_kernel_by_the_code(case, failed) or layer_of_each_sample(request):
            continue
        if _is_product_with_itself(failed) or _is_mapped(failed):
            continue
        of_attention = _speaks_of_attention(failed) or _is_attention_by_the_code(case, request)
        if not (of_attention or _held_scores(moment)):
            continue
        *outer, queries, keys = shape
        need = failed.tensor_bytes
        alive = _held_scores(moment)
        small = _is_one_of_many(case, moment, outer)
        yield Finding(
            severity=Severity.CAUSE,
            headline=(
                f"attention scores {format_shape(shape)} at {place(moment)}: length {queries} squared is"
                f" {queries * keys:,} per head and sample"
            ),
            because=(
                f"{'one of many tensors that each layer keeps of each sample: ' if small else ''}"
                f"attention scores grow with the square of {_of_what(case, failed, queries)}, here"
                f" {queries} x {keys} for {_matrices(outer)}{_of_a_mask(failed, need)}"
            ),
            explains=alike(moment, _of_attention) + _as_numbers(moment, failed, need) if need else None,
            evidence=(Evidence(f"requested: {tensor_text(moment)}", failed.line), *alive[:2]),
            remedies=(
                *(_in_chunks(outer, need) if _gives_many(case, moment, outer) else ()),
                *_less_of_both(case, index, outer, queries),
                *(() if small or _of_a_finished_model(case, moment) or tool(case) else (_IN_BLOCKS,)),
                *((_BUCKETS,) if _of_data(queries) and not _is_one(case, moment, outer) else ()),
            ),
            detail=(
                "Scores, softmax and, in training, the dropout mask are each this large, in every layer, and"
                " all of them are kept for the backward pass."
            ),
            moment=index,
            rules_out=("smaller-input",) if levels(case, queries) else (),
        )


def _is_a_kernel_by_the_code(case: Case, failed: FailedRequest) -> bool:
    """Whether a single matrix that a product made has the sides of a layer's kernel, whose gradient it is."""
    from tfmemlens.knowledge.keras_program import layer_outputs

    shape, program = failed.shape or (), case.capture.surroundings.program()
    if len(shape) != _NO_HEADS or shape[0] != 1 or not program or failed.keras_layer:
        return False
    return any(tuple(weight.shape) == shape[1:] for each in layer_outputs(program) for weight in each.weights)


def _is_attention_by_the_code(case: Case, request: Request) -> bool:
    """Whether the program makes the failed layer as one of attention."""
    line = line_of_layer(case.capture.surroundings, request.owner.layer)
    parts = (request.owner.layer or "").split("/")
    above = (line_of_layer(case.capture.surroundings, part) for part in parts[:-1])
    return any(each and _ATTENDS.search(each.text) for each in (line, *above))


_ATTENDS = regex(r"\b(?:MultiHead|GroupQuery|Additive)?Attention\(")


def _as_numbers(moment: Moment, failed: FailedRequest, need: int) -> int:
    """Blocks without names that are large enough for the scores themselves, where their mask of a byte each
    failed.
    """
    if failed.dtype != "bool" or attributed(moment):
        return 0
    of_floats = _FLOAT * need
    return sum(
        block.total_bytes
        for block in moment.attribution.table
        if tensor_in(block, moment)[0] <= of_floats <= tensor_in(block, moment)[1]
    )


def _of_a_mask(failed: FailedRequest, need: int | None) -> str:
    """That the scores themselves are larger, as a clause, where their mask of a byte each failed."""
    if failed.dtype != "bool" or not need:
        return ""
    return f"; this is a mask of one byte each, and the scores take {human(_FLOAT * need)} as float32"


_FLOAT = 4
_SMALL_SIDE, _LEAST_SIDE, _OF_A_BATCH = 32, 8, 1 << 14


def _pairs_of_positions(shape: tuple[int | None, ...] | None) -> tuple[int, int] | None:
    """Height and width of a map of which each position stands against each other: [..., h, w, h, w] behind a
    batch. Axes that are all alike are a grid of as many dimensions, and so are fewer axes.
    """
    if not shape or len(shape) not in (5, 6) or not all(shape):
        return None
    sizes = tuple(size or 1 for size in shape)
    if sizes[-4:-2] != sizes[-2:] or min(sizes[-2:]) < _LEAST_SIDE or len(set(sizes)) == 1:
        return None
    return None if math.prod(sizes[:-4]) > _OF_A_BATCH else (sizes[-2], sizes[-1])


def _repeats(request: Request) -> bool:
    """Whether the op copies what it is given: `[n,c,h,2,w,2]` is how images are upscaled by hand."""
    name = request.failed.op or request.owner.op or (request.failed.node or "").rpartition("/")[2]
    return _COPIES.fullmatch(name) is not None


_COPIES = regex(r"(?:Tile|Reshape|BroadcastTo|Transpose|Pack)(?:_\d+)?")


def _of_positions(index: int, moment: Moment, sides: tuple[int, int]) -> Finding:
    """All positions of a map against all others: with half of both sides a sixteenth."""
    assert moment.request
    failed, (height, width) = moment.request.failed, sides
    shape = failed.shape or ()
    count = height * width
    each = 4 * math.prod(_small(side) for side in (*sides, *sides)) if min(sides) > _SMALL_SIDE else None
    small = f"{_small(height)} x {_small(width)}"
    then = f" (at {small} one of these matrices takes {human(each)} as float32)" if each else ""
    what = f"each of {height} x {width} positions with every other: {count:,} x {count:,} numbers"
    outer = math.prod(size or 1 for size in shape[:-4])
    return Finding(
        severity=Severity.CAUSE,
        headline=f"{format_shape(shape)} is {what}, {human(4 * count**2)} as float32",
        because=f"{what}, {human(4 * count**2)} as float32, for {outer:,} (samples × heads)",
        explains=failed.tensor_bytes,
        evidence=(Evidence(f"requested: {tensor_text(moment)}", failed.line),),
        remedies=(
            Remedy(
                f"use this layer (attention, correlation) only where the map is small{then}, or pool the map"
                " before it: with half the height and width it takes a sixteenth, with half the batch half",
                slug="smaller-input",
            ),
            _IN_BLOCKS,
        ),
        moment=index,
    )


def _small(side: int) -> int:
    return min(side, _SMALL_SIDE)


_IN_BLOCKS = Remedy(
    "compute attention in blocks of queries, or within a window, so that length x length is never held whole",
    slug="blockwise-attention",
)
_MANY, _CHUNK = 128, 32
"""Samples that nobody needs at once who only asks a model for answers, and how many are enough."""


def _less_of_both(case: Case, index: int, outer: list[int], queries: int) -> Iterator[Remedy]:
    """Shorter sequences and a smaller batch: first that of which there is more."""
    moment = case.moments[index]
    assert moment.request
    failed = moment.request.failed
    need = failed.tensor_bytes
    shorter = list(_shorter(case, index, failed, queries, need))
    many = _gives_many(case, moment, outer)
    fewer = [] if many else list(_fewer_samples(case, index, moment, outer, need))
    if _is_one_of_many(case, moment, outer):
        yield from map(_without_a_saving, [*fewer, *shorter])  # one tensor's saving is none to speak of
        return
    yield from [*fewer, *shorter] if math.prod(outer) >= _MANY_MORE * queries else [*shorter, *fewer]


def _is_one_of_many(case: Case, moment: Moment, outer: list[int]) -> bool:
    """Whether scores that no device lacks room for are of short sequences and several samples: each layer
    keeps more than them of each sample, and a smaller batch cuts no text.
    """
    request = moment.request
    shape, need = (request.failed.shape or (), request.failed.tensor_bytes) if request else ((), None)
    batch = remedies.batch_of(case, moment) or (outer[0] if len(outer) == 2 else 0)
    short = bool(shape) and (shape[-1] or 0) <= _SHORT
    return short and batch > _FEW_SAMPLES and 0 < (need or 0) < _SMALL_BYTES and not _held_scores(moment)


def _without_a_saving(remedy: Remedy) -> Remedy:
    return replace(remedy, saves_bytes=None, certainty=None, low_bytes=None, high_bytes=None)


_SHORT, _FEW_SAMPLES, _SMALL_BYTES = 512, 4, 64 * MIB
_MANY_MORE = 4
"""Matrices to each position: where there are so many more, the batch is what is large."""


def _of_a_finished_model(case: Case, moment: Moment) -> bool:
    """Whether a program in another language runs a model that was saved, whose layers stay as they are."""
    run = situation(case, moment)
    return (
        run.program in ("Java", "C#", "C++", "Go", "Rust", "TensorFlow Serving") and run.training is not True
    )


def _gives_many(case: Case, moment: Moment, outer: list[int]) -> bool:
    """Whether such a program, or one that only evaluates, gives the model very many samples at once."""
    run = situation(case, moment)
    answers = run.training is False or _of_a_finished_model(case, moment)
    return answers and run.program != "TensorFlow Serving" and len(outer) == 2 and outer[0] >= _MANY


def _in_chunks(outer: list[int], need: int | None) -> Iterator[Remedy]:
    """Fewer samples in one call, which change no answer."""
    each = f": each of these matrices takes {human(need // outer[0] * _CHUNK)} then" if need else ""
    yield Remedy(
        f"give the model fewer samples in one call, {_CHUNK} instead of {outer[0]:,}{each}; the answers stay"
        " the same",
        saves_bytes=need - need // outer[0] * _CHUNK if need else None,
        certainty=Certainty.EXACT if need else None,
        slug="in-batches",
    )


_LONG = 256
"""Shorter ones are hardly those of an outlier."""
_PADDED_TO = 8
"""Lengths that are no multiple of it are those of data, and differ from batch to batch; others were set."""


def _of_data(length: int) -> bool:
    return length % _PADDED_TO != 0


_BUCKETS = Remedy(
    "sort sequences into buckets of similar length: one long outlier pads the whole batch",
    slug="bucket-sequences",
)


def _of_what(case: Case, failed: FailedRequest, queries: int) -> str:
    """What the side of the scores counts."""
    side = math.isqrt(queries)
    if _over_an_image(case, failed, queries):
        return f"the number of positions ({side} x {side} of a feature map)"
    return "the sequence length"


def _over_an_image(case: Case, failed: FailedRequest, queries: int) -> bool:
    """Whether the positions are those of an image: a square number of them, in a net for images, as names,
    the recorded model's maps or a program that convolves and reads no words tell.
    """
    side = math.isqrt(queries)
    if side**2 != queries:
        return False
    named = " ".join(filter(None, (failed.node, failed.source_text, *(failed.keras_layer or ()))))
    if _IMAGES.search(named):
        return True
    told, model = case.capture.surroundings, case.capture.live_model
    maps = [shape for _, shape in model.outputs if shape] if model else []
    if any(len(shape) == 4 and side == shape[1] == shape[2] for shape in maps):
        return True
    code = [line.text for line in code_lines(told)] if told.program() else []
    convolves = any(_CONVOLVES.search(text) for text in code)
    return convolves and not any(_READS_WORDS.search(text) for text in code)


_CONVOLVES = regex(r"(?i)\bconv_?2d(?:_?transpose)?\(")
_READS_WORDS = regex(r"(?i)\bembedding(?:_lookup)?\(|token|vocab")


def _shorter(
    case: Case, index: int, failed: FailedRequest, queries: int, need: int | None
) -> Iterator[Remedy]:
    """Fewer positions: of a sequence, or of an image."""
    known = tool(case)
    used = known[0] if known else None
    if (listed := levels(case, queries)) is not None:
        yield without_level(listed, math.isqrt(queries), need)
        return
    if _over_an_image(case, failed, queries):
        side = math.isqrt(queries)
        text = (
            f"use attention where the map is smaller than {side} x {side} = {queries:,} positions, or pool"
            " the map before it: with half the height and width each of these matrices becomes a sixteenth"
        )
        yield remedies.of_change(case, index, text, Shrunk("smaller-input", need, axes=4))
        return
    if used and used.model:
        yield Remedy(f"a smaller model, or less of it: {used.model}", slug="smaller-model")
        return
    stated, request = stated_length(case.capture.surroundings), case.moments[index].request
    if request and stated and stated.size == queries and not stated.of_data:
        yield remedies.shorter_for(case, stated, request)
        return
    text = (
        f"halve the sequence length ({queries} -> {queries // 2}): each of these matrices becomes a quarter"
    )
    if _of_data(queries) and queries >= _LONG:
        text = (
            f"cap the length: cut, split or drop the samples that are far longer than the rest ({queries:,}"
            " here); half the length makes each of these matrices a quarter"
        )
    if used and used.lengths:
        text = f"{text} ({used.lengths})"
    yield remedies.of_change(case, index, text, Shrunk("smaller-input", need, axes=2))


def _fewer_samples(
    case: Case, index: int, moment: Moment, outer: list[int], need: int | None
) -> Iterator[Remedy]:
    """A smaller batch, unless it is one sample already."""
    if _is_one(case, moment, outer):
        return
    if situation(case, moment).program == "TensorFlow Serving":
        yield remedies.smaller_requests(case)
        return
    if _is_one_of_many(case, moment, outer) and not tool(case):
        yield from remedies.offered(case, moment, "smaller-batch")
        return
    instead = instead_of_a_batch(case)
    text = instead or f"halve the batch{of_batch(case)}: each of them becomes half"
    bound = batch_bound(case, moment)
    if bound and not bound.none_fits:
        yield from remedies.offered(case, moment, "smaller-batch")
        return
    yield remedies.of_change(case, index, text, Shrunk("smaller-batch", need))


def _is_one(case: Case, moment: Moment, outer: list[int]) -> bool:
    """Whether it is the scores of one sample."""
    return 1 in (remedies.batch_of(case, moment), outer[0] if len(outer) == 2 else None)


def _speaks_of_attention(failed: FailedRequest) -> bool:
    """Whether the op, the names of node and layer, or the user's line of code tell of attention; a line that
    runs a whole graph or model tells of none of its ops.
    """
    words = " ".join(filter(None, (failed.node, failed.op, failed.kernel, *(failed.keras_layer or ()))))
    code = failed.source_text or ""
    if _is_any_product(failed) or _is_sum_of_views(failed, code):
        return False
    of_code = _CODE.search(code) and not RUNS_A_MODEL.search(code)
    return bool(failed.op in _OPS or _WORDS.search(words) or of_code)


def _is_sum_of_views(failed: FailedRequest, code: str) -> bool:
    """Whether the line adds views of which one side is new (`a[:, :, None] + w[None]`): a sum over states or
    pairs, as a CRF has, and no product of queries and keys.
    """
    adds = (failed.op or "").startswith("Add") or _SUM.match((failed.node or "").rpartition("/")[2])
    return bool(adds and _NEW_SIDE.search(code) and not _MULTIPLIES.search(code))


_SUM = regex(r"(?i)add(?:v2)?(?:_\d+)?\Z")
_NEW_SIDE = regex(r"\[[^\]]{0,40}\b(?:None|newaxis)\b|expand_dims\(")
_MULTIPLIES = regex(r"(?i)matmul|einsum|softmax|\bdot\b|att(?:entio)?n| @ ")


def _is_any_product(failed: FailedRequest) -> bool:
    """Whether the file of a kernel for products alone is known of a matrix for each sample, without heads."""
    named = failed.node or failed.op or failed.keras_layer or failed.source_text
    return not named and len(failed.shape or ()) == _NO_HEADS and "matmul" in (failed.kernel or "")


_NO_HEADS = 3


def _is_mapped(failed: FailedRequest) -> bool:
    """Whether the program's own vectorised map has so many matrices, one for each of its elements."""
    return "pfor" in (failed.node or "") and "vectorized_map(" in (failed.source_text or "")


def _is_product_with_itself(failed: FailedRequest) -> bool:
    """Whether the line multiplies rows with themselves, and nothing on the way speaks of attention."""
    words = " ".join(filter(None, (failed.node, failed.function, *(failed.keras_layer or ()))))
    code = failed.source_text or ""
    return bool(_OF_ITSELF.search(code)) and not _OF_ATTENTION.search(f"{words} {code}")


_OF_ATTENTION = regex(r"(?i)att(?:entio)?n|(?:\b|_)att(?=\b|_|\d)|\bmha|softmax|transformer|scores|query")
_OF_ITSELF = regex(
    r"matmul\(\s*(?P<one>[\w.]{1,40})\s*,\s*(?:(?:[\w.]{1,40}\.)?transpose\(\s*(?P=one)\b"
    r"|(?P=one)\s*,\s*(?:transpose_b|adjoint_b)\s*=\s*True)"
    r"|(?<![\w.])(?P<other>[\w.]{1,40}) ?@ ?(?:(?:[\w.]{1,40}\.)?transpose\(\s*(?P=other)\b|(?P=other)\.T\b)"
)
"""Rows times themselves: similarities or distances of all pairs."""


def _is_feature_map(request: Request, shape: tuple[int, ...]) -> bool:
    """Whether the shape is channels and an image's two sides: by the op, by the type of its layer, by the
    layers in a name that says nothing of attention, by a copy of the layout pass, which makes them of images
    alone, or by an image that the layer was called with, its channels last.
    """
    failed = request.failed
    if request.owner.kind is Kind.LAYOUT_TRANSPOSE:
        return True
    if failed.node and not _WORDS.search(failed.node) and _FEATURE_MAPS.search(failed.node):
        return True
    kind = (failed.keras_layer or ("", ""))[1]
    kind = "" if _WORDS.search(kind) else kind  # AttentionPooling pools no maps
    last = (failed.node or "").rpartition("/")[2]
    if _FEATURE_MAPS.search(" ".join(filter(None, (kind, last, failed.op, request.owner.op)))):
        return True
    samples, *sides = shape
    return any(
        argument.shape == (samples, *sides[1:], sides[0]) for argument in failed.arguments if len(sides) == 3
    )


def _matrices(outer: list[int]) -> str:
    """The dimensions before a matrix of scores: `32 samples × 8 heads`."""
    if len(outer) == 2:
        samples, heads = (_count_of(*each) for each in zip(outer, ("sample", "head"), strict=True))
        return f"{samples} × {heads}"
    return f"{math.prod(outer):,} (samples × heads)"


def _count_of(count: int, noun: str) -> str:
    """`1 head`, `8 heads`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _scores(shape: tuple[int | None, ...] | None) -> tuple[int, ...] | None:
    if not shape or len(shape) < 3 or not all(shape):
        return None
    sizes = tuple(size or 1 for size in shape)
    return sizes if sizes[-1] == sizes[-2] >= _SHORTEST else None


_SOFTMAX_OF_ATTENTION = regex(r"(?i)atte?n.*/(?:log_?)?softmax\w*\Z")


def _flattened_scores(failed: FailedRequest) -> tuple[int, ...] | None:
    """Scores as a matrix, one row for each query of all heads and samples, as TensorFlow 1 hands them to its
    softmax: the rows are some times the columns.
    """
    shape = failed.shape
    if not shape or len(shape) != 2 or not all(shape) or not _SOFTMAX_OF_ATTENTION.search(failed.node or ""):
        return None
    rows, keys = (size or 1 for size in shape)
    return (rows // keys, keys, keys) if keys >= _SHORTEST and rows % keys == 0 else None


def _held_scores(moment: Moment) -> list[Evidence]:
    """Rows whose names speak of attention."""
    named = rows(moment, _of_attention)
    return [
        Evidence(
            f"also held: {row.allocation.node} with {human(row.allocation.total_bytes)}", row.allocation.line
        )
        for row in named
    ]


def _of_attention(row: Row) -> bool:
    return bool(re.search(r"atte?n|softmax|scores", row.allocation.node or "", re.IGNORECASE))
