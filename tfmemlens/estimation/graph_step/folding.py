"""Grappler's constant folding as far as memory sees it: what depends on constants and static shapes alone is
computed once and stays in memory.

Results above 10 MiB are left to the step (`kMaxConstantSize`), but for Fill, whose constant is written down
as one value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from tfmemlens.errors import NotUnderstood
from tfmemlens.estimation.graph_step.compiled import needed
from tfmemlens.estimation.graph_step.kernels import KernelCall, is_known, run
from tfmemlens.estimation.graph_step.tokens import Memory, Token
from tfmemlens.knowledge.bfc import Pool
from tfmemlens.knowledge.ops import roles
from tfmemlens.knowledge.ops.table import op
from tfmemlens.knowledge.topological_order import topological_order
from tfmemlens.model.graph import Graph, Node, split_reference
from tfmemlens.model.tensor import Constant
from tfmemlens.patterns import regex
from tfmemlens.units import MIB
from tfmemlens.values import replace

MAX_BYTES = 10 * MIB
_ZEROS = regex(r"/(?:zeros(?:_\d+)?|b_acc(?:_\d+)?)\Z")


class Feeds(Protocol):
    """What gives the graph's inputs their types."""

    def __call__(self, node: Node) -> list[Token]:
        """The tensors of an input."""
        ...

    def is_static(self, node: Node) -> bool:
        """Whether the graph itself states the shapes of an input."""
        ...


def folded(graph: Graph, fetches: Sequence[str], feeds: Feeds, by_name: bool = False) -> Graph:
    """The graph with constants in place of what can be computed once, and equal ones merged; `by_name` puts
    the nodes in the order of their names, as in an initializer.
    """
    graph = Graph(
        {name: graph.nodes[name] for name in needed(graph, fetches)}, graph.functions, graph.producer
    )
    static = _Static(graph, feeds)
    for node in topological_order(graph):
        static.visit(node)
    changed = Graph(static.replaced(), graph.functions, graph.producer)
    return _merged(
        Graph({name: changed.nodes[name] for name in sorted(changed.nodes)}, graph.functions, graph.producer)
        if by_name
        else changed
    )


