"""From Keras's JSON document of a model to a Network: Sequential, functional and nested, in the dialects of
Keras 1, 2 and 3.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from tfmemlens.errors import UnreadableInput
from tfmemlens.model.network import LayerSpec, Network, NetworkCall, TensorRef
from tfmemlens.readers.keras_models._calls import calls_of, references
from tfmemlens.readers.keras_models._checked import MalformedModel, class_of, layers, mapping, sequence
from tfmemlens.values import replace

_SUBCLASSED = (
    "give a functional or Sequential model; for a subclassed one give `module:function`, so that its layers"
    " can be asked"
)
_BUILT_LATER = frozenset(("MultiHeadAttention", "GroupQueryAttention", "GroupedQueryAttention"))
_WITHOUT_WEIGHTS = frozenset(
    "Activation Add Average Concatenate Dot Dropout Flatten GlobalAveragePooling1D GlobalAveragePooling2D"
    " GlobalMaxPooling1D GlobalMaxPooling2D MaxPooling1D MaxPooling2D Multiply Permute ReLU Reshape Rescaling"
    " Softmax SpatialDropout1D Subtract".split()
)


def network_of_text(
    text: str | bytes, path: str, keras_version: str | None = None, training_config: str | None = None
) -> Network:
    """The model in a JSON text; an H5 file keeps the version and the training beside it. Raises
    UnreadableInput.
    """
    try:
        document = json.loads(text)
        if isinstance(
            document, str
        ):  # `json.dump(model.to_json(), file)`: a JSON text that holds a JSON text
            document = json.loads(document)
    except ValueError as problem:
        raise UnreadableInput(
            f"{path} holds no whole JSON document: {problem}",
            "was it cut? write it again: open(path, 'w').write(model.to_json())",
        ) from None
    network = network_of(document, path, keras_version)
    if training_config and not network.optimizer:
        with suppress(ValueError):
            compiled = {"compile_config": json.loads(training_config)}
            return replace(
                network,
                optimizer=_optimizer(compiled),
                optimizer_options=_optimizer_options(compiled),
                loss=network.loss or _loss_name(_compiled_loss(compiled)),
                losses=network.losses or _losses(compiled),
                metrics=_metrics(compiled) if network.metrics is None else network.metrics,
                jit_compile=_jit(compiled) if network.jit_compile is None else network.jit_compile,
            )
    return network


def network_of(document: Any, path: str, version: str | None = None) -> Network:
    """The model in a document. Raises UnreadableInput."""
    if isinstance(document, Mapping) and "model_config" in document and "class_name" not in document:
        document = document["model_config"]
    if not isinstance(document, Mapping) or not {"class_name", "config"} <= document.keys():
        raise UnreadableInput(
            f"{path} is JSON, but no Keras model", "write one with `open(path, 'w').write(model.to_json())`"
        )
    document = _plain(document)
    version = version or _text(document.get("keras_version"))
    dialect = _dialect(document, version)
    try:
        network = _model(document, dialect)
    except MalformedModel as problem:
        raise UnreadableInput(
            f"{path} looks like a Keras model, but its layers cannot be read: {problem}", _SUBCLASSED
        ) from None
    if not network.layers:
        raise UnreadableInput(
            f"{path} holds a {document['class_name']}, which does not list its layers", _SUBCLASSED
        )
    return replace(
        network,
        version=version,
        optimizer=_optimizer(document),
        optimizer_options=_optimizer_options(document),
        loss=_loss_name(_compiled_loss(document)),
        losses=_losses(document),
        metrics=_metrics(document),
        jit_compile=_jit(document),
        path=path,
    )


def _plain(value: Any) -> Any:
    """Tuples and shapes as lists: a SavedModel writes `{"class_name": "__tuple__", "items": [null, 6]}`."""
    if isinstance(value, Mapping):
        if value.get("class_name") in ("__tuple__", "TensorShape") and isinstance(value.get("items"), list):
            return [_plain(each) for each in value["items"]]
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list) else value


def _dialect(document: Mapping[str, Any], version: str | None) -> str:
    if version and version.split(".")[0].isdecimal():
        if version.startswith("1"):
            return "keras-1"
        return "keras-3" if int(version.split(".")[0]) >= 3 else "keras-2"
    if "module" in document or "registered_name" in document:
        return "keras-3"
    config = document["config"]
    listed = config if isinstance(config, list) else []
    if isinstance(config, Mapping):
        listed = config.get("layers", [])
    old = ("nb_filter", "output_dim", "border_mode", "dim_ordering")
    told = (
        [layer for layer in listed if isinstance(layer, Mapping) and isinstance(layer.get("config"), Mapping)]
        if isinstance(listed, list)
        else []
    )
    embedded = any(
        any(word in layer["config"] for word in old) and layer.get("class_name") != "Embedding"
        for layer in told
    )
    return "keras-1" if embedded else "keras-2"


def _described_optimizer(document: Mapping[str, Any]) -> Any:
    compiled = document.get("compile_config") or document.get("training_config")
    if not isinstance(compiled, Mapping):
        return None
    return compiled.get("optimizer") or compiled.get("optimizer_config")


def _optimizer(document: Mapping[str, Any]) -> str | None:
    described = _described_optimizer(document)
    if not isinstance(described, Mapping):
        return _text(described)
    name, config = (_text(described.get("class_name")) or "").rpartition(">")[2], described.get("config")
    settings = config if isinstance(config, Mapping) else {}
    if name == "SGD" and settings.get("momentum"):
        return "momentum"
    return "amsgrad" if name == "Adam" and settings.get("amsgrad") else name or None


def _optimizer_options(document: Mapping[str, Any]) -> tuple[str, ...]:
    """The arguments that are set, other than to the defaults None, 0 and False."""
    described = _described_optimizer(document)
    config = described.get("config") if isinstance(described, Mapping) else None
    return tuple(name for name, value in config.items() if value) if isinstance(config, Mapping) else ()


def _metrics(document: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Names of the compiled metrics, of all outputs together; None where nothing was compiled."""
    compiled = document.get("compile_config") or document.get("training_config")
    if not isinstance(compiled, Mapping):
        return None
    metrics: list[str] = []
    waiting = [compiled.get("metrics"), compiled.get("weighted_metrics")]
    while waiting:
        told = waiting.pop()
        if isinstance(told, str):
            metrics.append(told.lower())
        elif isinstance(told, Mapping) and "class_name" in told:
            config = told.get("config")
            waiting.append(config.get("name") if isinstance(config, Mapping) else told["class_name"])
        elif isinstance(told, Mapping):
            waiting += told.values()
        elif isinstance(told, list):
            waiting += told
    return tuple(sorted(set(metrics)))


