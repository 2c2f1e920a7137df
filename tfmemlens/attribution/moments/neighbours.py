"""Whose an op without a scope is, as the graph tells it: `Tile_1` of a mean's gradient goes into the gradient
of the layer whose output was averaged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tfmemlens.attribution.names.node_names import owner_of
from tfmemlens.knowledge.ops import roles
from tfmemlens.model.attribution import Kind, Owner, Phase
from tfmemlens.model.graph import Graph
from tfmemlens.values import replace

_FAR = 3
"""Ops without a scope that may lie between."""


def beside(owner: Owner, node: str | None, graph: Graph | None) -> Owner:
    """The owner with the layer of the nearest ops that read the node's output where these are gradients, else
    of those that made its inputs; as it is where it has a layer, or where the nearest are of several.
    """
    if graph is None or not node or graph.op_of(node) is None or not _is_bare(owner.layer, node):
        return owner
    after = _nearest(node, lambda name: [reader for reader, _, _ in graph.consumers.get(name, ())], graph)
    if after and all(each.phase is Phase.GRADIENT for each in after):
        kind = Kind.GRADIENT if owner.kind is Kind.ACTIVATION else owner.kind
        return _of(after, replace(owner, kind=kind, phase=Phase.GRADIENT))
    return _of(_nearest(node, graph.sources_of, graph), owner)


def _of(near: Iterable[Owner], owner: Owner) -> Owner:
    layers = {each.layer for each in near}
    return replace(owner, layer=layers.pop()) if len(layers) == 1 else owner


def _nearest(node: str, step: Callable[[str], Iterable[str]], graph: Graph) -> list[Owner]:
    """The owners of the first ops with a scope on every way from the node."""
    owners, waiting, seen = [], [(node, 0)], {node}
    for name, distance in waiting:  # grows while we walk
        for each in step(name):
            op = graph.op_of(each)
            if each in seen or op is None or op in roles.STORED | roles.INPUTS:
                continue
            seen.add(each)
            owner = owner_of(each, op)
            if not _is_bare(owner.layer, each):
                owners.append(owner)
            elif distance < _FAR:
                waiting.append((each, distance + 1))
    return owners


def _is_bare(layer: str | None, node: str) -> bool:
    return layer is None or layer == node.rpartition("/")[2]
