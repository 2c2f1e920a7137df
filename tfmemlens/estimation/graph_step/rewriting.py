"""What Grappler does to a training graph before its first step, as far as memory and order feel it.

Constants are folded (`folding`); constant factors and terms are pushed down (ConstantPushDown); convolutions
and products swallow what follows them (`fusing`); what only control edges wait for is not computed (the
gradient of the input images, for one); Identity and NoOp are bypassed; nodes are put in topological order,
breadth first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from zlib import crc32

from tfmemlens.estimation.graph_step.compiled import needed
from tfmemlens.estimation.graph_step.folding import Feeds, folded
from tfmemlens.estimation.graph_step.fusing import fused
from tfmemlens.estimation.graph_step.kernels import is_known
from tfmemlens.knowledge.ops import roles
from tfmemlens.knowledge.ops.shapes.elementwise import broadcast
from tfmemlens.knowledge.ops.table import op
from tfmemlens.knowledge.topological_order import topological_order
from tfmemlens.model.graph import Graph, Node, split_reference
from tfmemlens.model.tensor import Constant
from tfmemlens.units import MIB
from tfmemlens.values import replace

_DIVISIONS = frozenset(("Div", "RealDiv"))
_FAMILIES = (frozenset(("Add", "AddV2")), frozenset(("Mul", *_DIVISIONS)))
"""Ops through which a constant is pushed down."""
_MAX_BYTES = 10 * MIB
_FUNCTIONS = (2, 0)
"""From this version on steps are functions, of whose nodes the order is lost."""
_KEYS: tuple[Callable[[str], tuple[int, str]], ...] = (
    lambda name: (0, name),
    lambda name: (crc32(name.encode()), name),
    lambda name: (crc32(name.encode()[::-1]), name),
    lambda name: (crc32(b"3" + name.encode()), name),
    lambda name: (crc32(b"4" + name.encode()), name),
)


def rewritten(graph: Graph, fetches: Sequence[str], feeds: Feeds, variant: int = 0) -> Graph:
    """The graph as the executor would get it. TensorFlow keeps a function's readers in sets, so their order
    differs from run to run: `variant` is one of them.
    """
    graph = folded(graph, fetches, feeds)
    fetched = {split_reference(name)[0] for name in fetches}
    nodes = _without_idle(_bypassed(dict(graph.nodes), fetched), fetches)
    graph = Graph(
        {name: nodes[name] for name in needed(Graph(nodes), fetches)}, graph.functions, graph.producer
    )
    nodes = _sorted_inputs(fused(_pushed_down(dict(graph.nodes), graph), fetched))
    return ordered(
        Graph({name: nodes[name] for name in needed(Graph(nodes), fetches)}, graph.functions, graph.producer),
        variant,
    )


def _pushed_down(nodes: dict[str, Node], graph: Graph) -> dict[str, Node]:
    """(x * y) * c becomes (c * y) * x, ConstantFolding::ConstantPushDown: where y is a constant, too, the
    inner product is one. A constant divisor is a factor.
    """
    for name in list(nodes):
        node = nodes[name]
        family = next((family for family in _FAMILIES if node.op in family), None)
        if (
            family is None
            or len([each for each in node.inputs if not each.startswith("^")]) != 2
            or node.attributes.get("T") in ("float16", "bfloat16")
        ):
            continue
        sides = [nodes.get(split_reference(reference)[0]) for reference in node.inputs[:2]]
        if node.op in _DIVISIONS and (sides[1] is None or sides[1].op != "Const"):
            continue
        place = next(
            (index for index, side in enumerate(sides) if side is not None and side.op == "Const"), None
        )
        inner = None if place is None else sides[1 - place]
        if (
            place is None
            or inner is None
            or inner.op not in family
            or inner.op in _DIVISIONS
            or len(graph.consumers.get(inner.name, ())) != 1
        ):
            continue
        _push(nodes, node, inner, place)
    return nodes


def _push(nodes: dict[str, Node], node: Node, inner: Node, place: int) -> None:
    """The outer constant and one of the inner factors change places."""
    leaves = [nodes.get(split_reference(reference)[0]) for reference in inner.inputs[:2]]
    constant = [leaf is not None and leaf.op == "Const" for leaf in leaves]
    if None in leaves or all(constant) or len(leaves) != 2:
        return
    moved = 1 if constant[0] else 0
    outer, kept = nodes[split_reference(node.inputs[place])[0]], leaves[1 - moved]
    made = _combined(node.op, outer, kept) if kept is not None and constant[1 - moved] else None
    if any(constant) and made is None:
        return
    if made is not None:
        nodes[inner.name] = Node(inner.name, "Const", (), inner.device, {"value": made, "dtype": made.dtype})
    else:
        value = outer.attributes.get("value")
        if not isinstance(value, Constant) or value.shape != ():
            return
        inputs = (
            (node.inputs[place], inner.inputs[1]) if moved == 0 else (inner.inputs[0], node.inputs[place])
        )
        nodes[inner.name] = replace(inner, inputs=(*inputs, *inner.inputs[2:]))
    nodes[node.name] = replace(node, op=inner.op, inputs=(inner.name, inner.inputs[moved], *node.inputs[2:]))


def _combined(by: str, left: Node, right: Node) -> Constant | None:
    """What two constants make by an op: of whole numbers, such as sides of a shape, the number, too."""
    values = [node.attributes.get("value") for node in (left, right)]
    if not all(isinstance(value, Constant) and value.shape is not None for value in values):
        return None
    shapes = [value.shape for value in values if isinstance(value, Constant)]
    made = Constant(broadcast(shapes), values[0].dtype if isinstance(values[0], Constant) else None)
    numbers = [value.values for value in values if isinstance(value, Constant)]
    if made.shape == () and by not in _DIVISIONS and all(numbers):
        work = sum if by in _FAMILIES[0] else math.prod
        made = replace(made, values=(work(number[0] for number in numbers if number),))
    return made if (made.bytes or 0) <= _MAX_BYTES else None


def _bypassed(nodes: dict[str, Node], fetched: set[str]) -> dict[str, Node]:
    """Readers of an Identity read its source, those who wait for a NoOp wait for what it waits for."""
    passed = {
        name: node
        for name, node in nodes.items()
        if name not in fetched and (node.op == "NoOp" or (node.op == "Identity" and _plain(node, nodes)))
    }
    cache: dict[str, tuple[str, ...]] = {}

    def behind(reference: str) -> tuple[str, ...]:
        """What stands behind a reference: the source first, then control edges."""
        if reference in cache:
            return cache[reference]
        cache[reference] = (reference,)  # a cycle keeps the reference
        control = reference.startswith("^")
        node = passed.get(split_reference(reference)[0])
        if node is None:
            sources: tuple[str, ...] = (reference,)
        elif control:
            sources = tuple(dict.fromkeys(part for each in node.inputs for part in behind(_control(each))))
        else:
            source, *rest = node.inputs
            sources = tuple(
                dict.fromkeys((*behind(source), *(part for each in rest for part in behind(_control(each)))))
            )
        cache[reference] = sources
        return sources

    result = {}
    for name, node in nodes.items():
        data: list[str] = []
        controls: list[str] = []
        for reference in node.inputs:
            behind_it = behind(reference)
            if reference.startswith("^"):
                controls += behind_it
            else:
                data.append(behind_it[0])
                controls += behind_it[1:]
        sources = {split_reference(reference)[0] for reference in data}
        kept = dict.fromkeys(each for each in controls if split_reference(each)[0] not in sources)
        result[name] = replace(node, inputs=(*data, *kept))
    return result


def _plain(node: Node, nodes: Mapping[str, Node]) -> bool:
    """Whether an Identity may go: not behind a Switch, where it marks the branch, nor behind a reference
    variable, whose read it is.
    """
    source = nodes.get(split_reference(node.inputs[0])[0]) if node.inputs else None
    return source is not None and source.op not in roles.CONTROL | roles.REFERENCE_VARIABLES


def _sorted_inputs(nodes: dict[str, Node]) -> dict[str, Node]:
    """Inputs of commutative ops in the order of their names, as ArithmeticOptimizer leaves them: the first
    that may be written over is.
    """
    result = {}
    for name, node in nodes.items():
        if op(node.op).commutative:
            data = [each for each in node.inputs if not each.startswith("^")]
            node = replace(node, inputs=(*sorted(data), *node.inputs[len(data) :]))
        result[name] = node
    return result


def _control(reference: str) -> str:
    return reference if reference.startswith("^") else f"^{split_reference(reference)[0]}"


def _without_idle(nodes: dict[str, Node], fetches: Sequence[str]) -> dict[str, Node]:
    """Nodes that are only waited for and have no effect wait for their inputs and compute nothing."""
    fetched = {split_reference(name)[0] for name in fetches}
    read = set(fetched)
    stack = [name for name in needed(Graph(nodes), fetches) if name in fetched or _has_effect(nodes[name])]
    seen = set(stack)
    while stack:
        for reference in nodes[stack.pop()].inputs:
            source = split_reference(reference)[0]
            if not reference.startswith("^"):
                read.add(source)
                if source in nodes and source not in seen:
                    seen.add(source)
                    stack.append(source)
    result = {}
    for name, node in nodes.items():
        idle = name not in read and not _has_effect(node)
        result[name] = (
            Node(name, "NoOp", tuple(dict.fromkeys(map(_control, node.inputs))), node.device)
            if idle
            else node
        )
    return _bypassed(result, fetched)


def _has_effect(node: Node) -> bool:
    return op(node.op).effect or "Apply" in node.op or not is_known(node.op)


def is_ordered(graph: Graph) -> bool:
    """Whether it is a session's, whose nodes keep the order in which the program made them."""
    return () < graph.version < _FUNCTIONS


def ordered(graph: Graph, variant: int = 0) -> Graph:
    """Breadth first from the roots, as grappler's TopologicalSort, which takes a function's readers in no
    order; a loop's NextIteration does not hold up its Merge.
    """
    order = topological_order(graph, None if is_ordered(graph) else _KEYS[variant % len(_KEYS)])
    return Graph({node.name: node for node in order}, graph.functions, graph.producer)
