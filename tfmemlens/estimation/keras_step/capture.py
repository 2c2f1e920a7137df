"""A model's description to a capture with a predicted timeline: findings, pages and tables work on it as on a
measurement.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.errors import Unpredictable, UnreadableInput, UsageError
from tfmemlens.estimation.conditions import (
    GPU_ERROR,
    GPU_NOTE,
    ONEDNN_ERROR,
    OPEN_ONEDNN_ERROR,
    check_no_xla,
    gpu_shares,
    settled,
)
from tfmemlens.estimation.error_bar import drawn_in
from tfmemlens.estimation.keras_step.layer_summaries import summaries
from tfmemlens.estimation.keras_step.losses import NOT_OF_THE_OUTPUT, losses_of
from tfmemlens.estimation.keras_step.lowering.sequence import gates_at_once
from tfmemlens.estimation.keras_step.prediction import USUAL_THREADS, PredictedStep, peak_bytes, predict
from tfmemlens.estimation.keras_step.tape import Sizes
from tfmemlens.estimation.needed_limit import LIMIT_NOTE, UNTRIED_LIMIT_NOTE, arrays_note, needed_limit
from tfmemlens.model.capture import Capture, Hints, Source
from tfmemlens.model.line import ReadNote
from tfmemlens.model.network import Network
from tfmemlens.model.settings import StepSettings
from tfmemlens.model.tensor import TensorType
from tfmemlens.model.timeline import NeededLimit
from tfmemlens.units import human
from tfmemlens.values import replace

DEFAULT_OPTIMIZER = "adam"
UNKNOWN_HINT = (
    "let TensorFlow make the training graph: add --tensorflow, and --python PATH for the Python that has it"
)
_NOTHING = TensorType(None, None)
_ERROR_BELOW, _ERROR_ABOVE = 0.07, 0.11
"""Beyond what eight of ten ways in which a step may go take. Of the 228 cases of the sixteenth to the
twenty-first set of scripts/benchmarks/predictions.py, whose bars had 9 % on either side, 4 lay below it at
first sight and 19 above it; of the 125 of the thirty-second to the thirty-fifth, with 4 and 11 %, ten lay
below it, most by one to three hundredths, and seven above.
"""
_LEAST_BELOW = 0.15
"""How far down every bar reaches: a step may be luckier with its pool than any of the ways. Of 334 cases of
the thirty-second to the forty-fifth set 21 lay below their bars, of which many reached 7 to 12 % down; 14 of
these are held by this, and 87 % of the bars stay at most a fifth wide.
"""
_UNUSED_SPREAD = 0.2
"""What part of the ways above the likely one the bar leaves out: the upper ends of wide bars were hardly used
(of 315 cases of ten sets one more lies outside, and nineteen more bars are at most a fifth wide).
"""
_MAY_NOT_BE_COPIED = 0.5
"""Of the arrays given to `fit`, how much the lower end leaves out. In some processes the allocator holds none
of them: where they begin at a multiple of 64 bytes (TensorFlow 2.11), by chance (2.21, three nets of four).
"""
_MAX_SHARE_BELOW = 0.95
_MAX_SHARE = 0.9
_LOOSE_LOGITS = 1.9
"""How large the chunk was that logits stood in, against what they asked for: 1.5, 1.7 and 1.9 times in three
steps of nets with big vocabularies (TensorFlow 2.21). A chunk of up to twice the size is not split, and which
one is free depends on all that was before.
"""
_MOSTLY_SUMMED = 0.45
"""Of the gradients that pile up in a loop (up to 32 iterations run ahead of their sums) 10 to 45 % were not
there in seven nets with GRU and LSTM on TensorFlow 2.21, one thread.
"""

_MAY_NOT_MEET = 0.7
"""Of what several threads are thought to unroll at once in a loop, beyond one buffer, so much may not be
there: of a small net on four threads half of the four buffers was.
"""
_ONE_FIGURE = 1.5
"""Where what may wait to be summed makes a step differ by more than this, it has no one figure."""
_LOOP_RESERVE = 0.10
"""What a limit holds beyond the bar where a loop runs: which of its many small tensors live at once differs
from step to step. Two of four recurrent nets needed 6 and 8 % more than the bar alone gave (TensorFlow 2.11).
"""


def capture(
    network: Network,
    settings: StepSettings = StepSettings(),
    strictly: bool = False,
    needs_limit: bool = True,
) -> Capture:
    """The capture. Raises UsageError where the settings do not fit the model, Unpredictable where too much of
    it is not known; `strictly`: where the ops of any layer are not, as when somebody else can tell. The limit
    that an allocator needs takes as long as the peak, and is left out without `needs_limit`.
    """
    _check_it_has_calls(network)
    conditions = settled(settings, network.jit_compile)
    check_no_xla(conditions.settings, network.path or network.name)
    chosen = (
        conditions.settings
        if settings.optimizer or not settings.training
        else replace(conditions.settings, optimizer=network.optimizer or DEFAULT_OPTIMIZER)
    )
    predicted, chosen = _predicted(network, settings, chosen)
    _check_losses(network, predicted)
    _check_sums(network, predicted)
    shares = error_shares(predicted, chosen)
    _check_what_is_known(network, predicted, shares and shares[1], strictly)
    lower, share = _widened(network, predicted, chosen, shares) if shares else (None, None)
    likely = shares and sum(shares) / 2
    needed = _needed_limit(predicted, chosen, share, likely) if needs_limit else None
    if shares and chosen.device == "cpu":
        lower, share = _drawn_in(network, predicted, chosen, shares)
        lower = max(lower, _LEAST_BELOW)
    timeline = replace(predicted.timeline, error_share=share, lower_error_share=lower, needed_limit=needed)
    return Capture(
        Source(network.path or network.name, (network.dialect,), "tensorflow", None),
        timelines=(timeline,),
        notes=tuple(
            ReadNote(text)
            for text in (*_notes(network, predicted, settings, chosen, needed), conditions.line)
        ),
        hints=Hints(batch=settings.batch, limit_bytes=settings.limit_bytes),
        layers=summaries(predicted, settings.batch),
    )


def _predicted(
    network: Network, asked: StepSettings, chosen: StepSettings
) -> tuple[PredictedStep, StepSettings]:
    try:
        return predict(network, chosen), chosen
    except UsageError:
        if asked.optimizer or chosen.optimizer == DEFAULT_OPTIMIZER:
            raise
        return _predicted(network, asked, replace(chosen, optimizer=DEFAULT_OPTIMIZER))
    except RecursionError:
        raise UnreadableInput(
            f"{network.path or network.name} nests its models too deeply",
            "load it with Keras once and write it again: open(path, 'w').write(model.to_json())",
        ) from None


def _loose_share(predicted: PredictedStep) -> float:
    """By how much more of the peak a chunk may be larger than the product of matrices in it, where that is
    the largest tensor at the peak, as logits are: 0 for other nets.
    """
    timeline = predicted.timeline
    table = timeline.table
    alive = timeline.alive_after(timeline.peak_index)
    largest = max(alive, key=lambda row: table.requested_bytes[row] or 0, default=None)
    if largest is None or table.op[largest] != "MatMul":
        return 0.0
    size = table.requested_bytes[largest] or 0
    room = round(_LOOSE_LOGITS * size) - table.size_bytes[largest]
    return max(room, 0) / max(timeline.peak_bytes, 1)


def _widened(
    network: Network, predicted: PredictedStep, chosen: StepSettings, shares: tuple[float, float]
) -> tuple[float, float]:
    """How far below and above the prediction the truth may lie, with what is known of kinds of step."""
    if chosen.device == "gpu":
        return gpu_shares(chosen, shares[1])
    peak = max(predicted.timeline.peak_bytes, 1)
    least, most = _sums_may_take(predicted)
    below, above = _lower_share(network, predicted, chosen, shares[0]), shares[1] + _loose_share(predicted)
    below, above = below + (peak - least) / peak, above + (most - peak) / peak
    return min(below, _MAX_SHARE_BELOW), min(above, _MAX_SHARE_BELOW)


def _drawn_in(
    network: Network, predicted: PredictedStep, chosen: StepSettings, shares: tuple[float, float]
) -> tuple[float, float]:
    """The same for a bar, which need not reach as far as what a limit is found with: what may or may not be
    there is held whole, and what many ways of the step add up to is drawn in.
    """
    unused = _unused_share(predicted)
    if chosen.onednn is not None and not _unknown_layers(predicted):
        below, above = drawn_in(shares[0], shares[1] - unused)
        return _widened(network, predicted, chosen, (below, above))
    lower, share = _widened(network, predicted, chosen, shares)
    return lower, share - unused


def _unused_share(predicted: PredictedStep) -> float:
    """By how much less the bar reaches upwards than what a limit is found with."""
    spread = predicted.high_bytes / max(predicted.timeline.peak_bytes, 1) - 1
    return _UNUSED_SPREAD * (1 + _ERROR_ABOVE) * spread


def _lower_share(network: Network, predicted: PredictedStep, chosen: StepSettings, share: float) -> float:
    """How far below the prediction the truth may lie: arrays that need not be copied, what oneDNN's
    convolutions do without, where nobody says whether it computes, gradients of a loop that need not pile up,
    and convolutions of a loop that need not meet.
    """
    peak = max(predicted.timeline.peak_bytes, 1)
    arrays = sum(value.bytes for value in predicted.step.arrays)
    at_once = gates_at_once(chosen.workers or 1)
    beside = max((op.temporary_bytes for op in predicted.step.tape.ops if op.op == "While"), default=0)
    open_bytes = _MOSTLY_SUMMED * _waiting_bytes(predicted) + _MAY_NOT_BE_COPIED * arrays
    below = share + (open_bytes + _MAY_NOT_MEET * beside * (1 - 1 / at_once)) / peak
    if chosen.onednn is None and _unrolls(predicted):
        other = peak_bytes(network, replace(chosen, onednn=True))
        below = max(1 - (1 - below) * other / peak, below)
    return below


def _needed_limit(
    predicted: PredictedStep, settings: StepSettings, share: float | None, likely: float | None
) -> NeededLimit | None:
    """What the step takes of a pool with a limit, beside the batches that are fetched ahead. None on a GPU,
    whose pool is one region, and where the limit is too dear to find.
    """
    if share is None or settings.device == "gpu":
        return None
    batch = 0 if settings.samples else sum(value.bytes for value in predicted.step.inputs)
    reserve = _LOOP_RESERVE if _loops(predicted) else 0.0
    peak = predicted.timeline.peak_bytes
    return needed_limit(
        predicted.pasts(),
        peak,
        share + reserve,
        batch,
        likely_share=likely,
        limit_bytes=settings.limit_bytes,
        one_by_one=(settings.workers or USUAL_THREADS) == 1,
    )


def _waiting_bytes(predicted: PredictedStep) -> int:
    """Gradients of a loop's weights, one of each time step, that wait at the peak to be summed."""
    weights = {weight.shape for _, weight, _ in predicted.step.weights}
    timeline = predicted.timeline
    table = timeline.table
    return sum(
        table.size_bytes[row]
        for row in timeline.alive_after(timeline.peak_index)
        if (table.node[row] or "").endswith("/while/MatMul") and (table.shape[row] or ())[1:] in weights
    )


