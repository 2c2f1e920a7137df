"""Programs that compute one input on one GPU: the memory of others is none of it."""

from __future__ import annotations

from tfmemlens.model.capture import Surroundings

FORECAST, STRUCTURE = "one forecast", "the structure of one input"


def others_add_none(told: Surroundings, what: str) -> str:
    """That other GPUs of the machine add no memory, where the text has several; with what one has."""
    line = told.shows("one device used") or told.shows("several GPUs named")
    if line is None:
        return ""
    return f"; {what} is computed on one GPU, so others ({line.place}) add no memory to it"
