"""From a measured step to any batch: reads it, finds what grows, and reports the largest batch that fits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from tfmemlens import pipeline
from tfmemlens.attribution.moments.timelines import owners_of, standing_of
from tfmemlens.errors import UnreadableInput, UsageError
from tfmemlens.estimation.batch_scaling import conv3d_cache
from tfmemlens.estimation.batch_scaling.replay import ReplayedStep
from tfmemlens.estimation.batch_scaling.scaling import (
    BatchScaling,
    batch_of,
    is_per_weight,
    laws_of,
    proportional,
    standing_laws_of,
)
from tfmemlens.estimation.graph_step.capture import has_open_batch
from tfmemlens.model.allocation import TEMPORARY, Allocation, AllocationTable
from tfmemlens.model.attribution import Kind, Owner
from tfmemlens.model.capture import Capture, Hints, Source
from tfmemlens.model.case import Moment
from tfmemlens.model.fit import BatchPrediction, Fit, FitRemedy, Scale
from tfmemlens.model.report import Report
from tfmemlens.model.settings import StepSettings
from tfmemlens.model.timeline import BaselineSource, Timeline
from tfmemlens.units import human, round_up
from tfmemlens.use_cases.estimate import estimate, estimate_graph
from tfmemlens.what_if.changes import remedies
from tfmemlens.what_if.largest_batch import FitBasis, fit, predict

_MUCH = 0.1
"""A share of the whole that is worth a sentence."""
_STAYING = (Kind.PARAMETER, Kind.OPTIMIZER_SLOT, Kind.CONSTANT, Kind.WORKSPACE)
RECORDING_HINT = (
    "trace one step at a batch that fits (see `tfmemlens profile --help`), or give an OOM report with"
    " `--batch`"
)


def fit_report(
    sources: Sequence[pipeline.Input],
    hints: Hints = Hints(),
    device: str | None = None,
    fetches: Sequence[str] = (),
    optimizer: str | None = None,
    l3_bytes: int | None = None,
) -> Report:
    """The report on the first source, with its fit; the other sources are steps at other batches that check
    it.

    A model or a graph instead of a measured step is predicted at `hints.batch` first, with the optimizer or
    the fetches given. `l3_bytes` is the L3 cache of the processor that is asked about, which Conv3D's buffers
    follow; None: what the trace tells, else this machine's.

    Raises UnreadableInput when there is no step to fit, UsageError when its batch cannot be known.
    """
    captures = [_captured(source, hints, device, fetches, optimizer) for source in sources]
    found = [
        known_of(capture, hints if index == 0 else replace(hints, batch=None), l3_bytes)
        for index, capture in enumerate(captures)
    ]
    best = max(range(len(found)), key=lambda index: (found[index].complete, found[index].step.batch))
    known = _asked_again(found[best], captures[best], sources[best], hints, optimizer, fetches)
    checks = tuple(_check(known, other) for index, other in enumerate(found) if index != best)
    result = fit(known)
    result = replace(result, remedies=_remedies(known, result), checks=checks)
    report = pipeline.report(captures[best])
    return replace(report, fit=result, verdict=verdict(result, known))


def _captured(
    source: pipeline.Input, hints: Hints, device: str | None, fetches: Sequence[str], optimizer: str | None
) -> Capture:
    """A measured step, a failure, or a step predicted from a graph or a model."""
    settings = StepSettings(hints.batch or 32, optimizer, limit_bytes=hints.limit_bytes)
    try:
        found = pipeline.timelines(source, replace(hints, types=True), device)
    except UnreadableInput as unreadable:
        try:
            return estimate(source, settings)
        except UnreadableInput:
            raise unreadable from None
    if found.timelines or found.incidents or found.graph is None:
        return found if found.timelines or found.incidents else _of_model(source, settings) or found
    return estimate_graph(source, settings, fetches)


def _asked_again(
    known: FitBasis,
    capture: Capture,
    source: pipeline.Input,
    hints: Hints,
    optimizer: str | None,
    fetches: Sequence[str],
) -> FitBasis:
    """With a way to predict the step anew at any batch, where the source is a model, or a graph that leaves
    the batch open.
    """
    if not known.step.timeline.predicted:
        return known
    is_model = capture.graph is None
    if capture.graph is not None and not has_open_batch(capture.graph):
        return known

    @cache
    def repredict(batch: int) -> FitBasis:
        settings = StepSettings(batch, optimizer, limit_bytes=hints.limit_bytes)
        found = estimate(source, settings) if is_model else estimate_graph(source, settings, fetches)
        return known_of(found, replace(hints, batch=batch))

    return replace(known, repredict=repredict)


def _remedies(known: FitBasis, result: Fit) -> tuple[FitRemedy, ...]:
    """What each change saves at the fitted batch, and how far it then reaches: from the step at the largest
    batch where that can be asked for.
    """
    found = remedies(known)
    if known.repredict is None or not result.largest_batch:
        return found
    far = {each.slug: each.largest_batch for each in remedies(known.repredict(result.largest_batch))}
    return tuple(replace(each, largest_batch=far.get(each.slug) or each.largest_batch) for each in found)


def _of_model(source: pipeline.Input, settings: StepSettings) -> Capture | None:
    """A model's description is text like a log, so it is asked for where a log says nothing."""
    try:
        return estimate(source, settings)
    except UnreadableInput:
        return None