def _sums_may_take(predicted: PredictedStep) -> tuple[int, int]:
    """The peak where none of the gradients that are summed in parts waits for others, and where all do."""
    waiting = _waiting_for_sums(predicted)
    peak, summed = predicted.timeline.peak_bytes, predicted.step.tape.partly_summed
    least = peak - sum(waiting.values())
    most = least + max((summed[shape] for shape in waiting), default=0)
    return least, max(most, peak)


def _waiting_for_sums(predicted: PredictedStep) -> dict[Sizes, int]:
    """Gradients at the peak that wait to be summed in parts, in bytes by their shape."""
    timeline, summed = predicted.timeline, predicted.step.tape.partly_summed
    table = timeline.table
    alive = timeline.alive_after(timeline.peak_index) if summed else []
    rows = [row for row in alive if table.op[row] == "StridedSliceGrad"]
    waiting = {
        shape: sum(table.size_bytes[row] for row in rows if table.shape[row] == shape) for shape in summed
    }
    return {shape: size for shape, size in waiting.items() if size}


def _check_sums(network: Network, predicted: PredictedStep) -> None:
    """Raises Unpredictable where chance decides how many of the gradients of time steps wait to be summed,
    and they are much of the peak.
    """
    least, most = _sums_may_take(predicted)
    if most <= _ONE_FIGURE * least:
        return
    shapes = _waiting_for_sums(predicted)
    owner = next(
        op.owner.layer
        for op in predicted.step.tape.ops
        if op.op == "StridedSliceGrad" and predicted.step.tape.buffers[op.writes[0]].shape in shapes
    )
    raise Unpredictable(
        f"{network.path or network.name} cannot be predicted: {owner} calls its layer once a time step, and a"
        f" step takes between {human(least)} and {human(most)}, by how many of the gradients of all these"
        " calls wait to be summed, which is chance",
        "a Dense layer works on the last axis by itself, so TimeDistributed around it is not needed; else"
        f" measure some runs of the program, and give it {human(most)} or more",
    )


