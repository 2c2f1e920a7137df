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


def _units(asked: LayerCall) -> int:
    return asked.size("units", "output_dim")


def _cell_weights(asked: LayerCall, width: int | None) -> tuple[list[WeightSpec], str]:
    name, units = asked.spec.class_name, _units(asked)
    gates = GATES[name]
    times_gates = f"{gates}*" if gates > 1 else ""
    weights = [
        asked.weight("kernel", width, gates * units),
        asked.weight("recurrent_kernel", units, gates * units),
    ]
    if not asked.config.get("use_bias", True):
        return weights, f"{times_gates}({width}+{units})*{units}"
    two = has_two_biases(asked.spec, asked.dialect)
    shape: tuple[int, ...] = (
        (2, gates * units) if two and not name.startswith("CuDNN") else ((2 if two else 1) * gates * units,)
    )
    return [
        *weights,
        asked.weight("bias", *shape),
    ], f"{times_gates}({width}+{units}+{2 if two else 1})*{units}"


def _sequence(
    asked: LayerCall, units: int, states: list[Shape], step: Shape | None = None
) -> tuple[TensorType, ...]:
    """The output, whole or its last step, and the states if they are returned."""
    major = bool(asked.get("time_major"))
    batch, length = (asked.shape[1], asked.shape[0]) if major else asked.shape[:2]
    last: Shape = (batch, *(step if step is not None else (units,)))
    whole = (length, *last) if major else (batch, length, *last[1:])
    outputs = [whole if asked.get("return_sequences") else last]
    if asked.get("return_state"):
        outputs += states
    return tuple(TensorType(shape, asked.dtype) for shape in outputs)


def _recurrent(asked: LayerCall) -> LayerSpecs:
    units = _units(asked)
    if len(asked.shape) != 3:
        raise UnsupportedLayer(f"it needs [batch, time, features], and reads {list(asked.shape)}")
    weights, formula = _cell_weights(asked, asked.shape[-1])
    batch = asked.shape[1] if asked.get("time_major") else asked.shape[0]
    return LayerSpecs(
        _sequence(asked, units, [(batch, units)] * (2 if "LSTM" in asked.spec.class_name else 1)),
        tuple(weights),
        formula,
    )


def _cell(asked: LayerCall) -> LayerSpecs:
    weights, formula = _cell_weights(asked, asked.width)
    return asked.told((asked.shape[0], _units(asked)), weights, formula)


def _of_cells(asked: LayerCall) -> LayerSpecs:
    """`RNN(cell)`: the cells one above the other."""
    if len(asked.shape) != 3:
        raise UnsupportedLayer(f"it needs [batch, time, features], and reads {list(asked.shape)}")
    width, weights, formulas, states = asked.shape[-1], [], [], []
    cells = [
        cell
        for each in asked.spec.inner
        for cell in (each.inner if each.class_name == "StackedRNNCells" else (each,))
    ]
    if not cells:
        raise UnsupportedLayer("its cell is not described")
    for index, cell in enumerate(cells):
        if cell.class_name not in GATES:
            raise UnsupportedLayer(f"its cell {cell.class_name} is not one of Keras's own")
        ours = replace(asked, spec=replace(cell, trainable=cell.trainable and asked.spec.trainable))
        made, formula = _cell_weights(ours, width)
        prefix = f"cell_{index}/" if len(cells) > 1 else ""
        weights += [replace(weight, name=prefix + weight.name) for weight in made]
        formulas.append(formula)
        width = _units(ours)
        states += [(asked.shape[0], width)] * (2 if "LSTM" in cell.class_name else 1)
    return LayerSpecs(_sequence(asked, width or 0, list(states)), tuple(weights), "+".join(formulas))


