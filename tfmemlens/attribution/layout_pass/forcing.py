"""Why a copy of the layout pass is there: the op that could not take the other format, found by walking the
graph.

A copy stands between an op that was converted and one that was not. Behind a converted op its reader refused:
that reader is looked at. In front of a converted op its source was never converted: the walk goes up through
ops that would have followed, to the one where the old format begins.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import cached_property

from tfmemlens.attribution.layout_pass import ops
from tfmemlens.attribution.names.node_names import owner_of
from tfmemlens.knowledge.layout_causes import CAUSES
from tfmemlens.knowledge.ops import roles
from tfmemlens.knowledge.ops.type_inference import Types, has_rule, type_of
from tfmemlens.model.attribution import Phase
from tfmemlens.model.graph import Graph, Node, split_reference
from tfmemlens.patterns import regex
from tfmemlens.values import dataclass

_RANK = list(CAUSES)
_STATED_AXES = roles.CONSTANTS | {"DataFormatDimMap"}
_GRADIENT = regex(r"(?:\A|/)gradients(?:_\d+)?/|gradient_tape/|Backprop|Grad(?:V\d)?(?:_\d+)?\Z")
_ON_CPU = regex(r"(?:\A|/)(?:device:)?(?:CPU|cpu):(?:\d+|\*)")
_WRITTEN_OUT_NORM = regex(r"(?:\A|/)(?:batchnorm|moments|batch_norm_with_global_normalization)(?:_\d+)?/")


@dataclass(frozen=True, slots=True)
class Forcing:
    """An op that forces a copy, why, and the agnostic ops on the way to it."""

    node: str
    cause: str
    through: tuple[str, ...] = ()


@dataclass(frozen=True)
class Walk:
    """The graph after the pass, with what the walk needs to know."""

    graph: Graph
    types: Types
    seen: Types
    """The types that the pass knew: a feed's shape is not among them."""
    direction: dict[str, bool]
    """The inserted Transposes: whether each leads out of the converted part."""
    on_device: bool = True
    """Whether the copies are on an accelerator, so that an op on the CPU stands apart."""

    def behind(self, copy: Node) -> list[Forcing]:
        """A copy that leads out of the converted part: why each of its readers stayed as it was."""
        readers = [
            self.graph.nodes[name]
            for name, _, _ in self.graph.consumers.get(copy.name, ())
            if name in self.graph.nodes
        ]
        if not readers:
            return [Forcing(copy.name, "fetched")]
        return ranked([forcing for reader in readers for forcing in self._refusal(reader, set())])

    def before(self, copy: Node) -> list[Forcing]:
        """A copy that leads into the converted part: where the old format comes from."""
        producer = self.graph.nodes.get(split_reference(copy.inputs[0])[0]) if copy.inputs else None
        if producer is None:
            return [Forcing(copy.inputs[0] if copy.inputs else copy.name, "not-in-this-graph")]
        return ranked(self._origins([producer], set()))

    def _ends_at(self, node: Node, path: tuple[str, ...] = ()) -> Forcing:
        """A walk's end: the op itself, or the feed that hides its rank."""
        cause = self.why(node)
        feed = self._open_feed(node) if cause == "unknown-rank" else None
        return Forcing(feed, cause, (*path, node.name)) if feed else Forcing(node.name, cause, path)

    def _origins(self, starts: list[Node], visited: set[str], child: str = "") -> list[Forcing]:
        """The ops at which the unconverted part above these nodes begins, each node looked at once."""
        below = {start.name: child for start in starts}
        waiting, forcings = deque(starts), list[Forcing]()
        while waiting:
            node = waiting.popleft()
            if node.name in visited:
                continue
            visited.add(node.name)
            sources = self._whole_inputs(node)
            reason = self._own_reason(node)
            passes_on = (
                reason == "unknown-rank" and len(sources) == 1
            )  # its rank would change nothing: look at what it passes on
            path = _path(node.name, below)
            if node.op not in ops.AGNOSTIC or (reason is not None and not passes_on) or not sources:
                forcings.append(self._ends_at(node, path))
            elif any(self.direction.get(source.name, False) for source in sources):
                forcings += [
                    Forcing(each.node, each.cause, (*path, *each.through))
                    for each in self._refusal(node, visited)
                ]
            else:
                below.update({source.name: node.name for source in sources if source.name not in below})
                waiting.extend(sources)
        return forcings

    def _whole_inputs(self, node: Node) -> list[Node]:
        """The inputs that carry a tensor of an image's rank (or of a rank nobody knows)."""
        references = [each for each in node.inputs if not each.startswith("^")]
        sources = []
        for index in ops.data_inputs(node.op, len(references)):
            if index >= len(references):  # a graph that is cut or damaged
                break
            shape = type_of(self.types, references[index]).shape
            source = self.graph.nodes.get(split_reference(references[index])[0])
            if source is not None and (shape is None or len(shape) >= 4):
                sources.append(source)
        return sources

    def _refusal(self, node: Node, visited: set[str]) -> list[Forcing]:
        """Why a reader of converted data was not converted itself."""
        if node.op in roles.MERGES and not self._stuck(node):  # converted only if all that it joins are
            others = [
                source for source in self._whole_inputs(node) if not self.direction.get(source.name, False)
            ]
            visited.add(node.name)
            if refusals := self._origins(others, visited, node.name):
                return refusals
        return [self._ends_at(node)]

    def _stuck(self, node: Node) -> bool:
        """Whether an agnostic op has a reason of its own to stay as it is."""
        return self._own_reason(node) is not None

    def _own_reason(self, node: Node) -> str | None:
        if node.op in ops.HOST or (self.on_device and on_cpu(node)):
            return "host-op"
        if (
            node.op in ops.REDUCTIONS
            and not node.attributes.get("keep_dims")
            and (reason := self._reduction(node))
        ):
            return reason
        if node.op == "PlaceholderWithDefault" and not self._rank_known(node, outputs_only=True):
            return "unknown-rank"
        if node.op in ops.CONVERTED or node.op in ops.AGNOSTIC:
            if not self.graph.consumers.get(node.name) and node.name not in self._controlling:
                return "fetched"
            if node.op.startswith("FusedBatchNormGrad") and node.attributes.get("is_training") is False:
                return "batch-norm-inference-mode"
            if not self._rank_known(node) and not self._blind(node):
                return "unknown-rank"
        if node.op == "StridedSlice" and any(
            node.attributes.get(f"{mask}_mask") for mask in ("ellipsis", "new_axis", "shrink_axis")
        ):
            return "slice-drops-axes"
        if node.op == "Squeeze":
            return "reshape-boundary"
        if node.op in ops.BINARY and not self._ranks_fit(node):
            return "unsupported-shapes"
        return None

    def _reduction(self, node: Node) -> str | None:
        """A reduction without keepdims: its result has no layout, its axes may be none that the pass
        handles.
        """
        shape = self.types[node.name][0].shape if node.name in self.types else None
        axes = self.graph.nodes.get(split_reference(node.inputs[1])[0]) if len(node.inputs) > 1 else None
        if (axes is None or axes.op not in _STATED_AXES) and self._forward_rank_unknown(node):
            return "unknown-rank"
        if axes is None or axes.op not in _STATED_AXES:
            return (
                "batch-norm-unfused"
                if _WRITTEN_OUT_NORM.search(owner_of(node.name).forward or "")
                else "reduction-axes"
            )
        if _is_gradient(node.name) and self._forward_rank_unknown(node):
            return "unknown-rank"
        if _is_gradient(node.name):
            return (
                "batch-norm-unfused"
                if _WRITTEN_OUT_NORM.search(owner_of(node.name).forward or "")
                else "reduction-axes"
            )
        if shape is None or len(shape) >= 4:
            return "reduction-axes"
        return None if self.graph.consumers.get(node.name) and len(shape) == 2 else "loss-boundary"

    def _rank_known(self, node: Node, outputs_only: bool = False) -> bool:
        """Whether the pass saw a rank: of the output, or of the input where the output is no image."""
        types = [each.shape for each in self.seen.get(node.name, ())][:1]
        if outputs_only:
            return types[:1] != [None]
        inputs = [type_of(self.seen, each).shape for each in node.inputs if not each.startswith("^")]
        if node.op in ops.BINARY:
            return None not in inputs[:2]
        return any(shape is not None and len(shape) >= 4 for shape in (*types, *inputs))

    def _hidden(self, node: Node) -> Iterator[Node]:
        """The nodes above whose unknown rank makes a node's rank unknown, each once."""
        waiting, visited = [node], {node.name}
        while waiting:
            below = waiting.pop()
            for reference in below.inputs:
                source = self.graph.nodes.get(split_reference(reference)[0])
                known = reference.startswith("^") or type_of(self.seen, reference).shape is not None
                if source is not None and not known and source.name not in visited:
                    visited.add(source.name)
                    waiting.append(source)
                    yield source

    def _blind(self, node: Node) -> bool:
        """Whether it is our own inference that does not know a rank, because of an op that it has no rule
        for.
        """
        return any(not has_rule(source.op) for source in self._hidden(node))

    def _open_feed(self, node: Node) -> str | None:
        """The feed whose unknown rank makes a node's rank unknown."""
        return next((source.name for source in self._hidden(node) if source.op in ops.FEEDS), None)

    def _ranks_fit(self, node: Node) -> bool:
        """Binary ops are followed for an image beside an image, a vector or a number."""
        shapes = [type_of(self.seen, each).shape for each in node.inputs if not each.startswith("^")][:2]
        return any(shape is None for shape in shapes) or all(
            len(shape or ()) in (0, 1, 4, 5) for shape in shapes
        )

    @cached_property
    def _controlling(self) -> frozenset[str]:
        """Nodes that others wait for."""
        return frozenset(each[1:] for node in self.graph for each in node.inputs if each.startswith("^"))

    def why(self, node: Node) -> str:
        """The cause at the op where the walk ends."""
        if reason := self._own_reason(node):
            return reason
        if node.op in ops.FEEDS:
            return "graph-input"
        if node.op in ops.RANDOM:
            return "random-source"
        if node.op in ops.STORED:
            return "loss-boundary" if owner_of(node.name).phase is Phase.GRADIENT else "constant"
        if node.op in ops.LOSSES:
            return "loss-boundary"
        if node.op in ops.CONVERTED:
            return "fetched" if self._could_be_converted(node) else "not-supported"
        forward = self._forward(node)
        if node.op in ops.REARRANGING or node.op in ("Fill", "Tile", "Size", "Rank"):
            if _WRITTEN_OUT_NORM.search(owner_of(node.name).forward or ""):
                return "batch-norm-unfused"
            if self._forward_rank_unknown(node) or (_is_gradient(node.name) and self._open_feed(node)):
                return "unknown-rank"
            ends = forward is not None and (forward.op in ops.REDUCTIONS or forward.op in ops.LOSSES)
            return "loss-boundary" if ends else "reshape-boundary"
        if (
            forward is not None
            and forward.op in ops.CONVERTED | ops.AGNOSTIC
            and forward.op not in ops.REDUCTIONS
            and not self._refused(forward)
        ):
            return "gradient-not-supported"
        return (
            "host-op"
            if node.op in ops.AGNOSTIC and not node.device and self.on_device and self._devices_known
            else "not-supported"
        )

    @property
    def _devices_known(self) -> bool:
        """Whether the copies are placed: an op that is not, between them, was none of the pass's business."""
        return any(self.graph.nodes[name].device for name in self.direction)

    def _refused(self, node: Node) -> bool:
        """Whether a copy was made for this very op."""
        return any(
            self.direction.get(split_reference(each)[0], False)
            for each in node.inputs
            if not each.startswith("^")
        )

    def _could_be_converted(self, node: Node) -> bool:
        """Whether nothing but a fetch keeps the pass from an op that it knows: 3-D and integer kinds are not
        for every version.
        """
        first = self.types[node.name][0] if node.name in self.types else None
        whole = first is not None and (first.dtype or "").startswith(("int", "uint"))
        return not whole and (
            "3D" not in node.op
            or any(
                "DHW" in each.name or "CDH" in each.name
                for each in self.graph
                if "LayoutOptimizer" in each.name
            )
        )

    def _forward_rank_unknown(self, node: Node) -> bool:
        """Whether a gradient op sums and reshapes because nobody knew the rank of what it differentiates."""
        forward = self._forward(node)
        return (
            forward is not None
            and forward.op in ops.AGNOSTIC
            and not self._rank_known(forward, outputs_only=True)
        )

    def _forward(self, node: Node) -> Node | None:
        """The op that a gradient op differentiates, None for a forward op."""
        if not _is_gradient(node.name):
            return None
        forward = owner_of(node.name).forward
        partner = self.graph.nodes.get(forward) if forward else None
        return partner if partner is not None and partner.name != node.name else None


def _path(name: str, below: dict[str, str]) -> tuple[str, ...]:
    """The nodes between a copy and the node where a walk has got to, from the copy on."""
    path: list[str] = []
    while (name := below.get(name, "")) and len(path) < 50:
        path.append(name)
    return tuple(reversed(path))


def on_cpu(node: Node) -> bool:
    """Whether a node is placed on the CPU."""
    return bool(_ON_CPU.search(node.device))


def _is_gradient(name: str) -> bool:
    return bool(_GRADIENT.search(name))


def ranked(forcings: list[Forcing]) -> list[Forcing]:
    """Each once, the gravest cause first."""
    return sorted(dict.fromkeys(forcings), key=lambda forcing: _RANK.index(forcing.cause))
