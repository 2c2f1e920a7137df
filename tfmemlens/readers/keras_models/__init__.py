"""Models as Keras saved them, read without TensorFlow: formats of what never ran."""

from __future__ import annotations

import os
from pathlib import Path

from tfmemlens.errors import UnreadableInput
from tfmemlens.model.network import Network
from tfmemlens.readers import dispatch
from tfmemlens.readers.gathering import opening
from tfmemlens.readers.gathering.inputs import Input
from tfmemlens.readers.keras_models import _python_function
from tfmemlens.readers.keras_models._documents import network_of_text as of_text
from tfmemlens.readers.keras_models._python_function import is_spec

__all__ = ["is_spec", "of_text", "read"]

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
    unknown = UnreadableInput(f"{where} is not a supported model file", HINT)
    file = where / "saved_model.pb" if where.is_dir() else where
    if where.is_dir() and not file.exists():
        raise unknown
    opened = opening.open_input(Input(str(file)))
    with opened.file:
        if not opened.size:
            raise UnreadableInput(f"{where} is empty", "was it written to the end?")
        opened.path = str(where)
        capture = dispatch.read_model(opened)
    if capture is None or capture.network is None:
        raise unknown
    return capture.network
