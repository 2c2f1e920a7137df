"""What the peak of a step would be without the copies of the layout pass: from a timeline, else from a
simulated step.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import accumulate

from tfmemlens.knowledge.ops import simulated_order
from tfmemlens.knowledge.ops.type_inference import Types
from tfmemlens.model.finding import Certainty
from tfmemlens.model.graph import Graph, split_reference
from tfmemlens.model.layout import LayoutStudy, PeakWithout
from tfmemlens.model.tensor import TensorType
from tfmemlens.model.timeline import Timeline

MEASURED = "the measured curve without the copies, with each original kept as long as its copy was"
SIMULATED = "the graph simulated, without weights and temporary buffers"


def measured(timelines: Sequence[Timeline]) -> dict[str, TensorType]:
    """Types of the nodes' first outputs as a run had them."""
    types: dict[str, TensorType] = {}
    for timeline in timelines:
        for table in (timeline.table, timeline.standing):
            for node, shape, dtype in zip(table.node, table.shape, table.dtype, strict=True):
                if node is not None and shape is not None:
                    types.setdefault(node, TensorType(shape, dtype))
    return types


def peak_without(
    study: LayoutStudy, graph: Graph, types: Types, timelines: Sequence[Timeline]
) -> PeakWithout | None:
    """The peak as it is, without all copies, and without those of each cause; None where nothing has a known
    size.
    """
    names = {
        cause.slug: frozenset(copy.node for copy in cause.copies if copy.causes == {cause.slug})
        for cause in study.causes
    }
    every = frozenset(copy.node for copy in study.copies)
    shown = max(
        (each for each in timelines if every & set(each.table.node)),
        key=lambda each: each.peak_bytes,
        default=None,
    )
    if shown is not None:
        by_cause = {slug: curve_without(shown, graph, gone) for slug, gone in names.items()}
        return PeakWithout(
            shown.peak_bytes, curve_without(shown, graph, every), by_cause, Certainty.BOUND, MEASURED
        )
    step = simulated_order.SimulatedStep(graph, types)
    whole = step.peak()
    if not whole or study.unknown == len(study.copies):
        return None
    simulated = {slug: step.peak(gone) for slug, gone in names.items()}
    return PeakWithout(whole, step.peak(every), simulated, Certainty.ESTIMATE, SIMULATED)


def peak_alone(graph: Graph, types: Types) -> PeakWithout | None:
    """The peak of a graph without copies, None where nothing has a known size."""
    whole = simulated_order.peak(graph, types)
    return PeakWithout(whole, whole, {}, Certainty.ESTIMATE, SIMULATED) if whole else None


def curve_without(timeline: Timeline, graph: Graph, gone: Collection[str]) -> int:
    """The peak of the curve (bytes) when these nodes allocate nothing and what they copied lives as long as
    they did.
    """
    table = timeline.table
    rows: dict[str, list[int]] = {}
    for row, node in enumerate(table.node):
        rows.setdefault(node or "", []).append(row)
    skipped = {row for name in gone for row in rows.get(name, ())}
    ends = _ends_without(skipped, timeline, graph, rows)
    changes: list[tuple[float, int]] = []
    for row, start in enumerate(table.start_micros):
        if start is None or (row in skipped and row not in ends):
            continue
        end, size = ends.get(row, table.end_micros[row]), table.size_bytes[row]
        changes.append((start, size))
        if end is not None:
            changes.append((end, -size))
    changes.sort(key=lambda change: (change[0], -change[1]))
    return max(accumulate((size for _, size in changes), initial=timeline.baseline_bytes))


def _ends_without(
    skipped: Collection[int], timeline: Timeline, graph: Graph, rows: dict[str, list[int]]
) -> dict[int, float | None]:
    """When the rows end that stand for the copies: each original with the last of its copies, and a copy
    whose original is not found with itself. None outlives the step.
    """
    ends: dict[int, float | None] = {}
    for row in skipped:
        held = _held_without(row, skipped, timeline, graph, rows)
        end, own = timeline.table.end_micros[row], timeline.table.end_micros[held]
        last = ends.get(held, own)
        ends[held] = None if end is None or last is None else max(end, last)
    return ends


def _held_without(
    row: int, skipped: Collection[int], timeline: Timeline, graph: Graph, rows: dict[str, list[int]]
) -> int:
    """The row that is held in place of a copy: the original, where that is a copy itself what it was made
    from, and the last of them whose original is not found.
    """
    passed = set[int]()
    while row in skipped and row not in passed:
        passed.add(row)
        source = _original(row, timeline, graph, rows)
        if source is None:
            break
        row = source
    return row


def _original(row: int, timeline: Timeline, graph: Graph, rows: dict[str, list[int]]) -> int | None:
    """The row of the tensor that a copy was made from: its producer's, or that of the op whose buffer the
    producer overwrote.
    """
    table = timeline.table
    name, start, size = table.node[row] or "", table.start_micros[row] or 0.0, table.size_bytes[row]
    for _ in range(8):
        node = graph.nodes.get(name)
        if node is None or not node.inputs:
            return None
        name = split_reference(node.inputs[0])[0]
        for each in rows.get(name, ()):
            end = table.end_micros[each]
            if (
                (table.start_micros[each] or 0.0) <= start
                and (end is None or end >= start)
                and 2 * table.size_bytes[each] >= size
            ):
                return each
    return None