def _loops(predicted: PredictedStep) -> bool:
    return any("/while/" in op.name for op in predicted.step.tape.ops)


def _convolves(predicted: PredictedStep) -> bool:
    return any(op.op.startswith("Conv") for op in predicted.step.tape.ops)


def _unrolls(predicted: PredictedStep) -> bool:
    """Whether a convolution takes buffers that oneDNN's kernels do without."""
    return any("Backprop" in op.op and op.temporary_bytes for op in predicted.step.tape.ops)


def _check_it_has_calls(network: Network) -> None:
    """Raises Unpredictable for weights without layers that read each other: a subclassed model, or a file of
    weights.
    """
    if network.dialect == "variables":
        raise Unpredictable(
            f"{network.path or network.name} tells the weights alone ({network.parameters:,} parameters), not"
            " which layers are called on what",
            "a subclassed model or a file of weights: give `tfmemlens estimate module:function --tensorflow"
            " --input-shape SIZES`, where the function returns the model",
        )


def _check_losses(network: Network, predicted: PredictedStep) -> None:
    """Raises Unpredictable where a loss holds what its output does not tell."""
    if not predicted.step.tape.training:
        return
    for loss in losses_of(network, len(predicted.step.outputs)):
        if loss in NOT_OF_THE_OUTPUT:
            raise Unpredictable(
                f"{network.path or network.name} cannot be predicted with the loss {loss}:"
                f" {NOT_OF_THE_OUTPUT[loss]}",
                UNKNOWN_HINT,
            )


