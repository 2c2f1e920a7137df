"""GraphDef and its wrappings to a Graph: op types, inputs, attributes, shapes. No opinions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tfmemlens.model.graph import Graph, Node
from tfmemlens.model.tensor import TensorType, numpy_dtype_of_enum


class Attributes(Mapping[str, object]):
    """A node's attributes as Python values, decoded when they are asked for."""

    __slots__ = ("_raw",)

    def __init__(self, raw: Any) -> None:
        self._raw = raw

    def __getitem__(self, name: str) -> object:
        if name not in self._raw:
            raise KeyError(name)
        return value_of(self._raw[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._raw)

    def __len__(self) -> int:
        return len(self._raw)


def value_of(attribute: Any) -> object:
    """An AttrValue as a Python value: text, number, dtype name, shape tuple (None inside: unknown), function name, or a list of these."""
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
        return TensorType(shape_of(raw.tensor_shape), numpy_dtype_of_enum(raw.dtype))
    if name == "list":
        return tuple(_value(part, each) for part in ("s", "i", "f", "b", "type", "shape", "tensor", "func") for each in getattr(raw, part))
    found: object = raw
    return found


def shape_of(raw: Any) -> tuple[int | None, ...] | None:
    """A TensorShapeProto as a tuple; None for an unknown rank, None inside for an unknown dimension."""
    if raw.unknown_rank:
        return None
    return tuple(dim.size if dim.size >= 0 else None for dim in raw.dim)


def of_graph_defs(graphs: Iterable[Any]) -> Graph:
    """One Graph of several GraphDefs (partitions of one step); a name that stands in two keeps its first node."""
    nodes: dict[str, Node] = {}
    functions: dict[str, Graph] = {}
    for graph in graphs:
        for raw in graph.node:
            nodes.setdefault(raw.name, _node(raw))
        for function in graph.library.function:
            functions.setdefault(function.signature.name, Graph({raw.name: _node(raw) for raw in function.node_def}))
    return Graph(nodes, functions)


def _node(raw: Any) -> Node:
    return Node(raw.name, raw.op, tuple(raw.input), raw.device, Attributes(raw.attr), _outputs(raw))


def _outputs(raw: Any) -> tuple[TensorType, ...]:
    if "_output_shapes" not in raw.attr:
        return ()
    kinds = [
        numpy_dtype_of_enum(raw.attr[name].type) for name in ("T", "dtype", "DstT", "out_type", "Tout") if name in raw.attr and raw.attr[name].HasField("type")
    ]
    return tuple(TensorType(shape_of(shape), kinds[0] if kinds else None) for shape in raw.attr["_output_shapes"].list.shape)
