"""A fully connected layer with a very large kernel.

What it means: a Dense layer behind Flatten has height x width x channels x units weights. Its gradient is as
large as the kernel, and Adam's two slots are, too: four times the kernel in all, whatever the batch.
When it fires: the failing tensor is a matrix of at least 32 MiB whose rows are the inputs of a fully
connected layer: a weight gradient, an update, or the kernel itself; or a product in half precision copies a
matrix to float32 that is the kernel of a layer, as the program or its code tells, or blocks of the same size
that are held before it.
What to do: pool or stride before Flatten (GlobalAveragePooling2D removes nearly all of it), or make the layer
narrower.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tfmemlens.findings.support import code_snippets, remedies
from tfmemlens.findings.support.code_outputs import weighing
from tfmemlens.findings.support.kept import records_gradients
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.findings.support.rows import alike, place, requests, rows, size_of, tensor_text
from tfmemlens.findings.support.situation import situation
from tfmemlens.findings.support.vocabulary_sizes import fewer_words, likely_vocabulary, may_be_weight
from tfmemlens.findings.support.weights import (
    Weight,
    copies,
    copies_in_code,
    fewer_classes,
    in_summary,
    no_room_at_start,
    optimizer_of,
    weight_of,
)
from tfmemlens.knowledge.kernel_shapes import flattened
from tfmemlens.model.attribution import Kind, Phase
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import MIB, human

BASIS = Basis.SHAPE
EXPLAINS = "the failing tensor, and held tensors of the same size"
_FLATTENED = 10_000
"""Inputs that are more likely a flattened image's than features."""

_TOO_LARGE_BYTES = 2 << 30
"""A kernel of this size and its gradient alone overburden a GPU, whatever the optimizer keeps beside them."""

_WEIGHT_GRADIENT = regex(
    r"MatMul(?:_\d+)?(?:_grad)?/(?:MatMul_1|MatMul_\d*[13579])\Z"
    r"|MatMul(?:_\d+)?_grad/tuple/control_dependency_1|zeros_like"
    r"|(?:\A|/)(?:Mul|L2Loss|Square)(?:_\d+)?_grad|L2Loss|AddN",
    re.IGNORECASE,
)
_INITIALIZER = regex(
    r"(?:kernel|weights?|fc\d*/w|\bw\d*)(?:/|\Z)|truncated_normal|random_(?:uniform|normal)|Initializer",
    re.IGNORECASE,
)
_LAYER = regex(
    r"dense|fc\d*|fully|linear|MatMul|output|Adam|training|Variable|kernel|logits|\bw\d*\b", re.IGNORECASE
)


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in requests(case):
        shape, need = request.failed.shape, request.failed.tensor_bytes
        if request.failed.is_operand and (found := _of_an_operand(case, index, moment, request)):
            yield found
            continue
        if not shape or len(shape) != 2 or need is None or need < 32 * MIB:
            continue
        inputs, units = (size or 1 for size in shape)
        if inputs >= 256 and units >= 16 and _of_weights(request) and _fully_connected(request):
            if request.owner.phase is Phase.GRADIENT and _computed_beside(moment, request):
                continue
            yield _finding(case, index, moment, request)


def _of_an_operand(case: Case, index: int, moment: Moment, request: Request) -> Finding | None:
    """A product of matrices in half precision that copies the kernel to float32, where the program or its
    code tells of such a kernel, or blocks of its size are held before the product: it and its slots.
    """
    failed = request.failed
    inputs, units = ((failed.shape or (1, 1, 1))[at] or 1 for at in (1, 2))
    need, alike_held = failed.tensor_bytes or 0, _blocks_alike(moment, failed.tensor_bytes)
    of_code = weighing(case, (inputs, units))
    known = request.owner.kind is Kind.PARAMETER or bool(of_code)
    if not known and (alike_held < _LEAST_HELD or request.owner.phase is not Phase.FORWARD):
        return None
    times, with_them = copies_in_code(code_lines(case.capture.surroundings))
    if not _trains(case, moment):
        times, with_them = 2, "with this copy"
    of_one = of_code[0] if len(of_code) == 1 else None
    line = f" ({of_one.line.place})" if of_one else ""
    layer = of_one.name if of_one and of_one.name else request.owner.layer
    kernel = f"the kernel of `{layer}`{line}, {inputs:,} x {units:,}"
    held = f"; {with_them} {human(times * need)}, and no batch changes that"
    if not known:
        kernel = f"most likely the kernel of `{request.owner.layer}`, {inputs:,} inputs x {units:,} units"
        held = f": {alike_held} blocks of this size are in use, as of it and its slots; no batch changes that"
    what = f"{kernel}, is copied to float32 for its product"
    return Finding(
        severity=Severity.CAUSE,
        headline=f"{what}: {tensor_text(moment)}",
        because=f"{what}{held}",
        explains=times * need if known else (1 + alike_held) * need,
        rules_out=("smaller-batch", "batch-for-the-block", "constant-shapes", "large-tensors-first"),
        evidence=(
            Evidence(f"requested: {tensor_text(moment)}", failed.line),
            *(Evidence("the layer", each.line) for each in of_code[:1]),
        ),
        remedies=(
            Remedy(
                f"make the layer narrower, or give it fewer inputs (a stride or pooling before it): half of"
                f" either halves the kernel and all that is as large ({units:,} -> {units // 2:,})",
                slug="narrower-layer",
            ),
        ),
        moment=index,
    )


