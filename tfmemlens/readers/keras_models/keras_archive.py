"""A Keras 3 `.keras` file: a zip with `config.json`, `metadata.json` and the weights, which are not
needed.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import BinaryIO

from tfmemlens.errors import UnreadableInput
from tfmemlens.model.capture import Capture, Hints, Holds
from tfmemlens.model.network import Network
from tfmemlens.readers.contract import Confidence, Sample
from tfmemlens.readers.gathering.inputs import Opened
from tfmemlens.readers.keras_models._captures import capture_of
from tfmemlens.readers.keras_models._documents import network_of
from tfmemlens.readers.keras_models.hdf5 import arrays, asked, optimizer_of, unknown_layers, with_stored
from tfmemlens.values import replace

HOLDS = Holds.MODEL
SUFFIXES = (".keras",)
_AGAIN = "save it again with model.save('model.keras'), or give `model.to_json()`"


def sniff(sample: Sample) -> Confidence:
    """A zip file; with a config it is a model."""
    if sample.head[:4] not in (b"PK\x03\x04", b"PK\x05\x06"):
        return Confidence.NO
    import zipfile

    try:
        names = zipfile.ZipFile(sample.opened.file).namelist()
    except (zipfile.BadZipFile, OSError, ValueError):
        return Confidence.IF_TOLD
    return Confidence.CERTAIN if "config.json" in names else Confidence.IF_TOLD


def read(opened: Opened, hints: Hints = Hints()) -> Capture:
    """The model. Raises UnreadableInput."""
    del hints
    return capture_of(opened, "keras-archive", lambda: _network(opened.file, opened.path))


def _network(file: BinaryIO, path: str) -> Network:
    import zipfile
    import zlib

    try:
        with zipfile.ZipFile(file) as archive:
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
    network = network_of(document, path, version if isinstance(version, str) else None)
    wanted = "model.weights.h5" in names and (unknown_layers(network) or not network.optimizer)
    return _from_weights(file, network) if wanted else network


def _from_weights(file: BinaryIO, network: Network) -> Network:
    """What only the file of weights knows: shapes of the user's own layers, the optimizer of slots. Without
    h5py or when it is damaged, nothing.
    """
    import zipfile

    try:
        import h5py
    except ImportError:
        return network
    path = network.path
    with suppress(UnreadableInput):
        with (
            asked(path, lambda: zipfile.ZipFile(file)) as archive,
            asked(path, lambda: archive.open("model.weights.h5")) as raw,
            asked(path, lambda: h5py.File(raw, "r")) as weights,
        ):
            stored = asked(path, lambda: arrays(weights)) if unknown_layers(network) else []
            optimizer = network.optimizer or asked(path, lambda: optimizer_of(weights))
        return replace(with_stored(network, stored) if stored else network, optimizer=optimizer)
    return network
