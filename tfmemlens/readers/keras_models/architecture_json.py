"""`model.to_json()` written to a file: the architecture of a model, with Keras 1, 2 or 3."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from tfmemlens.errors import UnreadableInput
from tfmemlens.model.network import Network
from tfmemlens.readers.keras_models._documents import network_of_text


def sniff(_path: Path, head: bytes) -> bool:
    """JSON begins with a brace, or with a quote where somebody dumped the text once more; it may be
    gzipped.
    """
    return head[:2] == b"\x1f\x8b" or head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b'"')


def read(path: Path) -> Network:
    """The model. Raises UnreadableInput."""
    raw = path.read_bytes()
    if raw[:2] == b"\x1f\x8b":
        try:
            raw = gzip.decompress(raw)
        except (OSError, EOFError, zlib.error):
            raise UnreadableInput(f"{path} is a damaged gzip file", "copy it again, in binary mode") from None
    return network_of_text(raw.decode("utf-8-sig", "replace"), str(path))