def _trains(case: Case, moment: Moment) -> bool:
    """Whether gradients and slots are there; of a failure that tells nothing of it, most likely."""
    training, program = situation(case, moment).training, case.capture.surroundings.program()
    return training if training is not None else not program or records_gradients(program)


_LEAST_HELD = 2
"""Blocks of a kernel's size that are held before its product: it, and a slot at least."""


def _blocks_alike(moment: Moment, size: int | None) -> int:
    """How many blocks of just this size are in use."""
    return sum(row.allocation.count for row in rows(moment) if row.allocation.size_bytes == size)


_OF_A_FIRST_LAYER = regex(r"gradient_tape/(?!.*Tensordot).*MatMul/MatMul\Z")
"""What TensorFlow 2 calls the gradient of a first layer's kernel, whose input needs none; of later layers it
is the input's, whose rows are the batch.
"""
_NO_BATCH = 100_000


def _is_of_a_first_layer(request: Request) -> bool:
    """Whether it is the gradient of the first layer's kernel: its rows are too many for a batch."""
    shape = request.failed.shape or (0,)
    return bool(_OF_A_FIRST_LAYER.search(request.failed.node or "")) and (shape[0] or 0) >= _NO_BATCH


def _of_weights(request: Request) -> bool:
    """Whether the tensor is a weight, its gradient or its update."""
    failed, owner = request.failed, request.owner
    name = failed.node or failed.op or ""
    if (
        owner.phase is Phase.OPTIMIZER
        or owner.kind in (Kind.PARAMETER, Kind.OPTIMIZER_SLOT)
        or _INITIALIZER.search(name)
    ):
        return True
    if owner.phase is Phase.GRADIENT and _WEIGHT_GRADIENT.search(name):
        return True
    if _is_of_a_first_layer(request):
        return True
    return failed.node is None and failed.op in (
        "RandomUniform",
        "TruncatedNormal",
        "RandomStandardNormal",
        "Fill",
    )


def _computed_beside(moment: Moment, request: Request) -> bool:
    """Whether the list holds an activation of this layer and size: then the gradient is that one's, and its
    rows are a batch's.
    """
    need = request.failed.tensor_bytes
    return any(
        row.owner.kind is Kind.ACTIVATION
        and request.owner.layer in (None, row.owner.layer)
        and size_of(row.allocation).may_be(need or 0)
        for row in rows(moment)
    )


def _fully_connected(request: Request) -> bool:
    failed = request.failed
    layer = failed.updating or _LAYER.search(f"{failed.node or failed.op or ''} {failed.forward_node or ''}")
    creating = request.owner.kind in (Kind.PARAMETER, Kind.OPTIMIZER_SLOT)
    many = ((failed.shape or (0,))[0] or 0) >= _FLATTENED
    is_table = weight_of(request) is Weight.TABLE and not _is_of_a_first_layer(request)
    return bool(layer or (creating and many)) and not is_table


