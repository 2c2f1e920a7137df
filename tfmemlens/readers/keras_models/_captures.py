"""A model that never ran as a capture."""

from __future__ import annotations

from collections.abc import Callable

from tfmemlens.errors import UnreadableInput
from tfmemlens.model.capture import Capture, Source
from tfmemlens.model.network import Network
from tfmemlens.readers.gathering.inputs import Opened


def capture_of(opened: Opened, slug: str, network: Callable[[], Network]) -> Capture:
    """The capture of what the call gives. Raises UnreadableInput."""
    try:
        return Capture(Source(opened.path, (slug,)), network=network())
    except RecursionError:
        raise UnreadableInput(
            f"{opened.path} nests models too deep to be one", "give `model.to_json()`, or module:function"
        ) from None
