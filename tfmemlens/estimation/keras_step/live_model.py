"""A model's file as what a running program says of its model: layers, variables and slots by their names."""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.errors import UsageError
from tfmemlens.estimation.keras_step import optimizers
from tfmemlens.knowledge.keras_layers import model_types
from tfmemlens.model.attribution import Kind
from tfmemlens.model.live_model import LiveModel, LiveVariable
from tfmemlens.model.network import LayerSpec, Network
from tfmemlens.model.tensor import TensorType
from tfmemlens.values import replace


def live_model(network: Network) -> LiveModel:
    """The names that a trace of this model can be told in. Slots are those of the optimizer that the file was
    compiled with; none where it states none. Raises UnreadableInput for a layer with a size below 0.
    """
    done = model_types.complete(network)
    parts = [pair for path, layer in done.walk() for pair in _opened(path, layer)]
    optimizer = _optimizer(network)
    return LiveModel(
        (network.name,),
        tuple((path, layer.class_name) for path, layer in (*_nests(done), *parts)),
        tuple(variable for path, layer in parts for variable in _variables(path, layer, optimizer)),
        tuple(
            (path, tuple(output.shape))
            for path, layer in parts
            for call in layer.calls[:1]
            for output in call.outputs
            if output.shape
        ),
    )


def _nests(network: Network, prefix: str = "") -> Iterator[tuple[str, LayerSpec]]:
    """The models within the model."""
    for layer in network.layers:
        if layer.network is not None:
            yield f"{prefix}{layer.name}", layer
            yield from _nests(layer.network, f"{prefix}{layer.name}/")


def _opened(path: str, layer: LayerSpec) -> Iterator[tuple[str, LayerSpec]]:
    """The layer, and what a wrapper wraps; a variable stands with the wrapper, which lists all of them."""
    yield path, layer
    for part in layer.inner:
        for inner, spec in _opened(f"{path}/{part.name}", part):
            yield inner, replace(spec, weights=(), stored=())


def _optimizer(network: Network) -> optimizers.Optimizer | None:
    """The compiled one, if we know what it keeps."""
    try:
        known = optimizers.optimizer(network.optimizer) if network.optimizer else None
    except UsageError:
        return None
    return known.with_options(network.optimizer_options) if known else None


def _variables(path: str, layer: LayerSpec, optimizer: optimizers.Optimizer | None) -> Iterator[LiveVariable]:
    for weight in layer.weights or layer.stored:
        name = f"{path}/{weight.name}"
        yield LiveVariable(name, path, Kind.PARAMETER, TensorType(weight.shape, weight.dtype))
        if optimizer is None or not (weight.trainable and layer.trainable):
            continue
        for number, shape in enumerate(optimizer.slot_shapes(weight.shape), 1):
            sizes = tuple(size for size in shape if isinstance(size, int))
            if len(sizes) == len(shape):
                yield LiveVariable(
                    f"{name} ({optimizer.name} slot {number})",
                    path,
                    Kind.OPTIMIZER_SLOT,
                    TensorType(sizes, weight.dtype),
                )
