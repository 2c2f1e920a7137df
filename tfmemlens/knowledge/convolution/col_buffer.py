"""How many images at once a CPU convolution gradient unrolls into patches (`col_buffer`), from the shapes
alone.

After conv_grad_filter_ops.cc and conv_grad_input_ops.cc of TensorFlow 1.10, 1.15 and 2.21 without oneDNN;
measured to the byte in each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tfmemlens.units import MIB

_TARGET_BYTES = 30 * MIB
_SECOND_CACHE_BYTES = 256 << 10


@dataclass(frozen=True, slots=True)
class UnrolledConvolution:
    """What decides: positions of the convolution's output (height x width), patch (kernel height x width x
    input channels), output channels, bytes of one element.
    """

    positions: int
    patch: int
    channels: int
    item_bytes: int = 4

    @property
    def image_bytes(self) -> int:
        """The patches of one image."""
        return self.positions * self.patch * self.item_bytes

    @property
    def _unit(self) -> int:
        return self.positions * self.patch + self.positions * self.channels + self.patch * self.channels

    @property
    def images(self) -> int:
        """Images a time, so that the work of each is about 30 MiB; not limited by the batch."""
        return max(-(-(_TARGET_BYTES // self.item_bytes) // self._unit), 1)

    def filter_gradient_bytes(self) -> int:
        """Conv2DBackpropFilter: independent of batch and threads."""
        return self.images * self.image_bytes

    def input_gradient_bytes(self, batch: int, threads: int) -> int:
        """Conv2DBackpropInput: image by image when one is work enough for all threads of a core's cache, or
        when there is only one.
        """
        alone = batch == 1 or self._unit // max(threads, 1) >= _SECOND_CACHE_BYTES // self.item_bytes
        return self.image_bytes if alone else self.images * self.image_bytes


def of_shapes(
    kernel: Sequence[int], gradient: Sequence[int], data_format: str = "NHWC", item_bytes: int = 4
) -> UnrolledConvolution:
    """From the kernel [height, width, input channels, output channels] and the shape of the gradient that
    comes in (a convolution's output).
    """
    height, width = gradient[2:4] if data_format == "NCHW" else gradient[1:3]
    return UnrolledConvolution(height * width, kernel[0] * kernel[1] * kernel[2], kernel[3], item_bytes)
