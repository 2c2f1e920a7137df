"""The run of a session that failed, predicted from its graph, for the names of what it held: one order of the
ops, without a bar.
"""

from __future__ import annotations

from tfmemlens.errors import Unpredictable, UsageError
from tfmemlens.estimation.graph_step.captured_variables import with_variables
from tfmemlens.estimation.graph_step.session import of_graph, resolved
from tfmemlens.model.graph import Graph
from tfmemlens.model.incident import FailedRequest
from tfmemlens.model.live_model import LiveModel
from tfmemlens.model.timeline import Timeline

MAX_NODES = 20_000
"""A page has seconds."""


def failed_run(graph: Graph, live: LiveModel, request: FailedRequest) -> tuple[Timeline, ...]:
    """Its timeline; nothing where the graph is too large or a shape is not known. A batch that was not fed is
    the first size of what failed, where the graph leaves that open.
    """
    if len(graph.nodes) > MAX_NODES:
        return ()
    batches = {shape[0] for _, shape in live.feeds if shape}
    fed = batches.pop() if len(batches) == 1 else None
    batch = fed if live.feeds else _batch_of(request, graph)
    try:
        names = resolved(graph, live.fetches)
        return (of_graph(with_variables(graph), names, batch, shapes=dict(live.feeds), steps=1),)
    except (Unpredictable, UsageError):
        return ()


def _batch_of(request: FailedRequest, graph: Graph) -> int | None:
    node = graph.nodes.get(request.node or "")
    told = [each.shape for each in node.outputs] if node is not None else []
    is_open = any(shape and shape[0] is None for shape in told)
    return request.shape[0] if is_open and request.shape else None
