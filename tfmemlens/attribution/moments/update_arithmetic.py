"""The arithmetic of optimizers that give their ops no scope: Keras 2.11's Adam has `sub_18` and `mul_22`.

Such names look like a model's. What they read and where it ends tells them apart: all of it goes into
assignments, and it comes from a gradient, or from a variable that such arithmetic wrote.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tfmemlens.attribution.names.node_names import owner_of
from tfmemlens.knowledge.ops import roles
from tfmemlens.model.attribution import Kind, Owner, Phase
from tfmemlens.model.graph import Graph
from tfmemlens.values import replace

_ASSIGNS = roles.COUNTS | {"AssignVariableOp"}


def owners_of_arithmetic(graph: Graph) -> Iterator[tuple[str, Owner]]:
    """The owners of these ops' outputs, each with the layer whose gradient it works on."""
    assigns = graph.names_of_ops(_ASSIGNS)
    ending = _only_assigned(assigns, graph)
    if not ending:
        return
    layers: dict[str, str | None] = {}
    written: dict[str, str | None] = {}
    while _spread(ending, layers, written, graph) or _written(assigns, layers, written, graph):
        pass
    for name, layer in layers.items():
        yield name, replace(ending[name], layer=layer, kind=Kind.WORKSPACE, phase=Phase.OPTIMIZER)


def _only_assigned(assigns: Iterable[str], graph: Graph) -> dict[str, Owner]:
    """What has no scope and is read by assignments, or by such ops, alone; those that are nearest to an
    assignment first.
    """
    assigned: dict[str, Owner] = {}
    ends = {*assigns}
    waiting = [*assigns]
    for reader in waiting:  # grows while we walk
        for name in graph.sources_of(reader):
            if name in assigned or name in ends:
                continue
            owner = _without_scope(name, graph)
            if owner and all(each in ends or each in assigned for each, _, _ in graph.consumers[name]):
                assigned[name] = owner
                waiting.append(name)
    return assigned


def _without_scope(name: str, graph: Graph) -> Owner | None:
    """The owner that a name alone gives an op that stands in no scope; None for any other op."""
    op = graph.op_of(name)
    if op is None or op in roles.STORED | roles.INPUTS:
        return None
    owner = owner_of(name, op)
    bare = owner.layer in (None, name.rpartition("/")[2])
    return owner if bare and owner.kind is Kind.ACTIVATION else None


def _spread(
    ending: Mapping[str, Owner],
    layers: dict[str, str | None],
    written: Mapping[str, str | None],
    graph: Graph,
) -> bool:
    """Add what reads a gradient, a variable that was written so, or what was added; whether anything was."""
    size = len(layers)
    for name in reversed([*ending]):  # producers before their readers
        if name in layers:
            continue
        for producer in graph.sources_of(name):
            if producer in layers:
                layers[name] = layers[producer]
            elif (variable := _variable(producer, graph)) in written:
                layers[name] = written[variable]
            elif (owner := owner_of(producer, graph.op_of(producer))).phase is Phase.GRADIENT:
                layers[name] = owner.layer
            else:
                continue
            break
    return len(layers) > size


def _written(
    assigns: Iterable[str], layers: Mapping[str, str | None], written: dict[str, str | None], graph: Graph
) -> bool:
    """Add the variables that take what was found; whether there were any."""
    size = len(written)
    for name in assigns:
        target, *values = graph.sources_of(name) or [""]
        for value in values:
            if value in layers:
                written.setdefault(target, layers[value])
    return len(written) > size


def _variable(name: str, graph: Graph) -> str:
    """The variable that a node reads; no name where it reads none."""
    return next(iter(graph.sources_of(name)), "") if graph.op_of(name) in roles.READS else ""
