"""Grappler's Remapper on a CPU (`remapper.cc`): a convolution or a matrix product swallows the bias, the
batch normalisation in inference mode and the activation that alone read it. The fused node has the name of
the last of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

from tfmemlens.knowledge.ops.table import Swallowed, op
from tfmemlens.model.graph import Graph, Node, split_reference

_DTYPES = ("float32", "float64", None)


def fused(nodes: Mapping[str, Node], fetched: Set[str]) -> dict[str, Node]:
    """The nodes with chains of these kinds as one; what is fetched stays."""
    graph = Graph(nodes)
    made: dict[str, Node] = {}
    gone: set[str] = set()
    for node in nodes.values():
        chain = list(_chain(node, graph, fetched))
        if chain:
            last = chain[-1]
            made[last.name] = _one(node, chain)
            gone.update(each.name for each in (node, *chain[:-1]))
    return {name: made.get(name, node) for name, node in nodes.items() if name not in gone}


def _chain(node: Node, graph: Graph, fetched: Set[str]) -> Iterator[Node]:
    """What a node swallows, in order."""
    if (
        not op(node.op).fused
        or node.attributes.get("T") not in _DTYPES
        or str(node.attributes.get("data_format") or "NHWC") != "NHWC"
        or _waits(node)
    ):
        return
    after = _reader(node, graph, fetched)
    if after is None or not _may_follow(node, after):
        return
    last = _reader(after, graph, fetched)
    yield after
    if last is not None and op(last.op).swallowed is Swallowed.ACTIVATION and not _waits(last):
        yield last


def _may_follow(node: Node, after: Node) -> bool:
    if _waits(after) or split_reference(after.inputs[0]) != (node.name, 0):
        return False
    swallowed = op(after.op).swallowed
    inferring = node.op == "Conv2D" and after.attributes.get("is_training") is False
    return swallowed is Swallowed.BIAS or (swallowed is Swallowed.NORM and inferring)


def _reader(node: Node, graph: Graph, fetched: Set[str]) -> Node | None:
    """The only node that reads this one, which reads nothing else of it."""
    readers = graph.consumers.get(node.name, ())
    if node.name in fetched or len(readers) != 1 or readers[0][2] != 0 or graph.waiters.get(node.name):
        return None
    return graph.nodes[readers[0][0]]


def _waits(node: Node) -> bool:
    return any(reference.startswith("^") for reference in node.inputs)


def _one(node: Node, chain: list[Node]) -> Node:
    inputs = (*node.inputs, *chain[0].inputs[1:])
    return Node(
        chain[-1].name,
        op(node.op).fused,
        inputs,
        node.device,
        node.attributes,
        chain[-1].outputs,
        chain[-1].source,
    )
