"""GraphDef and its wrappings to a Graph: op types, inputs, attributes, shapes. No opinions."""

from __future__ import annotations

import math
import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from sys import intern
from typing import Any, NamedTuple

from tfmemlens.model.graph import Graph, Node, Signature
from tfmemlens.model.lazy_nodes import LazyNodes, NodeColumns
from tfmemlens.model.tensor import Constant, TensorType, numpy_dtype_of_enum
from tfmemlens.patterns import regex
from tfmemlens.readers.bytes.batches import batches

SOURCE = "_tfmemlens_source"
"""The attribute in which our exporter writes the user's line of code."""
_PACKAGED = regex(
    r"(?:site|dist)-packages[/\\]|[/\\]tensorflow[/\\]python[/\\]|[/\\]keras[/\\]src[/\\]|\A<|importlib|runpy"
)
_WHOLE = {"int32": ("i", "int_val"), "int64": ("q", "int64_val")}


class Attributes(Mapping[str, object]):
    """A node's attributes as Python values, decoded when they are first asked for: most nodes never are."""

    __slots__ = ("_index", "_known", "_nodes", "_read")

    def __init__(self, nodes: Sequence[Any], index: int) -> None:
        """Those of the NodeDef at this place."""
        self._nodes, self._index = nodes, index
        self._read: Any = None
        self._known: dict[str, object] | None = None

    @property
    def _raw(self) -> Any:
        if self._read is None:
            self._read = self._nodes[self._index].attr
        return self._read

    def get(self, name: str, default: Any = None) -> Any:
        """The value of an attribute, the default where it is missing."""
        known = self._known
        if known is None:
            known = self._known = {}
        if name not in known:
            raw = self._raw
            known[name] = value_of(raw[name]) if name in raw else None
        value = known[name]
        return default if value is None else value

    def __getitem__(self, name: str) -> object:
        if name not in self._raw:
            raise KeyError(name)
        return value_of(self._raw[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._raw)

    def __len__(self) -> int:
        return len(self._raw)


def value_of(attribute: Any) -> object:
    """An AttrValue as a Python value: text, number, dtype name, shape tuple (None inside: unknown), function
    name, or a list of these.
    """
    for name in ("s", "i", "f", "b", "type", "shape", "placeholder", "func", "tensor", "list"):
        if attribute.HasField(name):
            return _value(name, getattr(attribute, name))
    return None


def _value(name: str, raw: Any) -> object:
    if name == "s":
        return raw.decode("utf-8", "replace")
    if name == "type":
        return numpy_dtype_of_enum(raw)
    if name == "shape":
        return shape_of(raw)
    if name == "func":
        return raw.name
    if name == "tensor":
        return constant_of(raw)
    if name == "list":
        return tuple(
            _value(part, each)
            for part in ("s", "i", "f", "b", "type", "shape", "tensor", "func")
            for each in getattr(raw, part)
        )
    plain: object = raw
    return plain


def constant_of(raw: Any) -> Constant:
    """A TensorProto's type, and its values if they are whole numbers and at most 64: axes, permutations and
    shapes, not weights.
    """
    shape, dtype = shape_of(raw.tensor_shape), numpy_dtype_of_enum(raw.dtype)
    count = math.prod(size or 0 for size in shape) if shape is not None else 0
    if dtype not in _WHOLE or count > 64:
        return Constant(shape, dtype)
    letter, listed = _WHOLE[dtype]
    if raw.tensor_content:
        size = struct.calcsize(letter)
        values = struct.unpack(
            f"<{len(raw.tensor_content) // size}{letter}",
            raw.tensor_content[: len(raw.tensor_content) // size * size],
        )
    else:
        values = tuple(getattr(raw, listed))
    values = (*values, *values[-1:] * (count - len(values))) if values else (0,) * count
    return Constant(shape, dtype, values[:count])


def shape_of(raw: Any) -> tuple[int | None, ...] | None:
    """A TensorShapeProto as a tuple; None for an unknown rank, None inside for an unknown dimension."""
    if raw.unknown_rank:
        return None
    return tuple(dim.size if dim.size >= 0 else None for dim in raw.dim)


def of_graph_defs(graphs: Iterable[Any], debug: Any = None, producer: str | None = None) -> Graph:
    """One Graph of several GraphDefs (partitions of one step); a name that stands in two keeps its first
    node. `debug` is a GraphDebugInfo.
    """
    parts: list[_Part] = []
    functions: dict[str, Graph] = {}
    first = 0
    for graph in graphs:
        own = graph.debug_info if _has(graph, "debug_info") else None
        lines = _source_lines(debug if debug is not None else own)
        parts.append(_Part(first, graph.node, lines))
        first += len(graph.node)
        for function in graph.library.function:
            name = function.signature.name
            body = _nodes([_Part(0, function.node_def, lines, name)])
            functions.setdefault(name, Graph(body, signature=_signature(function)))
    return Graph(_nodes(parts), functions, producer)


class _Part(NamedTuple):
    """The NodeDefs of a graph or a function, the number of the first among all, and the lines of their
    code.
    """

    first: int
    nodes: Sequence[Any]
    lines: Mapping[str, str]
    function: str = ""


def _nodes(parts: Sequence[_Part]) -> LazyNodes[Node]:
    """The nodes of these parts by name."""
    names: list[str] = []
    ops: list[str] = []
    inputs: list[tuple[str, ...]] = []
    for part in parts:
        for batch in batches(part.nodes):
            names += [node.name for node in batch]
            ops += [intern(node.op) for node in batch]  # hundreds of ops stand for all nodes
            inputs += [tuple(node.input[:]) for node in batch]  # a slice is copied at once
    numbers: Sequence[int] = range(len(names))
    places = dict(zip(names, numbers, strict=True))
    if len(places) < len(names):
        first: dict[str, int] = {}
        for number, name in enumerate(names):
            first.setdefault(name, number)
        numbers = [*first.values()]
        places = {name: place for place, name in enumerate(first)}
        ops, inputs = [ops[number] for number in numbers], [inputs[number] for number in numbers]
    columns = NodeColumns(places, ops, inputs)

    def made(name: str) -> Node:
        place = places[name]
        number = numbers[place]
        part = parts[bisect_right(parts, number, key=attrgetter("first")) - 1]
        return _node(name, ops[place], inputs[place], part, number - part.first)

    return LazyNodes(columns, made)


def _signature(function: Any) -> Signature:
    results = tuple(
        function.ret[each.name] for each in function.signature.output_arg if each.name in function.ret
    )
    return Signature(
        tuple(each.name for each in function.signature.input_arg),
        results,
        tuple(function.control_ret.values()),
    )


def _has(message: Any, field: str) -> bool:
    """Whether a message has the field and it is set; TensorFlow's own messages of old versions may not know
    it.
    """
    return field in message.DESCRIPTOR.fields_by_name and bool(message.HasField(field))


def _node(name: str, op: str, inputs: tuple[str, ...], part: _Part, at: int) -> Node:
    raw, lines = part.nodes[at], part.lines
    stated = raw.attr
    source = lines.get(f"{name}@{part.function}") or (None if part.function else lines.get(name))
    if SOURCE in stated:
        source = stated[SOURCE].s.decode("utf-8", "replace") or source
    return Node(
        name,
        op,
        inputs,
        intern(raw.device),  # a few devices stand for all nodes
        Attributes(part.nodes, at),
        _outputs(stated),
        source,
    )


def _source_lines(debug: Any) -> dict[str, str]:
    """From a GraphDebugInfo the innermost line that is not inside a package, by `node@function` or by node:
    `train.py:12`.
    """
    if debug is None:
        return {}
    traces = [(name, debug.traces[name]) for name in debug.traces]
    traces += [
        (name, debug.traces_by_id[number])
        for name, number in debug.name_to_trace_id.items()
        if number in debug.traces_by_id
    ]
    line_of = {}
    for name, trace in traces:
        frames = [
            *trace.file_line_cols,
            *(debug.frames_by_id[number] for number in trace.frame_id if number in debug.frames_by_id),
        ]
        places = [
            (debug.files[frame.file_index], frame.line)
            for frame in frames
            if 0 <= frame.file_index < len(debug.files)
        ]
        own = [(file, line) for file, line in places if not _PACKAGED.search(file)]
        if own:
            line_of[name] = f"{own[-1][0]}:{own[-1][1]}"
    return line_of


def _outputs(attributes: Any) -> tuple[TensorType, ...]:
    if "_output_shapes" in attributes:
        listed = attributes["_output_shapes"].list.shape
    elif "_tfmemlens_shapes" in attributes:
        listed = attributes["_tfmemlens_shapes"].list.shape
    else:
        return ()
    kinds = [
        numpy_dtype_of_enum(attributes[name].type)
        for name in ("T", "dtype", "DstT", "out_type", "Tout")
        if name in attributes and attributes[name].HasField("type")
    ]
    return tuple(TensorType(shape_of(shape), kinds[0] if kinds else None) for shape in listed)
