"""A model as its configuration describes it: layers, who reads whose tensors, weights. No TensorFlow, no
weights' values.

Readers fill in what a file says; `estimation` completes it with shapes and weights, so the fields that need
them start empty.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tfmemlens.model.tensor import ITEM_BYTES, TensorType
from tfmemlens.values import dataclass, field


class TensorRef(NamedTuple):
    """One tensor of a network: output number `port` of call number `call` of a layer."""

    layer: str
    call: int = 0
    port: int = 0


@dataclass(frozen=True, slots=True)
class WeightSpec:
    """One variable of a layer."""

    name: str
    shape: tuple[int, ...]
    dtype: str = "float32"
    trainable: bool = True

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        """Elements x bytes of one."""
        return self.size * ITEM_BYTES.get(self.dtype, 4)


@dataclass(frozen=True, slots=True)
class NetworkCall:
    """One use of a layer. A shared layer has several: its weights count once, its outputs at each use."""

    inbound: tuple[TensorRef, ...] = ()
    """All tensors it reads, in the order of the arguments."""
    arguments: Mapping[str, object] = field(default_factory=dict)
    """Further call arguments by name (positional ones as `0`, `1`, …); a TensorRef in them stands for a
    tensor.
    """
    declared: tuple[TensorType, ...] = ()
    """Types of the inbound tensors where the file states them (Keras 3)."""
    inputs: tuple[TensorType, ...] = ()
    """Types of the inbound tensors as computed; the batch is None."""
    outputs: tuple[TensorType, ...] = ()
    """Types of what it returns, the batch None; empty until computed, and where nobody can know."""


@dataclass(frozen=True, slots=True)
class LayerSpec:
    """One layer: what it is, what it reads, what it makes, what it owns."""

    name: str
    class_name: str
    config: Mapping[str, object] = field(default_factory=dict)
    calls: tuple[NetworkCall, ...] = ()
    weights: tuple[WeightSpec, ...] = ()
    formula: str = ""
    """Where the number of parameters comes from: `(5*5*1+1)*32`."""
    module: str | None = None
    """The module of its class where the file states it: it tells `keras.layers` from `keras.ops` and from the
    user's own.
    """
    trainable: bool = True
    inner: tuple[LayerSpec, ...] = ()
    """What a wrapper wraps: the cell of an RNN, the two directions of Bidirectional, the layer of
    TimeDistributed. Their weights stand in `weights`.
    """
    network: Network | None = None
    """The nested model, when the layer is one. Its weights are not repeated in `weights`."""
    problem: str | None = None
    """Why its shapes or weights are unknown, None where they are known."""
    stored: tuple[WeightSpec, ...] = ()
    """The weights that the file holds of it, for layers whose configuration does not tell them."""

    @property
    def inbound(self) -> tuple[TensorRef, ...]:
        """The tensors that the first call reads."""
        return self.calls[0].inbound if self.calls else ()

    @property
    def inputs(self) -> tuple[TensorType, ...]:
        """The types of these tensors."""
        return self.calls[0].inputs if self.calls else ()

    @property
    def outputs(self) -> tuple[TensorType, ...]:
        """What the first call returns."""
        return self.calls[0].outputs if self.calls else ()

    @property
    def parameters(self) -> int:
        """All weights' elements, nested models included; Keras's `count_params()`."""
        return self.trainable_parameters + self.frozen_parameters

    @property
    def trainable_parameters(self) -> int:
        """Elements of the weights that training changes."""
        own = sum(weight.size for weight in self.weights if weight.trainable)
        return own + (self.network.trainable_parameters if self.network else 0)

    @property
    def frozen_parameters(self) -> int:
        """Elements of the weights that the optimizer leaves alone: moving averages, seeds, frozen layers."""
        own = sum(weight.size for weight in self.weights if not weight.trainable)
        return own + (self.network.frozen_parameters if self.network else 0)


@dataclass(frozen=True, slots=True)
class Network:
    """A model: layers in the order in which the file lists them."""

    layers: tuple[LayerSpec, ...]
    inputs: tuple[TensorRef, ...] = ()
    outputs: tuple[TensorRef, ...] = ()
    name: str = "model"
    dialect: str = "keras-3"
    """Who wrote it: `keras-1`, `keras-2`, `keras-3`, or `variables` when only weights are known."""
    version: str | None = None
    """The version of that writer, where the file states it."""
    optimizer: str | None = None
    """The optimizer it was compiled with, where the file states it, as its class's name."""
    metrics: tuple[str, ...] | None = None
    """The names of the metrics it was compiled with, in lower case; None where the file states nothing."""
    optimizer_options: tuple[str, ...] = ()
    """The names of the arguments of that optimizer that are set: `use_ema`, `weight_decay`, …"""
    loss: str | None = None
    """The loss it was compiled with, where the file states it, in lower case without underscores:
    `sparsecategoricalcrossentropy`.
    """
    losses: Mapping[str, str] = field(default_factory=dict)
    """By output layer, where each has a loss of its own; as `loss`, which is then that of the first."""
    jit_compile: bool | None = None
    """Whether it was compiled for XLA, where the file states it; `auto` is no statement."""
    path: str = ""
    """Where it was read."""

    def __iter__(self) -> Iterator[LayerSpec]:
        return iter(self.layers)

    def __getitem__(self, name: str) -> LayerSpec:
        """The layer of that name. Raises KeyError."""
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise KeyError(name)

    @property
    def parameters(self) -> int:
        """Elements of all weights, each shared layer once."""
        return self.trainable_parameters + self.frozen_parameters

    @property
    def trainable_parameters(self) -> int:
        """Elements of the weights that training changes."""
        return sum(layer.trainable_parameters for layer in self.layers)

    @property
    def frozen_parameters(self) -> int:
        """Elements of the weights that the optimizer leaves alone."""
        return sum(layer.frozen_parameters for layer in self.layers)

    def walk(self, prefix: str = "") -> Iterator[tuple[str, LayerSpec]]:
        """Every layer with its path (`outer/inner`), nested models opened; the nesting layer itself is left
        out.
        """
        for layer in self.layers:
            path = f"{prefix}{layer.name}"
            if layer.network is not None:
                yield from layer.network.walk(f"{path}/")
            else:
                yield path, layer