def known_of(capture: Capture, hints: Hints, l3_bytes: int | None = None) -> FitBasis:
    """What a capture knows of one step: a traced one, else the failure that matters most."""
    if capture.timelines:
        return _of_timeline(
            capture, max(capture.timelines, key=lambda each: each.peak_bytes), hints, l3_bytes
        )
    moments = [moment for moment in pipeline.report(capture).case.moments if len(moment.attribution.table)]
    if not moments:
        raise UnreadableInput(f"{capture.source.path} holds no measured step", RECORDING_HINT)
    return _of_failure(moments[0], hints)


def _of_timeline(capture: Capture, timeline: Timeline, hints: Hints, l3_bytes: int | None = None) -> FitBasis:
    standing = standing_of(timeline, capture.graph)
    named = conv3d_cache.with_places(
        replace(timeline, standing=AllocationTable.of([row for row, _ in standing])), capture.graph
    )
    batch, source = (
        (capture.hints.batch or hints.batch or 32, "--batch")
        if timeline.predicted
        else _batch(named, capture, hints)
    )
    owners = owners_of(named)
    likely = conv3d_cache.this_machines_cache_bytes()
    volume_cache = conv3d_cache.cache_of(named, capture.graph, likely) if capture.graph else None
    if volume_cache is not None and l3_bytes is not None:
        volume_cache = conv3d_cache.Cache(l3_bytes, l3_bytes, (l3_bytes, l3_bytes))
    step = ReplayedStep(
        named,
        laws_of(named, capture.graph, batch, volume_cache),
        batch,
        standing_laws=standing_laws_of(named, capture.graph, batch),
    )
    held = [(row.node, row.size_bytes, owner.kind) for row, owner in standing]
    limit, remark = (
        hints.limit_bytes or timeline.limit_bytes,
        conv3d_cache.remark(named, capture.graph, volume_cache),
    )
    return FitBasis(step, source, owners, held, capture.graph, limit, _grows(timeline), remark=remark)


def _batch(timeline: Timeline, capture: Capture, hints: Hints) -> tuple[int, str]:
    if hints.batch is not None:
        if hints.batch < 1:
            raise UsageError(
                f"--batch {hints.batch} is no batch", "give the number of samples of the measured step"
            )
        return hints.batch, "--batch"
    found = batch_of(timeline, capture.graph)
    if found is None:
        raise UsageError("the batch of this step cannot be told from its tensors", "give it with --batch")
    return found


def _grows(timeline: Timeline) -> bool:
    """A GPU's pool is one region from the start unless growth was asked for; the CPU's grows."""
    return "GPU" not in timeline.allocator.upper() or timeline.allocator.endswith("_for_gpu")


