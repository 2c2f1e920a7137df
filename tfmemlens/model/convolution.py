"""A convolution by its sizes alone, the setting it runs in, and what it must hold there."""

from __future__ import annotations

import math
from enum import Enum

from tfmemlens.model.finding import Certainty
from tfmemlens.model.tensor import ITEM_BYTES
from tfmemlens.values import dataclass


class ConvolutionKind(str, Enum):
    """Which of TensorFlow's convolutions; each has its own kernels."""

    CONV = "conv"
    DEPTHWISE = "depthwise"
    TRANSPOSED = "transposed"
    CONV3D = "conv3d"

    __str__ = str.__str__


@dataclass(frozen=True, slots=True)
class Convolution:
    """Sizes of one convolution, channels last: `input` is [batch, height, width, channels], or with a depth
    before the height in 3-D.

    `kernel` holds the spatial sizes only. `filters` counts output channels; of a depthwise convolution it is
    the multiplier.
    """

    kind: ConvolutionKind
    input: tuple[int, ...]
    kernel: tuple[int, ...]
    filters: int
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    padding: str = "same"
    """`same` or `valid`."""
    dtype: str = "float32"

    @property
    def batch(self) -> int:
        """Images (volumes) in the batch."""
        return self.input[0]

    @property
    def channels(self) -> int:
        """Input channels."""
        return self.input[-1]

    @property
    def out_channels(self) -> int:
        """Output channels."""
        return self.filters * self.channels if self.kind is ConvolutionKind.DEPTHWISE else self.filters

    @property
    def item_bytes(self) -> int:
        """Bytes of one element."""
        return ITEM_BYTES[self.dtype]

    @property
    def kernel_shape(self) -> tuple[int, ...]:
        """The shape of the weights, as TensorFlow lays them out for this kind."""
        last = (
            (self.filters, self.channels)
            if self.kind is ConvolutionKind.TRANSPOSED
            else (self.channels, self.filters)
        )
        return (*self.kernel, *last)

    @property
    def kernel_bytes(self) -> int:
        """Bytes of the weights."""
        return math.prod(self.kernel_shape) * self.item_bytes

    @property
    def input_bytes(self) -> int:
        """Bytes of the input tensor."""
        return math.prod(self.input) * self.item_bytes


@dataclass(frozen=True, slots=True)
class ConvolutionSetting:
    """Where a convolution runs: the TensorFlow version, threads of one op, the device, whether oneDNN
    computes it, the CPU's L3 cache.
    """

    version: tuple[int, int]
    threads: int
    device: str = "cpu"
    onednn: bool = False
    l3_bytes: int | None = None
    """What the processor says of its L3 cache: Conv3D's gradients fill it. None where unknown."""


@dataclass(frozen=True, slots=True)
class Need:
    """Bytes that one pass takes beside its input and output tensors."""

    temporary_bytes: int | None
    """None where nothing honest can be said."""
    tracked: bool
    """Whether TensorFlow's own allocator hands it out, so that OOM reports and traces can show it."""
    certainty: Certainty
    formula: str
    """How the figure comes about, with the numbers put in."""
    shape: tuple[int, ...] | None = None
    """The temporary tensor, where it is one: an OOM message names this shape."""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Workspace:
    """What one of cuDNN's algorithms would ask for; orders of magnitude, for cuDNN publishes no formula."""

    algorithm: str
    bytes: int
    formula: str
    applies: bool = True


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another way to compute it, with what it takes at once; ranked by the bytes it saves."""

    applies_to: str
    """`forward`, `backward` (both gradients together) or `each pass`."""
    text: str
    code: str | None
    bytes: int
    saves_bytes: int
    certainty: Certainty


@dataclass(frozen=True, slots=True)
class Variation:
    """One line of the table: the same convolution with another kernel or batch."""

    kernel: tuple[int, ...]
    batch: int
    output_bytes: int
    patch_matrix_bytes: int
    forward_bytes: int | None
    backward_filter_bytes: int | None
    backward_input_bytes: int | None


@dataclass(frozen=True, slots=True)
class ConvolutionReport:
    """All that `tfmemlens conv` says."""

    convolution: Convolution
    setting: ConvolutionSetting
    output: tuple[int, ...]
    output_bytes: int
    flops: int
    patch_matrix_bytes: int
    forward: Need
    backward_filter: Need
    backward_input: Need
    workspaces: tuple[Workspace, ...]
    alternatives: tuple[Alternative, ...]
    table: tuple[Variation, ...]
    verdict: str
    """What matters most, in a sentence or two."""
    notes: tuple[str, ...] = ()
