"""A setting of the program's own makes the tensor this large.

What it means: a shape in an error holds numbers that nobody typed: the positions of a map that is 8 times
smaller than `RESOLUTION`, all pixels of an image in one row, the rows of a replay memory of
`capacity=20000`. The setting behind them is what its writer can change.
When it fires: one setting of the text fits a side of the tensor that failed, as its number, by a stride or as
a product; the request is 64 MiB or more; no other rule names that setting. Of a program whose source is
known also a constant on which the failing line, or the call that makes its layer, depends, where a side of
the tensor has its value, the request is a tenth of what is in use or its layer holds half of it, and no
other constant fits as well.
What to do: lower it, in the line that sets it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.batch_bound import batch_bound
from tfmemlens.findings.support.kept import records_gradients
from tfmemlens.findings.support.named_sizes import Meaning, named_sizes
from tfmemlens.findings.support.own_constant import held_by_its_layer, own_constant, own_layers
from tfmemlens.findings.support.own_forms import OwnConstant
from tfmemlens.findings.support.own_knob import REPLAY, Knob, knob
from tfmemlens.findings.support.phase import EVALUATION, PREDICTION, other_than_training
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.findings.support.rows import device_limit, on_host, requests, tensor_text
from tfmemlens.findings.support.situation import TENSORFLOW, framework_of, situation
from tfmemlens.model.attribution import Kind
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.model.what_if import Shrunk
from tfmemlens.patterns import regex
from tfmemlens.units import MIB, human

BASIS = Basis.NAME
EXPLAINS = "the failing tensor"

_LEAST_BYTES = 64 * MIB
_HALF = 0.5
"""Of a limit: what one tensor may take, so that others find room beside it."""
_MOST_HALVINGS = 9
_MANY_SAMPLES = 8
_LARGE = 0.125
"""Of a limit: what one tensor of a training may hardly take."""
_SLUGS = {
    Meaning.IMAGE: "smaller-input",
    Meaning.LENGTH: "shorter-sequences",
    Meaning.WORDS: "smaller-vocabulary",
}
_PIXELS_BY_PIXELS = regex(
    r"(?:\bzca_whitening ?= ?True|\bnp\.cov\(|\bnp\.corrcoef\(|\bnp\.dot\((\w+)\.T, ?\1\)|\bPCA\()"
)
"""What multiplies all pixels with all."""
_PART = {1: "half", 2: "a quarter", 3: "an eighth", 4: "a sixteenth"}


def check(case: Case) -> Iterator[Finding]:
    if framework_of(case) != TENSORFLOW and not (case.moments and on_host(case.moments[0])):
        return
    for index, moment, request in list(requests(case))[:1]:
        need = request.failed.tensor_bytes
        of_program = framework_of(case) == TENSORFLOW and need is not None
        own = own_constant(case, moment, remedies.batch_of(case, moment)) if of_program else None
        if own is not None and need is not None:
            spared = _fewer_samples_do(case, request, own) or _counts_what_is_there(request, own)
            if not (spared or _is_the_width_of_a_finished_model(case, moment, request, own)):
                yield _of_constant(case, index, moment, own, need)
            continue
        if of_program and (many := own_layers(case, moment)):
            yield _of_layers(index, moment, many)
            continue
        found = knob(request.failed.shape, case.capture.surroundings)
        if found is None or need is None or need < _LEAST_BYTES:
            continue
        if _OF_THE_MODEL.search(found.name) and _has_a_batch(case, request):
            continue  # another model would be the last thing to try
        made = _makes_pairs(case) if found.flat and found.power == 4 else None
        whose = f"`{found.name}` ({found.line.place})" if found.name else found.line.place
        yield Finding(
            severity=Severity.FACTOR,
            headline=f"{whose} makes it this large: {found.says}",
            because=f"{found.says} ({found.line.place})",
            explains=need,
            evidence=(
                Evidence(f"requested: {tensor_text(moment)}", request.failed.line),
                Evidence(found.says, found.line),
                *((Evidence("what multiplies all pixels with all", made[1]),) if made else ()),
            ),
            remedies=tuple(_remedies(case, moment, found, need, made)),
            moment=index,
        )


def _counts_what_is_there(request: Request, own: OwnConstant) -> bool:
    """Whether a weight has a row for each user or thing that the data have, of which nobody has fewer: what
    maps them to fewer rows is the table's own remedy.
    """
    weight = request.fixed or request.owner.kind in (Kind.PARAMETER, Kind.OPTIMIZER_SLOT)
    leads = own.value == (request.failed.shape or (None,))[0]
    return weight and leads and _OF_THINGS.search(own.name) is not None


def _is_the_width_of_a_finished_model(case: Case, moment: Moment, request: Request, own: OwnConstant) -> bool:
    """Whether it is the last side of a tensor of several, in a program that trains nothing: what a model was
    trained with stays as it is.
    """
    shape = request.failed.shape or ()
    trains = situation(case, moment).training or records_gradients(case.capture.surroundings.program())
    return not trains and len(shape) > 2 and own.value == shape[-1] and own.value not in shape[:-1]


_OF_THINGS = regex(
    r"(?i)(?:\A|_)(?:n|num|number_of|total)_?(?:users?|items?|entities|nodes|products?|customers?|movies"
    r"|songs|books|docs|documents|people|players|ids|skus)\Z"
)


def _fewer_samples_do(case: Case, request: Request, own: OwnConstant) -> bool:
    """Whether no training step failed, and it was given many samples: fewer of them at a time leave the model
    and its data as they are.
    """
    shape, ran = request.failed.shape or (), other_than_training(case, request)
    if not shape or own.leads or own.value == shape[0]:
        return False
    return ran is not None and ran[0] in (EVALUATION, PREDICTION) and (shape[0] or 0) >= _MANY_SAMPLES


def _of_constant(case: Case, index: int, moment: Moment, own: OwnConstant, need: int) -> Finding:
    """A constant of the program, by its value and by the line that depends on it."""
    assert moment.request
    return Finding(
        severity=Severity.FACTOR,
        headline=f"`{own.name}` ({own.line.place}) makes it this large: {own.says}",
        because=own.cause,
        explains=need,
        evidence=(
            Evidence(f"requested: {tensor_text(moment)}", moment.request.failed.line),
            Evidence(own.says, own.line),
        ),
        remedies=tuple(_of_own(case, moment, own, need)),
        moment=index,
        rules_out=("smaller-batch",) if own.leads else (),
    )


def _of_layers(index: int, moment: Moment, own: OwnConstant) -> Finding:
    """A constant that says how many layers stand in a row: how much they hold together, no shape tells."""
    assert moment.request
    text = f"lower `{own.name}` ({own.line.place}): {own.value:,} -> {own.to:,} (a guess): {own.it}"
    return Finding(
        severity=Severity.FACTOR,
        headline=f"`{own.name}` ({own.line.place}) makes so many layers: {own.says}",
        explains=None,
        evidence=(Evidence(own.says, own.line),),
        remedies=(Remedy(text, slug="lower-constant"),),
        moment=index,
    )


def _of_own(case: Case, moment: Moment, own: OwnConstant, need: int) -> Iterator[Remedy]:
    """What to do with it: look kinds up instead of one-hot channels, keep a matrix of links sparse, lower."""
    if own.kinds:
        left = round(need * (1 - own.part + own.part * _CHANNELS / own.value))
        yield remedies.of_tensor(
            case,
            f"look the {own.value:,} kinds (`{own.name}`, {own.line.place}) up in an Embedding of"
            f" {_CHANNELS} channels in the place of {own.kinds}: {own.it}, and this tensor then takes"
            f" {human(left)} instead of {human(need)}",
            Shrunk("embed-the-feature", round(own.part * need), own.value, _CHANNELS),
        )
        return
    text = (moment.request.failed.source_text or "") if moment.request else ""
    if own.of_pairs and _MADE_DENSE.search(text):
        yield Remedy(
            "keep the links sparse, and multiply by the sparse matrix: then no zero is stored",
            "links = tf.sparse.reorder(tf.sparse.SparseTensor(tf.cast(pairs, tf.int64), values, [n, n]))\n"
            "mixed = tf.sparse.sparse_dense_matmul(links, x)",
            slug="sparse-product",
        )
    if own.repeated and own.value >= _FEW:
        some = max(own.value // _FEW, 1)
        yield remedies.of_tensor(
            case,
            f"go through the {own.value:,} (`{own.name}`, {own.line.place}) in a loop, {some:,} at a time,"
            f" and add up what you need of each: {own.repeated} makes all at once; this tensor then takes"
            f" {human(need * some // own.value)}",
            Shrunk("in-blocks", need, own.value, some),
        )
    yield _lower(case, moment, own, need)


_FEW = 10
_CHANNELS = 8
_MADE_DENSE = regex(r"\b(?:scatter_nd|to_dense|tensor_scatter_nd_\w{2,8})\(")
"""What fills a matrix at some places, and leaves zeros elsewhere."""


def _lower(case: Case, moment: Moment, own: OwnConstant, need: int) -> Remedy:
    """To which value, and what is left: of the tensor, or of all that its layer holds where that is more."""
    held = held_by_its_layer(moment)
    of_weights = moment.request is not None and (
        moment.request.fixed or moment.request.owner.kind in (Kind.PARAMETER, Kind.OPTIMIZER_SLOT)
    )
    bound = None if of_weights else batch_bound(case, moment)
    lower, guess = own.value // 2, ""
    if bound and bound.share > 0:
        wanted = own.value * (bound.share / bound.divisor) ** (1 / own.power)
        lower = max(1, min(own.value // 2, _round(wanted)))
        guess = " (a guess)"
    limit = device_limit(case, moment)
    if bound is None and not of_weights and limit and need > limit.bytes * _LARGE:
        part = (_LARGE * limit.bytes / need) ** (1 / own.power)
        lower, guess = max(1, min(lower, _round(own.value * part))), " (a guess)"
    if own.to:
        lower, guess = own.to, " (a guess)"
    whole = held if of_weights and held > need else need
    smaller = own.value / lower if lower > own.value else (lower / own.value) ** own.power
    left = whole - own.part * whole * (1 - smaller)
    layer = moment.request.owner.layer if moment.request else None
    what = f"all that `{layer}` holds" if whole != need else "this tensor"
    return remedies.of_tensor(
        case,
        f"{'raise' if lower > own.value else 'lower'} `{own.name}` ({own.line.place}): {own.value:,} ->"
        f" {lower:,}{guess}; {own.it}, and {what} then takes {human(round(left))} instead of {human(whole)}"
        f"{own.also}",
        Shrunk(
            "lower-constant",
            round(own.part * whole),
            max(own.value, lower),
            min(own.value, lower),
            axes=own.power,
        ),
    )


def _round(wanted: float) -> int:
    """A power of two below it; of a small number itself."""
    return int(2 ** math.floor(math.log2(1.1 * wanted))) if wanted >= 1 else 1


_OF_THE_MODEL = regex(
    r"(?i)\A(?:n_?|num_?)?(?:units|filters|hidden\w*|channels|d_?model|emb\w*|latent\w*|output_?dim|heads"
    r"|layers)\Z"
)
"""Settings that make another model."""


def _has_a_batch(case: Case, request: Request) -> bool:
    """Whether the text names the batch that leads the shape, which is lowered first."""
    first = next(iter(named_sizes(request.failed.shape, case.capture.surroundings)), None)
    return first is not None and first.axis == 0 and first.meaning is Meaning.BATCH and first.size > 1


def _makes_pairs(case: Case) -> tuple[str, Line] | None:
    for line in code_lines(case.capture.surroundings):
        if match := _PIXELS_BY_PIXELS.search(line.text):
            return match[0], line
    return None


def _remedies(
    case: Case, moment: Moment, found: Knob, need: int, made: tuple[str, Line] | None
) -> Iterator[Remedy]:
    if made:
        yield Remedy(
            f"leave out `{made[0].rstrip('(')}` ({made[1].place}): it makes a matrix of all pixels with all,"
            f" {human(need)}, however few images there are; features that are centred and scaled one by one"
            " need none",
            slug="leave-it-out",
        )
    limit = device_limit(case, moment)
    halvings = 1
    while limit and need > limit.bytes * _HALF * 2 ** (found.power * halvings) and halvings < _MOST_HALVINGS:
        halvings += 1
    lower = found.value >> halvings
    part = _PART[found.power] if halvings == 1 else human(need >> (found.power * halvings))
    name = f"`{found.name}`" if found.name else "the image's sides"
    other = "smaller-input" if found.power > 1 else "lower-setting"
    slug = "smaller-replay" if REPLAY.search(found.name) else _SLUGS.get(found.meaning, other)
    yield remedies.of_tensor(
        case,
        f"lower {name} ({found.line.place}: {found.value:,} -> {lower:,}): {found.says}, and this tensor"
        f" becomes {part}",
        Shrunk(slug, need, 2**halvings, 1, axes=found.power),
    )
