"""Who keeps a tensor alive: of the ops that read it, the one that ended last.

The readers come from the graph; without one, from the labels of the trace, which name each node's inputs:
`relu = Relu(conv)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tfmemlens.model.allocation import Allocation
from tfmemlens.model.graph import Graph, Node
from tfmemlens.model.timeline import Executions, Timeline
from tfmemlens.patterns import regex

_LABEL = regex(r"(?:\[.*?\] ?)?(\S+) = (\w+)\((.*)\)")
MAX_ROWS = 20_000
"""Node executions beyond which labels are not read for a graph."""


def graph_of(timeline: Timeline) -> Graph | None:
    """Op types and inputs as the trace's labels state them; None when they do not, or there are too many."""
    ran = timeline.executions
    if not ran.label or len(ran.label) > MAX_ROWS:
        return None
    nodes = {
        match[1]: Node(match[1], match[2], tuple(filter(None, match[3].split(", "))))
        for label in ran.label
        if (match := _LABEL.match(label))
    }
    return Graph(nodes) if nodes else None


def last_reader(rows: Iterable[Allocation], graph: Graph | None, timeline: Timeline) -> Iterator[str | None]:
    """For each row the op that read it last before it was freed; None where nothing tells."""
    for row in rows:
        yield (
            _last_reader(row, graph, timeline.executions, timeline.runs)
            if graph is not None and row.node and row.start_micros is not None
            else None
        )


def _last_reader(row: Allocation, graph: Graph, ran: Executions, runs: Mapping[str, int]) -> str | None:
    """The reader, also of ops that hand the buffer on in place, that ended next to the free: its stamp may be
    some microseconds later.
    """
    from tfmemlens.knowledge.ops.table import may_hand_on

    freed, starts, ends = row.end_micros, ran.start_micros, ran.end_micros
    holders = [row.node or ""]
    best: tuple[float, str | None] = (float("inf"), None)
    for name in holders:  # grows while we walk
        for reader, _, _ in graph.consumers.get(name, ()):
            run = runs.get(reader)
            if run is not None:
                start, end = starts[run], ends[run]
                distance = -end
                if freed is not None:
                    distance = abs(freed - end) if start <= freed else float("inf")
                if distance < best[0]:
                    best = distance, reader
            op = graph.op_of(reader)
            if op and may_hand_on(op) and reader not in holders and len(holders) < 32:
                holders.append(reader)
    return best[1]
