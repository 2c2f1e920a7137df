"""Shapes and weights of a whole model, layer after layer, from its configuration alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tfmemlens.errors import UnreadableInput
from tfmemlens.knowledge.keras_layers import ImpossibleSize, LayerCall, LayerSpecs, UnsupportedLayer, describe
from tfmemlens.knowledge.topological_order import listed_order
from tfmemlens.model.network import LayerSpec, Network, NetworkCall, TensorRef
from tfmemlens.model.tensor import TensorType
from tfmemlens.values import replace

Types = Mapping[tuple[str, int], Sequence[TensorType]]
_NOTHING = TensorType(None, None)


def complete(
    network: Network,
    batch: int | None = None,
    inputs: Mapping[str, Sequence[int | None]] | None = None,
    dtype: str | None = None,
) -> Network:
    """The network with input and output types at each call, with weights and formulas.

    `batch` replaces the unknown first dimension of every input, `inputs` the other dimensions of the input of
    that name (`""`: of every input); `dtype` replaces the dtype policy of all layers. What cannot be known
    stays empty, with a `problem` that says why. Raises UnreadableInput for a layer with a size below 0.
    """
    given = {ref.layer: _input_type(network, ref, batch, inputs or {}) for ref in network.inputs}
    return _run(network, given, trust=not inputs and batch is None, dtype=dtype)


def applied(
    network: Network,
    types: Sequence[TensorType],
    dtype: str | None = None,
    trust: bool = False,
    trainable: bool = True,
) -> Network:
    """The same for a nested model that reads tensors of these types."""
    given = dict(zip((ref.layer for ref in network.inputs), types, strict=False))
    return _run(network, given, trust=trust, dtype=dtype, trainable=trainable)


def _refused(layer: LayerSpec, problem: ImpossibleSize) -> UnreadableInput:
    return UnreadableInput(
        f"the layer {layer.name} ({layer.class_name}) is damaged: {problem}",
        "write the model again with `open(path, 'w').write(model.to_json())`",
    )


def types_of(network: Network, wanted: Iterable[TensorRef]) -> tuple[TensorType, ...]:
    """The types of these tensors of a completed network."""
    made = {
        (layer.name, index): call.outputs
        for layer in network.layers
        for index, call in enumerate(layer.calls)
    }
    return tuple(_lookup(made, ref) for ref in wanted)


def _input_type(
    network: Network, ref: TensorRef, batch: int | None, inputs: Mapping[str, Sequence[int | None]]
) -> TensorType | None:
    """The input's type where the caller or a reader of it says more than its own configuration does."""
    layer = network[ref.layer]
    wanted = inputs.get(ref.layer, inputs.get(""))
    try:
        own: TensorType | None = describe(LayerCall(layer, ())).outputs[0]
    except ImpossibleSize as problem:
        raise _refused(layer, problem) from None
    except UnsupportedLayer:
        own = None
    if wanted is None and own is None:
        return None
    shape: list[int | None] = list(own.shape or ()) if own else [None]
    if wanted is not None:
        shape = [shape[0] if shape else None, *wanted]
    if batch is not None and shape and (shape[0] is None or batch):
        shape[0] = batch
    return TensorType(tuple(shape), own.dtype if own else "float32")


def _run(
    network: Network,
    given: Mapping[str, TensorType | None],
    trust: bool,
    dtype: str | None,
    trainable: bool = True,
) -> Network:
    declared = _declared(network)
    made: dict[tuple[str, int], Sequence[TensorType]] = {}
    specs = {layer.name: _prepared(layer, dtype, trainable) for layer in network.layers}
    calls: dict[str, list[NetworkCall]] = {layer.name: list(layer.calls) for layer in network.layers}
    for name, index in order(network):
        layer = specs[name]
        call = calls[name][index]
        types = tuple(_lookup(made, ref) for ref in call.inbound)
        if given.get(name) is not None and not call.inbound:
            outputs: Sequence[TensorType] = (given[name] or _NOTHING,)
        else:
            layer, outputs = _called(
                layer, call, types, made, declared.get((name, index), {}), trust, network.dialect, dtype
            )
        specs[name] = layer
        made[name, index] = outputs
        calls[name][index] = replace(call, inputs=types, outputs=tuple(outputs))
    return replace(
        network,
        layers=tuple(replace(specs[layer.name], calls=tuple(calls[layer.name])) for layer in network.layers),
    )