def _jit(document: Mapping[str, Any]) -> bool | None:
    compiled = document.get("compile_config") or document.get("training_config")
    told = compiled.get("jit_compile") if isinstance(compiled, Mapping) else None
    return told if isinstance(told, bool) else None


def _compiled_loss(document: Mapping[str, Any]) -> object:
    compiled = document.get("compile_config") or document.get("training_config")
    return compiled.get("loss") if isinstance(compiled, Mapping) else None


def _losses(document: Mapping[str, Any]) -> dict[str, str]:
    """By output, where a dict was compiled."""
    told = _compiled_loss(document)
    if not isinstance(told, Mapping) or "class_name" in told:
        return {}
    named = {str(name): _loss_name(loss) for name, loss in told.items()}
    return {name: loss for name, loss in named.items() if loss is not None}


def _loss_name(told: object) -> str | None:
    """A list or dict of losses stands for its first; a wrapped function names itself inside."""
    for _ in range(3):
        if isinstance(told, Mapping):
            inner = told.get("config")
            wrapped = (
                inner.get("fn")
                if isinstance(inner, Mapping) and told.get("class_name") == "LossFunctionWrapper"
                else None
            )
            told = wrapped or told.get("class_name") or next(iter(told.values()), None)
        elif isinstance(told, list):
            told = next(iter(told), None)
    return told.lower().replace("_", "") if isinstance(told, str) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _model(document: Mapping[str, Any], dialect: str) -> Network:
    config = document["config"]
    if isinstance(config, list):  # Sequential before Keras 2.2.3
        return _sequential(config, "sequential", dialect, None)
    config = mapping(config, "the model's config")
    name = str(config.get("name") or document.get("name") or "model")
    if "input_layers" in config:
        return _functional(config, name, dialect)
    layers = config.get("layers")
    if isinstance(layers, list):
        return _sequential(
            layers, name, dialect, config.get("build_input_shape") or _built(document.get("build_config"))
        )
    return Network((), name=name, dialect=dialect)


def _built(config: Any) -> Any:
    return config.get("input_shape") if isinstance(config, Mapping) else None


def is_model(document: Mapping[str, Any]) -> bool:
    """Whether a layer's document is a nested model."""
    config = document.get("config")
    if isinstance(config, list):
        return document.get("class_name") == "Sequential"
    return (
        isinstance(config, Mapping)
        and isinstance(config.get("layers"), list)
        and ("input_layers" in config or document.get("class_name") == "Sequential")
    )


