"""From the table of fields to a protobuf file descriptor."""

from __future__ import annotations

from google.protobuf import descriptor_pb2

from tfmemlens.patterns import regex

Field = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    name: getattr(Field, f"TYPE_{name.upper()}")
    for name in "double float int64 uint64 int32 fixed64 fixed32 bool string bytes uint32".split()
}
_MAP = regex(r"map<(?P<key>\w+),(?P<value>[\w.]+)>")


def file_of(table: str, package: str, strict: bool = True) -> descriptor_pb2.FileDescriptorProto:
    """The descriptor of all messages in the table.

    A line is `Message: number name type; …`; `*` behind a type repeats it, `map<key,value>` is a map, `A.B`
    is nested in `A`. Everything has a presence of its own, so that "not there" differs from zero. Strict is
    proto3, which refuses strings that are no UTF-8; else it is proto2, which hands their bytes out, and maps
    are lists of entries, as they are written.
    """
    file = descriptor_pb2.FileDescriptorProto(
        name=f"{package}.proto", package=package, syntax="proto3" if strict else "proto2"
    )
    known: dict[str, descriptor_pb2.DescriptorProto] = {}
    for line in table.strip().splitlines():
        name, _, fields = line.partition(":")
        outer, _, inner = name.strip().rpartition(".")
        message = known[outer].nested_type.add(name=inner) if outer else file.message_type.add(name=inner)
        known[name.strip()] = message
        for field in filter(str.strip, fields.split(";")):
            number, field_name, kind = field.split()
            _add(message, int(number), field_name, kind, f"{package}.{name.strip()}", package, strict)
    return file


def _add(
    message: descriptor_pb2.DescriptorProto,
    number: int,
    name: str,
    kind: str,
    path: str,
    package: str,
    strict: bool,
) -> None:
    field = message.field.add(
        name=name, number=number, label=Field.LABEL_REPEATED if kind.endswith("*") else Field.LABEL_OPTIONAL
    )
    if map_types := _MAP.fullmatch(kind):
        entry = message.nested_type.add(name="".join(part.capitalize() for part in name.split("_")) + "Entry")
        entry.options.map_entry = strict
        _add(entry, 1, "key", map_types["key"], "", package, False)
        _add(entry, 2, "value", map_types["value"], "", package, False)
        field.label, field.type, field.type_name = (
            Field.LABEL_REPEATED,
            Field.TYPE_MESSAGE,
            f".{path}.{entry.name}",
        )
        return
    plain = kind.rstrip("*")
    if plain in _SCALARS:
        field.type = _SCALARS[plain]
        if strict and field.label == Field.LABEL_OPTIONAL:  # proto2 has presence anyhow
            field.proto3_optional, field.oneof_index = True, len(message.oneof_decl)
            message.oneof_decl.add(name=f"_{name}")
    else:
        field.type, field.type_name = Field.TYPE_MESSAGE, f".{package}.{plain}"