def _check_what_is_known(
    network: Network, predicted: PredictedStep, share: float | None, strictly: bool
) -> None:
    """Raises Unpredictable where layers whose insides are not known weigh, or may weigh, more than the error
    bar; `strictly`: where there are any.
    """
    blind = [(path, layer) for path, layer in predicted.network.walk() if layer.problem]
    shapeless = [
        f"{path} ({layer.class_name}): {layer.problem}"
        for path, layer in blind
        if any(kind.bytes is None for call in layer.calls for kind in call.outputs or (_NOTHING,))
    ]
    name = network.path or network.name
    if shapeless or share is None:
        told = shapeless or [f"{path} ({layer.class_name}): {layer.problem}" for path, layer in blind]
        more = f" (and {len(told) - 1} more)" if len(told) > 1 else ""
        raise Unpredictable(
            f"{name} cannot be predicted: what a layer makes is not known: {told[0]}{more}", UNKNOWN_HINT
        )
    bar, weights = round(share * predicted.timeline.peak_bytes), _unknown_bytes(predicted)
    if strictly and weights:
        raise Unpredictable(f"what {next(iter(weights))} of {name} runs is not known", UNKNOWN_HINT)
    if sum(weights.values()) > bar:
        heaviest = max(weights, key=lambda path: weights[path])
        more = f" and {len(weights) - 1} more" if len(weights) > 1 else ""
        raise Unpredictable(
            f"{name} cannot be predicted: {heaviest}{more} may hold {human(sum(weights.values()))} or more"
            f" in a way that is not known, and the error bar is {human(bar)}",
            UNKNOWN_HINT,
        )


def _unknown_bytes(predicted: PredictedStep) -> dict[str, int]:
    """Layers whose ops are not known, with the bytes of what they make: inside they may well hold as much
    again.
    """
    unknown = _unknown_layers(predicted)
    return {
        path: sum(kind.bytes or 0 for call in layer.calls for kind in call.outputs)
        for path, layer in predicted.network.walk()
        if path in unknown
    }


