"""`model.to_json()` written to a file: the architecture of a model, with Keras 1, 2 or 3."""

from __future__ import annotations

from tfmemlens.model.capture import Capture, Hints, Holds
from tfmemlens.readers.contract import Confidence, Sample
from tfmemlens.readers.gathering import opening
from tfmemlens.readers.gathering.inputs import Opened
from tfmemlens.readers.keras_models._captures import capture_of
from tfmemlens.readers.keras_models._documents import network_of_text

HOLDS = Holds.MODEL


def sniff(sample: Sample) -> Confidence:
    """JSON begins with a brace, or with a quote where somebody dumped the text once more; what has a class
    and a config is a model.
    """
    start = sample.head.removeprefix(b"\xef\xbb\xbf").lstrip()[:4096]
    if start[:1] == b"{" and b'"class_name"' in start and b'"config"' in start:
        return Confidence.CERTAIN
    return Confidence.IF_TOLD if start[:1] in (b"{", b'"') else Confidence.NO


def read(opened: Opened, hints: Hints = Hints()) -> Capture:
    """The model. Raises UnreadableInput."""
    del hints
    text = opening.document(opened).decode("utf-8-sig", "replace")
    return capture_of(opened, "architecture-json", lambda: network_of_text(text, opened.path))
