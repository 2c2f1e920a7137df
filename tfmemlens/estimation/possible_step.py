"""Whether there can be a step such as the settings ask for."""

from __future__ import annotations

from tfmemlens.errors import UsageError
from tfmemlens.model.settings import DEVICES, DTYPES, StepSettings


def check_is_possible(settings: StepSettings) -> None:
    """Raises UsageError for a step that there cannot be."""
    if settings.batch < 1:
        raise UsageError(f"a batch of {settings.batch} is no batch", "give a batch of 1 or more")
    for count in (settings.threads, settings.workers):
        if count is not None and count < 1:
            raise UsageError(f"{count} threads run nothing", "give 1 or more")
    if settings.sequence is not None and settings.sequence < 1:
        raise UsageError(f"a sequence of {settings.sequence} is none", "give a sequence of 1 or more")
    if settings.samples is not None and settings.samples < settings.batch:
        raise UsageError(
            f"arrays of {settings.samples} samples hold no batch of {settings.batch}",
            "--samples is the length of the arrays that are given to fit(x, y)",
        )
    if settings.dtype is not None and settings.dtype not in DTYPES:
        raise UsageError(
            f"the dtype {settings.dtype} is no policy that Keras has", f"one of {', '.join(DTYPES)}"
        )
    if settings.device not in DEVICES:
        raise UsageError(f"the device {settings.device} is not known", f"one of {', '.join(DEVICES)}")