def _finding(case: Case, index: int, moment: Moment, request: Request) -> Finding:
    times, kept = copies(request)
    inputs, units = (size or 1 for size in request.failed.shape or (1, 1))
    need = request.failed.tensor_bytes or 0
    row = _in_summary(case, inputs, units)
    dense = (row and row[1] == "Dense") or _is_of_a_first_layer(request)
    weight = Weight.DENSE if dense else weight_of(request)
    if weight is Weight.MATRIX and _is_dense_by_the_code(case):
        weight = Weight.DENSE
    own = _own_variables(case, request)
    what = own or weight
    of_layer = f" (`{row[0]}`)" if row else ""
    because = (
        f"{what}{of_layer} of {inputs:,} x {units:,}, whose gradient and optimizer slots take as much again"
        " each"
    )
    if makes_slots := request.failed.creating and request.owner.kind is Kind.OPTIMIZER_SLOT:
        known = optimizer_of(request)
        who = known[0] if known else "the optimizer"
        because = (
            f"{who} was creating its slots of {what}{of_layer}, {inputs:,} x {units:,}: {human(need)} each;"
            " a smaller batch does not help here"
        )
    words = not (own or makes_slots) and _is_of_words(request)
    if words:
        because = (
            f"the weight of an output layer, {inputs:,} units x most likely {units:,} words or classes; its"
            " gradient and optimizer slots take as much again each, whatever the batch"
        )
    of_vgg = bool(_OF_VGG.search(request.failed.node or ""))
    lighter = remedies.offered(case, moment, "lighter-optimizer") if makes_slots else ()
    return Finding(
        severity=Severity.CAUSE,
        headline=f"{what} of {inputs:,} x {units:,} = {human(need)}; {kept} {human(times * need)}",
        because=because,
        explains=alike(moment),
        evidence=(
            Evidence(f"requested: {tensor_text(moment)} at {place(moment)}", request.failed.line),
            *((Evidence(f"its layer in the summary: {row[0]} ({row[1]})", row[3]),) if row else ()),
        ),
        detail="" if words else _image(inputs),
        remedies=(
            *((users,) if (users := no_room_at_start(case, moment)) else ()),
            *((_OTHER_BACKBONE,) if of_vgg else ()),
            *(lighter if need < _TOO_LARGE_BYTES else ()),
            *((classes,) if (classes := fewer_classes(request)) and not words else ()),
            *(_of_words(case, moment, inputs, units) if words else ()),
            *(() if of_vgg or words else _remedies(case, weight, inputs, units, need, times, own)),
            *(lighter if need >= _TOO_LARGE_BYTES else ()),
        ),
        moment=index,
    )


_OF_OUTPUT = regex(r"(?i)output_?proj|logits|vocab|softmax|decoder|seq2seq|lm_head|next_?word")


def _is_of_words(request: Request) -> bool:
    """Whether it is the weight of an output layer for each word, by its name and its sides."""
    shape = request.failed.shape or ()
    named = _OF_OUTPUT.search(request.failed.node or "") is not None
    return named and may_be_weight(shape) and likely_vocabulary(shape) is not None


def _of_words(case: Case, moment: Moment, inputs: int, units: int) -> Iterator[Remedy]:
    """Fewer words, or fewer units; its output, a number for each word at each position, has the batch."""
    yield fewer_words(units)
    yield Remedy(
        f"or fewer units before it: {inputs:,} -> {inputs // 2:,} halves this matrix, its gradient and its"
        " slots",
        slug="narrower-layer",
    )
    if situation(case, moment).training is not False:
        yield Remedy(
            "the output of this layer has a number for each word at each position: a smaller batch or shorter"
            " samples make that smaller, and not this matrix",
            slug="smaller-batch",
        )


_OF_VGG = regex(r"(?i)\bvgg_?\d*\w*/fc6\b")
_OTHER_BACKBONE = Remedy(
    "it is the first fully connected layer of VGG, which holds most of its weights: take a backbone without"
    " such layers (ResNet, MobileNet); to make this one smaller its trained values must go",
    slug="other-backbone",
)
_FEWER_ROWS = Remedy(
    "if it is an embedding table: fewer rows (a smaller vocabulary, hashing of rare ids), or split it"
    " over devices",
    slug="smaller-vocabulary",
)
_POOL = Remedy(
    "if its inputs are a flattened image: pool before the layer, so that only the channels are left",
    slug="pool-first",
)


def _of_flatten(case: Case, inputs: int) -> bool:
    """Whether as many inputs are rather a flattened map than a vocabulary: quoted code flattens one, or the
    number is that of a map and no power of two.
    """
    if flattened(inputs) is None:
        return False
    quoted = any("Flatten(" in line.text for line in case.capture.surroundings.code)
    return quoted or bool(inputs & (inputs - 1))


_OF_KERAS = frozenset(
    ("kernel", "embeddings", "recurrent_kernel", "depthwise_kernel", "pointwise_kernel", "w")
)
"""The last names of variables that a layer of Keras's own, or a fully connected one, makes."""


def _is_dense_by_the_code(case: Case) -> bool:
    """Whether the program flattens, has fully connected layers, and no table."""
    lines = [line.text for line in code_lines(case.capture.surroundings)]
    flattens = any("Flatten(" in text for text in lines) and any("Dense(" in text for text in lines)
    return flattens and not any(_TABLE.search(text) for text in lines)