def _conv_lstm(rank: int) -> Rule:
    def rule(asked: LayerCall) -> LayerSpecs:
        shape = asked.shape
        if len(shape) != rank + 3:
            raise UnsupportedLayer(f"it needs an input of rank {rank + 3}, and reads {list(shape)}")
        filters = asked.size("filters", "nb_filter")
        kernel = tuple_of(asked.needed("kernel_size"), rank, "kernel_size")
        space, channels = (shape[3:], shape[2]) if asked.channels_first else (shape[2:-1], shape[-1])
        strides, dilation = (
            tuple_of(asked.get("strides", default=1), rank, "strides"),
            tuple_of(asked.get("dilation_rate", default=1), rank, "dilation_rate"),
        )
        grid = [
            window(*each[:3], str(asked.get("padding", default="valid")), each[3])
            for each in zip(space, kernel, strides, dilation, strict=True)
        ]
        weights = [
            asked.weight("kernel", *kernel, channels, 4 * filters),
            asked.weight("recurrent_kernel", *kernel, filters, 4 * filters),
        ]
        more = ""
        if asked.config.get("use_bias", True):
            weights.append(asked.weight("bias", 4 * filters))
            more = "+1"
        step = (filters, *grid) if asked.channels_first else (*grid, filters)
        states = [(shape[0], *step)] * 2
        return LayerSpecs(
            _sequence(asked, filters, states, step),
            tuple(weights),
            f"4*({times(*kernel)}*({channels}+{filters}){more})*{filters}",
        )

    return rule


def _inner(
    asked: LayerCall, spec: LayerSpec, types: tuple[TensorType, ...], arguments: dict[str, Any]
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
            replace(weight, trainable=weight.trainable and asked.spec.trainable) for weight in weights
        )
        return LayerSpecs(
            model_types.types_of(done, done.outputs),
            frozen,
            "+".join(layer.formula for _, layer in done.walk() if layer.formula),
        )
    ours = replace(
        spec, trainable=spec.trainable and asked.spec.trainable, calls=(NetworkCall(inputs=types),)
    )
    return describe(LayerCall(ours, types, arguments, asked.dialect))


def _time_distributed(asked: LayerCall) -> LayerSpecs:
    if not asked.spec.inner:
        raise UnsupportedLayer("the layer that it repeats is not described")
    shape = asked.sides(2)
    batch = None if shape[0] is None or shape[1] is None else shape[0] * shape[1]
    step = TensorType((batch, *shape[2:]), asked.inputs[0].dtype)
    told = _inner(asked, asked.spec.inner[0], (step,), {"0": step})
    outputs = tuple(
        TensorType((shape[0], shape[1], *(each.shape or ())[1:]), each.dtype) for each in told.outputs
    )
    return LayerSpecs(outputs, told.weights, told.formula)


def _bidirectional(asked: LayerCall) -> LayerSpecs:
    if not asked.spec.inner:
        raise UnsupportedLayer("the layer that it runs both ways is not described")
    if not asked.inputs:
        raise UnsupportedLayer("it reads nothing")
    forward = asked.spec.inner[0]
    backward = asked.spec.inner[1] if len(asked.spec.inner) > 1 else forward
    both = [_inner(asked, each, asked.inputs[:1], {"0": asked.inputs[0]}) for each in (forward, backward)]
    if not all(told.outputs for told in both):
        raise UnsupportedLayer("the layer that it runs both ways makes nothing")
    mode = asked.config.get("merge_mode", "concat")
    first, second = both[0].outputs[0], both[1].outputs[0]
    shape = first.shape or ()
    if mode == "concat" and shape:
        other = (second.shape or (None,))[-1]
        shape = (*shape[:-1], None if shape[-1] is None or other is None else shape[-1] + other)
    outputs = [TensorType(shape, first.dtype)] if mode is not None else [first, second]
    states = [each for told in both for each in told.outputs[1:]]
    weights = [
        replace(weight, name=f"{way}/{weight.name}")
        for way, told in zip(("forward", "backward"), both, strict=True)
        for weight in told.weights
    ]
    formula = (
        f"2*{both[0].formula}"
        if both[0].formula == both[1].formula and both[0].formula.count("+") < 3
        else "+".join(told.formula for told in both)
    )
    return LayerSpecs((*outputs, *states), tuple(weights), formula)


def _wrapper(asked: LayerCall) -> LayerSpecs:
    """SpectralNormalization and other wrappers that run their layer once."""
    if not asked.spec.inner:
        raise UnsupportedLayer("the layer that it wraps is not described")
    told = _inner(asked, asked.spec.inner[0], asked.inputs, dict(asked.arguments))
    kernel = next((weight for weight in told.weights if weight.name in ("kernel", "embeddings")), None)
    if asked.spec.class_name != "SpectralNormalization" or kernel is None:
        return told
    vector = asked.weight("vector_u", 1, kernel.shape[-1], trainable=False)
    return LayerSpecs(told.outputs, (*told.weights, vector), f"{told.formula}+{kernel.shape[-1]}")


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
