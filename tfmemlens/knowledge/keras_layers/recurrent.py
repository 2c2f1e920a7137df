"""Recurrent layers, their cells, and wrappers that repeat a layer: over time, in two directions."""

from __future__ import annotations

from typing import Any

from tfmemlens.knowledge.keras_layers._context import (
    LayerCall,
    LayerSpecs,
    Rule,
    Shape,
    UnsupportedLayer,
    times,
    tuple_of,
    window,
)
from tfmemlens.model.network import LayerSpec, NetworkCall, WeightSpec
from tfmemlens.model.tensor import TensorType
from tfmemlens.values import replace

GATES = {
    "SimpleRNN": 1,
    "GRU": 3,
    "LSTM": 4,
    "CuDNNGRU": 3,
    "CuDNNLSTM": 4,
    "SimpleRNNCell": 1,
    "GRUCell": 3,
    "LSTMCell": 4,
}
"""How many gates stand side by side in each kernel."""


def has_two_biases(spec: LayerSpec, dialect: str) -> bool:
    """CuDNN's layout keeps one bias for the input and one for the state; GRU has it with `reset_after`, Keras
    3's default.
    """
    if spec.class_name.startswith("CuDNN"):
        return True
    return spec.class_name in ("GRU", "GRUCell") and bool(
        spec.config.get("reset_after", dialect == "keras-3")
    )


def _units(call: LayerCall) -> int:
    return call.size("units", "output_dim")


def _cell_weights(call: LayerCall, width: int | None) -> tuple[list[WeightSpec], str]:
    name, units = call.spec.class_name, _units(call)
    gates = GATES[name]
    times_gates = f"{gates}*" if gates > 1 else ""
    weights = [
        call.weight("kernel", width, gates * units),
        call.weight("recurrent_kernel", units, gates * units),
    ]
    if not call.config.get("use_bias", True):
        return weights, f"{times_gates}({width}+{units})*{units}"
    two = has_two_biases(call.spec, call.dialect)
    shape: tuple[int, ...] = (
        (2, gates * units) if two and not name.startswith("CuDNN") else ((2 if two else 1) * gates * units,)
    )
    return [
        *weights,
        call.weight("bias", *shape),
    ], f"{times_gates}({width}+{units}+{2 if two else 1})*{units}"


def _sequence(
    call: LayerCall, units: int, states: list[Shape], step: Shape | None = None
) -> tuple[TensorType, ...]:
    """The output, whole or its last step, and the states if they are returned."""
    major = bool(call.get("time_major"))
    batch, length = (call.shape[1], call.shape[0]) if major else call.shape[:2]
    last: Shape = (batch, *(step if step is not None else (units,)))
    whole = (length, *last) if major else (batch, length, *last[1:])
    outputs = [whole if call.get("return_sequences") else last]
    if call.get("return_state"):
        outputs += states
    return tuple(TensorType(shape, call.dtype) for shape in outputs)


def _recurrent(call: LayerCall) -> LayerSpecs:
    units = _units(call)
    if len(call.shape) != 3:
        raise UnsupportedLayer(f"it needs [batch, time, features], and reads {list(call.shape)}")
    weights, formula = _cell_weights(call, call.shape[-1])
    batch = call.shape[1] if call.get("time_major") else call.shape[0]
    return LayerSpecs(
        _sequence(call, units, [(batch, units)] * (2 if "LSTM" in call.spec.class_name else 1)),
        tuple(weights),
        formula,
    )


def _cell(call: LayerCall) -> LayerSpecs:
    weights, formula = _cell_weights(call, call.width)
    return call.specs((call.shape[0], _units(call)), weights, formula)


def _of_cells(call: LayerCall) -> LayerSpecs:
    """`RNN(cell)`: the cells one above the other."""
    if len(call.shape) != 3:
        raise UnsupportedLayer(f"it needs [batch, time, features], and reads {list(call.shape)}")
    width, weights, formulas, states = call.shape[-1], [], [], []
    cells = [
        cell
        for each in call.spec.inner
        for cell in (each.inner if each.class_name == "StackedRNNCells" else (each,))
    ]
    if not cells:
        raise UnsupportedLayer("its cell is not described")
    for index, cell in enumerate(cells):
        if cell.class_name not in GATES:
            raise UnsupportedLayer(f"its cell {cell.class_name} is not one of Keras's own")
        ours = replace(call, spec=replace(cell, trainable=cell.trainable and call.spec.trainable))
        made, formula = _cell_weights(ours, width)
        prefix = f"cell_{index}/" if len(cells) > 1 else ""
        weights += [replace(weight, name=prefix + weight.name) for weight in made]
        formulas.append(formula)
        width = _units(ours)
        states += [(call.shape[0], width)] * (2 if "LSTM" in cell.class_name else 1)
    return LayerSpecs(_sequence(call, width or 0, list(states)), tuple(weights), "+".join(formulas))


