"""Whose a buffer is, as the graph's update ops tell it: optimizers may be named at will, `ApplyAdam(w, m, v,
…)` says which variables are slots of which.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.attribution.moments.update_arithmetic import owners_of_arithmetic
from tfmemlens.attribution.names.node_names import owner_of
from tfmemlens.knowledge.ops import roles
from tfmemlens.model.attribution import Kind, Owner, Phase
from tfmemlens.model.graph import Graph, Node, split_reference
from tfmemlens.patterns import regex
from tfmemlens.values import replace

_APPLY = regex(r"(?:Resource)?(?:Sparse)?Apply[A-Z]")
_PASSED = roles.SWITCHES | roles.ENTERS | {"Identity", "_Arg"}


def owners_of_updates(graph: Graph | None) -> dict[str, Owner]:
    """The owners of slots, of what assignments allocate, and of an optimizer's constants, by the names of
    their nodes.
    """
    if graph is None:
        return {}
    applying = set(filter(_APPLY.match, graph.ops))
    updates = [*graph.of_ops(applying)]
    owners = dict(owners_of_arithmetic(graph))
    owners.update(_under_variables(graph))
    owners.update((name, owner) for node in updates for name, owner in _slots(node, graph))
    for node in graph.of_ops(roles.ASSIGNS):
        if target := _variable(node, 0, graph):
            owners[node.name] = replace(
                owners.get(target.name) or owner_of(target.name, target.op), phase=Phase.OPTIMIZER
            )
    owners.update(_constants({node.name.partition("/update_")[0] for node in updates}, graph))
    return owners


def _under_variables(graph: Graph) -> Iterator[tuple[str, Owner]]:
    """tf.train's optimizers name a slot after its variable, whatever they are called themselves:
    `w/AdamWeightDecay_1` serves `w`.
    """
    names = {*graph.names_of_ops(roles.VARIABLES)}
    for name in names:
        if (variable := name.rpartition("/")[0]) in names and owner_of(
            name, "VarHandleOp"
        ).kind is Kind.PARAMETER:
            yield (
                name,
                replace(owner_of(variable, "VarHandleOp"), kind=Kind.OPTIMIZER_SLOT, phase=Phase.OPTIMIZER),
            )


def _slots(update: Node, graph: Graph) -> Iterator[tuple[str, Owner]]:
    """The update's own node, and the variables that it reads and writes beside the one that it trains."""
    target = _variable(update, 0, graph)
    if target is None:
        return
    owner = owner_of(target.name, target.op)
    yield (
        update.name,
        replace(owner, kind=Kind.WORKSPACE, phase=Phase.OPTIMIZER),
    )  # copies of variable and slots
    for at in range(1, len(update.inputs)):
        slot = _variable(update, at, graph)
        if slot is not None and slot.name != target.name:
            yield slot.name, replace(owner, kind=Kind.OPTIMIZER_SLOT, phase=Phase.OPTIMIZER, op=slot.op)


def _variable(node: Node, at: int, graph: Graph) -> Node | None:
    """The variable behind an input, not its value: a learning rate that is read from a variable is no
    slot.
    """
    for _ in range(8):
        if at >= len(node.inputs):
            return None
        producer = graph.nodes.get(split_reference(node.inputs[at])[0])
        if producer is None or producer.op in roles.VARIABLES:
            return producer
        if producer.op not in _PASSED or producer.name.endswith("/read"):
            return None
        node, at = producer, 0
    return None


def _constants(scopes: set[str], graph: Graph) -> Iterator[tuple[str, Owner]]:
    """What stands in the scope of an optimizer, whatever its name: `AdamWeightDecay/beta1`."""
    for name in graph.names_of_ops(roles.ALL_CONSTANTS):
        if "/" in name and name.rpartition("/")[0] in scopes:
            yield name, Owner(None, Kind.CONSTANT, Phase.OPTIMIZER, graph.op_of(name))
