"""A model's description to a capture with a predicted timeline: findings, pages and tables work on it as on a
measurement.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.errors import UnreadableInput, UsageError
from tfmemlens.estimation.keras_step.layer_summaries import summaries
from tfmemlens.estimation.keras_step.prediction import PredictedStep, predict
from tfmemlens.model.capture import Capture, Hints, Source
from tfmemlens.model.line import ReadNote
from tfmemlens.model.network import Network
from tfmemlens.model.settings import StepSettings
from tfmemlens.units import human
from tfmemlens.values import replace

DEFAULT_OPTIMIZER = "adam"
_MEASURED_ERROR = 0.10
"""Beside half the spread of a step's own peaks: nine of ten measured medians lie within both
(scripts/benchmarks/estimate.py).
"""
_GPU_ERROR = 0.30
"""No GPU was measured: cuDNN's workspaces depend on the card and on what is free."""


def capture(network: Network, settings: StepSettings = StepSettings()) -> Capture:
    """The capture. Raises UsageError where the settings do not fit the model."""
    chosen = (
        settings
        if settings.optimizer or not settings.training
        else replace(settings, optimizer=network.optimizer or DEFAULT_OPTIMIZER)
    )
    predicted, chosen = _predicted(network, settings, chosen)
    timeline = replace(predicted.timeline, error_share=error_share(predicted, chosen))
    return Capture(
        Source(network.path or network.name, (network.dialect,), "tensorflow", None),
        timelines=(timeline,),
        notes=tuple(ReadNote(text) for text in _notes(network, predicted, settings, chosen)),
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


def error_share(predicted: PredictedStep, settings: StepSettings) -> float | None:
    """None where too much is unknown for any figure."""
    layers = [layer for _, layer in predicted.network.walk()]
    blind = [layer for layer in layers if layer.problem]
    if len(blind) > len(layers) / 4:
        return None
    share = (_GPU_ERROR if settings.device == "gpu" else _MEASURED_ERROR) + predicted.spread / 2
    return min(
        share
        + 0.5
        * (len({*predicted.step.unknown, *predicted.step.not_understood}) + len(blind))
        / max(len(layers), 1),
        0.9,
    )


def _notes(
    network: Network, predicted: PredictedStep, asked: StepSettings, settings: StepSettings
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
    if (
        settings.device == "cpu"
        and settings.training
        and any("Backprop" in op.op for op in predicted.step.tape.ops)
    ):
        yield (
            "temporary buffers of convolutions are those of TensorFlow's own CPU kernels"
            " (TF_ENABLE_ONEDNN_OPTS=0); oneDNN's kernels take other amounts"
        )
    if settings.device == "gpu":
        yield (
            "what cuDNN takes as workspace depends on the card and on what is free, and is left out; XLA,"
            " Keras 3's default on a GPU, may need less"
        )
    if network.dialect == "variables":
        yield "the file holds weights only: activations, gradients of layers and the step itself are left out"
    open_sizes = [
        layer.name
        for layer in predicted.network.layers
        if layer.class_name == "InputLayer" and any(None in (kind.shape or ()) for kind in layer.outputs)
    ]
    if open_sizes:
        yield (
            f"the input {', '.join(open_sizes[:3])} leaves a size open, and it counts as 1: give"
            " --input-shape or --sequence"
        )
    for path, layer in predicted.network.walk():
        if layer.problem and network.dialect != "variables":
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
