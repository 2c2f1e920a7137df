"""Models as Keras saved them, read without TensorFlow: one format a module, `sniff` and `read`; the content
decides.
"""

from __future__ import annotations

import os
import sys
import zipfile
import zlib
from pathlib import Path

from tfmemlens import discovery
from tfmemlens.errors import UnreadableInput
from tfmemlens.model.network import Network
from tfmemlens.readers.keras_models import _python_function
from tfmemlens.readers.keras_models._documents import network_of_text as of_text

__all__ = ["is_model", "of_text", "read"]

HINT = (
    "give a .keras file, an architecture JSON (`model.to_json()`), an H5 file, a SavedModel folder, or"
    " module:function"
)


def read(path: str | os.PathLike[str], python: str | None = None) -> Network:
    """The model in a file or folder, or what `module:function` returns in the given Python. Raises
    UnreadableInput.
    """
    if _python_function.is_spec(os.fspath(path)):
        return _python_function.network(os.fspath(path), python)
    where = Path(path)
    try:
        head = b"" if where.is_dir() else _head(where)
    except OSError as error:
        raise UnreadableInput(f"{where} cannot be read: {error.strerror or error}", HINT) from None
    if not where.is_dir() and not head:
        raise UnreadableInput(f"{where} is empty", "was it written to the end?")
    for module in discovery.plugins(sys.modules[__name__], "sniff", "read").values():
        if module.sniff(where, head):
            try:
                network: Network = module.read(where)
            except RecursionError:
                raise UnreadableInput(f"{where} nests models too deep to be one", HINT) from None
            return network
    raise UnreadableInput(f"{where} is no model that tfmemlens knows", HINT)


def is_model(path: str | os.PathLike[str]) -> bool:
    """Whether this file holds a Keras model and nothing that another reader knows: an archive, an H5 file, an
    architecture.
    """
    where = Path(path)
    try:
        head = _head(where) if where.is_file() else b""
        if head[:2] == b"\x1f\x8b":
            head = zlib.decompressobj(wbits=31).decompress(head, 4096)
        if head.startswith(b"PK"):
            return zipfile.is_zipfile(where) and "config.json" in zipfile.ZipFile(where).namelist()
    except (OSError, zlib.error, zipfile.BadZipFile):
        return False
    described = head.lstrip()[:1] == b"{" and b'"class_name"' in head and b'"config"' in head
    return described or head.startswith(b"\x89HDF\r\n")


def _head(path: Path) -> bytes:
    with open(path, "rb") as file:
        return file.read(4096)
