"""TensorFlow's binary formats, as far as memory is concerned: message classes without TensorFlow.

The fields stand in one table (`_fields.py`) and become protobuf classes when one is first asked for. The package is called
`tfmemlens_schema`, so the classes live beside TensorFlow's own in one process. Fields that tfmemlens does not need are left out:
protobuf skips what it does not know, so files of any TensorFlow parse.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from tfmemlens.model.tensor import enum_of

if TYPE_CHECKING:
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.message import Message

_TYPE_NAME = re.compile(r"(?<=[:\[,\s])DT_[A-Z0-9_]+\b")
"""Data types are spelled in the text format (`type: DT_FLOAT`); the table keeps them as numbers."""
PACKAGE = "tfmemlens_schema"


@cache
def message(name: str) -> type[Any]:
    """The class of a message, by TensorFlow's name: `message("RunMetadata")()`. Raises KeyError for a name that is not in the table."""
    from google.protobuf import message_factory

    descriptor = _pool().FindMessageTypeByName(f"{PACKAGE}.{name}")
    if hasattr(message_factory, "GetMessageClass"):
        found: type[Any] = message_factory.GetMessageClass(descriptor)
        return found
    factory: Any = message_factory.MessageFactory()
    old: type[Any] = factory.GetPrototype(descriptor)  # protobuf 4.21
    return old


def parse(name: str, raw: bytes) -> Any:
    """The message in these bytes. Raises google.protobuf.message.DecodeError where they are no such message."""
    found: Message = message(name)()
    found.ParseFromString(raw)
    return found


def parse_text(name: str, text: str) -> Any:
    """The message in protobuf's text format; fields that the table leaves out are skipped. Raises google.protobuf.text_format.ParseError."""
    from google.protobuf import text_format

    found: Message = message(name)()
    return text_format.Parse(_TYPE_NAME.sub(lambda word: str(enum_of(word[0])), text), found, allow_unknown_field=True)


@lru_cache(maxsize=1)
def _pool() -> DescriptorPool:
    from google.protobuf.descriptor_pool import DescriptorPool

    from tfmemlens.schema._build import file_of
    from tfmemlens.schema._fields import FIELDS

    pool = DescriptorPool()
    pool.AddSerializedFile(file_of(FIELDS, PACKAGE).SerializeToString())
    return pool
