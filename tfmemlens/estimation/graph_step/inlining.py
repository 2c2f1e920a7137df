"""Function calls, functional loops and branches written out as plain nodes, as TensorFlow does it before a
step runs.

Grappler inlines the calls of a graph that a session runs (`function_optimizer.cc`); `lower_while_op.cc` and
`lower_if_op.cc` make Enter, Merge, Switch and Exit of functional control flow. A call that is left after
Grappler runs with an executor of its own: it starts when all its arguments are there and keeps them until the
last of its nodes is done.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tfmemlens.knowledge.ops import roles
from tfmemlens.knowledge.ops.table import op
from tfmemlens.model.graph import Graph, Node, Signature, split_reference
from tfmemlens.patterns import regex
from tfmemlens.values import dataclass, field, replace

ARGUMENTS, RESULTS = "_FunctionArguments", "_FunctionResults"
"""Our own ops at the ends of a call that is not inlined."""
_DEEPEST = 30
"""Calls inside calls; recursion ends here."""
_WAITING = regex(r"/(?:cond|body)/_\d+/input_control_node/_\d+\Z")


def inlined(
    graph: Graph, fetches: Sequence[str] = (), calls_stay: bool = False
) -> tuple[Graph, tuple[str, ...]]:
    """The graph without functional nodes, and the fetches as they are called in it. `calls_stay`: what
    Grappler left as a call runs as one.
    """
    if not any(_is_functional(node, graph.functions) for node in graph):
        return graph, tuple(fetches)
    writer = _Writer(graph.functions, calls_stay)
    for node in graph:
        writer.add(node, 0)
    nodes = {
        name: replace(node, inputs=tuple(map(writer.behind, node.inputs)))
        for name, node in writer.nodes.items()
    }
    named = []
    for fetch in fetches:
        name, _ = split_reference(fetch)
        named.append(
            fetch
            if fetch.startswith("^") or (name, 0) not in writer.moved
            else split_reference(writer.behind(fetch))[0]
        )
    return Graph(nodes, graph.functions, graph.producer), tuple(named)


def unchained(graph: Graph) -> Graph:
    """A recorded graph whose loops may run ahead of themselves: where Grappler lowers a loop, its condition
    and body wait for all values that go round; where TensorFlow lowers it before a step, what reads nothing
    waits for the counter alone.
    """
    changed = {}
    for node in graph:
        if node.op == "NoOp" and _WAITING.search(node.name):
            turning = [each for each in node.inputs if "/merge" in each or "loop_body_control" in each]
            if turning:
                changed[node.name] = replace(node, inputs=tuple(sorted(turning, key=_number)[:1]))
    return Graph({**graph.nodes, **changed}, graph.functions, graph.producer) if changed else graph


def _number(reference: str) -> int:
    """`while/merge/_13` as 13."""
    digits = reference.rpartition("_")[2]
    return int(digits) if digits.isdigit() else 0


def _is_functional(node: Node, functions: Mapping[str, Graph]) -> bool:
    if node.op in roles.CALLS:
        return node.attributes.get("f") in functions
    if node.op in roles.LOOPS:
        return node.attributes.get("cond") in functions and node.attributes.get("body") in functions
    if node.op in roles.BRANCHES:
        return (
            node.attributes.get("then_branch") in functions
            and node.attributes.get("else_branch") in functions
        )
    return node.op in functions


@dataclass
class _Writer:
    """The plain nodes so far."""

    functions: Mapping[str, Graph]
    calls_stay: bool
    nodes: dict[str, Node] = field(default_factory=dict)
    moved: dict[tuple[str, int], str] = field(default_factory=dict)
    """What stands for an output of a functional node."""

    def behind(self, reference: str) -> str:
        """The plain output behind a reference; control edges keep theirs, since a node of that name stays."""
        seen = 0
        while (
            not reference.startswith("^")
            and (key := split_reference(reference)) in self.moved
            and seen < _DEEPEST
        ):
            reference, seen = self.moved[key], seen + 1
        return reference

    def add(self, node: Node, depth: int) -> None:
        """A node as it is, or what it stands for."""
        if depth >= _DEEPEST or not _is_functional(node, self.functions):
            self.nodes[node.name] = node
        elif node.op in roles.LOOPS:
            self._loop(node, depth)
        elif node.op in roles.BRANCHES:
            self._branches(node, depth)
        elif self.calls_stay and node.op in roles.CALLS:
            self._call(node, depth)
        else:
            self._inline(node, depth)

    def _plain(self, name: str, op: str, inputs: Iterable[str], like: Node, **attributes: object) -> str:
        self.nodes[name] = Node(name, op, tuple(inputs), like.device, attributes)
        return name

    def _body(
        self,
        function: str,
        prefix: str,
        arguments: Sequence[str],
        roots_after: Sequence[str],
        depth: int,
        like: Node,
    ) -> tuple[list[str], list[str]]:
        """A function's nodes under a prefix; its results, and the nodes that it runs in any case. Nodes that
        read nothing wait for `roots_after`.
        """
        body = self.functions[function]
        signature = body.signature or Signature()
        given = dict(zip(signature.arguments, arguments, strict=False))

        def translated(reference: str) -> str:
            control = reference.startswith("^")
            name = reference.removeprefix("^").partition(":")[0]
            if name in given:
                return f"^{split_reference(given[name])[0]}" if control else given[name]
            return f"^{prefix}{name}" if control else f"{prefix}{name}:{_port(reference, body)}"

        for node in body:
            inputs = tuple(map(translated, node.inputs)) or tuple(roots_after)
            placed = replace(
                node,
                name=prefix + node.name,
                inputs=inputs,
                device=node.device or like.device,
                source=node.source or like.source,
            )
            if "frame_name" in node.attributes:  # loops of two calls are two loops
                placed = replace(
                    placed,
                    attributes={**node.attributes, "frame_name": f"{prefix}{node.attributes['frame_name']}"},
                )
            self.add(placed, depth + 1)
        return list(map(translated, signature.results)), [f"^{prefix}{name}" for name in signature.effects]

    def _inline(self, node: Node, depth: int) -> None:
        data, controls = _split(node.inputs)
        results, effects = self._body(_function(node), f"{node.name}/", data, controls, depth, node)
        self._end(node, results, effects)

    def _call(self, node: Node, depth: int) -> None:
        """Arguments are taken together, and let go when all is done."""
        data, _ = _split(node.inputs)
        begin = self._plain(f"{node.name}/arguments", ARGUMENTS, node.inputs, node)
        results, effects = self._body(
            _function(node),
            f"{node.name}/",
            [f"{begin}:{index}" for index in range(len(data))],
            (f"^{begin}",),
            depth,
            node,
        )
        inside = [f"^{node.name}/{each.name}" for each in self.functions[_function(node)]]
        read = {
            split_reference(reference)[0]
            for each in self.functions[_function(node)]
            for reference in each.inputs
        }
        sinks = [name for name in inside if name.removeprefix(f"^{node.name}/") not in read]
        self._plain(
            node.name,
            RESULTS,
            (*results, *data, *dict.fromkeys((*effects, *sinks))),
            node,
            results=len(results),
        )

    def _end(self, node: Node, results: Sequence[str], effects: Sequence[str]) -> None:
        """Readers of the node read the results; those who wait for it wait for them and for what runs in any
        case.
        """
        for port, result in enumerate(results):
            self.moved[node.name, port] = result
        waits = dict.fromkeys(
            (*(f"^{split_reference(self.behind(result))[0]}" for result in results), *effects)
        )
        self._plain(node.name, "NoOp", waits, node)

    def _loop(self, node: Node, depth: int) -> None:
        """lower_while_op.cc: resources are constants of the loop, everything else goes round."""
        data, controls = _split(node.inputs)
        types = node.attributes.get("T")
        kinds = [str(kind) for kind in types] if isinstance(types, tuple) else [""] * len(data)
        frame = {
            "frame_name": node.name,
            "parallel_iterations": node.attributes.get("parallel_iterations") or 10,
        }
        ends: list[str] = []
        turning = [index for index in range(len(data)) if kinds[index : index + 1] != ["resource"]]
        entered = []
        for index, reference in enumerate(data):
            constant = {} if index in turning else {"is_constant": True}
            entered.append(
                self._plain(
                    f"{node.name}/enter_{index}", "Enter", (reference, *controls), node, **frame, **constant
                )
            )
        merged = [
            (
                self._plain(
                    f"{node.name}/merge_{index}", "Merge", (entered[index], f"{node.name}/next_{index}"), node
                )
                if index in turning
                else entered[index]
            )
            for index in range(len(data))
        ]
        pivot = [f"^{merged[turning[0]]}"] if turning else []
        wanted, effects = self._body(
            str(node.attributes["cond"]), f"{node.name}/cond/", merged, pivot, depth, node
        )
        decided = self._plain(f"{node.name}/LoopCond", "LoopCond", (*wanted[:1], *effects), node)
        inside = list(merged)
        for index in turning:
            switch = self._plain(f"{node.name}/switch_{index}", "Switch", (merged[index], decided), node)
            inside[index] = self._plain(f"{node.name}/inside_{index}", "Identity", (f"{switch}:1",), node)
        results, effects = self._body(
            str(node.attributes["body"]),
            f"{node.name}/body/",
            inside,
            [f"^{inside[turning[0]]}"] if turning else [],
            depth,
            node,
        )
        for index in range(len(data)):
            if index in turning:
                self._plain(f"{node.name}/next_{index}", "NextIteration", (results[index], *effects), node)
                ends.append(
                    self._plain(f"{node.name}/exit_{index}", "Exit", (f"{node.name}/switch_{index}:0",), node)
                )
            else:
                ends.append(data[index])
        self._end(node, ends, ())

    def _branches(self, node: Node, depth: int) -> None:
        """lower_if_op.cc: each input goes to one of the branches, each output comes from it."""
        (condition, *data), controls = _split(node.inputs)
        pivot = self._plain(f"{node.name}/pivot", "Switch", (condition, condition, *controls), node)
        switched = [
            self._plain(f"{node.name}/switch_{index}", "Switch", (reference, condition), node)
            for index, reference in enumerate(data)
        ]
        taken: list[list[str]] = []
        effects: list[list[str]] = []
        for side, branch in enumerate(("else_branch", "then_branch")):
            begin = self._plain(f"{node.name}/{branch}/pivot", "Identity", (f"{pivot}:{side}",), node)
            given = [f"{name}:{side}" for name in switched]
            results, waits = self._body(
                str(node.attributes[branch]), f"{node.name}/{branch}/", given, [f"^{begin}"], depth, node
            )
            taken.append(results)
            effects.append([self._plain(f"{node.name}/{branch}/done", "Identity", (begin, *waits), node)])
        ends = [
            self._plain(f"{node.name}/merge_{index}", "Merge", pair, node)
            for index, pair in enumerate(zip(*taken, strict=False))
        ]
        done = self._plain(f"{node.name}/done", "Merge", (*effects[0], *effects[1]), node)
        self._end(node, ends, [f"^{done}"])


def _split(references: Sequence[str]) -> tuple[list[str], list[str]]:
    """Data inputs and control inputs."""
    return [each for each in references if not each.startswith("^")], [
        each for each in references if each.startswith("^")
    ]


def _function(node: Node) -> str:
    return str(node.attributes.get("f")) if node.op in roles.CALLS else node.op


def _port(reference: str, body: Graph) -> int:
    """`norm:batch_mean:0` as the number of the output."""
    name, _, rest = reference.partition(":")
    label, _, index = rest.partition(":")
    node = body.nodes.get(name)
    names = op(node.op).outputs if node else ()
    number = next((int(text) for text in (index, label) if text.isdigit()), 0)
    return names.index(label) + number if label in names else number