def _prepared(layer: LayerSpec, dtype: str | None, trainable: bool) -> LayerSpec:
    """The layer under another dtype policy, or frozen with the model that holds it."""
    own = layer.trainable and trainable
    if dtype is None or layer.class_name == "InputLayer":
        return replace(layer, trainable=own)
    inner = tuple(_prepared(each, dtype, trainable) for each in layer.inner)
    return replace(layer, config={**layer.config, "dtype": dtype}, inner=inner, trainable=own)


def _called(
    layer: LayerSpec,
    call: NetworkCall,
    types: tuple[TensorType, ...],
    made: Types,
    declared: Mapping[int, TensorType],
    trust: bool,
    dialect: str,
    dtype: str | None,
) -> tuple[LayerSpec, Sequence[TensorType]]:
    if layer.network is not None:
        nested = applied(layer.network, types, dtype, trust, layer.trainable)
        problem = next((each.problem for each in nested.layers if each.problem), None)
        return replace(
            layer,
            network=nested if not layer.calls or not layer.network.layers[0].outputs else layer.network,
            problem=problem,
        ), types_of(nested, nested.outputs)
    arguments = {key: _resolved(value, made) for key, value in call.arguments.items()}
    if "0" not in arguments and types:
        arguments["0"] = types[0] if len(types) == 1 else list(types)
    try:
        specs = describe(LayerCall(layer, types, arguments, dialect))
    except ImpossibleSize as problem:
        raise _refused(layer, problem) from None
    except UnsupportedLayer as problem:
        outputs = [declared.get(port, _NOTHING) for port in range(max(declared, default=0) + 1)]
        owned = tuple(
            replace(weight, trainable=weight.trainable and layer.trainable) for weight in layer.stored
        )
        why = f"{problem}; its weights are those in the file" if owned else str(problem)
        sums = "+".join("*".join(map(str, weight.shape)) or "1" for weight in owned)
        return replace(layer, problem=why, weights=layer.weights or owned, formula=layer.formula or sums), (
            outputs if trust else [TensorType(_unbatched(each, types), each.dtype) for each in outputs]
        )
    weights = layer.weights or specs.weights
    return replace(layer, weights=weights, formula=layer.formula or specs.formula), _believed(
        specs, declared if trust else {}
    )


def _believed(specs: LayerSpecs, declared: Mapping[int, TensorType]) -> Sequence[TensorType]:
    """What the file states of an output fills in what the rule left open."""
    return [
        declared[port] if port in declared and each.shape is None else each
        for port, each in enumerate(specs.outputs)
    ]


def _unbatched(declared: TensorType, types: Sequence[TensorType]) -> tuple[int | None, ...] | None:
    """A stated shape at another batch: right unless the layer mixes the batch with another dimension."""
    batch = next((each.shape[0] for each in types if each.shape), None)
    if declared.shape and declared.shape[0] is None:
        return (batch, *declared.shape[1:])
    return declared.shape


def _resolved(value: object, made: Types) -> object:
    if isinstance(value, TensorRef):
        return _lookup(made, value)
    if isinstance(value, list | tuple):
        return [_resolved(each, made) for each in value]
    return value


def _lookup(made: Types, ref: TensorRef) -> TensorType:
    outputs = made.get((ref.layer, ref.call), ())
    return outputs[ref.port] if 0 <= ref.port < len(outputs) else _NOTHING


def _declared(network: Network) -> dict[tuple[str, int], dict[int, TensorType]]:
    """What Keras 3 notes of each tensor where it is read."""
    types: dict[tuple[str, int], dict[int, TensorType]] = {}
    for layer in network.layers:
        for call in layer.calls:
            for ref, kind in zip(call.inbound, call.declared, strict=False):
                types.setdefault((ref.layer, ref.call), {})[ref.port] = kind
    return types


def order(network: Network) -> list[tuple[str, int]]:
    """The schedule: all calls, each after those that it reads, in the file's order where that allows it; what
    waits for nothing that exists comes last.
    """
    calls = [(layer.name, index, call) for layer in network.layers for index, call in enumerate(layer.calls)]
    first: dict[tuple[str, int], int] = {}
    for position, (name, index, _) in enumerate(calls):
        first.setdefault((name, index), position)
    awaited = [
        {first[ref.layer, ref.call] for ref in call.inbound if (ref.layer, ref.call) in first}
        for _, _, call in calls
    ]
    return [calls[position][:2] for position in listed_order(awaited)]
