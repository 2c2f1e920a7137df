"""The names that users gave their layers, where Keras 3 put the number of the call behind them.

`Layer.__call__` of Keras 3 opens the layer's scope twice, to build it and to call it, and TensorFlow makes
scopes of one graph unique. So the first call of `unet` stands under `unet_1`, the second under `unet_3`; a
layer called `conv2d_1` whose scope `conv2d` has taken already counts on from there: `conv2d_1_2`. A name
alone cannot tell `unet_1` from a layer that its user called so; that Keras 3 wrote the graph must show
elsewhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain

from tfmemlens.attribution.names.node_names import owner_of
from tfmemlens.model.allocation import AllocationTable
from tfmemlens.model.attribution import Attribution, Kind, Owner, Phase
from tfmemlens.model.capture import Capture
from tfmemlens.model.incident import FailedRequest
from tfmemlens.patterns import regex
from tfmemlens.values import dataclass, replace

_NUMBERED = regex(r"(?P<name>.+)_(?P<number>\d{1,4})\Z")
_TWICE_NUMBERED = regex(r".*_\d+_\d+\Z")
_FUNCTION = regex(r"__inference_(?:one|multi)_step_on_(?:data|iterator)")
_WORDS = regex(
    r"(?m)(?:^|/)(?:(?:compile_loss|stateless_dropout)(?:_\d+)?/"
    r"|(?:adam\w*|sgd|rmsprop|nadam|lion|lamb|muon)/(?:Pow|Cast|Assign(?:Sub|Add)VariableOp)(?:_\d+)?$)"
)
"""Scopes of Keras 3's own losses, dropout and optimizers; TensorFlow's and Keras 2's begin with capitals."""
_FIRST = "2.16"
"""The first TensorFlow that installs Keras 3."""


@dataclass(frozen=True, slots=True)
class Scopes:
    """The user's names of scopes, `{"outer_1/unet_3": "outer/unet"}`, and how often the input shows a layer
    called, by the user's name, where that is more than once.
    """

    names: Mapping[str, str]
    calls: Mapping[str, int]

    def owner(self, owner: Owner) -> Owner:
        """The owner with the user's name of its layer."""
        name = self.names.get(owner.layer or "") if _in_a_call(owner) else None
        return replace(owner, layer=name) if name else owner

    def attribution(self, attribution: Attribution) -> Attribution:
        """The same rows under the user's names."""
        if not self.names:
            return attribution
        return replace(attribution, owners=[*map(self.owner, attribution.owners)], calls=self.calls)

    def of_rows(self, table: AllocationTable) -> dict[str, Owner]:
        """The owners of the nodes in a table whose layers the user names otherwise."""
        if not self.names:
            return {}
        known = {node: owner_of(node, op) for node, op in _ops([table]).items()}
        return {node: self.owner(owner) for node, owner in known.items() if owner.layer in self.names}


def scopes_of(capture: Capture) -> Scopes:
    """What the names of the whole input tell together; nothing where Keras 3 did not write them."""
    named = [name for incident in capture.incidents for name in _named_by(incident.request)]
    tables = [block.table for incident in capture.incidents for block in incident.holders]
    tables += [timeline.table for timeline in capture.timelines]
    eager = frozenset[str]().union(*(timeline.scoped for timeline in capture.timelines))
    sure = _ran_by_keras_3(capture) or _written_by_keras_3(chain(named, *(table.node for table in tables)))
    if not sure and not _may_have_keras_3(capture):
        return Scopes({}, {})
    nodes = {**dict.fromkeys(named), **_ops(tables)}
    layers = _layers({node: op for node, op in nodes.items() if node not in eager} if eager else nodes)
    return _scopes(layers) if sure or _numbered_throughout(layers) else Scopes({}, {})


def scopes_of_rows(table: AllocationTable, eager: frozenset[str] = frozenset()) -> Scopes:
    """What the names of one table tell, but for those of eager ops."""
    if not _written_by_keras_3(table.node):
        return Scopes({}, {})
    return _scopes(_layers({node: op for node, op in _ops([table]).items() if node not in eager}))