def _of_failure(moment: Moment, hints: Hints) -> FitBasis:
    """The allocations of an OOM report as a step that was born at once, and the failing request after
    them.
    """
    books = moment.balance
    outside = books.outside_report.bytes if books.outside_report else 0
    namings = moment.namings or (None,) * len(moment.attribution.table)
    rows, owners = [], []
    for row, owner, naming in zip(moment.attribution.table, moment.attribution.owners, namings, strict=True):
        tensor = naming.best.tensor if naming else None
        rows.append(
            replace(
                row,
                start_micros=0.0,
                shape=row.shape or (tensor.shape if tensor else None),
                dtype=row.dtype or (tensor.dtype if tensor else None),
            )
        )
        owners.append(owner)
    if moment.request and moment.request.needed_bytes:
        failed, size = moment.request.failed, moment.request.needed_bytes
        purpose = TEMPORARY if failed.temporary else None
        rows.append(
            Allocation(
                failed.node,
                size,
                moment.request.owner.op,
                failed.device,
                failed.allocator,
                size,
                1.0,
                None,
                failed.shape,
                failed.dtype,
                purpose=purpose,
            )
        )
        owners.append(moment.request.owner)
    device, allocator = rows[0].device or "", rows[0].allocator or ""
    timeline = Timeline(
        device,
        allocator,
        AllocationTable.of([row for row in rows for _ in range(row.count)]),
        AllocationTable(),
        outside,
        None,
        BaselineSource.UNKNOWN,
    )
    spread = [owner for row, owner in zip(rows, owners, strict=True) for _ in range(row.count)]
    batch, source = _batch(timeline, Capture(Source("")), hints)
    limit = hints.limit_bytes or (books.limit.bytes if books.limit else None)
    listed = laws_of(timeline, None, batch)
    sizes = _likely_requests(timeline.table, listed, batch)
    laws = [
        _growing(law, row, owner, batch, sizes)
        for law, row, owner in zip(listed, timeline.table, spread, strict=True)
    ]
    failed_here = books.limit is not None and limit is not None and limit <= books.limit.bytes
    most = batch - 1 if failed_here else None
    step = ReplayedStep(timeline, laws, batch, is_bound=True)
    remark = _nameless(step, spread)
    return FitBasis(
        step,
        source,
        spread,
        (),
        None,
        limit,
        _grows(timeline),
        complete=False,
        remark=remark,
        most_batch=most,
    )


def _likely_requests(table: AllocationTable, laws: Sequence[BatchScaling], batch: int) -> list[int]:
    """Sizes that were asked for: of tensors with a known shape, and of chunks that have their size in common
    with others; smallest first.
    """
    counted = Counter(table.size_bytes)
    known = {
        round_up(law.request(batch)) for row, law in zip(table, laws, strict=True) if row.shape is not None
    }
    return sorted(known | {size for size, count in counted.items() if count > 1})


def _growing(
    law: BatchScaling, row: Allocation, owner: Owner, batch: int, sizes: Sequence[int]
) -> BatchScaling:
    """A failure's report names tensors without shapes: those that are no weight's are taken to grow, so that
    the batch that is found is not too small.

    A chunk alone in its size may hold a smaller tensor, as BFC splits only what is twice as large: then the
    least is the least that another tensor needs of those that would get such a chunk.
    """
    if owner.kind is Kind.WORKSPACE and "Conv3DBackprop" in (
        row.node or ""
    ):  # it comes all at once at some batch, see estimation.volumes
        return replace(law, least=lambda other: law.request(other) if other >= batch else 0)
    if (
        law.scale is not Scale.FIXED
        or row.shape is not None
        or owner.kind in _STAYING
        or is_per_weight(row.node or "")
    ):
        return law
    chunk = row.requested_bytes or row.size_bytes
    asked = next((size for size in sizes if size <= chunk < 2 * size), chunk)
    return replace(proportional(chunk, batch), least=proportional(asked, batch).request)


def _nameless(step: ReplayedStep, owners: Sequence[Owner]) -> str | None:
    """What is taken of rows that could be anything."""
    unknown = sum(
        size
        for size, owner in zip(step.timeline.table.size_bytes, owners, strict=True)
        if owner.kind is Kind.UNATTRIBUTED
    )
    if unknown < _MUCH * step.timeline.peak_bytes:
        return None
    return (
        f"{human(unknown)} of it has no name and is taken to grow with the batch; a traced step at a smaller"
        " batch would tell how much really does"
    )


def _check(known: FitBasis, other: FitBasis) -> BatchPrediction:
    measured = other.step.timeline.peak_bytes
    return replace(predict(known.step, other.step.batch), measured_bytes=measured)


def verdict(found: Fit, known: FitBasis) -> str:
    """The answer in one sentence."""
    remark = f" {known.remark}." if known.remark else ""
    measured = (
        f"batch {found.batch} {'needs' if known.complete else 'wanted at least'} {human(found.peak_bytes)}"
    )
    grows = f"about {human(found.per_sample_bytes)} a sample" + (
        f" and {human(found.fixed_bytes)} that stay" if found.fixed_bytes else ""
    )
    if found.limit_bytes is None:
        return f"{measured[:1].upper()}{measured[1:]}: {grows}.{remark}"
    if not found.largest_batch:
        return f"Not even one sample fits into {human(found.limit_bytes)}: {measured}, {grows}.{remark}"
    bound = "At most" if not known.complete else "About"
    samples = "1 sample fits" if found.largest_batch == 1 else f"{found.largest_batch} samples fit"
    return f"{bound} {samples} into {human(found.limit_bytes)}: {measured}, {grows}.{remark}"
