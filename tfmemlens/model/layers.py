"""The model as a trace or a graph shows it: per layer its weights, slots and outputs."""

from __future__ import annotations

from dataclasses import dataclass

from tfmemlens.model.tensor import TensorType


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
