"""Who reads whose tensors: the `inbound_nodes` of Keras 1 and 2 (nested lists) and of Keras 3 (arguments with
`__keras_tensor__`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tfmemlens.model.network import NetworkCall, TensorRef
from tfmemlens.model.tensor import TensorType
from tfmemlens.readers.keras_models._checked import MalformedModel, mapping, sequence, whole

Names = set[str]


def calls_of(node: Any, names: Names, nested: frozenset[str]) -> NetworkCall:
    """One entry of `inbound_nodes`."""
    if isinstance(node, Mapping) and "args" in node:
        return _keras_3(node)
    return _keras_2(node, names, nested)


def references(value: Any, names: Names, nested: frozenset[str]) -> tuple[TensorRef, ...]:
    """The tensors that `input_layers` or `output_layers` name, whatever their nesting (a dict, a list of
    lists, one alone).
    """
    tensors: list[TensorRef] = []
    _walk_2(value, names, nested, tensors)
    return tuple(tensors)


def _keras_3(node: Mapping[str, Any]) -> NetworkCall:
    inbound: list[TensorRef] = []
    declared: list[TensorType] = []

    def convert(value: Any) -> object:
        if isinstance(value, list | tuple):
            return [convert(each) for each in value]
        if not isinstance(value, Mapping):
            return value
        config, kind = value.get("config"), value.get("class_name")
        if kind == "__keras_tensor__" and isinstance(config, Mapping):
            history = sequence(config.get("keras_history"), "keras_history")
            if len(history) != 3:
                raise MalformedModel(f"keras_history has {len(history)} parts")
            inbound.append(
                TensorRef(str(history[0]), *(whole(each, "keras_history") for each in history[1:]))
            )
            declared.append(_type_of(config.get("shape"), config.get("dtype")))
            return inbound[-1]
        return _literal(value, convert)

    arguments = {str(index): convert(value) for index, value in enumerate(sequence(node["args"], "args"))}
    keywords = mapping(node.get("kwargs") or {}, "kwargs")
    arguments |= {str(name): convert(value) for name, value in keywords.items()}
    return NetworkCall(tuple(inbound), arguments, tuple(declared))


def _type_of(shape: Any, dtype: Any) -> TensorType:
    known = isinstance(shape, list) and all(
        size is None or (isinstance(size, int) and size >= 0) for size in shape
    )
    return TensorType(tuple(shape) if known else None, dtype if isinstance(dtype, str) else None)


def _literal(value: Mapping[str, Any], convert: Callable[[Any], object]) -> object:
    """Slices, tuples, constant tensors; other objects stay as they are."""
    config, kind = value.get("config"), value.get("class_name")
    if kind == "__slice__" and isinstance(config, Mapping):
        return slice(*(convert(config.get(key)) for key in ("start", "stop", "step")))
    if kind == "__ellipsis__":
        return Ellipsis
    if kind == "__tuple__":
        return [convert(each) for each in sequence(value.get("items", ()), "items")]
    if kind in ("__tensor__", "__numpy__") and isinstance(config, Mapping):
        return convert(config.get("value"))
    return {key: convert(each) for key, each in value.items()}


def _keras_2(node: Any, names: Names, nested: frozenset[str]) -> NetworkCall:
    """`[["x", 0, 0, {}], …]`, a flat `["x", 0, 0, {"y": ["z", 0, 0]}]` of an op, or a dict of named
    tensors.
    """
    inbound: list[TensorRef] = []
    flat = isinstance(node, list) and node and isinstance(node[0], str)
    entries = list(node.values()) if isinstance(node, Mapping) else sequence(node, "an inbound node")
    if flat:
        entries = [node]
    main: list[object] = []
    keywords: dict[str, Any] = {}
    for entry in entries:
        if isinstance(entry, list) and len(entry) > 2 and entry[0] == "_CONSTANT_VALUE":
            main.append(entry[2])
        else:
            main.append(_walk_2(entry[:3] if _is_reference(entry, names) else entry, names, nested, inbound))
        if isinstance(entry, list) and len(entry) > 3 and isinstance(entry[3], Mapping):
            keywords = keywords or dict(entry[3])
    arguments: dict[str, object] = {"0": main[0] if len(main) == 1 else main}
    arguments |= {key: _walk_2(value, names, nested, inbound) for key, value in keywords.items()}
    return NetworkCall(tuple(inbound), arguments)


def _is_reference(value: Any, names: Names) -> bool:
    return (
        isinstance(value, list | tuple)
        and len(value) in (3, 4)
        and isinstance(value[0], str)
        and value[0] in names
        and all(isinstance(each, int) and not isinstance(each, bool) for each in value[1:3])
    )


def _walk_2(value: Any, names: Names, nested: frozenset[str], tensors: list[TensorRef]) -> object:
    if _is_reference(value, names):
        call = int(value[1]) - (
            value[0] in nested
        )  # Keras 2 counts a nested model's own input as its first call
        tensors.append(TensorRef(value[0], max(call, 0), int(value[2])))
        return tensors[-1]
    if isinstance(value, list | tuple):
        if len(value) == 2 and value[0] == "_CONSTANT_VALUE":
            return value[1]
        return [_walk_2(each, names, nested, tensors) for each in value]
    if isinstance(value, Mapping):
        if value.get("class_name") == "__ellipsis__":
            return Ellipsis
        if value.get("class_name") == "__tuple__":
            return _walk_2(value.get("items", []), names, nested, tensors)
        if set(value) == {"start", "stop", "step"}:
            return slice(*(_walk_2(value[key], names, nested, tensors) for key in ("start", "stop", "step")))
        return {key: _walk_2(each, names, nested, tensors) for key, each in value.items()}
    return value
