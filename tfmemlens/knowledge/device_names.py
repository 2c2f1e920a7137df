"""Which kind of device a name stands for: TensorFlow's own, and its allocators'."""

from __future__ import annotations

CPU, GPU, TPU = "cpu", "gpu", "tpu"
_ON_THE_CPU = "bfc_cpu_allocator_for_gpu"
"""BFC on the CPU, whatever its name says."""


def kind_of_device(device: str, allocator: str) -> str | None:
    """`cpu`, `gpu` or `tpu` as the device is named, else as its allocator's name tells; None where neither
    does.
    """
    for name in (device.lower(), allocator.lower().replace(_ON_THE_CPU, CPU)):
        if kind := next((kind for kind in (TPU, GPU, CPU) if kind in name), None):
            return kind
    return None
