"""`model.save("model.h5")`: the architecture is the attribute `model_config` of the file; a file of weights
alone gives only these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from tfmemlens.errors import MissingExtra, UnreadableInput
from tfmemlens.model.capture import Capture, Hints, Holds
from tfmemlens.model.network import LayerSpec, Network, WeightSpec
from tfmemlens.readers.contract import Confidence, Sample
from tfmemlens.readers.gathering.inputs import Opened
from tfmemlens.readers.keras_models._captures import capture_of
from tfmemlens.readers.keras_models._documents import network_of_text
from tfmemlens.values import dataclass, replace

HOLDS = Holds.MODEL
SUFFIXES = (".h5",)
_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_AGAIN = "copy it again, in binary mode, or give `model.to_json()`"
_ATTRIBUTES = ("model_config", "keras_version", "training_config")
_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class StoredArray:
    """A weight in a file: its path there, and the layer that owns it."""

    path: str
    layer: str
    shape: tuple[int, ...]
    dtype: str

    @property
    def weight(self) -> WeightSpec:
        """The weight as a layer has it."""
        name = self.path.rpartition("/")[2].partition(":")[0]
        return WeightSpec(name, self.shape, self.dtype, not name.startswith("moving_"))


def sniff(sample: Sample) -> Confidence:
    """HDF5's signature."""
    return Confidence.CERTAIN if sample.head.startswith(_SIGNATURE) else Confidence.NO


def read(opened: Opened, hints: Hints = Hints()) -> Capture:
    """The model, or its weights alone. Raises UnreadableInput, and MissingExtra without h5py."""
    del hints
    return capture_of(opened, "hdf5", lambda: _network(opened))


def _network(opened: Opened) -> Network:
    try:
        import h5py
    except ImportError:
        raise MissingExtra(
            "reading an H5 file needs the package h5py", "pip install h5py, or give `model.to_json()`"
        ) from None
    path = opened.path
    with asked(path, lambda: h5py.File(opened.file, "r")) as file:
        told = asked(path, lambda: {name: _text(file.attrs.get(name)) for name in _ATTRIBUTES})
        config = told.pop("model_config")
        if config is None:
            return _weights_alone(asked(path, lambda: arrays(file)), path)
        network = network_of_text(config, path, **told)
        return with_stored(network, asked(path, lambda: arrays(file))) if unknown_layers(network) else network


def asked(path: str, question: Callable[[], _Answer]) -> _Answer:
    """What h5py answers. Raises UnreadableInput where the file is damaged; nothing else belongs in the
    question.
    """
    import zipfile
    import zlib

    try:
        return question()
    except (
        OSError,
        RuntimeError,
        KeyError,
        ValueError,
        TypeError,
        zipfile.BadZipFile,
        zlib.error,
    ) as problem:
        raise UnreadableInput(f"{path} is a damaged H5 file: {problem}", _AGAIN) from None


def with_stored(network: Network, stored: Sequence[StoredArray]) -> Network:
    """The network with the weights in an H5 file of layers which only their own code could describe."""
    weights_of: dict[str, list[WeightSpec]] = {}
    for array in stored:
        weights_of.setdefault(array.layer, []).append(array.weight)
    return replace(
        network,
        layers=tuple(
            replace(layer, stored=tuple(weights_of.get(layer.name, ()))) for layer in network.layers
        ),
    )


def unknown_layers(network: Network) -> list[str]:
    """The layers that are neither Keras's own nor ops."""
    from tfmemlens.knowledge.keras_layers import RULES

    return [
        layer.name
        for _, layer in network.walk()
        if layer.class_name not in RULES and "ops" not in (layer.module or "")
    ]


def arrays(file: Any) -> list[StoredArray]:
    """The weights in an open H5 file. Keras 2 has the layer's name in the path, Keras 3 as the attribute
    `name` of the group `vars`.
    """
    import h5py

    stored: list[StoredArray] = []

    def visit(path: str, item: Any) -> None:
        parts = path.split("/")
        if not isinstance(item, h5py.Dataset) or "optimizer" in parts[0]:
            return
        named = [
            _text(file["/".join(parts[:at])].attrs.get("name"))
            for at in range(1, len(parts))
            if parts[at - 1] == "vars"
        ]
        outer = (
            _text(file["/".join(parts[:2])]["vars"].attrs.get("name"))
            if parts[0] == "layers" and "vars" in file["/".join(parts[:2])]
            else None
        )
        layer = (
            outer
            or next(filter(None, named), None)
            or (parts[1] if parts[0] == "model_weights" else parts[0])
        )
        stored.append(StoredArray(path, layer, tuple(item.shape), str(item.dtype)))

    file.visititems(visit)
    return stored


def optimizer_of(file: Any) -> str | None:
    """The optimizer whose slots an open H5 file of Keras 3 holds; its group is named `rm_sprop`."""
    group = file.get("optimizer/vars")
    name = _text(group.attrs.get("name")) if group is not None else None
    return name.replace("_", "") if name else None


def _text(value: Any) -> str | None:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else None


def _weights_alone(stored: Sequence[StoredArray], path: str) -> Network:
    weights_of: dict[str, list[WeightSpec]] = {}
    for array in stored:
        parts = array.path.removeprefix("model_weights/").split("/")
        weights_of.setdefault(parts[0] if parts[0] != "layers" else "/".join(parts[:2]), []).append(
            array.weight
        )
    if not weights_of:
        raise UnreadableInput(
            f"{path} is an H5 file without a Keras model",
            "save it with model.save('model.h5'), or give `model.to_json()`",
        )
    layers = tuple(
        LayerSpec(name, "Weights", weights=tuple(specs), problem="the file holds weights only")
        for name, specs in weights_of.items()
    )
    return Network(layers, name="weights", dialect="variables", path=path)
