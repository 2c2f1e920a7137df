"""The convolution behind a gradient's node, as exactly as a trace or a graph beside it tells: kernel,
channels, filters, output grid.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tfmemlens.knowledge.convolution.sizes import output_side
from tfmemlens.knowledge.ops import roles
from tfmemlens.model.allocation import AllocationTable
from tfmemlens.model.attribution import Owner
from tfmemlens.model.case import Case
from tfmemlens.model.graph import Node, data_sources, split_reference
from tfmemlens.model.tensor import Constant
from tfmemlens.patterns import regex

GRADIENT = regex(r"Conv(?:2D|3D)(?:Custom)?Backprop(?P<of>Filter|Input)(?:V2)?\b")
Sizes = tuple[int, ...]


class KnownConvolution(NamedTuple):
    """What is certain about a convolution; None where nothing says so."""

    weights: Sizes
    """[kernel..., channels, filters] as the buffer's columns see them: of a transposed convolution the
    channels that it writes come first.
    """
    grid: Sizes | None
    """Output positions on each axis; of a transposed convolution its input's."""
    batch: int | None
    source: str
    """Where it stands: `the trace`, `the graph`, `the code`."""

    @property
    def patch(self) -> int:
        """Columns of the buffer."""
        return math.prod(self.weights[:-1])

    @property
    def positions(self) -> int | None:
        """Rows of the buffer for one image."""
        return math.prod(self.grid) if self.grid else None

    def grid_text(self) -> str:
        """`256 x 256 positions`."""
        return f"{' x '.join(f'{side:,}' for side in self.grid or ())} positions"

    def kernel_text(self) -> str:
        """`3 x 3 kernel x 64 channels`."""
        channels = self.weights[-2]
        return (
            f"{' x '.join(map(str, self.weights[:-2]))} kernel x {channels}"
            f" channel{'s' if channels > 1 else ''}"
        )


def known(case: Case, node: str | None, owner: Owner, patch: int | None = None) -> KnownConvolution | None:
    """The convolution whose gradient (or transposed forward pass) the node computes; `patch` chooses where
    several have the name.
    """
    if not node:
        return None
    by_code = _by_the_code(case, owner, patch) if patch else None
    if by_code:
        return by_code
    graph = case.capture.graph
    graph_node = graph.nodes.get(node) if graph else None
    shapes = _shapes(case, _wanted(node, owner, graph_node))
    weights, source = _weights(case, node, graph_node, shapes, patch)
    if weights is None or (patch is not None and math.prod(weights[:-1]) != patch):
        return None
    batch, grid = _grid(node, owner, graph_node, shapes, weights)
    return KnownConvolution(weights, grid, batch, source)


def _by_the_code(case: Case, owner: Owner, patch: int) -> KnownConvolution | None:
    """The convolution of the program that bears the layer's name, or the one kernel of it with so many
    columns; trees are followed only where there is a program.
    """
    if case.capture.graph or case.capture.timelines or not case.capture.surroundings.program():
        return None
    from tfmemlens.knowledge.keras_program import layer_outputs

    fitting = [
        (each, weight.shape)
        for each in layer_outputs(case.capture.surroundings.program())
        for weight in each.weights
        if "Conv" in each.class_name
        and len(weight.shape) == len(each.shape) >= _OF_AN_IMAGE
        and math.prod(weight.shape[:-1]) == patch
    ]
    name = (owner.layer or "").rpartition("/")[2]
    named = [pair for pair in fitting if pair[0].name.rpartition("/")[2] == name]
    weights = _only(shape for _, shape in named or fitting)
    if weights is None:
        return None
    transposed = any("Transpose" in each.class_name for each, _ in named or fitting)
    grids = {each.shape[1:-1] for each, _ in named or fitting if all(each.shape[1:])}
    grid = None if transposed or len(grids) != 1 else tuple(size or 0 for size in grids.pop())
    return KnownConvolution(weights, grid, None, "the code")


_OF_AN_IMAGE = 4


def _wanted(node: str, owner: Owner, graph_node: Node | None) -> set[str]:
    head = node.rpartition("/")[0]
    names = {
        node,
        *(f"{head}/{name}" if head else name for name in roles.FILTER_GRADIENTS | roles.INPUT_GRADIENTS),
    }
    if owner.forward:
        names.add(owner.forward)
    if graph_node:
        names.update(data_sources(graph_node.inputs))
    return names


