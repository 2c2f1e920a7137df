"""What Grappler does to a training graph before its first step, as far as memory and order feel it.

Constants are folded (`folding`); constants of two multiplications are pulled together (ConstantPushDown); what only control edges wait for is not computed
(the gradient of the input images, for one); Identity and NoOp are bypassed; nodes are put in topological order, breadth first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from zlib import crc32

from tfmemlens.estimation.executor import needed
from tfmemlens.estimation.folding import Feeds, folded
from tfmemlens.estimation.kernels import ELEMENTWISE, KERNELS, broadcast
from tfmemlens.model.graph import Graph, Node, split_reference
from tfmemlens.model.tensor import Constant
from tfmemlens.units import MIB

_EFFECTS = frozenset(
    """Assign AssignAdd AssignSub AssignVariableOp AssignAddVariableOp AssignSubVariableOp Assert PrintV2 StackPushV2 StackPopV2 StackV2 TensorArrayV3
    TensorArrayGradV3 TensorArrayWriteV3 TensorArrayScatterV3 ScatterUpdate ResourceScatterAdd ResourceScatterUpdate NoOp ControlTrigger Merge Switch Enter
    Exit NextIteration LoopCond VarHandleOp VariableV2 Variable ReadVariableOp _Arg _Retval Placeholder IteratorGetNext Const""".split()
)
_LOOPS = frozenset("Enter RefEnter Exit RefExit Merge RefMerge Switch RefSwitch NextIteration RefNextIteration".split())
_MOST_BYTES = 10 * MIB
_KEYS: tuple[Callable[[str], tuple[int, str]], ...] = (
    lambda name: (0, name),
    lambda name: (crc32(name.encode()), name),
    lambda name: (crc32(name.encode()[::-1]), name),
    lambda name: (crc32(b"3" + name.encode()), name),
    lambda name: (crc32(b"4" + name.encode()), name),
)


def rewritten(graph: Graph, fetches: Sequence[str], feeds: Feeds, variant: int = 0) -> Graph:
    """The graph as the executor would get it. TensorFlow keeps readers in sets, so their order differs from run to run: `variant` is one of them."""
    graph = folded(graph, fetches, feeds)
    nodes = _pushed_down(dict(graph.nodes), graph)
    nodes = _bypassed(nodes, {split_reference(name)[0] for name in fetches})
    nodes = _without_idle(nodes, fetches)
    return ordered(Graph({name: nodes[name] for name in needed(Graph(nodes), fetches)}, graph.functions, graph.producer), variant)


def _pushed_down(nodes: dict[str, Node], graph: Graph) -> dict[str, Node]:
    """(x * c) * d becomes x * (c * d): the inner product is a constant then."""
    for node in list(nodes.values()):
        if node.op != "Mul" or len(node.inputs) != 2:
            continue
        for outer, inner in (node.inputs, node.inputs[::-1]):
            first, second = nodes.get(split_reference(outer)[0]), nodes.get(split_reference(inner)[0])
            if first is None or second is None or first.op != "Const" or second.op != "Mul" or len(graph.consumers.get(second.name, ())) != 1:
                continue
            parts = [nodes.get(split_reference(reference)[0]) for reference in second.inputs[:2]]
            constant = next((part for part in parts if part is not None and part.op == "Const"), None)
            if constant is None:
                continue
            other = second.inputs[1 - parts.index(constant)]
            made = _product(first, constant)
            if made is not None:
                nodes[second.name] = Node(second.name, "Const", (), second.device, {"value": made, "dtype": made.dtype})
                nodes[node.name] = replace(node, inputs=(other, second.name, *node.inputs[2:]))
            break
    return nodes


def _product(left: Node, right: Node) -> Constant | None:
    values = [node.attributes.get("value") for node in (left, right)]
    if not all(isinstance(value, Constant) and value.shape is not None for value in values):
        return None
    shapes = [tuple(size or 0 for size in value.shape or ()) for value in values if isinstance(value, Constant)]
    made = Constant(broadcast(shapes), values[0].dtype if isinstance(values[0], Constant) else None)
    return made if (made.bytes or 0) <= _MOST_BYTES else None


def _bypassed(nodes: dict[str, Node], fetched: set[str]) -> dict[str, Node]:
    """Readers of an Identity read its source, those who wait for a NoOp wait for what it waits for."""
    passed = {name: node for name, node in nodes.items() if name not in fetched and (node.op == "NoOp" or (node.op == "Identity" and _plain(node, nodes)))}
    cache: dict[str, tuple[str, ...]] = {}

    def behind(reference: str) -> tuple[str, ...]:
        """What stands behind a reference: the source first, then control edges."""
        if reference in cache:
            return cache[reference]
        cache[reference] = (reference,)  # a cycle keeps the reference
        control = reference.startswith("^")
        node = passed.get(split_reference(reference)[0])
        if node is None:
            found: tuple[str, ...] = (reference,)
        elif control:
            found = tuple(dict.fromkeys(part for each in node.inputs for part in behind(_control(each))))
        else:
            source, *rest = node.inputs
            found = tuple(dict.fromkeys((*behind(source), *(part for each in rest for part in behind(_control(each))))))
        cache[reference] = found
        return found

    result = {}
    for name, node in nodes.items():
        data: list[str] = []
        controls: list[str] = []
        for reference in node.inputs:
            found = behind(reference)
            if reference.startswith("^"):
                controls += found
            else:
                data.append(found[0])
                controls += found[1:]
        sources = {split_reference(reference)[0] for reference in data}
        kept = dict.fromkeys(each for each in controls if split_reference(each)[0] not in sources)
        result[name] = replace(node, inputs=(*data, *kept))
    return result


def _plain(node: Node, nodes: Mapping[str, Node]) -> bool:
    """Whether an Identity may go: not behind a Switch, where it marks the branch, nor behind a reference variable, whose read it is."""
    source = nodes.get(split_reference(node.inputs[0])[0]) if node.inputs else None
    return source is not None and source.op not in _LOOPS and source.op not in ("VariableV2", "Variable")


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
        result[name] = Node(name, "NoOp", tuple(dict.fromkeys(map(_control, node.inputs))), node.device) if idle else node
    return _bypassed(result, fetched)


def _has_effect(node: Node) -> bool:
    return node.op in _EFFECTS or "Apply" in node.op or (node.op not in KERNELS and node.op not in ELEMENTWISE)


def ordered(graph: Graph, variant: int = 0) -> Graph:
    """Breadth first from the roots, as grappler's TopologicalSort, which takes readers in no order; a loop's NextIteration does not hold up its Merge."""
    key = _KEYS[variant % len(_KEYS)]
    waits: dict[str, int] = {}
    readers: dict[str, list[str]] = {}
    for node in graph:
        sources = [split_reference(reference)[0] for reference in node.inputs]
        if node.op in ("Merge", "RefMerge"):
            sources = [source for source in sources if graph.nodes[source].op not in ("NextIteration", "RefNextIteration")]
        waits[node.name] = len(sources)
        for source in sources:
            readers.setdefault(source, []).append(node.name)
    ready = deque(name for name, count in waits.items() if count == 0)
    order = []
    while ready:
        name = ready.popleft()
        order.append(name)
        for reader in sorted(readers.get(name, ()), key=key):
            waits[reader] -= 1
            if waits[reader] == 0:
                ready.append(reader)
    left = [name for name in graph.nodes if waits[name] > 0]
    return Graph({name: graph.nodes[name] for name in (*order, *left)}, graph.functions, graph.producer)
