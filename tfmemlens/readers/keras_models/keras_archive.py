"""A Keras 3 `.keras` file: a zip with `config.json`, `metadata.json` and the weights, which are not
needed.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from tfmemlens.errors import UnreadableInput
from tfmemlens.model.network import Network
from tfmemlens.readers.keras_models._documents import network_of
from tfmemlens.readers.keras_models.hdf5 import optimizer_of, unknown_layers, with_stored

_AGAIN = "save it again with model.save('model.keras'), or give `model.to_json()`"


def sniff(_path: Path, head: bytes) -> bool:
    """A zip file."""
    return head[:4] in (b"PK\x03\x04", b"PK\x05\x06")


def read(path: Path) -> Network:
    """The model. Raises UnreadableInput."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
            if "config.json" not in names:
                raise UnreadableInput(f"{path} is a zip file without config.json, so no .keras file", _AGAIN)
            document = json.loads(archive.read("config.json"))
            metadata = json.loads(archive.read("metadata.json")) if "metadata.json" in names else {}
    except (
        zipfile.BadZipFile,
        zlib.error,
        ValueError,
        OSError,
        NotImplementedError,
        RuntimeError,
        EOFError,
    ) as problem:
        raise UnreadableInput(f"{path} is a damaged .keras file: {problem}", _AGAIN) from None
    version = metadata.get("keras_version") if isinstance(metadata, dict) else None
    network = network_of(document, str(path), version if isinstance(version, str) else None)
    wanted = "model.weights.h5" in names and (unknown_layers(network) or not network.optimizer)
    return _from_weights(path, network) if wanted else network


def _from_weights(path: Path, network: Network) -> Network:
    """What only the file of weights knows: shapes of the user's own layers, the optimizer of slots. Without
    h5py or when it is damaged, nothing.
    """
    with suppress(
        ImportError, OSError, RuntimeError, KeyError, ValueError, TypeError, zipfile.BadZipFile, zlib.error
    ):
        import h5py

        with (
            zipfile.ZipFile(path) as archive,
            archive.open("model.weights.h5") as raw,
            h5py.File(raw, "r") as file,
        ):
            return replace(with_stored(network, file), optimizer=network.optimizer or optimizer_of(file))
    return network