class _Static:
    """What is known of each node before any step."""

    def __init__(self, graph: Graph, feeds: Feeds) -> None:
        self.graph = graph
        self.feeds = feeds
        self.tokens: dict[str, list[Token]] = {}
        self.constant: set[str] = set()
        self.static: set[str] = set()
        self.memory = Memory(Pool())
        self.state: dict[str, object] = {}

    def visit(self, node: Node) -> None:
        """The types of a node's outputs, and whether they are constant, or static."""
        data = [reference for reference in node.inputs if not reference.startswith("^")]
        if node.op in roles.CONSTANTS:
            self._keep(node, run(self._call(node, [])), True, True)
        elif node.op in roles.VARIABLES:
            shape, dtype = node.attributes.get("shape"), node.attributes.get("dtype")
            sizes = [size for size in shape if isinstance(size, int)] if isinstance(shape, tuple) else []
            if isinstance(shape, tuple) and len(sizes) == len(shape) and node.op != "VarHandleOp":
                self._keep(node, [Token(tuple(sizes), str(dtype))], False, True)
        elif not data and node.op in roles.FEEDS:
            if self.feeds.is_static(node):
                self._keep(node, self.feeds(node), False, True)
        elif data and op(node.op).folded and is_known(node.op):
            self._compute(node, [split_reference(reference) for reference in data])

    def _compute(self, node: Node, data: Sequence[tuple[str, int]]) -> None:
        inputs = [
            self.tokens[name][port]
            for name, port in data
            if name in self.tokens and 0 <= port < len(self.tokens[name])
        ]
        if len(inputs) < len(data):
            return
        try:
            outputs = run(self._call(node, inputs))
        except NotUnderstood:  # a shape that the step alone will know, or a node of which it will say why not
            return
        if not outputs or any(
            token.dtype in ("variant", "resource") for token in outputs
        ):  # an effect, such as Assert, or a list that will be filled
            return
        names = {name for name, _ in data}
        constant = names <= self.constant and (
            all(token.bytes <= MAX_BYTES for token in outputs) or node.op == "Fill"
        )
        static = names <= self.static
        self._keep(node, outputs, constant or (static and op(node.op).by_shapes), static)

    def _call(self, node: Node, inputs: list[Token]) -> KernelCall:
        self.memory.rows.clear()
        return KernelCall(node, inputs, self.memory, 1, self.state, [])

    def _keep(self, node: Node, tokens: list[Token], constant: bool, static: bool) -> None:
        self.tokens[node.name] = [Token(token.shape, token.dtype, token.values) for token in tokens]
        if constant:
            self.constant.add(node.name)
        if static:
            self.static.add(node.name)

    def replaced(self) -> dict[str, Node]:
        """All nodes, with constants in place of those that only constants make; of a node with several
        outputs each is one.
        """
        moved: dict[str, str] = {}
        nodes: dict[str, Node] = {}
        for name, node in self.graph.nodes.items():
            if name not in self.constant or node.op in roles.CONSTANTS:
                nodes[name] = node
                continue
            tokens = self.tokens[name]
            for port, token in enumerate(tokens):
                own = name if len(tokens) == 1 else f"{name}-matshapes-{port}"
                moved[f"{name}:{port}" if port else name] = own
                nodes[own] = _made(own, node, token, self._controls(name))
        return {
            name: replace(node, inputs=tuple(_moved(reference, moved, nodes) for reference in node.inputs))
            for name, node in nodes.items()
        }

    def _controls(self, name: str) -> tuple[str, ...]:
        """What the node and the constants behind it wait for: inside a loop that ties them to an
        iteration.
        """
        inputs: dict[str, None] = {}
        stack, seen = [name], set[str]()
        while stack:
            at = stack.pop()
            if at in seen:
                continue
            seen.add(at)
            for reference in self.graph.nodes[at].inputs:
                source = split_reference(reference)[0]
                if reference.startswith("^"):
                    inputs[reference] = None
                elif source in self.constant:
                    stack.append(source)
                else:
                    inputs[f"^{source}"] = None
        return tuple(inputs)


def _made(name: str, node: Node, token: Token, controls: tuple[str, ...]) -> Node:
    value = Constant(token.shape, token.dtype, token.values)
    return Node(
        name,
        "Const",
        controls,
        node.device,
        {"value": value, "dtype": value.dtype, "_class": node.attributes.get("_class")},
    )


def _moved(reference: str, moved: Mapping[str, str], nodes: Mapping[str, Node]) -> str:
    control = "^" if reference.startswith("^") else ""
    name, port = split_reference(reference)
    plain = f"{name}:{port}" if port else name
    if control and name not in nodes:
        return f"^{moved.get(name, name)}"
    return f"{control}{moved.get(plain, reference.removeprefix('^'))}"


def _merged(graph: Graph) -> Graph:
    """Zeros of one shape that stand beside one variable (`_class`), or beside none, and wait for the same (an
    iteration of one loop), are one constant.
    """
    same: dict[tuple[object, ...], str] = {}
    renamed: dict[str, str] = {}
    for name in sorted(graph.nodes):
        node = graph.nodes[name]
        value = node.attributes.get("value")
        if node.op == "Const" and _ZEROS.search(name) and isinstance(value, Constant):
            alike = (value.shape, value.dtype, node.attributes.get("_class"), node.inputs)
            kept = same.setdefault(alike, name)
            if kept != name:
                renamed[name] = kept
    nodes = {
        name: replace(node, inputs=tuple(_renamed(reference, renamed) for reference in node.inputs))
        for name, node in graph.nodes.items()
        if name not in renamed
    }
    return Graph(nodes, graph.functions, graph.producer)


def _renamed(reference: str, renamed: Mapping[str, str]) -> str:
    control = "^" if reference.startswith("^") else ""
    name, colon, port = reference.removeprefix("^").partition(":")
    return f"{control}{renamed.get(name, name)}{colon}{port}"