def _unknown_layers(predicted: PredictedStep) -> set[str]:
    problems = {path for path, layer in predicted.network.walk() if layer.problem}
    return {*predicted.step.unknown, *predicted.step.not_understood, *problems}


def _kept_by_guess(predicted: PredictedStep) -> float:
    """The share of the peak that layers make whose ops are not known: they need not keep it."""
    timeline, unknown = predicted.timeline, _unknown_layers(predicted)
    if not unknown:
        return 0.0
    table = timeline.table
    made = sum(
        table.size_bytes[index]
        for index in timeline.alive_after(timeline.peak_index)
        if (table.node[index] or "").rpartition("/")[0] in unknown
    )
    return made / max(timeline.peak_bytes, 1)


def error_shares(predicted: PredictedStep, settings: StepSettings) -> tuple[float, float] | None:
    """How far below and above the peak the truth may lie, as shares of it: beyond most ways in which the step
    may go. None where too much is unknown for any figure.
    """
    layers = [layer for _, layer in predicted.network.walk()]
    blind = [layer for layer in layers if layer.problem]
    if len(blind) > len(layers) / 4:
        return None
    gpu = settings.device == "gpu"
    error_below, error_above = (GPU_ERROR, GPU_ERROR) if gpu else (_ERROR_BELOW, _ERROR_ABOVE)
    if settings.device == "cpu" and settings.onednn is not False and _convolves(predicted):
        doubt = ONEDNN_ERROR if settings.onednn else OPEN_ONEDNN_ERROR
        error_below, error_above = error_below + doubt, error_above + doubt
    unknown = len({*predicted.step.unknown, *predicted.step.not_understood}) + len(blind)
    guessed = 0.5 * unknown / max(len(layers), 1)
    peak = max(predicted.timeline.peak_bytes, 1)
    kept = max(guessed, _kept_by_guess(predicted))
    below = 1 - (1 - error_below) * predicted.low_bytes / peak + kept
    above = (1 + error_above) * predicted.high_bytes / peak - 1 + guessed
    return min(below, _MAX_SHARE), min(above, _MAX_SHARE)


def _notes(
    network: Network,
    predicted: PredictedStep,
    asked: StepSettings,
    settings: StepSettings,
    needed: NeededLimit | None,
) -> Iterator[str]:
    mode = "training" if settings.training else "inference"
    rule = f" with {settings.optimizer}" if settings.training else ""
    if settings.training and not asked.optimizer:
        rule += (
            ", which the model was compiled with"
            if network.optimizer and settings.optimizer == network.optimizer
            else ", since no --optimizer was given"
        )
    yield (
        f"predicted from the model's description, not measured: {mode}, batch {settings.batch}{rule}, on a"
        f" {settings.device.upper()}"
    )
    if settings.onednn is None and settings.device == "cpu" and _unrolls(predicted):
        yield (
            "temporary buffers of convolutions are those of TensorFlow's own CPU kernels"
            " (TF_ENABLE_ONEDNN_OPTS=0); oneDNN's take less, down to the lower end of the bar: say --onednn"
            " or --no-onednn"
        )
    if settings.device == "gpu":
        yield GPU_NOTE
    elif needed is None:
        yield UNTRIED_LIMIT_NOTE
    else:
        yield arrays_note(settings.samples) if settings.samples else LIMIT_NOTE
    for path, layer in predicted.network.walk():
        if layer.problem:
            yield f"{path} ({layer.class_name}): {layer.problem}" + (
                "" if layer.weights else "; its weights or shapes are left out"
            )
    for reason, size in predicted.step.not_understood.values():
        counted = f" (outputs {human(size)})" if size else ""
        yield f"{reason}; its inputs and outputs are counted{counted}, what it needs inside is left out"
    if rest := [
        path
        for path in predicted.step.unknown
        if not any(path == name and layer.problem for name, layer in predicted.network.walk())
    ]:
        names = ", ".join(rest[:5]) + (" …" if len(rest) > 5 else "")
        yield f"what {names} passes over inside is not known: its inputs and outputs are counted"
