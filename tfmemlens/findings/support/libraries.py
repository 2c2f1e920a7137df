"""Which of CUDA's or ROCm's libraries a failed call belongs to, by its messages."""

from __future__ import annotations

import re

from tfmemlens.model.case import Moment
from tfmemlens.patterns import regex

_LIBRARIES = {
    "MIOpen": regex(r"MIOpen"),
    "cuDNN": regex(r"cudnn|onvolution|No algorithm|\bDNN\b", re.IGNORECASE),
    "hipSOLVER": regex(r"hipsolver|rocsolver|solver\w*\.cc:\d+: operation hip", re.IGNORECASE),
    "rocBLAS": regex(r"rocblas|hipblas", re.IGNORECASE),
    "cuSOLVER": regex(r"cusolver|gpusolver|\bsolver_kernels\w*\.cc|jaxlib/\w+/solver", re.IGNORECASE),
    "cuSPARSE": regex(r"cusparse|gpusparse", re.IGNORECASE),
    "cuFFT": regex(r"cufft", re.IGNORECASE),
    "cuBLAS": regex(r"cublas|gpublas|\bBlas ", re.IGNORECASE),
}


def of_handle(moment: Moment) -> bool:
    """Whether the library could not even start: no array's size has a part in that."""
    said = " ".join(line.text for line in moment.incident.tellings) if moment.incident else ""
    return library_of(moment) == "cuBLAS" or bool(_HANDLE.search(said)) or "Create(" in said


_HANDLE = regex(r"handle(?!\w{0,20}\.(?:cc|cpp|cu|h|hpp)\b)")
"""The word, and no file of the library's source."""


def did_not_start(moment: Moment) -> bool:
    """The same, or what is said of a library that did not start, without a status that names memory."""
    said = " ".join(line.text for line in moment.incident.tellings) if moment.incident else ""
    return of_handle(moment) or ("ALLOC_FAILED" not in said and bool(_NOT_STARTED.search(said)))


_NOT_STARTED = regex(
    r"\bNo (?:DNN|BLAS)\b|DNN library is not found|_NOT_INITIALIZED|Failed to get convolution algorithm"
)


def library_of(moment: Moment) -> str | None:
    """The library that the failure's messages name; None where they name none."""
    said = " ".join(line.text for line in moment.incident.tellings) if moment.incident else ""
    return next((library for library, rule in _LIBRARIES.items() if rule.search(said)), None)