def _shapes(case: Case, wanted: set[str]) -> dict[str, set[Sizes]]:
    """The shapes that the traced steps show for these nodes, in one pass."""
    by_name: dict[str, set[Sizes]] = {}
    for timeline in case.capture.timelines:
        for table in (timeline.table, timeline.standing):
            for name, shape in _named(table):
                if name in wanted:
                    by_name.setdefault(name, set()).add(shape)
    return by_name


def _named(table: AllocationTable) -> Iterator[tuple[str, Sizes]]:
    for name, shape in zip(table.node, table.shape, strict=True):
        if name and shape and len(shape) >= 4 and None not in shape:
            yield name, tuple(size or 0 for size in shape)


def _weights(
    case: Case, node: str, graph_node: Node | None, shapes: dict[str, set[Sizes]], patch: int | None
) -> tuple[Sizes | None, str]:
    """The weights' shape: the weight gradient has it, and so has the operand that the graph names."""
    head = node.rpartition("/")[0]
    traced = _only(
        shape
        for name in roles.FILTER_GRADIENTS
        for shape in shapes.get(f"{head}/{name}" if head else name, ())
        if patch is None or math.prod(shape[:-1]) == patch
    )
    if traced:
        return traced, "the trace"
    if not graph_node or len(graph_node.inputs) < 2:
        return None, ""
    operand = split_reference(graph_node.inputs[1])[0]
    from_trace = _only(shapes.get(operand, ()))
    if from_trace:
        return from_trace, "the trace"
    return _in_graph(case, operand), "the graph"


def _in_graph(case: Case, name: str) -> Sizes | None:
    """The shape behind an operand: a constant that spells it (filter_sizes), or a variable's own."""
    graph = case.capture.graph
    for _ in range(4):  # through Identity, ReadVariableOp, Enter
        node = graph.nodes.get(name) if graph else None
        if node is None:
            return None
        value = node.attributes.get("value")
        if isinstance(value, Constant) and value.values and len(value.values) >= 4:
            return value.values
        for shape in (node.attributes.get("shape"), *(output.shape for output in node.outputs)):
            if isinstance(shape, tuple) and len(shape) >= 4 and None not in shape:
                return tuple(int(size) for size in shape)
        if node.op not in roles.VALUES_OF_VARIABLES or not node.inputs:
            return None
        name = split_reference(node.inputs[0])[0]
    return None


def _grid(
    node: str, owner: Owner, graph_node: Node | None, shapes: dict[str, set[Sizes]], weights: Sizes
) -> tuple[int | None, Sizes | None]:
    """Batch and output grid: from the forward op's output, else its gradient, else the input's shape with
    strides and padding of the graph.
    """
    names = [owner.forward] if owner.forward and owner.forward != node else []
    names += [split_reference(graph_node.inputs[2])[0]] if graph_node and len(graph_node.inputs) > 2 else []
    for name in names:
        outputs = [
            shape for shape in shapes.get(name, ()) if len(shape) == len(weights) and shape[-1] == weights[-1]
        ]
        if len(outputs) == 1:
            return outputs[0][0], outputs[0][1:-1]
    head = node.rpartition("/")[0]
    gradients = {f"{head}/{name}" if head else name for name in roles.INPUT_GRADIENTS} | (
        {node} if graph_node and "BackpropInput" in graph_node.op else set()
    )
    inputs = {
        shape
        for name in gradients
        for shape in shapes.get(name, ())
        if len(shape) == len(weights) and shape[-1] == weights[-2]
    }
    if len(inputs) == 1:
        shape = inputs.pop()
        return shape[0], _by_attributes(graph_node, shape, weights)
    return None, None


def _by_attributes(graph_node: Node | None, shape: Sizes, weights: Sizes) -> Sizes | None:
    if graph_node is None:
        return None
    strides, padding = (
        graph_node.attributes.get("strides"),
        str(graph_node.attributes.get("padding", "")).lower(),
    )
    if not isinstance(strides, tuple) or len(strides) != len(shape) or padding not in ("same", "valid"):
        return None
    axes = zip(shape[1:-1], weights[:-2], strides[1:-1], strict=True)
    return tuple(output_side(side, kernel, int(stride), 1, padding) for side, kernel, stride in axes)


def _only(shapes: Iterable[Sizes]) -> Sizes | None:
    sizes = set(shapes)
    return sizes.pop() if len(sizes) == 1 else None
