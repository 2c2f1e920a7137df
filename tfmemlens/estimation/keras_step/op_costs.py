"""How long ops take against each other, on a CPU without oneDNN: it decides which of them run at the same
time, and so whose buffers add up.

Measured in TensorFlow 2.21 with four threads on a VGG-like net. One unit is a byte that an element-wise op
touches.
"""

PRODUCT = 1 / 3
"""Units of one floating point operation of a forward convolution or matrix product."""
INPUT = 1.4
"""A convolution's gradient for its input against its forward pass."""
REPACKED = 27.0
"""Units of a byte of the kernel, once for each image, where that gradient is made image by image."""
FILTER = 4.5
"""The same for its filter: it still runs when the layers before it have begun."""
FILTER_AT_ONCE = 2.0
"""The same where one round of patches takes the whole batch."""
TRANSPOSED = 4.0
"""A matrix product's gradient for its input against its forward pass."""
SUMMED = 1.5
"""The same for its kernel: a large one is updated before the layers before it need their scratch."""
SLOW = 30.0
"""Ops on one thread, such as BiasAddGrad and MaxPoolGrad, against element-wise ones."""
BYTES_PER_MICROSECOND = 50_000.0
OVERHEAD_MICROS = 4.0
STEALING_MICROS = (5.0, 75.0)
"""How long an op lies in a thread's queue until an idle thread has it: one that is awake at once, one that
sleeps after this. Measured in profiles.
"""
UNSURE = 1.3
"""How far the readers of a gradient may stray from their ranks: so far that one in ten pairs stands the other
way round, as in real graphs.
"""
JITTER = 2.0
"""By what factor an op may take longer or shorter from step to step."""
