"""The table of layers: weights, slots, activations and workspaces, what stays for backward, and why."""

from __future__ import annotations

import math

from tfmemlens.estimation.keras_step.prediction import PredictedStep
from tfmemlens.knowledge.keras_layers import model_types
from tfmemlens.model.attribution import Kind, Phase
from tfmemlens.model.layers import LayerPrediction, LayerSummary
from tfmemlens.model.network import LayerSpec, Network
from tfmemlens.model.tensor import ITEM_BYTES


def summaries(predicted: PredictedStep, batch: int) -> tuple[LayerSummary, ...]:
    """A line for each layer, nested models opened, in the order of the model."""
    made, kept, scratch, gradients, reused = _activity(predicted)
    lines = []
    for path, layer in _walk(predicted.network, ""):
        weights = layer.weights
        trainable = [weight for weight in weights if weight.trainable]
        slots = sum(
            math.prod(shape) * ITEM_BYTES.get(weight.dtype, 4)
            for weight in trainable
            for shape in predicted.optimizer.slot_shapes(weight.shape)
        )
        told = LayerPrediction(
            layer.class_name,
            len(layer.calls),
            sum(weight.size for weight in trainable),
            gradients.get(path, 0),
            made.get(path, 0),
            kept.get(path, 0),
            scratch.get(path, 0),
            batch,
            _why(layer, path, made, kept, reused, predicted.step.tape.training),
            layer.problem,
        )
        outputs = tuple(kind for call in layer.calls[:1] for kind in call.outputs)
        size = sum(weight.bytes for weight in weights)
        lines.append(
            LayerSummary(
                path, sum(weight.size for weight in weights), size, slots, layer.formula, outputs, told
            )
        )
    return tuple(lines)


def _walk(network: Network, prefix: str) -> list[tuple[str, LayerSpec]]:
    layers = []
    for layer in network.layers:
        if layer.network is not None:
            types = layer.calls[0].inputs if layer.calls else ()
            layers += _walk(
                model_types.applied(layer.network, types, trainable=layer.trainable), f"{prefix}{layer.name}/"
            )
        else:
            layers.append((f"{prefix}{layer.name}", layer))
    return layers


def _activity(
    predicted: PredictedStep,
) -> tuple[dict[str, int], dict[str, int], dict[str, int], dict[str, int], set[str]]:
    """Per layer: bytes made forward, bytes of these that live when backward begins, the largest temporary,
    weight gradients; layers that write over an input.
    """
    tape = predicted.step.tape
    made: dict[str, int] = {}
    kept: dict[str, int] = {}
    scratch: dict[str, int] = {}
    readers: dict[int, bool] = {}
    owner_of = {buffer: op.owner for op in tape.ops for buffer in op.writes}
    reused = set()
    last = {read: index for index, op in enumerate(tape.ops) for read in op.reads}
    for index, op in enumerate(tape.ops):
        layer = op.owner.layer or ""
        scratch[layer] = max(scratch.get(layer, 0), op.temporary_bytes)
        if op.owner.phase is Phase.FORWARD and any(last.get(buffer) == index for buffer in op.over):
            reused.add(layer)
        elif op.owner.phase is Phase.FORWARD:
            made[layer] = made.get(layer, 0) + sum(tape.buffers[buffer].bytes for buffer in op.writes)
        if op.owner.phase is Phase.GRADIENT:
            readers.update(dict.fromkeys(op.reads, True))
    for buffer, owner in owner_of.items():
        if owner.phase is Phase.FORWARD and buffer in readers and owner.kind is not Kind.GRADIENT:
            kept[owner.layer or ""] = kept.get(owner.layer or "", 0) + tape.buffers[buffer].bytes
    gradients: dict[str, int] = {}
    for buffer, value in tape.gradients.items():
        layer = tape.buffers[buffer].owner.layer or ""
        gradients[layer] = gradients.get(layer, 0) + value.bytes
    return made, kept, scratch, gradients, reused


_REASONS = {
    "MaxPooling2D": "its gradient compares input and output",
    "MaxPooling1D": "its gradient compares input and output",
    "MaxPooling3D": "its gradient compares input and output",
    "Dropout": "the mask is kept, one byte per element, not the scaled copy",
    "BatchNormalization": "its gradient reads the input again",
    "LayerNormalization": "its gradient reads the input and its scale again",
    "Add": "a sum's gradient needs no values",
    "Concatenate": "a copy; its gradient needs no values",
    "Flatten": "another shape of the same buffer",
    "Reshape": "another shape of the same buffer",
    "ZeroPadding2D": "a copy; its gradient needs no values",
    "AveragePooling2D": "its gradient needs the shape alone",
    "GlobalAveragePooling2D": "its gradient needs the shape alone",
    "Embedding": "its gradient needs the indices alone",
    "LSTM": "every time step keeps its gates and states",
    "GRU": "every time step keeps its gates and states",
    "SimpleRNN": "every time step keeps its state",
    "Bidirectional": "every time step of both directions keeps its gates and states",
    "MultiHeadAttention": "queries, keys, values and the softmax of all pairs are kept",
}


def _why(
    layer: LayerSpec, path: str, made: dict[str, int], kept: dict[str, int], reused: set[str], training: bool
) -> str:
    if layer.class_name == "InputLayer":
        return "comes with the batch"
    if not training:
        return "freed once the next layer has read it"
    activation = str(layer.config.get("activation") or "")
    reason = _REASONS.get(layer.class_name, "")
    if (
        layer.class_name in ("Conv2D", "Dense", "Activation", "ReLU", "Conv1D", "DepthwiseConv2D")
        and not reason
    ):
        if activation in ("swish", "silu", "gelu"):
            reason = f"{activation} keeps what it reads as well as what it makes"
        elif activation in ("relu", "tanh", "sigmoid") or layer.class_name == "ReLU":
            reason = f"{activation or 'relu'} writes over its input, and its output serves the gradient"
    stays = "partly kept for the backward pass" if kept.get(path, 0) else "not kept"
    if kept.get(path, 0) >= made.get(path, 0) > 0:
        stays = "kept for the backward pass"
    if not made.get(path, 0) and path in reused:
        stays = "written over its input"
    return f"{stays}: {reason}" if reason else stays
