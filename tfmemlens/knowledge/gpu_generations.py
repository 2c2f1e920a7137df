"""Which release of TensorFlow is the first whose CUDA knows a generation of GPUs.

CUDA 10.0 is the first for Turing (compute capability 7.5), CUDA 11.0 for Ampere (8.0 and 8.6). The cuBLAS and
cuDNN of an older CUDA have no kernels for them, and fail in words that sound like a lack of memory. NVIDIA's
own builds of TensorFlow 1.15 are made with newer ones.
"""

from __future__ import annotations

from typing import NamedTuple

from tfmemlens.patterns import regex


class Generation(NamedTuple):
    """A generation of GPUs, and the first CUDA and TensorFlow for it."""

    name: str
    capability: float
    cuda: str
    release: tuple[int, int]


TURING = Generation("Turing", 7.5, "10.0", (1, 13))
AMPERE = Generation("Ampere", 8.0, "11.0", (2, 4))
_NAMES = (
    (regex(r"(?i)\b20[678]0\b|\b16[56]0\b|\bT4\b|\bTITAN RTX\b|\bQuadro RTX\b"), TURING),
    (regex(r"(?i)\b30[5-9]0\b|\bA100\b|\bA(?:10|30|40)G?\b|\bA[456]000\b"), AMPERE),
)


def generation(model: str | None, capability: str | None) -> Generation | None:
    """That of a GPU; None for one that every release since 1.5 knows, and for an unknown one."""
    if capability:
        value = float(capability)
        known = (each for each in (AMPERE, TURING) if value >= each.capability)
        return next(known, None)
    return next((each for names, each in _NAMES if model and names.search(model)), None)
