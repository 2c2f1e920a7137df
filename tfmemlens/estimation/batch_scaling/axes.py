"""Which dimensions of which tensors are the batch (or the image's sides, or the sequence): marked at the
graph's inputs, carried along its edges.

A tensor's marks are one flag a dimension; a marked dimension grows in proportion to the batch (`[32,100]`
reshaped to `[3200]` stays marked). Sizes alone would mislead: a weight of [64,128] is no activation of batch
64, whatever its first dimension is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from tfmemlens.knowledge.ops import roles
from tfmemlens.knowledge.ops.table import Batch, op, passes_on
from tfmemlens.knowledge.topological_order import topological_order
from tfmemlens.model.graph import Graph, Node, split_reference
from tfmemlens.model.tensor import Constant
from tfmemlens.values import dataclass

Marks = tuple[bool, ...]
Shape = tuple[int, ...]
_PASSES = 3


@dataclass(frozen=True, slots=True)
class Axis:
    """What is followed: `size` of the batch (0 when another axis is), and which dimensions of an input are
    marked.
    """

    size: int
    seed: Callable[[Shape], Marks]


def batch_axis(batch: int) -> Axis:
    """The batch: in an input the first dimension of that size, else a leading multiple of it."""
    return Axis(batch, lambda shape: _input(shape, batch))


def side_axis(batch: int) -> Axis:
    """Height, width (and depth) of images: all but the first and the smallest of the outer dimensions,
    channels.
    """

    def seed(shape: Shape) -> Marks:
        channels = 1 if len(shape) > 3 and shape[1] < shape[-1] and shape[1] <= 4 else len(shape) - 1
        return tuple(len(shape) > 3 and index not in (0, channels) for index in range(len(shape)))

    del batch
    return Axis(0, seed)


def length_axis(batch: int) -> Axis:
    """The length of sequences: the second dimension of inputs of rank 2 or 3, the first where the batch
    stands second.
    """

    def seed(shape: Shape) -> Marks:
        place = 0 if len(shape) == 3 and shape[1] == batch != shape[0] else 1
        return tuple(len(shape) in (2, 3) and index == place for index in range(len(shape)))

    return Axis(0, seed)


def marks_of(graph: Graph, axis: Axis) -> dict[str, tuple[Marks, ...]]:
    """For each node whose output shapes are known, the marks of each output. Loops are walked until nothing
    new is marked, three times at most.
    """
    order = list(topological_order(graph))
    marks_by_node: dict[str, tuple[Marks, ...]] = {}
    for _ in range(_PASSES):
        changed = False
        for node in order:
            marks = _node(node, graph, marks_by_node, axis)
            if marks != marks_by_node.get(node.name):
                marks_by_node[node.name] = marks
                changed = True
        if not changed:
            break
    return marks_by_node


def shape_of(node: Node | None, port: int) -> Shape | None:
    """The known shape of an output, None where a dimension is not known."""
    if node is None or port >= len(node.outputs):
        return None
    shape = node.outputs[port].shape
    return (
        None if shape is None or any(size is None for size in shape) else tuple(size or 0 for size in shape)
    )


def _node(
    node: Node, graph: Graph, marks_by_node: Mapping[str, tuple[Marks, ...]], axis: Axis
) -> tuple[Marks, ...]:
    inputs = []
    for reference in node.inputs:
        if not reference.startswith("^"):
            name, port = split_reference(reference)
            source = graph.nodes.get(name)
            shape = shape_of(source, port)
            if (
                shape is None and source is not None and source.op in roles.SWITCHES
            ):  # the branch not taken is as large
                port = 1 - port
                shape = shape_of(source, port)
            marks = marks_by_node.get(name, ())
            known = shape is not None and port < len(marks) and len(marks[port]) == len(shape)
            inputs.append(
                (shape, marks[port]) if shape is not None and known else (shape, (False,) * len(shape or ()))
            )
    outputs = [shape_of(node, port) for port in range(len(node.outputs))]
    result = []
    for port, shape in enumerate(outputs):
        result.append(_output(node, port, shape, inputs, graph, axis) if shape else ())
    return tuple(result)


Input = tuple["Shape | None", Marks]


def _output(node: Node, port: int, shape: Shape, inputs: Sequence[Input], graph: Graph, axis: Axis) -> Marks:
    nothing = (False,) * len(shape)
    batch = op(node.op).batch
    if batch is Batch.SEEDED or node.name.startswith("_arg_"):
        return axis.seed(shape)
    if batch is Batch.NEVER or (batch is Batch.FIRST_OUTPUT and port > 0):
        return nothing
    if batch in _OF_SHAPES and not any(any(marks) for _, marks in inputs):
        return _by_size(shape, axis.size) if axis.size else axis.seed(shape)
    rule = _RULES.get(batch)
    if rule is not None:
        return rule(node, shape, inputs, graph)
    if batch is Batch.REDUCED:
        return _reduced(shape, inputs[0]) if inputs else nothing
    if "Backprop" in node.op or node.op.endswith("Grad"):
        same = [marks for known, marks in inputs if known == shape]
        return max(same, key=sum) if same else _general(shape, inputs)
    return _general(shape, inputs, axis.size if batch in (Batch.JOINED, Batch.REPEATED) else 0)


def _input(shape: Shape, batch: int) -> Marks:
    """The first dimension of that size; else the first that is a multiple of it, when it leads."""
    if batch in shape:
        first = shape.index(batch)
        return tuple(index == first for index in range(len(shape)))
    return tuple(index == 0 and batch > 1 and size % batch == 0 for index, size in enumerate(shape))


def _by_size(shape: Shape, batch: int) -> Marks:
    """A tensor made of a shape alone: its leading dimension tells."""
    if batch > 1 and shape[0] % batch == 0 and shape[0] > 0 and (shape[0] == batch or len(shape) > 1):
        return tuple(index == 0 for index in range(len(shape)))
    return _input(shape, batch) if len(shape) > 2 else (False,) * len(shape)


def _matmul(node: Node, shape: Shape, inputs: Sequence[Input], graph: Graph) -> Marks:
    """Rows from the first factor, columns from the second; what is summed over leaves no mark."""
    del graph
    if len(inputs) < 2:
        return (False,) * len(shape)
    (a_shape, a), (b_shape, b) = inputs[:2]
    if a_shape is None or b_shape is None or len(a) < 2 or len(b) < 2:
        return (False,) * len(shape)
    attributes = node.attributes
    turned_a = bool(attributes.get("transpose_a") or attributes.get("adj_x"))
    turned_b = bool(attributes.get("transpose_b") or attributes.get("adj_y"))
    row, column = a[-1] if turned_a else a[-2], b[-2] if turned_b else b[-1]
    heads = [
        any(marks[-offset] for marks in (a, b) if len(marks) >= offset) for offset in range(len(shape), 2, -1)
    ]
    return (*heads, row, column)


def _reshape(node: Node, shape: Shape, inputs: Sequence[Input], graph: Graph) -> Marks:
    """Dimensions are split into groups of equal products; a mark stays in its group, on the first dimension
    that can carry it.
    """
    del node, graph
    source, marks = inputs[0] if inputs else (None, ())
    result = [False] * len(shape)
    if source is None or not any(marks) or math.prod(source) != math.prod(shape):
        return tuple(result)
    i = j = 0
    while i < len(source) and j < len(shape):
        start_i, start_j, left, right = i, j, source[i], shape[j]
        i, j = i + 1, j + 1
        while left != right:
            if left < right and i < len(source):
                left, i = left * source[i], i + 1
            elif j < len(shape):
                right, j = right * shape[j], j + 1
            else:
                break
        while i < len(source) and source[i] == 1 and (j >= len(shape) or shape[j] != 1):
            i += 1
        marked = [source[k] for k in range(start_i, i) if marks[k]]
        if marked:
            same = [k for k in range(start_j, j) if shape[k] == marked[0]]
            divisible = [k for k in range(start_j, j) if shape[k] % marked[0] == 0]
            for k in (same or divisible or [start_j])[:1]:
                result[k] = True
    return tuple(result)


def _transpose(node: Node, shape: Shape, inputs: Sequence[Input], graph: Graph) -> Marks:
    """By the permutation where it is a constant, else by sizes."""
    source, marks = inputs[0] if inputs else (None, ())
    if source is None or len(source) != len(shape):
        return (False,) * len(shape)
    values = constant_values(node.inputs[1], graph) if len(node.inputs) > 1 else None
    if values is not None and len(values) == len(marks):
        return tuple(marks[axis] for axis in values)
    wanted = [size for size, marked in zip(source, marks, strict=True) if marked]
    result = []
    for size in shape:
        result.append(size in wanted)
        if size in wanted:
            wanted.remove(size)
    return tuple(result)


def constant_values(reference: str, graph: Graph) -> tuple[int, ...] | None:
    """The whole numbers of a constant, through Identity; None when it is no constant."""
    for _ in range(4):
        node = graph.nodes.get(split_reference(reference)[0])
        if node is None:
            return None
        if passes_on(node.op) and node.inputs:
            reference = node.inputs[0]
            continue
        value = node.attributes.get("value")
        return value.values if isinstance(value, Constant) else None
    return None


def _reduced(shape: Shape, source: Input) -> Marks:
    """What is left of the input's dimensions, in their order."""
    known, marks = source
    if known is None:
        return (False,) * len(shape)
    if len(known) == len(shape):
        return tuple(marked and size == left for left, size, marked in zip(shape, known, marks, strict=True))
    result, at = [], 0
    for size in shape:
        while at < len(known) and known[at] != size:
            at += 1
        result.append(at < len(known) and marks[at])
        at += 1
    return tuple(result)


