"""How many images at once a convolution's gradient on the CPU unrolls into patches (`col_buffer`, the im2col
buffer): the one formula, and the one set of cache sizes, that everybody here asks.

After conv_grad_filter_ops.cc, conv_grad_input_ops.{cc,h} and conv_grad_ops_3d.cc of TensorFlow 1.10, 1.15 and
2.21 without oneDNN; measured to the byte in each: `sample_traces/convolution/measured.csv`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tfmemlens.knowledge.convolution.sizes import patch, positions
from tfmemlens.model.convolution import Convolution
from tfmemlens.units import KIB, MIB, rough
from tfmemlens.values import dataclass

TARGET_BYTES = 30 * MIB
"""What the work on the images unrolled together should fill (`target_working_set_size`: the L3 cache of an
Ivy Bridge).
"""
TARGET_TEXT = rough(TARGET_BYTES)
"""The same for people."""
L2_BYTES = 256 * KIB
"""Work per thread from which BackpropInput computes image by image (`l2_cache_size`)."""
USUAL_L3_BYTES = 32 * MIB
"""Assumed where the processor's L3 cache, which Conv3D's gradients fill, is not known."""
MAX_OVERHEAD = 25
"""Conv3D's gradients fall back to Eigen above this multiple of their tensors
(`kMaxTempAllocationOverhead`).
"""
MANY_THREADS = 60
"""More threads than this an op hardly has: with as many, image by image is sure."""


@dataclass(frozen=True, slots=True)
class UnrolledConvolution:
    """What decides: positions of the convolution's output (height x width, in 3-D times depth), elements of a
    patch (kernel area x input channels), filters (output channels), bytes of one element.
    """

    positions: int
    patch: int
    filters: int
    item_bytes: int = 4

    @property
    def image_bytes(self) -> int:
        """The patches of one image."""
        return self.positions * self.patch * self.item_bytes

    @property
    def work_unit(self) -> int:
        """Elements that the matrix product of one image touches: patches, output and weights
        (`work_unit_size`).
        """
        return self.positions * self.patch + self.positions * self.filters + self.patch * self.filters

    def images_filling(self, target_bytes: int) -> int:
        """Images whose work fills so many bytes, the last one perhaps beyond; one at least. The batch does
        not limit them.
        """
        return max(-(-(target_bytes // self.item_bytes) // max(self.work_unit, 1)), 1)

    def images_of_filter_gradient(self) -> int:
        """Images that Conv2DBackpropFilter unrolls at once, whatever the batch and the threads."""
        return self.images_filling(TARGET_BYTES)

    def images_of_input_gradient(self, batch: int, threads: int) -> int:
        """Images that Conv2DBackpropInput unrolls at once: one where the batch is one or one image gives each
        thread an L2 cache full to do, else as above.
        """
        per_thread = self.work_unit // max(threads, 1)
        one_by_one = batch == 1 or per_thread >= L2_BYTES // self.item_bytes
        return 1 if one_by_one else self.images_of_filter_gradient()

    def filter_gradient_bytes(self) -> int:
        """The buffer of Conv2DBackpropFilter."""
        return self.images_of_filter_gradient() * self.image_bytes

    def input_gradient_bytes(self, batch: int, threads: int) -> int:
        """The buffer of Conv2DBackpropInput."""
        return self.images_of_input_gradient(batch, threads) * self.image_bytes

    def volume_gradient_bytes(self, l3_bytes: int | None, *shapes: Sequence[int]) -> int:
        """The buffer of a Conv3D's gradient: as many volumes as fill the L3 cache (None: a usual one), and
        none where that is more than so many times its tensors, which have these `shapes`.
        """
        size = self.images_filling(l3_bytes or USUAL_L3_BYTES) * self.image_bytes
        tensors = sum(map(math.prod, shapes))
        return size if size // self.item_bytes // max(tensors, 1) <= MAX_OVERHEAD else 0

    def volume_input_gradient_bytes(self, batch: int, l3_bytes: int | None, *shapes: Sequence[int]) -> int:
        """The same of the gradient of its input, which unrolls one volume where the batch is one."""
        size = self.volume_gradient_bytes(l3_bytes, *shapes)
        return self.image_bytes if size and batch == 1 else size


def of_shapes(
    kernel: Sequence[int], gradient: Sequence[int], data_format: str = "NHWC", item_bytes: int = 4
) -> UnrolledConvolution:
    """From the kernel [height, width, input channels, output channels], in 3-D with its depth in front, and
    the shape of the gradient that comes in (a convolution's output).
    """
    space = gradient[2:] if data_format.startswith("NC") else gradient[1:-1]
    return UnrolledConvolution(math.prod(space), math.prod(kernel[:-1]), kernel[-1], item_bytes)


def of_convolution(conv: Convolution) -> UnrolledConvolution:
    """From the sizes of a convolution, in 2-D or 3-D."""
    return UnrolledConvolution(positions(conv), patch(conv), conv.filters, conv.item_bytes)


def filters_of(images: int, positions: int, patch: int, item_bytes: int = 4) -> tuple[int, int] | None:
    """The least and the most filters with which a gradient unrolls so many images at once; None for one
    image, which tells only a minimum.

    The work unit, positions*patch + (positions + patch)*filters, holds the filters: [374,256,72] can only be
    a layer of 8.
    """
    if images < 2:
        return None
    target = TARGET_BYTES // item_bytes
    smallest, largest = -(-target // images), (target - 1) // (images - 1)
    low = -(-(smallest - positions * patch) // (positions + patch))
    high = (largest - positions * patch) // (positions + patch)
    return (max(low, 1), high) if high >= max(low, 1) else None


def most_bytes(positions: int, patch: int, item_bytes: int = 4) -> int:
    """The most that a buffer of such images takes, however few its filters: as many images as the target
    holds, one at least.
    """
    image = positions * patch * item_bytes
    return -(-TARGET_BYTES // max(image, 1)) * image


def is_one_image(positions: int, patch: int, of_input: bool, item_bytes: int = 4) -> bool:
    """Whether a gradient (for the input, or for the weights) unrolls one image, however few its filters."""
    enough = min(TARGET_BYTES, MANY_THREADS * L2_BYTES) if of_input else TARGET_BYTES
    return positions * patch * item_bytes >= enough