def _ops(tables: Iterable[AllocationTable]) -> dict[str, str | None]:
    """The op of each node. In a traced step every op is looked up in the file: names are asked first."""
    rows = (zip(table.node, table.op, strict=True) for table in tables)
    return {node: op for node, op in chain.from_iterable(rows) if node}


def _named_by(request: FailedRequest) -> list[str]:
    return [name for name in (request.node, request.caller, request.forward_node) if name]


def _layers(nodes: Mapping[str, str | None]) -> list[str]:
    """The layers around whose calls a scope was opened, each once."""
    owners = (owner_of(node, op) for node, op in nodes.items())
    return list(dict.fromkeys(owner.layer for owner in owners if owner.layer and _in_a_call(owner)))


def _scopes(layers: Iterable[str]) -> Scopes:
    scopes = _with_parents(layers)
    named = {layer: _named(layer, scopes) for layer in layers}
    calls = Counter(name for name, _ in named.values())
    for name, call in named.values():
        calls[name] = max(calls[name], call)
    return Scopes(
        {layer: name for layer, (name, _) in named.items() if layer != name},
        {name: count for name, count in calls.items() if count > 1},
    )


def _in_a_call(owner: Owner) -> bool:
    """Whether a scope around a layer's call holds the node: not a variable's own path, and not an op outside
    of all scopes, which is its own layer.
    """
    if owner.layer is None or owner.layer.startswith("compile_loss"):
        return False
    if owner.layer == owner.forward and "/" not in owner.layer:
        return False
    outside = owner.phase is Phase.OPTIMIZER or owner.kind is Kind.OPTIMIZER_SLOT
    return not outside and (owner.kind is not Kind.PARAMETER or "ReadVariableOp" in (owner.forward or ""))


def _ran_by_keras_3(capture: Capture) -> bool:
    requests = [incident.request for incident in capture.incidents]
    if any(_FUNCTION.match(request.function or "") for request in requests):
        return True
    return _may_have_keras_3(capture) and any(request.keras_layer for request in requests)


def _written_by_keras_3(nodes: Iterable[str | None]) -> bool:
    return _WORDS.search("\n".join(dict.fromkeys(filter(None, nodes)))) is not None


def _may_have_keras_3(capture: Capture) -> bool:
    """Whether the input is of a TensorFlow that installs Keras 3."""
    return capture.source.version is not None and _release(capture.source.version[0]) >= _release(_FIRST)


def _release(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdigit())


def _numbered_throughout(layers: Iterable[str]) -> bool:
    """Whether every part of every path has a number that a call gives, one of them behind a number of the
    user's.
    """
    scopes = _with_parents(layers)
    parts = {part for scope in scopes for part in scope.split("/")}
    return all(_call(scope, scopes) for scope in scopes) and any(map(_TWICE_NUMBERED.match, parts))


def _with_parents(layers: Iterable[str]) -> set[str]:
    return {
        "/".join(parts[: size + 1])
        for parts in (layer.split("/") for layer in layers)
        for size in range(len(parts))
    }


def _named(layer: str, scopes: set[str]) -> tuple[str, int]:
    """The user's path of a layer, and how often at least it was called: as often as what it is part of."""
    parts = layer.split("/")
    told = [_call("/".join(parts[:size]), scopes) or (part, 1) for size, part in enumerate(parts, 1)]
    return "/".join(name for name, _ in told), max(call for _, call in told)


def _call(scope: str, scopes: set[str]) -> tuple[str, int] | None:
    """The name and the call that the last part of a scope stands for; None where no call ends so.

    The scope of call k is the 2k-th to be opened, and the first is not numbered: odd numbers. Where another
    layer took the name before, also the first has a number: even ones.
    """
    parent, slash, part = scope.rpartition("/")
    match = _NUMBERED.match(part)
    if match is None:
        return None
    name, number = match["name"], int(match["number"])
    if number % 2:
        return name, (number + 1) // 2
    taken = _NUMBERED.match(name) or f"{parent}{slash}{name}_{number - 1}_1" in scopes
    return (name, number // 2) if number and taken else None