def _functional(config: Mapping[str, Any], name: str, dialect: str) -> Network:
    documents = layers(config.get("layers"))
    names = {_name(each) for each in documents}
    nested = (
        frozenset(_name(each) for each in documents if is_model(each))
        if dialect != "keras-3"
        else frozenset()
    )
    made = []
    for each in documents:
        nodes = sequence(each.get("inbound_nodes") or [], "inbound_nodes")
        calls = tuple(calls_of(node, names, nested) for node in nodes)
        made.append(layer_of(each, dialect, calls or (NetworkCall(),)))
    inputs = references(config["input_layers"], names, nested)
    if not isinstance(config.get("output_layers"), list | Mapping):
        raise MalformedModel("output_layers is missing, or neither a list nor an object")
    if (
        dialect == "keras-3"
    ):  # it counts the calls of a nested model from 1 here, and from 0 in `keras_history`
        nested = frozenset(_name(each) for each in documents if each["class_name"] == "Functional")
    outputs = references(config["output_layers"], names, nested)
    return Network(_trained_all_the_same(made, dialect), inputs, outputs, name, dialect)


def _trained_all_the_same(made: list[LayerSpec], dialect: str) -> tuple[LayerSpec, ...]:
    """Keras 3 makes the parts of an attention in several heads when it is built, and those are trained
    although the layer was made with `trainable=False`. Set afterwards, it does freeze them; then layers
    without weights are mostly frozen too.
    """
    without = [layer for layer in made if layer.class_name in _WITHOUT_WEIGHTS]
    if dialect != "keras-3" or not without or not all(layer.trainable for layer in without):
        return tuple(made)
    return tuple(replace(each, trainable=True) if each.class_name in _BUILT_LATER else each for each in made)


def _sequential(documents: object, name: str, dialect: str, built: Any) -> Network:
    made: list[LayerSpec] = []
    for document in layers(documents):
        if not made and document["class_name"] != "InputLayer":
            shape = _input_shape(document["config"]) or built
            config = {"batch_shape": shape} if shape else {}
            made.append(
                LayerSpec(
                    f"{_name(document)}_input",
                    "InputLayer",
                    {**config, "implied": True, **_input_dtype(document)},
                    (NetworkCall(),),
                )
            )
        made.append(layer_of(document, dialect, (NetworkCall((TensorRef(made[-1].name),) if made else ()),)))
    made = _renamed(made)
    if not made:
        return Network((), name=name, dialect=dialect)
    return Network(tuple(made), (TensorRef(made[0].name),), (TensorRef(made[-1].name),), name, dialect)


def _renamed(made: list[LayerSpec]) -> list[LayerSpec]:
    """Old files give several layers one name; the chain needs them apart."""
    seen: dict[str, int] = {}
    renamed: list[LayerSpec] = []
    for layer in made:
        count = seen[layer.name] = seen.get(layer.name, 0) + 1
        name = layer.name if count == 1 else f"{layer.name}_{count}"
        inbound = (TensorRef(renamed[-1].name),) if renamed else ()
        renamed.append(replace(layer, name=name, calls=(NetworkCall(inbound),)))
    return renamed


def _input_shape(config: Any) -> Any:
    if not isinstance(config, Mapping):
        return None
    if config.get("batch_input_shape") or config.get("batch_shape"):
        return config.get("batch_input_shape") or config.get("batch_shape")
    if config.get("input_shape"):
        return [None, *sequence(config["input_shape"], "input_shape")]
    return (
        [None, config["input_dim"]]
        if isinstance(config.get("input_dim"), int) and "output_dim" in config and "nb_filter" not in config
        else None
    )


def _input_dtype(document: Mapping[str, Any]) -> dict[str, str]:
    """Indices, not numbers, go into an Embedding that comes first."""
    return {"dtype": "int32"} if document["class_name"] == "Embedding" else {}


def _name(document: Mapping[str, Any]) -> str:
    config = document.get("config")
    own = config.get("name") if isinstance(config, Mapping) else None
    return str(document.get("name") or own or class_of(document).lower())


def layer_of(
    document: Mapping[str, Any], dialect: str, calls: tuple[NetworkCall, ...] = (NetworkCall(),)
) -> LayerSpec:
    """One layer with what it wraps."""
    config = document.get("config")
    if is_model(document):
        network = _model(document, dialect)
        given = isinstance(config, Mapping) and config.get("trainable") is False
        return LayerSpec(
            _name(document),
            class_of(document),
            {},
            calls,
            module=_text(document.get("module")),
            trainable=not given,
            network=network,
        )
    if not isinstance(config, Mapping):
        config = {}
    inner = tuple(
        layer_of(each, dialect)
        for key in ("layer", "forward_layer", "backward_layer", "cell", "cells")
        for each in _wrapped(config.get(key))
    )
    return LayerSpec(
        _name(document),
        class_of(document).rpartition(">")[2],
        config,
        calls,
        module=_text(document.get("module")),
        trainable=config.get("trainable") is not False,
        inner=inner,
    )


def _wrapped(value: Any) -> list[Mapping[str, Any]]:
    values = value if isinstance(value, list) else [value]
    return [
        each for each in values if isinstance(each, Mapping) and "class_name" in each and "config" in each
    ]
