"""`model.save("model.h5")`: the architecture is the attribute `model_config` of the file; a file of weights
alone gives only these.
"""

from __future__ import annotations

from typing import Any

from tfmemlens.errors import MissingExtra, UnreadableInput
from tfmemlens.model.capture import Capture, Hints, Holds
from tfmemlens.model.network import LayerSpec, Network, WeightSpec
from tfmemlens.readers.contract import Confidence, Sample
from tfmemlens.readers.gathering.inputs import Opened
from tfmemlens.readers.keras_models._captures import capture_of
from tfmemlens.readers.keras_models._documents import network_of_text
from tfmemlens.values import replace

HOLDS = Holds.MODEL
SUFFIXES = (".h5",)
_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_AGAIN = "copy it again, in binary mode, or give `model.to_json()`"


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
    try:
        with h5py.File(opened.file, "r") as file:
            config = file.attrs.get("model_config")
            if config is not None:
                named = {
                    "keras_version": file.attrs.get("keras_version"),
                    "training_config": file.attrs.get("training_config"),
                }
                return with_stored(
                    network_of_text(
                        config, opened.path, **{key: _text(value) for key, value in named.items()}
                    ),
                    file,
                )
            return _weights_alone(file, opened.path)
    except (OSError, RuntimeError, KeyError, ValueError, TypeError) as problem:
        raise UnreadableInput(f"{opened.path} is a damaged H5 file: {problem}", _AGAIN) from None


def with_stored(network: Network, file: Any) -> Network:
    """The network with the weights that an open H5 file holds of layers which only their own code could
    describe.
    """
    if not unknown_layers(network):
        return network
    weights_of = _stored(file)
    return replace(
        network,
        layers=tuple(replace(layer, stored=weights_of.get(layer.name, ())) for layer in network.layers),
    )


def unknown_layers(network: Network) -> list[str]:
    """The layers that are neither Keras's own nor ops."""
    from tfmemlens.knowledge.keras_layers import RULES

    return [
        layer.name
        for _, layer in network.walk()
        if layer.class_name not in RULES and "ops" not in (layer.module or "")
    ]


def _stored(file: Any) -> dict[str, tuple[WeightSpec, ...]]:
    """Weights by the layer's name: Keras 2 has it in the path, Keras 3 as the attribute `name` of the group
    `vars`.
    """
    import h5py

    weights_of: dict[str, list[WeightSpec]] = {}

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
        name = parts[-1].partition(":")[0]
        weights_of.setdefault(layer, []).append(
            WeightSpec(name, tuple(item.shape), str(item.dtype), not name.startswith("moving_"))
        )

    file.visititems(visit)
    return {name: tuple(specs) for name, specs in weights_of.items()}


def optimizer_of(file: Any) -> str | None:
    """The optimizer whose slots an open H5 file of Keras 3 holds; its group is named `rm_sprop`."""
    group = file.get("optimizer/vars")
    name = _text(group.attrs.get("name")) if group is not None else None
    return name.replace("_", "") if name else None


def _text(value: Any) -> str | None:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else None


def _weights_alone(file: Any, path: str) -> Network:
    import h5py

    weights_of: dict[str, list[WeightSpec]] = {}

    def visit(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and "optimizer" not in name:
            parts = name.removeprefix("model_weights/").split("/")
            spec = WeightSpec(
                parts[-1].partition(":")[0],
                tuple(item.shape),
                str(item.dtype),
                not parts[-1].startswith("moving_"),
            )
            weights_of.setdefault(parts[0] if parts[0] != "layers" else "/".join(parts[:2]), []).append(spec)

    file.visititems(visit)
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
