"""The model as a trace, a graph or its own description shows it: per layer its weights, slots and outputs."""

from __future__ import annotations

from collections.abc import Sequence

from tfmemlens.model.tensor import TensorType
from tfmemlens.values import dataclass


@dataclass(frozen=True, slots=True)
class LayerPrediction:
    """What a description of the model tells beyond a trace: sizes for the whole batch unless they say
    otherwise, in bytes.
    """

    class_name: str
    calls: int
    trainable_parameters: int
    gradient_bytes: int
    activation_bytes: int
    """All that its forward ops make."""
    kept_bytes: int
    """The part of it that stays until the backward pass."""
    workspace_bytes: int
    """The largest temporary of one of its kernels."""
    batch: int
    why: str = ""
    """What stays for the backward pass, and what does not."""
    problem: str | None = None
    """Why its shapes or weights are not known, None where they are."""

    @property
    def activation_bytes_per_sample(self) -> int:
        """What its forward ops make of one sample."""
        return self.activation_bytes // max(self.batch, 1)

    @property
    def kept_bytes_per_sample(self) -> int:
        """What stays of one sample until the backward pass."""
        return self.kept_bytes // max(self.batch, 1)


@dataclass(frozen=True, slots=True)
class LayerSummary:
    """One layer of the user's model. Bytes are shape x dtype; what chunks add is counted elsewhere."""

    layer: str
    parameters: int
    parameter_bytes: int
    slot_bytes: int
    formula: str
    """How the count comes about: `(5*5*1+1)*32`."""
    outputs: tuple[TensorType, ...] = ()
    """Types of what its forward ops made, largest first."""
    prediction: LayerPrediction | None = None
    """Where the model is described rather than traced."""


@dataclass(frozen=True, slots=True)
class LayerTotals:
    """All layers together; what only a description tells is 0 for a trace."""

    parameters: int
    trainable_parameters: int
    parameter_bytes: int
    gradient_bytes: int
    slot_bytes: int
    activation_bytes_per_sample: int
    kept_bytes_per_sample: int

    @classmethod
    def of(cls, layers: Sequence[LayerSummary]) -> LayerTotals:
        """The sums over these layers."""
        described = [layer.prediction for layer in layers if layer.prediction]
        return cls(
            sum(layer.parameters for layer in layers),
            sum(each.trainable_parameters for each in described),
            sum(layer.parameter_bytes for layer in layers),
            sum(each.gradient_bytes for each in described),
            sum(layer.slot_bytes for layer in layers),
            sum(each.activation_bytes_per_sample for each in described),
            sum(each.kept_bytes_per_sample for each in described),
        )
