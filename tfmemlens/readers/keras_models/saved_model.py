"""A SavedModel folder: Keras's own description of the model where it is kept, else the variables' names and
shapes.

TensorFlow 2.5 to 2.15 write it to `keras_metadata.pb`, 2.0 to 2.4 into the object graph of `saved_model.pb`;
Keras 3's `model.export()` keeps neither.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tfmemlens.errors import UnreadableInput
from tfmemlens.model.capture import Capture, Hints, Holds
from tfmemlens.model.network import LayerSpec, Network, WeightSpec
from tfmemlens.model.tensor import numpy_dtype_of_enum
from tfmemlens.readers.contract import Confidence, Sample
from tfmemlens.readers.gathering.inputs import Opened
from tfmemlens.readers.keras_models._captures import capture_of
from tfmemlens.readers.keras_models._documents import network_of
from tfmemlens.schema import parse

HOLDS = Holds.MODEL
_FILES = ("saved_model.pb", "keras_metadata.pb")
_OPTIMIZER = ("/m", "/v", "/momentum", "/rms", "/velocity", "/accumulator", "/vhat", "/moving_average")


def sniff(sample: Sample) -> Confidence:
    """A folder, or a file in it: as a graph it is read by `formats/graph_file.py`."""
    path = Path(sample.opened.path)
    return Confidence.IF_TOLD if path.is_dir() or path.name in _FILES else Confidence.NO


def read(opened: Opened, hints: Hints = Hints()) -> Capture:
    """The model, or its weights alone. Raises UnreadableInput."""
    del hints
    return capture_of(opened, "saved-model", lambda: _network(Path(opened.path)))


def _network(path: Path) -> Network:
    folder = path if path.is_dir() else path.parent
    for document in _asked(path, lambda: _metadata(folder)):
        if network := _described(document, str(path)):
            return network
    objects = _asked(path, lambda: _objects(folder))
    for document in _asked(path, lambda: _of_object(objects)):
        if network := _described(document, str(path)):
            return network
    return _variables_alone([node.variable for node in objects if node.HasField("variable")], str(path))


def _asked(path: Path, question: Callable[[], list[Any]]) -> list[Any]:
    """What a file of the folder holds. Raises UnreadableInput where it is damaged; nothing else belongs in
    the question.
    """
    from google.protobuf.message import DecodeError

    try:
        return question()
    except (DecodeError, ValueError, OSError) as problem:
        raise UnreadableInput(
            f"{path} is a damaged SavedModel: {problem}", "copy the folder again, or give `model.to_json()`"
        ) from None


def _described(document: object, path: str) -> Network | None:
    """The model in a document, None where that lists no layers. Raises UnreadableInput."""
    if not isinstance(document, dict):
        return None
    inner = document.get("model_config")
    if isinstance(inner, dict) and _lists_layers(inner):
        keep = {key: document[key] for key in ("keras_version", "training_config") if key in document}
        return network_of({**inner, **keep}, path)
    return network_of(document, path) if _lists_layers(document) else None


def _lists_layers(document: dict[str, Any]) -> bool:
    config = document.get("config")
    return isinstance(config, dict) and isinstance(config.get("layers"), list)


def _metadata(folder: Path) -> list[Any]:
    file = folder / "keras_metadata.pb"
    nodes = parse("SavedMetadata", file.read_bytes()).nodes if file.exists() else ()
    return [json.loads(node.metadata) for node in nodes if node.node_path == "root"]


def _of_object(objects: list[Any]) -> list[Any]:
    """What the object graph's root says of itself."""
    return [
        json.loads(node.user_object.metadata)
        for node in objects[:1]
        if node.HasField("user_object") and node.user_object.metadata.startswith("{")
    ]


def _objects(folder: Path) -> list[Any]:
    graphs = parse("SavedModel", (folder / "saved_model.pb").read_bytes()).meta_graphs
    return list(graphs[0].object_graph_def.nodes) if graphs else []


def _variables_alone(variables: list[Any], path: str) -> Network:
    told = [
        (each.name, tuple(int(part.size) for part in each.shape.dim), each.dtype, bool(each.trainable))
        for each in variables
    ]
    told = [each for each in told if not each[0].endswith(_OPTIMIZER)]
    if (
        len(set(Counter(told).values())) == 1
    ):  # Keras 3 exports each variable once for the model and once for its function
        told = list(dict.fromkeys(told))
    weights_of: dict[str, list[WeightSpec]] = {}
    for full, shape, kind, trainable in told:
        layer, _, name = full.rpartition("/")
        weights_of.setdefault(layer or full or "variables", []).append(
            WeightSpec(name or "variable", shape, numpy_dtype_of_enum(kind) or "float32", trainable)
        )
    if not weights_of:
        raise UnreadableInput(
            f"{path} holds neither a Keras model nor variables", "give `model.to_json()`, or module:function"
        )
    layers = tuple(
        LayerSpec(name, "Weights", weights=tuple(specs), problem="the SavedModel describes no layers")
        for name, specs in weights_of.items()
    )
    return Network(layers, name="weights", dialect="variables", path=path)
