"""The step that a prediction is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tfmemlens.model.capture import Hints


@dataclass(frozen=True, slots=True)
class Settings:
    """The step that is asked for. `inputs`: sizes without the batch, by the input's name (`""`: every input)."""

    batch: int = 32
    optimizer: str | None = None
    dtype: str | None = None
    training: bool = True
    device: str = "cpu"
    limit_bytes: int | None = None
    inputs: Mapping[str, Sequence[int | None]] = field(default_factory=dict)
    threads: int = 4
    """Intra-op threads: they decide how many images a convolution's gradient unrolls at once."""
    workers: int = 4
    """Inter-op threads: how many ops run at the same time."""
    sequence: int | None = None
    """The length of every sequence whose length the model leaves open."""

    @classmethod
    def of(cls, hints: Hints) -> Settings:
        """The settings that the hints of other commands stand for: the first size of an input's shape is the batch."""
        batch, *sizes = hints.input_shape or (None,)
        return cls(batch=hints.batch or batch or 32, limit_bytes=hints.limit_bytes, inputs={"": tuple(sizes)} if sizes else {})