def _conv_lstm(rank: int) -> Rule:
    def rule(call: LayerCall) -> LayerSpecs:
        shape = call.shape
        if len(shape) != rank + 3:
            raise UnsupportedLayer(f"it needs an input of rank {rank + 3}, and reads {list(shape)}")
        filters = call.size("filters", "nb_filter")
        kernel = tuple_of(call.needed("kernel_size"), rank, "kernel_size")
        space, channels = (shape[3:], shape[2]) if call.channels_first else (shape[2:-1], shape[-1])
        strides, dilation = (
            tuple_of(call.get("strides", default=1), rank, "strides"),
            tuple_of(call.get("dilation_rate", default=1), rank, "dilation_rate"),
        )
        grid = [
            window(*each[:3], str(call.get("padding", default="valid")), each[3])
            for each in zip(space, kernel, strides, dilation, strict=True)
        ]
        weights = [
            call.weight("kernel", *kernel, channels, 4 * filters),
            call.weight("recurrent_kernel", *kernel, filters, 4 * filters),
        ]
        more = ""
        if call.config.get("use_bias", True):
            weights.append(call.weight("bias", 4 * filters))
            more = "+1"
        step = (filters, *grid) if call.channels_first else (*grid, filters)
        states = [(shape[0], *step)] * 2
        return LayerSpecs(
            _sequence(call, filters, states, step),
            tuple(weights),
            f"4*({times(*kernel)}*({channels}+{filters}){more})*{filters}",
        )

    return rule


def _inner(
    call: LayerCall, spec: LayerSpec, types: tuple[TensorType, ...], arguments: dict[str, Any]
) -> LayerSpecs:
    """What a wrapped layer makes and owns; a nested model counts, too."""
    from tfmemlens.knowledge.keras_layers import describe, model_types

    if spec.network is not None:
        done = model_types.applied(spec.network, types)
        weights = [
            replace(weight, name=f"{path}/{weight.name}")
            for path, layer in done.walk()
            for weight in layer.weights
        ]
        frozen = tuple(
            replace(weight, trainable=weight.trainable and call.spec.trainable) for weight in weights
        )
        return LayerSpecs(
            model_types.types_of(done, done.outputs),
            frozen,
            "+".join(layer.formula for _, layer in done.walk() if layer.formula),
        )
    ours = replace(spec, trainable=spec.trainable and call.spec.trainable, calls=(NetworkCall(inputs=types),))
    return describe(LayerCall(ours, types, arguments, call.dialect))


def _time_distributed(call: LayerCall) -> LayerSpecs:
    if not call.spec.inner:
        raise UnsupportedLayer("the layer that it repeats is not described")
    shape = call.sides(2)
    batch = None if shape[0] is None or shape[1] is None else shape[0] * shape[1]
    step = TensorType((batch, *shape[2:]), call.inputs[0].dtype)
    specs = _inner(call, call.spec.inner[0], (step,), {"0": step})
    outputs = tuple(
        TensorType((shape[0], shape[1], *(each.shape or ())[1:]), each.dtype) for each in specs.outputs
    )
    return LayerSpecs(outputs, specs.weights, specs.formula)


def _bidirectional(call: LayerCall) -> LayerSpecs:
    if not call.spec.inner:
        raise UnsupportedLayer("the layer that it runs both ways is not described")
    if not call.inputs:
        raise UnsupportedLayer("it reads nothing")
    forward = call.spec.inner[0]
    backward = call.spec.inner[1] if len(call.spec.inner) > 1 else forward
    both = [_inner(call, each, call.inputs[:1], {"0": call.inputs[0]}) for each in (forward, backward)]
    if not all(specs.outputs for specs in both):
        raise UnsupportedLayer("the layer that it runs both ways makes nothing")
    mode = call.config.get("merge_mode", "concat")
    first, second = both[0].outputs[0], both[1].outputs[0]
    shape = first.shape or ()
    if mode == "concat" and shape:
        other = (second.shape or (None,))[-1]
        shape = (*shape[:-1], None if shape[-1] is None or other is None else shape[-1] + other)
    outputs = [TensorType(shape, first.dtype)] if mode is not None else [first, second]
    states = [each for specs in both for each in specs.outputs[1:]]
    weights = [
        replace(weight, name=f"{way}/{weight.name}")
        for way, specs in zip(("forward", "backward"), both, strict=True)
        for weight in specs.weights
    ]
    formula = (
        f"2*{both[0].formula}"
        if both[0].formula == both[1].formula and both[0].formula.count("+") < 3
        else "+".join(specs.formula for specs in both)
    )
    return LayerSpecs((*outputs, *states), tuple(weights), formula)


def _wrapper(call: LayerCall) -> LayerSpecs:
    """SpectralNormalization and other wrappers that run their layer once."""
    if not call.spec.inner:
        raise UnsupportedLayer("the layer that it wraps is not described")
    specs = _inner(call, call.spec.inner[0], call.inputs, dict(call.arguments))
    kernel = next((weight for weight in specs.weights if weight.name in ("kernel", "embeddings")), None)
    if call.spec.class_name != "SpectralNormalization" or kernel is None:
        return specs
    vector = call.weight("vector_u", 1, kernel.shape[-1], trainable=False)
    return LayerSpecs(specs.outputs, (*specs.weights, vector), f"{specs.formula}+{kernel.shape[-1]}")


RULES: dict[str, Rule] = {
    **dict.fromkeys("SimpleRNN GRU LSTM CuDNNGRU CuDNNLSTM".split(), _recurrent),
    **dict.fromkeys("SimpleRNNCell GRUCell LSTMCell".split(), _cell),
    "RNN": _of_cells,
    **{f"ConvLSTM{rank}D": _conv_lstm(rank) for rank in (1, 2, 3)},
    "TimeDistributed": _time_distributed,
    "Bidirectional": _bidirectional,
    "SpectralNormalization": _wrapper,
    "Wrapper": _wrapper,
}
