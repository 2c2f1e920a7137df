"""No message has figures, and the program's Keras layers can be counted: weights, and outputs at a batch.

What it means: a cut log, a bare `out of memory`, a killed process tell nothing of what was needed. The layers
that the code makes do: a kernel of so many inputs by so many outputs, four times as much with its gradient
and Adam's two slots; outputs that training keeps for the backward pass.
When it fires: memory ran out, in words or by a message without shape and size; the text or a file beside it
holds a program that trains; its Keras layers, followed with an open batch, own weights (with gradients and
slots) or make outputs at the stated batch (Keras's own 32 where `fit` states none) of half a GiB, and of a
tenth of the known limit. Of host RAM only where nothing runs on a GPU. Or what failed is next to nothing of
the limit, or a weight of one of many layers in its update, and the weights with gradients and slots are half
of the limit or more.
What to do: a narrower layer where one owns or makes most; else a smaller batch or input.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tfmemlens.findings import told_in_words
from tfmemlens.findings.support import remedies, which_memory
from tfmemlens.findings.support.code_outputs import CodeOutput, at_batch, models_made
from tfmemlens.findings.support.kept_code import kept
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.findings.support.rows import attributed, device_limit, on_host, requests
from tfmemlens.findings.support.situation import TENSORFLOW, framework_of
from tfmemlens.findings.support.weights import copies_in_code
from tfmemlens.model.attribution import Phase
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.case import Case, Request
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.model.tensor import format_shape
from tfmemlens.model.what_if import Shrunk
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, rough
from tfmemlens.values import dataclass, replace

BASIS = Basis.SHAPE
EXPLAINS = "weights with gradients and slots, or all outputs, whichever is more"

_LEAST_BYTES, _LEAST_SHARE = GIB // 2, 0.1
_SMALL_PART, _FULL = 0.05, 1.5
"""Of the limit: what failed for so little is a bystander; weights far beyond it are never made."""
_MOST = 0.5
"""Of all: a layer with so much is named alone."""
_KERAS_BATCH, _IMAGE = 32, 2
_FITS, _SETS_BATCH = regex(r"\.fit\("), "batch_size"
_POLICY = regex(r"['\"]mixed_b?float16['\"]")
_IN_TRAINING = regex(r"(?i)\btrain(?:s|ing)?\b")
_TRAINS = regex(r"\.fit\(|\.fit_generator\(|GradientTape|\.minimize\(|train_on_batch")


@dataclass(frozen=True, slots=True)
class Account:
    """What the layers of the code own, and make at a batch."""

    layers: tuple[CodeOutput, ...]
    """At the batch."""
    batch: int
    stated: bool
    """Whether the text states the batch: else it is Keras's own."""
    copies: int
    """How often each weight is there in training: itself, its gradient, the optimizer's slots."""
    with_them: str
    """The same in words."""

    @property
    def weights(self) -> int:
        """Bytes of all weights, each layer's once."""
        return sum(map(_weights, _once(self.layers)))

    @property
    def outputs(self) -> int:
        """Bytes of all outputs at the batch."""
        return sum(each.bytes for each in self.layers)


def check(case: Case) -> Iterator[Finding]:
    if framework_of(case) not in (TENSORFLOW, None) or not case.capture.surroundings.program():
        return
    at = _without_figures(case)
    if at is None:
        yield from _beside_a_bystander(case)
        return
    account = _account(case)
    limit = device_limit(case, case.moments[at]) if case.moments else None
    least = max(_LEAST_BYTES, int(_LEAST_SHARE * limit.bytes) if limit else 0)
    if account is None or max(account.weights * account.copies, account.outputs) < least:
        return
    yield (_of_weights if account.weights * account.copies > account.outputs else _of_outputs)(
        case, account, at
    )


def _beside_a_bystander(case: Case) -> Iterator[Finding]:
    """Weights of the code that fill the device, where what failed is next to nothing of it, and no list names
    what is held.
    """
    for index, moment, request in list(requests(case))[:1]:
        limit, need = device_limit(case, moment), request.needed_bytes
        if limit is None or need is None or attributed(moment):
            return
        large = need > _SMALL_PART * limit.bytes
        if large and not _is_updated(request):
            return
        account = _account(case)
        held = account.weights * account.copies if account else 0
        if account and large and _is_of_one_layer(account):
            return  # rules of its kernel tell of it
        if account and _MOST * limit.bytes <= held <= _FULL * limit.bytes:
            found = _of_weights(case, account, index)
            if large:
                less = remedies.offered(case, moment, "lighter-optimizer")
                found = replace(found, remedies=(*less, *found.remedies))
            yield replace(found, rules_out=("smaller-batch",))


def _is_updated(request: Request) -> bool:
    """Whether a weight failed while it was updated: each has its gradient and its slots by then."""
    updates = request.failed.updating or request.owner.phase is Phase.OPTIMIZER
    return request.fixed and updates and not request.failed.creating


def _is_of_one_layer(account: Account) -> bool:
    """Whether one layer has half of all weights."""
    return max(map(_weights, _once(account.layers))) >= _MOST * account.weights


def _without_figures(case: Case) -> int | None:
    """The failure that states neither shape nor size, nor who holds what; 0 where words alone tell of it.
    Host RAM holds no layers where a GPU may compute them.
    """
    on_cpu = case.capture.surroundings.shows("without a GPU") is not None
    if not case.moments:
        said = told_in_words.spoken(case)
        return 0 if said and (on_cpu or said[1] != which_memory.HOST) else None
    for index, moment, request in list(requests(case))[:1]:
        failed = request.failed
        if on_host(moment) and not on_cpu:
            return None
        unknown = failed.shape is None and failed.size is None and not attributed(moment)
        return index if unknown and not moment.attribution.table.total_bytes else None
    return None


