"""A traced or predicted step as something that can be simulated at other batches."""

from __future__ import annotations

from tfmemlens.attribution.moments.timelines import owners_of, standing_of
from tfmemlens.errors import UsageError
from tfmemlens.estimation.batch_scaling import conv3d_cache
from tfmemlens.estimation.batch_scaling.replay import ReplayedStep
from tfmemlens.estimation.batch_scaling.scaling import batch_of, laws_of, standing_laws_of
from tfmemlens.model.allocation import Allocation, AllocationTable
from tfmemlens.model.attribution import Owner
from tfmemlens.model.capture import Capture, Hints
from tfmemlens.model.case import Moment
from tfmemlens.model.graph import Graph
from tfmemlens.model.live_model import LiveModel
from tfmemlens.model.timeline import Timeline
from tfmemlens.values import replace
from tfmemlens.what_if.largest_batch import FitBasis


def of_moment(
    capture: Capture, moment: Moment, hints: Hints = Hints(), l3_bytes: int | None = None
) -> FitBasis:
    """The basis of a moment that is the peak of a step. Raises UsageError when its batch cannot be told."""
    assert moment.timeline is not None
    return replace(of_timeline(capture, moment.timeline, hints, l3_bytes), moment=moment)


def of_timeline(
    capture: Capture, timeline: Timeline, hints: Hints = Hints(), l3_bytes: int | None = None
) -> FitBasis:
    """The basis of a capture's timeline. Raises UsageError when its batch cannot be told. `l3_bytes` is the
    L3 cache of the processor that is asked about.
    """
    named, graph, standing = _named(capture, timeline)
    batch, source = (
        (capture.hints.batch or hints.batch or 32, "--batch")
        if timeline.predicted
        else batch_and_source(named, graph, hints, capture.live_model)
    )
    owners = owners_of(named)
    likely = conv3d_cache.this_machines_cache_bytes()
    volume_cache = conv3d_cache.cache_of(named, graph, likely) if graph else None
    if volume_cache is not None and l3_bytes is not None:
        volume_cache = conv3d_cache.Cache(l3_bytes, l3_bytes, (l3_bytes, l3_bytes))
    step = ReplayedStep(
        named,
        laws_of(named, graph, batch, volume_cache),
        batch,
        standing_laws=standing_laws_of(named, graph, batch),
    )
    held = [(row.node, row.size_bytes, owner.kind) for row, owner in standing]
    limit, remark = (
        hints.limit_bytes or timeline.limit_bytes,
        conv3d_cache.remark(named, graph, volume_cache),
    )
    return FitBasis(step, source, owners, held, graph, limit, pool_grows(timeline), remark=remark)


def batch_of_step(capture: Capture, timeline: Timeline) -> int:
    """The batch that `of_timeline` finds. Raises UsageError when it cannot be told."""
    return batch_and_source(timeline, _with_types(capture), capture.hints, capture.live_model)[0]


def _named(
    capture: Capture, timeline: Timeline
) -> tuple[Timeline, Graph | None, list[tuple[Allocation, Owner]]]:
    """The timeline with what stood before it by name, the graph with types, and who owns what stood."""
    graph = _with_types(capture)
    standing = standing_of(timeline, graph)
    table = AllocationTable.of([row for row, _ in standing])
    named = replace(timeline, standing=table, original=timeline)
    return conv3d_cache.with_places(named, graph), graph, standing


def _with_types(capture: Capture) -> Graph | None:
    return capture.with_types(capture.graph) if capture.with_types else capture.graph


def batch_and_source(
    timeline: Timeline, graph: Graph | None, hints: Hints, live: LiveModel | None = None
) -> tuple[int, str]:
    """The batch of a step, and how it is known: as the user says, as the program was given it, as the tensors
    show it. Raises UsageError.
    """
    if hints.batch is not None:
        if hints.batch < 1:
            raise UsageError(
                f"--batch {hints.batch} is no batch", "give the number of samples of the measured step"
            )
        return hints.batch, "--batch"
    if live is not None and live.batch:
        return live.batch, "what the step was given"
    from_tensors = batch_of(timeline, graph)
    if from_tensors is None:
        raise UsageError("the batch of this step cannot be told from its tensors", "give it with --batch")
    return from_tensors


def pool_grows(timeline: Timeline) -> bool:
    """A GPU's pool is one region from the start unless growth was asked for; the CPU's grows."""
    return "GPU" not in timeline.allocator.upper() or timeline.allocator.endswith("_for_gpu")