def _general(shape: Shape, inputs: Sequence[Input], batch: int = 0) -> Marks:
    """Broadcasting from the right, then from the left, then by size: a dimension is the batch if a marked one
    of an input stands there.

    With a batch also its first multiple, for ops that join or cut the batch.
    """
    result = [False] * len(shape)
    for known, marks in inputs:
        if known is None or not any(marks):
            continue
        aligned = False
        for shift in (len(shape) - len(known), 0):
            for index, (size, marked) in enumerate(zip(known, marks, strict=True)):
                place = index + shift
                if marked and 0 <= place < len(shape) and (shape[place] == size):
                    result[place] = aligned = True
            if aligned:
                break
        if not aligned:
            wanted = [size for size, marked in zip(known, marks, strict=True) if marked]
            same = [index for index, size in enumerate(shape) if size in wanted]
            multiples = [
                index for index, size in enumerate(shape) if batch > 1 and size and size % batch == 0
            ]
            for index in (same or multiples)[:1]:
                result[index] = True
    return tuple(result)


_Rule = Callable[[Node, Shape, Sequence[Input], Graph], Marks]


def _data_first(node: Node, shape: Shape, inputs: Sequence[Input], graph: Graph) -> Marks:
    """A convolution and what resembles it: all dimensions but the channels are those of its data, wherever
    among the inputs they stand.
    """
    del graph
    data = 2 if "BackpropInput" in node.op else 0
    marks = inputs[data][1] if data < len(inputs) else ()
    if len(marks) != len(shape):
        return (False,) * len(shape)
    channels = 1 if str(node.attributes.get("data_format") or "").startswith("NC") else len(shape) - 1
    return tuple(marked and index != channels for index, marked in enumerate(marks))


_OF_SHAPES = (Batch.FROM_SHAPE, Batch.TILED, Batch.REPEATED)
_RULES: dict[Batch, _Rule] = {
    Batch.ROWS_AND_COLUMNS: _matmul,
    Batch.RESHAPED: _reshape,
    Batch.PERMUTED: _transpose,
    Batch.IMAGE: _data_first,
}
