"""The parts of a model's document, each of the kind that Keras writes there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfmemlens.errors import NotUnderstood

_KINDS = {type(None): "missing", list: "a list", dict: "an object", str: "a text"}


class MalformedModel(NotUnderstood):
    """A document that no Keras writes: the reason."""


def mapping(value: object, what: str) -> Mapping[str, Any]:
    """An object of JSON. Raises MalformedModel."""
    if not isinstance(value, Mapping):
        raise MalformedModel(f"{what} is {_kind(value)}, and not an object")
    return value


def sequence(value: object, what: str) -> list[Any]:
    """A list. Raises MalformedModel."""
    if not isinstance(value, list | tuple):
        raise MalformedModel(f"{what} is {_kind(value)}, and not a list")
    return list(value)


def layers(value: object) -> list[Mapping[str, Any]]:
    """The documents of layers, each with its class and settings. Raises MalformedModel."""
    documents = [mapping(each, "a layer") for each in sequence(value, "the list of layers")]
    for document in documents:
        class_of(document)
        if "config" not in document:
            raise MalformedModel(f"a layer {document['class_name']} has no config")
    return documents


def class_of(document: Mapping[str, Any]) -> str:
    """The name of a layer's class. Raises MalformedModel."""
    name = document.get("class_name")
    if not isinstance(name, str):
        raise MalformedModel("a layer has no class_name")
    return name


def whole(value: object, what: str) -> int:
    """A whole number. Raises MalformedModel."""
    if not isinstance(value, int):
        raise MalformedModel(f"{what} is {_kind(value)}, and not a whole number")
    return int(value)


def _kind(value: object) -> str:
    return _KINDS.get(type(value), "a number")
