"""The step that a prediction is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tfmemlens.model.capture import Hints
from tfmemlens.values import dataclass, field

DTYPES = ("float32", "float16", "bfloat16", "float64", "mixed_float16", "mixed_bfloat16")
"""Dtype policies of a whole model."""
DEVICES = ("cpu", "gpu")
MODES = ("training", "inference")


@dataclass(frozen=True, slots=True)
class StepSettings:
    """The step that is asked for. `inputs`: sizes without the batch, by the input's name (`""`: every
    input).
    """

    batch: int = 32
    optimizer: str | None = None
    dtype: str | None = None
    training: bool = True
    device: str = "cpu"
    limit_bytes: int | None = None
    inputs: Mapping[str, Sequence[int | None]] = field(default_factory=dict)
    threads: int | None = None
    """Intra-op threads: they decide how many images a convolution's gradient unrolls at once; None: as many
    as inter-op ones.
    """
    workers: int | None = None
    """Inter-op threads: how many ops run at the same time; None: as many as this machine has."""
    sequence: int | None = None
    """The length of every sequence whose length the model leaves open."""
    samples: int | None = None
    """How many samples the arrays hold that are given to `fit(x, y)`, which copies them whole; None: the step
    alone is asked for.
    """
    l3_bytes: int | None = None
    """The L3 cache of the processor that is asked about, which Conv3D's buffers follow; None: what the trace
    tells, else this machine's.
    """
    onednn: bool | None = None
    """Whether oneDNN computes on the CPU; None: not known."""
    jit: bool | None = None
    """Whether XLA compiles the step; None: as the model was compiled."""

    @classmethod
    def of(cls, hints: Hints) -> StepSettings:
        """The settings that the hints of other commands stand for: the first size of an input's shape is the
        batch.
        """
        batch, *sizes = hints.input_shape or (None,)
        return cls(
            batch=hints.batch or batch or 32,
            limit_bytes=hints.limit_bytes,
            inputs={"": tuple(sizes)} if sizes else {},
        )
