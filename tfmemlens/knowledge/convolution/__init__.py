"""What a convolution must hold: output, patches, gradients' buffers, packed slabs, workspaces; and how to
recognise them by their shapes.
"""

from __future__ import annotations

from tfmemlens.knowledge.convolution.col_buffer import filters_of, is_one_image, most_bytes
from tfmemlens.knowledge.convolution.recognition import (
    ColBuffer,
    col_buffer_of,
    is_likely,
    is_shuffled_volume,
    kernels_of,
    volume_kernels_of,
)

__all__ = [
    "ColBuffer",
    "col_buffer_of",
    "filters_of",
    "is_likely",
    "is_one_image",
    "is_shuffled_volume",
    "kernels_of",
    "most_bytes",
    "volume_kernels_of",
]
