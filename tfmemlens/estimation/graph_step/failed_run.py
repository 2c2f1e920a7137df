"""The run of a session that failed, predicted from its graph, for the names of what it held: one order of the
ops, without a bar.
"""

from __future__ import annotations

from tfmemlens.errors import Unpredictable, UsageError
from tfmemlens.estimation.graph_step.captured_variables import with_variables
from tfmemlens.estimation.graph_step.session import of_graph, resolved
from tfmemlens.model.graph import Graph
from tfmemlens.model.live_model import LiveModel
from tfmemlens.model.timeline import Timeline

MAX_NODES = 20_000
"""A page has seconds."""


def failed_run(graph: Graph, live: LiveModel) -> tuple[Timeline, ...]:
    """Its timeline; nothing where the graph is too large or a shape is not known."""
    if len(graph.nodes) > MAX_NODES:
        return ()
    batches = {shape[0] for _, shape in live.feeds if shape}
    batch = batches.pop() if len(batches) == 1 else None
    try:
        names = resolved(graph, live.fetches)
        return (of_graph(with_variables(graph), names, batch, shapes=dict(live.feeds), steps=1),)
    except (Unpredictable, UsageError):
        return ()
