"""The copies that Grappler's layout pass made, read from a graph that has been through it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from tfmemlens.attribution.layout_pass import ops, peak
from tfmemlens.attribution.layout_pass.forcing import Forcing, Walk, on_cpu
from tfmemlens.attribution.names.node_names import owner_of
from tfmemlens.knowledge import layout_causes
from tfmemlens.knowledge.ops.type_inference import Types, infer, type_of
from tfmemlens.model.attribution import Phase
from tfmemlens.model.graph import Graph, Node, split_reference
from tfmemlens.model.layout import LayoutCopy, LayoutStudy
from tfmemlens.model.tensor import Constant, TensorType
from tfmemlens.model.timeline import Timeline
from tfmemlens.patterns import regex
from tfmemlens.values import replace

_FORMATS = regex(r"(?P<source>N[DHWC]{3,4})To(?P<target>N[DHWC]{3,4})")
_BEFORE = regex(r".+-\d+-(?:Transpose|DataFormatVecPermute|VecPermute|DataFormatDimMap|DimMap|Reshape)N\w+To")
_MKL = regex(r"\A_Mkl(?:Native|Eager)?(\w+?)(?:WithBias(?:BackpropBias)?)?\Z")
_BEHIND = regex(r".+-\d+-\d+-(?:Transpose|DataFormatVecPermute|VecPermute)N\w+To")


def study(
    graph: Graph, timelines: Sequence[Timeline] = (), feed: tuple[int | None, ...] = ()
) -> LayoutStudy | None:
    """The pass's copies with their causes; None where neither the graph nor a function of it holds any.
    Measured types come from the timelines.
    """
    bodies = [
        _plain(body)
        for body in (graph, *graph.functions.values())
        if any("LayoutOptimizer" in name for name in body.nodes)
    ]
    if not bodies:
        return None
    known = peak.measured(timelines)
    malformed: dict[str, str] = {}
    types = [infer(body, known, feed, malformed=malformed) for body in bodies]
    parts = [_study(body, own) for body, own in zip(bodies, types, strict=True)]
    whole = parts[0]
    for part in parts[1:]:
        whole = replace(
            whole,
            copies=whole.copies + part.copies,
            helpers=whole.helpers + part.helpers,
            sensitive=whole.sensitive + part.sensitive,
        )
    copies = tuple(sorted(whole.copies, key=lambda copy: -(copy.tensor.bytes or 0)))
    ordered = replace(
        whole,
        copies=copies,
        malformed=tuple(malformed.items()),
        reasons=_reasons(copies, whole.source_format),
    )
    return replace(ordered, peak=peak.peak_without(ordered, bodies[0], types[0], timelines))


def _reasons(copies: Sequence[LayoutCopy], source_format: str) -> dict[str, str]:
    """The causes of all copies in words."""
    ops: dict[str, list[str | None]] = {}
    for copy in copies:
        ops.setdefault(copy.cause, []).append(copy.forced_op)
    return {slug: layout_causes.reason(slug, forcing, source_format) for slug, forcing in ops.items()}


def _plain(graph: Graph) -> Graph:
    """Without the names that builds with oneDNN give their kernels: `_MklTranspose`,
    `_MklNativeConv2DWithBias`.
    """
    if not any(node.op.startswith("_Mkl") for node in graph):
        return graph
    return replace(
        graph, nodes={name: replace(node, op=_MKL.sub(r"\1", node.op)) for name, node in graph.nodes.items()}
    )


def _study(graph: Graph, types: Types) -> LayoutStudy:
    inserted = [node for node in graph if "LayoutOptimizer" in node.name]
    target, source = _formats(inserted)
    legacy = _is_legacy(inserted)
    copies = [node for node in inserted if node.op == "Transpose"]
    seen = infer(graph, open_feeds=True)
    walk = Walk(
        graph,
        types,
        seen,
        {node.name: _leads_out(node, target, graph) for node in copies},
        not all(map(on_cpu, copies)),
    )
    return LayoutStudy(
        tuple(_copy(node, walk) for node in copies),
        tuple(_helper(node, walk) for node in inserted if node.op != "Transpose"),
        source,
        target,
        legacy,
        sensitive=sum(node.op in ops.SENSITIVE for node in graph),
    )


def _formats(inserted: list[Node]) -> tuple[str, str]:
    """What the pass converted to, and from: a node in front of an op leads to the format of the converted
    part.
    """
    votes: Counter[tuple[str, str]] = Counter()
    for node in inserted:
        match = _FORMATS.search(node.name)
        if match is None or "PermConst" in node.name:
            continue
        behind = bool(_BEHIND.match(node.name)) and not node.name.startswith("LayoutOptimizer")
        pair = (match["source"], match["target"]) if behind else (match["target"], match["source"])
        if behind or _BEFORE.match(node.name):
            votes[pair] += 1
    return votes.most_common(1)[0][0] if votes else ("NCHW", "NHWC")


def _is_legacy(inserted: list[Node]) -> bool:
    """Whether the pass is that of 1.14 and before: its permutations are shared constants, its vectors are
    called VecPermute.
    """
    return any(
        re.match(
            r"(?:LayoutOptimizer|PermConstN\w+-LayoutOptimizer)|.*-\d+-(?:VecPermute|DimMap)N", node.name
        )
        for node in inserted
    ) or any(
        re.fullmatch(r"PermConstN\w+-LayoutOptimizer", split_reference(each)[0])
        for node in inserted
        for each in node.inputs
    )


def _direction(node: Node, graph: Graph) -> tuple[str, str]:
    """From and to, by the name, else by the permutation."""
    if match := _FORMATS.search(node.name):
        return match["source"], match["target"]
    order = graph.nodes.get(split_reference(node.inputs[1])[0]) if len(node.inputs) > 1 else None
    value = order.attributes.get("value") if order else None
    values = value.values if isinstance(value, Constant) else None
    return {
        (0, 3, 1, 2): ("NHWC", "NCHW"),
        (0, 2, 3, 1): ("NCHW", "NHWC"),
        (0, 4, 1, 2, 3): ("NDHWC", "NCDHW"),
        (0, 2, 3, 4, 1): ("NCDHW", "NDHWC"),
    }.get(values or (), ("", ""))


def _leads_out(node: Node, target: str, graph: Graph) -> bool:
    source, _ = _direction(node, graph)
    return source.replace("D", "") == target.replace("D", "")


def _copy(node: Node, walk: Walk) -> LayoutCopy:
    forcing = walk.behind(node) if walk.direction[node.name] else walk.before(node)
    return _made(node, walk, forcing or [Forcing(node.name, "not-in-this-graph")])


def _helper(node: Node, walk: Walk) -> LayoutCopy:
    """A small node needs no walk: it serves the op in its name."""
    served = owner_of(node.name).forward
    reader = walk.graph.nodes.get(served or "")
    return _made(
        node, walk, [Forcing(served or node.name, "not-supported" if reader is None else walk.why(reader))]
    )


def _made(node: Node, walk: Walk, forcing: list[Forcing]) -> LayoutCopy:
    graph = walk.graph
    owner = owner_of(node.name)
    main = forcing[0]
    producer = (
        split_reference(node.inputs[0])[0] if node.inputs and not node.inputs[0].startswith("^") else None
    )
    consumers = tuple(dict.fromkeys(name for name, _, _ in graph.consumers.get(node.name, ())))
    forced = graph.nodes.get(main.node)
    return LayoutCopy(
        node.name,
        node.op,
        "To".join(_direction(node, graph)) if any(_direction(node, graph)) else "",
        _source_layer(producer, owner.layer),
        _type(node, walk.types),
        producer,
        consumers,
        main.node,
        forced.op if forced else None,
        main.cause,
        tuple((each.node, each.cause) for each in forcing[1:]),
        main.through,
        _retained(producer, consumers),
        owner.in_loop,
        _source_line(graph, main.node, producer),
        layout_causes.CAUSES[main.cause].remedy,
    )


def _type(node: Node, types: Types) -> TensorType:
    """Its own type; if only the producer's bytes are known, a copy has as many."""
    own = types[node.name][0]
    return (
        type_of(types, node.inputs[0])
        if own.bytes is None and node.op == "Transpose" and node.inputs and own.shape is None
        else own
    )


def _source_layer(producer: str | None, named: str | None) -> str | None:
    """The layer whose tensor is copied: of the producer, else of the op in the name."""
    return (owner_of(producer).layer if producer else None) or named


def _retained(producer: str | None, consumers: tuple[str, ...]) -> bool:
    forward = producer is not None and owner_of(producer).phase is not Phase.GRADIENT
    return forward and any(owner_of(name).phase is Phase.GRADIENT for name in consumers)


def _source_line(graph: Graph, *names: str | None) -> str | None:
    """The user's line of the first of these nodes that carries one; for a gradient op that of its forward op,
    not of the call that made gradients.
    """
    for name in filter(None, names):
        owner = owner_of(name)
        for each in (owner.forward, name) if owner.phase is Phase.GRADIENT else (name,):
            node = graph.nodes.get(each or "")
            if node is not None and node.source:
                return node.source
    return None