def _account(case: Case) -> Account | None:
    from tfmemlens.knowledge.keras_program import layer_outputs

    told = case.capture.surroundings
    code = code_lines(told)
    if models_made(case)[1] > 1 and any(each.model for each in kept(told)):
        return None  # models-kept counts them: many small ones are no large layer
    trains = any(_TRAINS.search(line.text) for line in code) or _says_that_it_trains(case)
    if not trains or told.shows("failing in evaluation"):
        return None
    batch, stated = _batch(told, code)
    layers = tuple(at_batch(each, batch) for each in layer_outputs(told.program()))
    return Account(layers, batch, stated, *copies_in_code(code)) if layers else None


def _says_that_it_trains(case: Case) -> bool:
    """Whether the words of the failure, or of the machine, speak of training."""
    said = told_in_words.spoken(case)
    words = (said[0] if said else None, case.capture.surroundings.shows("without a GPU"))
    told = case.capture.surroundings
    if told.shows("training") or any(_IN_TRAINING.search(line.text) for line in words if line):
        return True
    return not case.moments and told.shows("training in words") is not None


def _batch(told: Surroundings, code: Sequence[Line]) -> tuple[int, bool]:
    """The batch, and whether the text states it; 0 where neither it nor a call of `fit` tells."""
    setting = told.setting(_SETS_BATCH)
    if setting and setting[0].isdigit():
        return int(setting[0]), True
    return (_KERAS_BATCH if any(_FITS.search(line.text) for line in code) else 0), False


def _once(layers: Sequence[CodeOutput]) -> list[CodeOutput]:
    """Each layer once, however often it is called."""
    made = [each.output for each in layers]
    keys = ((each.name, each.line, each.making, each.weights) for each in made)
    return list(dict(zip(keys, layers, strict=True)).values())


def _weights(layer: CodeOutput) -> int:
    """Bytes of the layer's own weights."""
    return sum(each.bytes for each in layer.output.weights)


def _of_weights(case: Case, account: Account, at: int) -> Finding:
    layers = sorted(_once(account.layers), key=lambda each: -_weights(each))
    first, whole = layers[0], account.weights
    own = _weights(first)
    kernel = max(first.output.weights, key=lambda weight: weight.bytes)
    size = " x ".join(f"{side:,}" for side in kernel.shape)
    if own >= _MOST * whole:
        what = f"by the code, {first.named_with_line} has weights of {size}, {rough(own)}"
    else:
        what = (
            f"by the code, the layers have weights of {rough(whole)}, most"
            f" {first.named_with_line} ({rough(own)})"
        )
    what += f"; {account.with_them} about {rough(whole * account.copies)}"
    if any(_POLICY.search(line.text) for line in code_lines(case.capture.surroundings)):
        what += f", and a copy of each in 16 bits, which the policy casts, {rough(whole // 2)}"
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        explains=whole * account.copies,
        evidence=(Evidence(f"weights of {size} in float32: {rough(kernel.bytes)}", first.output.line),),
        remedies=tuple(_smaller_weights(case, first, kernel.shape, own * account.copies)),
        moment=at,
    )


def _smaller_weights(case: Case, layer: CodeOutput, shape: Sequence[int], held: int) -> Iterator[Remedy]:
    width = layer.output.shape[-1]
    if layer.output.class_name == "Embedding":
        text = "fewer rows (a smaller vocabulary, hashing of rare ids), or fewer columns"
    else:
        text = f"make {layer.named_with_line} narrower"
        text += f" ({width:,} -> {width // 2:,})" if width and width > 1 else ""
        if len(shape) == 2 and shape[0] > 4 * (width or 1):
            text += ", or what it reads: pool before it, so that only the channels are left"
    half = Shrunk("narrower-layer", held, certainty=Certainty.ESTIMATE)
    yield remedies.of_tensor(case, text, half)


def _of_outputs(case: Case, account: Account, at: int) -> Finding:
    layers = sorted(account.layers, key=lambda each: -each.bytes)
    first, whole = layers[0], account.outputs
    batch = f"a batch of {account.batch}" if account.stated else f"Keras's own batch of {_KERAS_BATCH}"
    what = (
        f"by the code, at {batch} the outputs of {len(layers)} layers take about {rough(whole)}, most"
        f" {first.named_with_line} ({rough(first.bytes)}); training keeps most of them"
    )
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        explains=whole,
        evidence=tuple(
            Evidence(f"{format_shape(layer.shape)} = {rough(layer.bytes)}", layer.output.line)
            for layer in layers[:3]
        ),
        remedies=tuple(_smaller_outputs(case, account, first)),
        moment=at,
    )


def _smaller_outputs(case: Case, account: Account, largest: CodeOutput) -> Iterator[Remedy]:
    whole, batch = account.outputs, account.batch
    if batch > 1:
        fewer = Shrunk("smaller-batch", whole, batch, batch // 2, certainty=Certainty.ESTIMATE)
        how = "" if account.stated else f": `model.fit(..., batch_size={batch // 2})`"
        yield remedies.of_tensor(case, f"a smaller batch ({batch} -> {batch // 2}){how}", fewer)
    sides = len([side for side in largest.output.shape[1:-1] if side and side > 1])
    if sides:
        text = "shrink the input: half of each side makes these outputs a quarter"
        if sides != _IMAGE:
            text = "shrink the input: half as many positions make these outputs half as large, or less"
        smaller = Shrunk("smaller-input", whole, axes=sides, certainty=Certainty.ESTIMATE)
        yield remedies.of_tensor(case, text, smaller)
