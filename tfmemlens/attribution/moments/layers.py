"""The model's layers with their parameters, as the variables of a trace or a graph show them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from tfmemlens.attribution.moments.timelines import handle_of
from tfmemlens.attribution.names.node_names import owner_of
from tfmemlens.model.allocation import Allocation
from tfmemlens.model.attribution import Kind, Owner, Phase
from tfmemlens.model.graph import Graph
from tfmemlens.model.layers import LayerSummary
from tfmemlens.model.live_model import LiveModel
from tfmemlens.model.tensor import TensorType, tensor_bytes
from tfmemlens.model.timeline import Timeline

_MAX_ROWS = 5_000


Standing = Sequence[Sequence[tuple[Allocation, Owner]]]
"""For each timeline what `timelines.standing_of` says of it."""


def summaries(
    timelines: Sequence[Timeline],
    standing: Standing,
    graph: Graph | None = None,
    model: LiveModel | None = None,
) -> tuple[LayerSummary, ...]:
    """A line for each layer that has weights or outputs, in the order in which the step ran them; the
    devices' variables together. A layer of the live model has its weights, also those whose buffers the trace
    leaves out.
    """
    shapes: dict[str, list[tuple[int, ...]]] = defaultdict(list)
    weights: dict[str, int] = defaultdict(int)
    slots: dict[str, int] = defaultdict(int)
    for row, owner in _variables(timelines, standing, graph):
        size = row.requested_bytes if row.requested_bytes is not None else tensor_bytes(row.shape, row.dtype)
        if owner.layer is None or size is None:
            continue
        if owner.kind is Kind.PARAMETER and row.shape is not None:
            shapes[owner.layer].append(tuple(part or 0 for part in row.shape))
            weights[owner.layer] += size
        elif owner.kind is Kind.OPTIMIZER_SLOT:
            slots[owner.layer] += size
    for layer, types in _told(model).items():
        shapes[layer] = [tuple(part or 0 for part in each.shape or ()) for each in types]
        weights[layer] = sum(tensor_bytes(each.shape, each.dtype) or 0 for each in types)
    outputs, order = _outputs(timelines)
    layers = [*order, *(layer for layer in weights if layer not in order)]
    return tuple(
        LayerSummary(
            layer,
            sum(map(math.prod, shapes[layer])),
            weights[layer],
            slots[layer],
            formula(shapes[layer]),
            tuple(outputs.get(layer, ())),
        )
        for layer in layers
        if weights[layer] or outputs.get(layer)
    )


def _told(model: LiveModel | None) -> dict[str, list[TensorType]]:
    """The weights of each layer of the live model."""
    tensors: dict[str, list[TensorType]] = defaultdict(list)
    for each in model.variables if model else ():
        if each.kind is Kind.PARAMETER and each.layer is not None:
            tensors[each.layer].append(each.tensor)
    return tensors


def _variables(
    timelines: Sequence[Timeline], standing: Standing, graph: Graph | None
) -> Iterator[tuple[Allocation, Owner]]:
    """What stood before the step on any device, each once: a device that reads another's variable has a copy
    of it.
    """
    seen: set[str | None] = set()
    for timeline, known in zip(timelines, standing, strict=True):
        replaced = (timeline.table.node[row] for row in timeline.freed_preexisting)
        gone = [
            handle_of(name, timeline, graph) for name in replaced if name and graph and name in graph.nodes
        ]
        for row, owner in [*known, *gone]:
            if row.node not in seen:
                seen.add(row.node)
                yield row, owner


def formula(shapes: list[tuple[int, ...]]) -> str:
    """`(5*5*1+1)*32` for a kernel [5,5,1,32] with a bias [32]; sums of products otherwise."""
    kernels = sorted((shape for shape in shapes if len(shape) >= 2), key=math.prod, reverse=True)
    vectors = [shape[0] for shape in shapes if len(shape) == 1]
    if len(kernels) == 1 and len(vectors) == 1 and vectors[0] == kernels[0][-1]:
        return f"({'*'.join(map(str, kernels[0][:-1]))}+1)*{kernels[0][-1]}"
    parts = ["*".join(map(str, shape)) for shape in kernels]
    parts += [
        f"{vectors.count(size)}*{size}" if vectors.count(size) > 1 else str(size)
        for size in dict.fromkeys(vectors)
    ]
    return "+".join(parts)


def _outputs(timelines: Sequence[Timeline]) -> tuple[dict[str, list[TensorType]], list[str]]:
    """Distinct outputs of each layer's forward ops, largest first; layers in the order of their first op."""
    sizes: dict[str, dict[TensorType, int]] = defaultdict(dict)
    order: dict[str, None] = {}
    for timeline in timelines:
        table = timeline.table
        for row in _representatives(timeline):
            shape, dtype = table.shape[row], table.dtype[row]
            if shape is None:
                continue
            node = table.node[row] or ""
            owner = owner_of(node, table.op[row])
            layer = (timeline.owners.get(node) or owner).layer
            if owner.phase is Phase.FORWARD and layer and owner.kind is Kind.ACTIVATION:
                order.setdefault(layer)
                sizes[layer][TensorType(shape, dtype)] = tensor_bytes(shape, dtype) or 0
    return {layer: sorted(types, key=lambda each: -types[each])[:3] for layer, types in sizes.items()}, list(
        order
    )


def _representatives(timeline: Timeline) -> Iterable[int]:
    """Rows that stand for all: in a long trace, of nodes that only a last number tells apart (`cell/mul_17`)
    the first of each size are enough.
    """
    if len(timeline.table) <= _MAX_ROWS:
        yield from range(len(timeline.table))
        return
    seen: dict[tuple[str, int], int] = defaultdict(int)
    for row, (node, size) in enumerate(zip(timeline.table.node, timeline.table.size_bytes, strict=True)):
        if node is None or "gradients/" in node:
            continue
        family = node.rstrip("0123456789"), size
        seen[family] += 1
        if seen[family] <= 16:
            yield row
