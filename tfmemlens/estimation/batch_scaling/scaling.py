"""For each allocation of a measured step: what would be asked for at another batch size?"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from tfmemlens.estimation.batch_scaling import conv3d_cache
from tfmemlens.estimation.batch_scaling.axes import (
    Axis,
    Marks,
    batch_axis,
    length_axis,
    marks_of,
    shape_of,
    side_axis,
)
from tfmemlens.knowledge.convolution import col_buffer
from tfmemlens.knowledge.ops import roles
from tfmemlens.knowledge.ops.table import Batch, op, passes_on
from tfmemlens.model.allocation import TEMPORARY, Allocation, AllocationTable
from tfmemlens.model.fit import Scale
from tfmemlens.model.graph import Graph, Node, split_reference
from tfmemlens.model.tensor import ITEM_BYTES, tensor_bytes
from tfmemlens.model.timeline import Timeline
from tfmemlens.patterns import regex
from tfmemlens.units import MIB, round_up
from tfmemlens.values import dataclass, replace

_PER_WEIGHT_NAMES = ("BackpropFilter", "BiasAddGrad", "bias_add_grad")
"""Parts of the names of nodes that make a weight's gradient."""
_PER_WEIGHT = roles.FILTER_GRADIENTS | roles.BIAS_GRADIENTS
"""Ops that make one."""

_NOTICEABLE = 0.001
"""A tensor below this share of the peak is small."""
_MAX_COUNTED = 1_000
"""Tensors, of the large and of the small ones, beyond which every n-th is asked for its leading dimension."""
_UPDATE = regex(
    r"(?:\A|/)(?:adam\w*|nadam|sgd|rmsprop|adagrad|adadelta|ftrl|lamb|lion|momentum)(?:_\d+)?/", re.IGNORECASE
)
"""An optimizer's ops, whose tensors have the shapes of weights."""
_HOPS = 4
MAX_FOLDED_BYTES = 10 * MIB
_FILLED = regex(r"(?:\A|/)(?:zeros|ones|zeros_like|ones_like|[Ff]ill|grad_ys_\d+)(?:_\d+)?\Z")


@dataclass(frozen=True, slots=True)
class BatchScaling:
    """How one allocation's request follows from the batch: `request(batch)` bytes, before rounding."""

    scale: Scale
    request: Callable[[int], int]
    marks: Marks = ()
    least: Callable[[int], int] | None = None
    """The least that it may be, where the trace leaves open what it asks for; `request` is then the most."""


def batch_of(timeline: Timeline, graph: Graph | None) -> tuple[int, str] | None:
    """The batch of a step and how it is known: the leading dimension of the inputs that most activations
    share; without inputs the commonest one.
    """
    candidates = _input_sizes(graph) if graph else {}
    if candidates:
        leading = _leading(timeline) if len(candidates) > 1 else {}
        return (
            max(
                candidates,
                key=lambda size: (_agreement(size, leading) * candidates[size], candidates[size], size),
            ),
            "the graph's inputs",
        )
    counted = _leading_of_many(timeline, graph)
    return (
        (
            max(counted, key=lambda size: (_agreement(size, counted), counted[size])),
            "the commonest leading dimension",
        )
        if counted
        else None
    )


def _leading(timeline: Timeline) -> Counter[int]:
    """How many bytes have each leading dimension."""
    table = timeline.table
    leading: Counter[int] = Counter()
    for shape, size, purpose in zip(table.shape, table.size_bytes, table.purpose, strict=True):
        if shape and len(shape) >= 2 and shape[0] and purpose != TEMPORARY:
            leading[shape[0]] += size
    return leading


def _leading_of_many(timeline: Timeline, graph: Graph | None) -> Counter[int]:
    """How many tensors have each leading dimension: weights' gradients are large, but few and told apart by
    their names. Small tensors count only where there are no others: an optimizer makes many of the shape of a
    bias.
    """
    table, noticeable = timeline.table, _NOTICEABLE * timeline.peak_bytes
    large: list[int] = []
    small: list[int] = []
    for row, size in enumerate(table.size_bytes):
        (large if size >= noticeable else small).append(row)
    rows = [
        (table.node[row], table.shape[row], table.purpose[row], table.size_bytes[row])
        for row in (*_some(large), *_some(small))
    ]
    updated = {shape for node, shape, _, _ in rows if _UPDATE.search(node or "")}
    weights = set(timeline.standing.shape) | _variable_shapes(graph) | updated
    counts: dict[bool, Counter[int]] = {True: Counter(), False: Counter()}
    seen = set()
    for node, shape, purpose, size in rows:
        if not shape or len(shape) < 2 or not shape[0] or shape in weights or purpose == TEMPORARY:
            continue
        if (node, shape) not in seen and not is_per_weight(node or ""):
            seen.add((node, shape))
            counts[size >= noticeable][shape[0]] += 1
    return counts[True] or counts[False]