_TABLE, _NUMBERS = regex(r"(?i)embedding|lookup"), regex(r"\d+")
_CLASSES = regex(r"(?i)\bDense\(\s*(?:units\s*=\s*)?\w*(?:class|label)\w*")


def _columns_are_classes(case: Case, units: int) -> bool:
    """Whether the program has one fully connected layer for the kinds of the task, and none of this width by
    a number.
    """
    lines = [line.text for line in code_lines(case.capture.surroundings)]
    of_classes = any(_CLASSES.search(text) for text in lines)
    return of_classes and not any(str(units) in _NUMBERS.findall(text) for text in lines if "Dense(" in text)


def _own_variables(case: Case, request: Request) -> str:
    """`the variables `keys` and `values``: those of a layer of the user's that have this shape, as the
    program recorded them; empty where one of Keras's own names is among them.
    """
    model = case.capture.live_model
    names = [
        each.name.rpartition("/")[2].partition(":")[0]
        for each in (model.variables if model else ())
        if each.kind is Kind.PARAMETER and each.layer and each.tensor.shape == request.failed.shape
    ]
    if not names or len(names) > _MOST_NAMED or any(name in _OF_KERAS for name in names):
        return ""
    joined = " and ".join(f"`{name}`" for name in dict.fromkeys(names))
    return f"the variable{'s' if len({*names}) > 1 else ''} {joined}"


_MOST_NAMED = 3


def _remedies(
    case: Case, what: Weight, inputs: int, units: int, need: int, times: int, own: str
) -> Iterator[Remedy]:
    if own:
        yield Remedy(
            f"fewer rows of {own}: {inputs:,} -> {max(inputs // 2, 1):,} halves the matrix, its gradient and"
            " slots",
            saves_bytes=times * need // 2,
            certainty=Certainty.ESTIMATE,
            slug="narrower-layer",
        )
        return
    if situation(case).tool:
        yield remedies.LIGHTER_MODEL
        return
    if what is Weight.DENSE and _is_no_map(inputs):
        yield Remedy(
            f"give it fewer features of a sample, now {inputs:,}: choose the columns that tell most, project"
            " or hash them to some thousands before the layer, or look rows of a table up by their indices",
            None,
            times * need,
            Certainty.BOUND,
            slug="fewer-features",
        )
    elif what is Weight.DENSE and inputs > units and (flattened(inputs) or inputs >= _FLATTENED):
        yield Remedy(
            "pool before the layer: global average pooling leaves only the channels as inputs",
            code_snippets.pooled(code_snippets.of_functions(case.api)),
            times * need,
            Certainty.BOUND,
            slug="pool-first",
        )
    if what is Weight.MATRIX:
        steps = [_FEWER_ROWS, _POOL]
        yield from reversed(steps) if _of_flatten(case, inputs) else steps
    if what is not Weight.MATRIX and units >= _OUTPUTS * inputs:
        yield Remedy(
            f"make the layer before it narrower: {inputs:,} -> {max(inputs // 2, 1):,} halves the matrix, its"
            f" gradient and slots; {units:,} outputs most likely are the data's",
            saves_bytes=times * need // 2,
            certainty=Certainty.ESTIMATE,
            slug="narrower-layer",
        )
        return
    if _columns_are_classes(case, units):
        return  # the kinds of the task, which nobody can halve
    narrower = "make it narrower" if what is Weight.MATRIX else "make the layer narrower"
    yield Remedy(
        f"{narrower}: {units:,} -> {max(units // 2, 1):,} halves the matrix, its gradient and slots",
        saves_bytes=times * need // 2,
        certainty=Certainty.ESTIMATE,
        slug="narrower-layer",
    )


_OUTPUTS = 4
"""So many times as many outputs as inputs has a layer that gives what the data have: words, genes."""


def _is_no_map(inputs: int) -> bool:
    """Whether so many inputs are no height x width x channels: a factor of it is larger than any of them."""
    rest, factor = inputs, 2
    while factor <= _LARGEST_SIDE and rest > 1:
        if rest % factor:
            factor += 1
        else:
            rest //= factor
    return rest > _LARGEST_SIDE


_LARGEST_SIDE = 8192


def _in_summary(case: Case, inputs: int, units: int) -> tuple[str, str, int, Line] | None:
    """The only row of the model's summary with as many parameters as this matrix."""
    layers = in_summary(case.capture.surroundings, inputs, units)
    return layers[0] if len({row[0] for row in layers}) == 1 else None


def _image(inputs: int) -> str:
    """The feature map that Flatten may have seen."""
    if not (seen := flattened(inputs)):
        return ""
    side, channels = seen
    return f"{inputs:,} inputs are, for instance, a flattened {side}x{side} map of {channels} channels."
