"""TensorFlow's binary formats, as far as memory is concerned: message classes without TensorFlow.

The fields stand in one table (`_fields.py`) and become protobuf classes when one is first asked for. The
package is called `tfmemlens_schema`, so the classes live beside TensorFlow's own in one process. Fields that
tfmemlens does not need are left out: protobuf skips what it does not know, so files of any TensorFlow parse.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from tfmemlens.model.tensor import enum_of
from tfmemlens.patterns import regex

if TYPE_CHECKING:
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.message import Message

_TYPE_NAME = regex(r"(?<=[:\[,\s])DT_[A-Z0-9_]+\b")
"""Data types are spelled in the text format (`type: DT_FLOAT`); the table keeps them as numbers."""
_QUOTED_TYPE = regex(r'"(DT_[A-Z0-9_]+)"')
PACKAGE = "tfmemlens_schema"


def message(name: str) -> type[Any]:
    """The class of a message, by TensorFlow's name: `message("RunMetadata")()`. Raises KeyError for a name
    that is not in the table.
    """
    return _class(name, True)


@cache
def _class(name: str, strict: bool) -> type[Any]:
    from google.protobuf import message_factory

    descriptor = _pool(strict).FindMessageTypeByName(f"{PACKAGE}.{name}")
    if hasattr(message_factory, "GetMessageClass"):
        generated: type[Any] = message_factory.GetMessageClass(descriptor)
        return generated
    factory: Any = message_factory.MessageFactory()
    old: type[Any] = factory.GetPrototype(descriptor)  # protobuf 4.21
    return old


def parse(name: str, raw: bytes) -> Any:
    """The message in these bytes. Raises google.protobuf.message.DecodeError where they are no such message.

    Names that are no UTF-8, as damage leaves them, are read with U+FFFD in place of what is wrong.
    """
    from google.protobuf.message import DecodeError

    parsed: Message = message(name)()
    try:
        parsed.ParseFromString(raw)
    except DecodeError:
        lenient: Message = _class(name, False)()
        lenient.ParseFromString(raw)
        _mend(lenient)
        parsed = message(name)()
        parsed.ParseFromString(lenient.SerializeToString())
    return parsed


def damage() -> type[Exception]:
    """What `parse` raises."""
    from google.protobuf.message import DecodeError

    return DecodeError


def _mend(parsed: Message) -> None:
    """Make text of every string that protobuf could only hand out as bytes. Maps are lists of entries to the
    lenient classes.
    """
    for field, value in parsed.ListFields():
        if field.message_type is not None:
            for each in value if _repeated(field) else (value,):
                _mend(each)
        elif field.type == field.TYPE_STRING:
            if _repeated(field):
                value[:] = [_text(each) for each in value]
            elif isinstance(value, bytes):
                setattr(parsed, field.name, _text(value))


def _repeated(field: Any) -> bool:
    return bool(field.is_repeated if hasattr(field, "is_repeated") else field.label == field.LABEL_REPEATED)


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def parse_text(name: str, text: str) -> Any:
    """The message in protobuf's text format; fields that the table leaves out are skipped. Raises
    google.protobuf.text_format.ParseError.
    """
    from google.protobuf import text_format

    parsed: Message = message(name)()
    known = _TYPE_NAME.sub(lambda word: str(enum_of(word[0])), text)
    try:
        return text_format.Parse(known, parsed, allow_unknown_field=True)
    except RecursionError:
        raise text_format.ParseError(_TOO_DEEP) from None


def parse_json(name: str, text: str) -> Any:
    """The message as protobuf writes JSON; fields that the table leaves out are skipped. Raises
    google.protobuf.json_format.ParseError.
    """
    from google.protobuf import json_format

    parsed: Message = message(name)()
    known = _QUOTED_TYPE.sub(lambda word: str(enum_of(word[1])), text)
    try:
        return json_format.Parse(known, parsed, ignore_unknown_fields=True)
    except RecursionError:
        raise json_format.ParseError(_TOO_DEEP) from None


_TOO_DEEP = "its messages are nested too deeply"


@cache
def _pool(strict: bool) -> DescriptorPool:
    from google.protobuf.descriptor_pool import DescriptorPool

    from tfmemlens.schema._build import file_of
    from tfmemlens.schema._fields import FIELDS

    pool = DescriptorPool()
    pool.AddSerializedFile(file_of(FIELDS, PACKAGE, strict).SerializeToString())
    return pool