def _some(rows: Sequence[int]) -> Sequence[int]:
    return rows[:: len(rows) // _MAX_COUNTED + 1]


def _input_sizes(graph: Graph) -> dict[int, float]:
    """Sizes that may be the batch: the first dimension of an input counts more than its second (time-major
    sequences).
    """
    weight_of: dict[int, float] = {}
    for node in _inputs(graph):
        for port in range(len(node.outputs)):
            shape = shape_of(node, port) or ()
            for weight, size in zip((2.0, 1.0), shape[: 1 if len(shape) != 3 else 2], strict=False):
                weight_of[size] = max(weight_of.get(size, 0.0), weight)
    return weight_of


def _inputs(graph: Graph) -> Iterator[Node]:
    """What brings the batch in."""
    yield from graph.of_ops({each for each in graph.ops if op(each).batch is Batch.SEEDED})
    yield from (graph.nodes[name] for name in graph.nodes if name.startswith("_arg_"))


def _agreement(size: int, leading: Mapping[int, int]) -> float:
    return sum(
        held * (1.0 if first == size else 0.5)
        for first, held in leading.items()
        if size == first or (size > 1 and first % size == 0)
    )


def laws_of(
    timeline: Timeline, graph: Graph | None, batch: int, cache: conv3d_cache.Cache | None = None
) -> list[BatchScaling]:
    """A law for each row of the timeline's table; the cache is what Conv3D's gradients fill."""
    marks = marks_of(graph, batch_axis(batch)) if graph else {}
    weights = _weight_shapes(timeline, graph)
    return [
        _volume_law(row, graph, batch, cache) or _law(row, graph, marks, batch, weights)
        for row in timeline.table
    ]


def standing_laws_of(timeline: Timeline, graph: Graph | None, batch: int) -> list[BatchScaling]:
    """A law for each row that stood before the step: constants that Grappler folded may be as long as the
    batch, such as a loop's first state.
    """
    weights = {row.shape for row in timeline.standing if row.op not in roles.CONSTANTS} | (
        _weight_shapes(replace(timeline, standing=AllocationTable()), graph)
    )
    candidates = {
        row.node
        for row in timeline.standing
        if row.op in roles.CONSTANTS
        and row.shape
        and row.shape not in weights
        and batch > 1
        and batch in row.shape
    }
    marks = marks_of(graph, batch_axis(batch)) if graph and candidates else {}
    return [
        (
            _standing_law(row, graph, marks, batch)
            if row.node in candidates
            else _fixed(row.requested_bytes or row.size_bytes)
        )
        for row in timeline.standing
    ]


def _standing_law(
    row: Allocation, graph: Graph | None, marks: Mapping[str, tuple[Marks, ...]], batch: int
) -> BatchScaling:
    """By what its readers' outputs of the same shape are; without a graph by its first dimension."""
    shape = tuple(size or 0 for size in row.shape or ())
    if graph is None or (row.node or "") not in graph.nodes:
        return _by_marks(
            shape,
            tuple(len(shape) > 1 and index == 0 and size == batch for index, size in enumerate(shape)),
            row,
            batch,
        )
    reached: list[str] = [row.node or ""]
    for _ in range(_HOPS):
        reached = list(
            dict.fromkeys(reader for name in reached for reader, _, _ in graph.consumers.get(name, ()))
        )
        for name in reached:
            for port, known in enumerate(marks.get(name, ())):
                if any(known) and shape_of(graph.nodes[name], port) == shape:
                    return _folded(_by_marks(shape, known, row, batch), row.node or "")
        reached = [name for name in reached if passes_on(graph.nodes[name].op)]
    return _fixed(row.requested_bytes or row.size_bytes)


def _folded(law: BatchScaling, name: str) -> BatchScaling:
    """Grappler folds what would be larger than 10 MiB only if one value fills it; anything else is then left
    to the step, where its reader takes its buffer over.
    """
    if _FILLED.search(name):
        return law
    return replace(law, request=lambda other: size if (size := law.request(other)) <= MAX_FOLDED_BYTES else 0)


def _volume_law(
    row: Allocation, graph: Graph | None, batch: int, cache: conv3d_cache.Cache | None
) -> BatchScaling | None:
    """The patches of a Conv3D gradient on the CPU: as many volumes as fill the L3 cache."""
    node = graph.nodes.get(row.node or "") if graph else None
    if cache is None or node is None or graph is None or row.purpose != TEMPORARY:
        return None
    gradient = conv3d_cache.gradient_of(node, graph)
    if gradient is None:
        return None
    most, least = conv3d_cache.most_and_least(gradient, cache, batch)
    return BatchScaling(Scale.FIXED if cache.is_sure(gradient) else Scale.BATCH, most, least=least)


def _weight_shapes(timeline: Timeline, graph: Graph | None) -> set[tuple[int | None, ...]]:
    """Of what stands before the step, of a graph's variables, and of what the step reads from variables."""
    shapes = {row.shape for row in timeline.standing if row.shape}
    table = timeline.table
    shapes |= {
        shape
        for node, op_type, shape in zip(table.node, table.op, table.shape, strict=True)
        if shape and "ReadVariableOp" in (op_type or (node or "").rpartition("/")[2])
    }
    return shapes | _variable_shapes(graph)


def _variable_shapes(graph: Graph | None) -> set[tuple[int | None, ...]]:
    variables = graph.of_ops(("VarHandleOp", "VariableV2")) if graph else ()
    return {shape for node in variables if isinstance(shape := node.attributes.get("shape"), tuple)}


def _law(
    row: Allocation,
    graph: Graph | None,
    marks: Mapping[str, tuple[Marks, ...]],
    batch: int,
    weights: set[tuple[int | None, ...]],
) -> BatchScaling:
    node = graph.nodes.get(row.node or "") if graph else None
    if row.purpose == TEMPORARY and row.shape is None:
        return _temporary(row, node, graph, marks.get(row.node or "", ()), batch)
    if row.shape is None or any(size is None for size in row.shape):
        scaled = any(any(each) for each in marks.get(row.node or "", ()))
        return (
            proportional(row.requested_bytes or row.size_bytes, batch)
            if scaled
            else _fixed(row.requested_bytes or row.size_bytes)
        )
    shape = tuple(size or 0 for size in row.shape)
    if node is not None and (
        known := [each for port, each in enumerate(marks.get(node.name, ())) if shape_of(node, port) == shape]
    ):
        return _by_marks(shape, known[0], row, batch)
    return _by_marks(shape, _guess(row, shape, batch, weights), row, batch)


def _guess(
    row: Allocation, shape: tuple[int, ...], batch: int, weights: set[tuple[int | None, ...]]
) -> Marks:
    """Without a graph: the leading dimension, unless the shape is a weight's or the op makes something of a
    weight's shape.
    """
    name = row.node or ""
    if (
        not shape
        or shape in weights
        or any(word in name for word in _PER_WEIGHT_NAMES)
        or row.op in _PER_WEIGHT
    ):
        return (False,) * len(shape)
    if _is_patch_buffer(name, row.op) and len(shape) == 3:
        return (False,) * 3
    if batch > 1 and shape[0] % batch == 0 and shape[0] and (shape[0] == batch or len(shape) > 1):
        return tuple(index == 0 for index in range(len(shape)))
    if batch == 1 and shape[0] == 1 and len(shape) > 1:
        return tuple(index == 0 for index in range(len(shape)))
    if batch in shape[1:2] and len(shape) > 2:
        return tuple(index == 1 for index in range(len(shape)))
    return (False,) * len(shape)


def _is_patch_buffer(name: str, op: str | None) -> bool:
    return "Conv2DBackprop" in name or "Conv2DBackprop" in (op or "") or "conv2d_transpose" in name


def _by_marks(shape: tuple[int, ...], marks: Marks, row: Allocation, batch: int) -> BatchScaling:
    count = sum(marks)
    if not count:
        return _fixed(tensor_bytes(shape, row.dtype) or row.requested_bytes or row.size_bytes)
    item = ITEM_BYTES.get(row.dtype or "")
    if item is None:
        return proportional(row.requested_bytes or row.size_bytes, batch)

    def request(other: int) -> int:
        return (
            math.prod(
                -(-size * other // batch) if marked else size
                for size, marked in zip(shape, marks, strict=True)
            )
            * item
        )

    return BatchScaling(Scale.SQUARE if count > 1 else Scale.BATCH, request, marks)


def _fixed(size: int) -> BatchScaling:
    return BatchScaling(Scale.FIXED, lambda _: size)


def is_per_weight(name: str) -> bool:
    """Whether an op of this name makes something of a weight's shape: its gradient, its update, its first
    value.
    """
    return any(word in name for word in (*_PER_WEIGHT_NAMES, "MatMul_1", "Initializer", "Assign", "update_"))


def proportional(size: int, batch: int) -> BatchScaling:
    """So many bytes at the measured batch, growing with it."""
    return BatchScaling(Scale.BATCH, lambda other: -(-size * other // batch))


def _temporary(
    row: Allocation, node: Node | None, graph: Graph | None, marks: tuple[Marks, ...], batch: int
) -> BatchScaling:
    """Scratch memory has no shape in a RunMetadata: patches by their formula, other scratch as the op's
    output or inputs.
    """
    op = (node.op if node else None) or row.op or ""
    if op in roles.GRADIENTS_2D and node and graph:
        law = _patches(row, node, graph, batch)
        if law:
            return law
    if op in roles.GRADIENTS_2D or not any(any(each) for each in marks):
        return _fixed(row.size_bytes)
    return proportional(_request(row, node, graph), batch)


def _request(row: Allocation, node: Node | None, graph: Graph | None) -> int:
    """Most scratch is as large as one of the op's own tensors: then that, rather than the chunk it got."""
    shapes = list(node.outputs) if node else []
    for reference in node.inputs if node and graph else ():
        name, port = split_reference(reference)
        source = graph.nodes.get(name) if graph else None
        shapes += [source.outputs[port]] if source and port < len(source.outputs) else []
    fitting = [
        size
        for each in shapes
        if (size := each.bytes) and round_up(size) <= row.size_bytes < 2 * round_up(size)
    ]
    return max(fitting, default=row.size_bytes)


def _patches(row: Allocation, node: Node, graph: Graph, batch: int) -> BatchScaling | None:
    kernel, gradient = _kernel_and_gradient(node, graph)
    if kernel is None or gradient is None or len(kernel) != 4 or len(gradient) != 4:
        return None
    cost = col_buffer.of_shapes(kernel, gradient, str(node.attributes.get("data_format") or "NHWC"))
    if node.op == "Conv2DBackpropFilter":
        return (
            _fixed(cost.filter_gradient_bytes())
            if _is_chunk_of(row.size_bytes, cost.filter_gradient_bytes())
            else None
        )
    together, alone = cost.filter_gradient_bytes(), cost.image_bytes
    one_by_one = not _is_chunk_of(row.size_bytes, together) or (together == alone)
    if not _is_chunk_of(row.size_bytes, alone if one_by_one else together):
        return None
    if batch == 1:  # with one image nothing is learned of the threads: eight are assumed
        return BatchScaling(
            Scale.FIXED, lambda other: alone if other == 1 else cost.input_gradient_bytes(other, 8)
        )
    return BatchScaling(Scale.FIXED, lambda other: alone if one_by_one or other == 1 else together)


def _is_chunk_of(chunk: int, request: int) -> bool:
    return round_up(request) <= chunk < 2 * round_up(request)


def _kernel_and_gradient(node: Node, graph: Graph) -> tuple[Sequence[int] | None, Sequence[int] | None]:
    data = [reference for reference in node.inputs if not reference.startswith("^")]
    if len(data) < 3:
        return None, None
    name, port = split_reference(data[2])
    gradient = shape_of(graph.nodes.get(name), port)
    if node.op == "Conv2DBackpropFilter":
        return shape_of(node, 0), gradient
    name, port = split_reference(data[1])
    return shape_of(graph.nodes.get(name), port), gradient


def shares_of_half(timeline: Timeline, graph: Graph | None, axis: Axis) -> list[float]:
    """For each row how much of it is left when the marked dimensions of the inputs are halved: 1.0 for what
    does not depend on them.
    """
    marks = marks_of(graph, axis) if graph else {}
    left = []
    repeated = Counter(timeline.table.node)
    for row in timeline.table:
        node = graph.nodes.get(row.node or "") if graph else None
        known = marks.get(row.node or "", ())
        count = next(
            (
                sum(each)
                for port, each in enumerate(known)
                if node and row.shape and shape_of(node, port) == row.shape
            ),
            0,
        )
        if row.shape is None and known:
            count = max(map(sum, known), default=0)
            if row.op in roles.GRADIENTS_2D and node and graph:
                count = _gradient_marks(node, marks)
        if not count and repeated[row.node] > 3 and "while" in (row.node or ""):
            count = 1  # each iteration of a loop over the sequence has its own
        left.append(0.5**count)
    return left


def _gradient_marks(node: Node, marks: Mapping[str, tuple[Marks, ...]]) -> int:
    data = [reference for reference in node.inputs if not reference.startswith("^")]
    name, port = split_reference(data[2]) if len(data) > 2 else ("", 0)
    known = marks.get(name, ())
    return sum(known[port]) if port < len(known) else 0


def input_rank(graph: Graph | None) -> int | None:
    """The rank of the largest input, None where there is none: 4 is an image, 3 a sequence of vectors, 2
    tokens or features.
    """
    inputs = [
        (math.prod(shape), len(shape))
        for node in (_inputs(graph) if graph else ())
        for port in range(len(node.outputs))
        if (shape := shape_of(node, port))
    ]
    return max(inputs)[1] if inputs else None


__all__ = [
    "BatchScaling",
    "batch_of",
    "input_rank",
    "laws_of",
    "length_axis",
    "shares_of_half",
    "side_axis",
    "standing_laws_of",
]
