"""Who held it: from a capture to a case, with an owner for every byte."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tfmemlens.attribution.moments.arguments import with_arguments
from tfmemlens.attribution.moments.as_in_a_step import claims_of_step
from tfmemlens.attribution.moments.balance import balance, holders, rounded_request
from tfmemlens.attribution.moments.counted import with_counted, with_holders
from tfmemlens.attribution.moments.first_dimension import first_dimension
from tfmemlens.attribution.moments.neighbours import beside
from tfmemlens.attribution.moments.omissions import omissions
from tfmemlens.attribution.moments.outputs_kept import claims_of_outputs
from tfmemlens.attribution.moments.owners import attribute_request, attribute_table
from tfmemlens.attribution.moments.tensors import name_tensors
from tfmemlens.attribution.moments.waiting_elements import waits_in_a_pipeline
from tfmemlens.attribution.names.api_detection import api_of
from tfmemlens.attribution.names.keras_scopes import Scopes, scopes_of, scopes_of_rows
from tfmemlens.attribution.names.live_names import LiveNames
from tfmemlens.knowledge.stack_frames import user_frame
from tfmemlens.model.attribution import Attribution, Kind, Owner
from tfmemlens.model.capture import Capture
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.graph import Graph
from tfmemlens.model.incident import FailedRequest, Incident, RequestKind
from tfmemlens.model.layers import LayerSummary
from tfmemlens.model.layout import LayoutStudy
from tfmemlens.model.live_model import LiveModel
from tfmemlens.model.timeline import Timeline
from tfmemlens.units import Size
from tfmemlens.values import replace

if TYPE_CHECKING:
    import pandas


def frame(timeline: Timeline, graph: Graph | None = None, model: LiveModel | None = None) -> pandas.DataFrame:
    """All allocations of a timeline with layer, kind and phase."""
    from tfmemlens.attribution.moments.timelines import owners_of

    rows = timeline.table.to_frame()
    owners = owners_of(_named(timeline, graph, model))
    for name in ("layer", "kind", "phase"):
        rows[name] = [str(value) if (value := getattr(owner, name)) is not None else None for owner in owners]
    return rows


def curve(timeline: Timeline, graph: Graph | None = None, model: LiveModel | None = None) -> pandas.DataFrame:
    """The live curve, a row each event: `micros` of the trace's clock (float64), `bytes` in use after it, the
    `allocation` that began or ended (its row in the timeline's table), then the bytes of each kind, which add
    up to `bytes` (int64).
    """
    import numpy
    import pandas

    from tfmemlens.attribution.moments.consumers import graph_of
    from tfmemlens.attribution.moments.timelines import baseline_rows, owners_of, standing_of

    owned = _named(timeline, graph, model)
    times, changes, rows = owned.events
    kinds = [owner.kind.value for owner in owners_of(owned)]
    moved, happened = numpy.asarray(changes, dtype="int64"), numpy.asarray(rows, dtype="int64")
    of_event = numpy.asarray(kinds, dtype=object)[happened] if kinds else numpy.zeros(0, dtype=object)
    before: dict[str, int] = {}
    for allocation, owner in baseline_rows(owned, standing_of(owned, graph or graph_of(timeline))):
        before[owner.kind.value] = before.get(owner.kind.value, 0) + allocation.size_bytes
    held: dict[str, Any] = {
        kind.value: before.get(kind.value, 0) + numpy.cumsum(numpy.where(of_event == kind.value, moved, 0))
        for kind in Kind
        if kind.value in before or kind.value in kinds
    }
    columns: dict[str, Any] = {"micros": times, "bytes": owned.curve, "allocation": happened, **held}
    frame = pandas.DataFrame(columns)
    return frame.astype({"micros": "float64", "bytes": "int64"})


def _named(timeline: Timeline, graph: Graph | None, model: LiveModel | None) -> Timeline:
    """The timeline with the owners that the user's names, the graph and the live model tell."""
    from tfmemlens.attribution.moments.consumers import graph_of
    from tfmemlens.attribution.moments.updates import owners_of_updates

    named = scopes_of_rows(timeline.table, timeline.scoped).of_rows(timeline.table)
    updates = owners_of_updates(graph or graph_of(timeline))
    return timeline.owned(_told_of(timeline, named, updates, LiveNames(model)))


def attribute(capture: Capture, at: str | None = None, predicted: Sequence[Timeline] = ()) -> Case:
    """The case: one moment for each failure, in the order of the capture, then the peak of each timeline, the
    largest first. `predicted` is the step that failed, where none was traced that tells who held the blocks.
    """
    scopes = scopes_of(capture)
    live = LiveNames(capture.live_model)
    told, peaks = capture, list[Moment]()
    layers: tuple[LayerSummary, ...] = ()
    if capture.timelines:
        from tfmemlens.attribution.moments.consumers import graph_of
        from tfmemlens.attribution.moments.eager_rows import named_by_width
        from tfmemlens.attribution.moments.layers import summaries
        from tfmemlens.attribution.moments.live_inputs import named_inputs
        from tfmemlens.attribution.moments.live_variables import (
            named_before,
            named_in_larger_chunks,
            with_variables,
        )
        from tfmemlens.attribution.moments.timelines import index_of, moment_at, standing_of
        from tfmemlens.attribution.moments.updates import owners_of_updates

        if capture.graph is None:
            capture = replace(capture, graph=graph_of(capture.timelines[0]))
        updates = owners_of_updates(capture.graph)
        model = capture.live_model
        eager = (named_by_width(each, model, capture.graph) for each in capture.timelines)
        exact = (named_inputs(named_before(each, model), model) for each in eager)
        named = [named_in_larger_chunks(each, model) for each in exact]
        owned = (
            timeline.owned(_told_of(timeline, scopes.of_rows(timeline.table), updates, live))
            for timeline in named
        )
        capture = replace(capture, timelines=tuple(owned))
        standing = [
            with_variables(timeline, standing_of(timeline, capture.graph), capture.live_model)
            for timeline in capture.timelines
        ]
        peaks = [
            moment_at(capture, timeline, index_of(timeline, at) if at else None, known)
            for timeline, known in zip(capture.timelines, standing, strict=True)
        ]
        layers = capture.layers or summaries(capture.timelines, standing, capture.graph, capture.live_model)
        peaks = [
            replace(
                peak,
                attribution=with_holders(
                    live.attribution(scopes.attribution(peak.attribution)), capture.living
                ),
            )
            for peak in peaks
        ]
        peaks.sort(key=lambda moment: -moment.attribution.table.total_bytes)
    steps = [
        each.owned(_told_of(each, scopes.of_rows(each.table), {}, live)) for each in predicted
    ] or capture.timelines
    moments = [_failure(told, incident, scopes, live, steps) for incident in capture.incidents]
    if moments and capture.live_model and capture.live_model.failed_step:
        capture = replace(capture, timelines=())  # it told who held the blocks, and is no step that ran
    else:
        moments += peaks
    return Case(capture, tuple(moments), api_of(capture), layers, layout(capture))


def _told_of(
    timeline: Timeline, named: Mapping[str, Owner], updates: Mapping[str, Owner], live: LiveNames
) -> dict[str, Owner]:
    """What the user's names, the graph's updates and the peak tell of a timeline's nodes beyond each name."""
    from tfmemlens.attribution.moments.timelines import kept_by_loops

    told = live.of_rows(timeline.table, {**named, **updates})
    return {**told, **kept_by_loops(timeline.owned(told))}


def layout(capture: Capture) -> LayoutStudy | None:
    """What Grappler's layout pass did to the graph; None without a graph, or where the pass left nothing in
    it.
    """
    graph = capture.graph
    if graph is None or not any(
        "LayoutOptimizer" in name for body in (graph, *graph.functions.values()) for name in body.nodes
    ):
        return None
    from tfmemlens.attribution.layout_pass.copies import study

    return study(graph, capture.timelines, capture.hints.feed)


def without_copies(capture: Capture) -> LayoutStudy:
    """The study of a graph in which the pass left nothing: its peak alone."""
    from tfmemlens.attribution.layout_pass.peak import peak_alone
    from tfmemlens.knowledge.ops.type_inference import infer

    if capture.graph is None:
        return LayoutStudy(())
    malformed: dict[str, str] = {}
    types = infer(capture.graph, feed=capture.hints.feed, malformed=malformed)
    return LayoutStudy((), peak=peak_alone(capture.graph, types), malformed=tuple(malformed.items()))


def _failure(
    capture: Capture, incident: Incident, scopes: Scopes, live: LiveNames, steps: Sequence[Timeline]
) -> Moment:
    table = holders(incident)
    attribution = live.attribution(scopes.attribution(attribute_table(table)))
    if incident.compiler is not None:
        attribution = with_arguments(attribution, incident.compiler.values)
    failed = _in_its_scope(capture, incident)
    owner = attribute_request(failed)
    owner = live.of_request(owner if failed.node != incident.request.node else scopes.owner(owner), failed)
    owner = owner if live.model else _of_program(capture, owner, incident.request)
    owner = live.owner(beside(owner, incident.request.node, capture.graph))
    asked = incident.request
    if waits_in_a_pipeline(asked, owner, table, capture.surroundings):
        asked = replace(asked, pipeline=True)  # the incident keeps what the text itself says
    first = first_dimension(asked, owner)
    request = Request(asked, owner, rounded_request(incident), first.batch, first.fixed)
    books = balance(incident, table, request.needed_bytes)
    if books.limit is None and capture.hints.limit_bytes:
        books = replace(books, limit=Size.exactly(capture.hints.limit_bytes))
    if books.limit is None and _is_of_the_host(incident.request):
        books = replace(books, address_space=capture.surroundings.address_space)
    return Moment(
        attribution,
        books,
        name_tensors(attribution, incident.request, owner, capture.hints),
        incident,
        request,
        schedule=_scheduled(incident, attribution, scopes),
        omissions=omissions(incident, books),
        counted=with_counted(
            attribution,
            capture,
            incident,
            claims_of_step(steps, incident.request, capture.live_model, _in_use(incident))
            if steps
            else claims_of_outputs(
                incident.request,
                owner,
                (live.model and live.model.failed_batch) or first.batch,
                capture.live_model,
            ),
        ),
    )


def _is_of_the_host(request: FailedRequest) -> bool:
    return request.kind is RequestKind.HOST or "CPU" in (request.device or "").upper()


def _in_its_scope(capture: Capture, incident: Incident) -> FailedRequest:
    """The request of the failure that ended the program, with the scope of its eager op where the program
    recorded it: as the node of a graph would be called.
    """
    request, model = incident.request, capture.live_model
    if model is None or not model.failed_scope or incident is not capture.incidents[-1]:
        return request
    if "/" in (request.node or "") or not (request.op or request.node):
        return request
    return replace(request, node=f"{model.failed_scope}/{request.op or request.node}")


def _in_use(incident: Incident) -> int | None:
    stated = incident.state.in_use
    return stated.bytes if stated else None


def _of_program(capture: Capture, owner: Owner, request: FailedRequest) -> Owner:
    """The owner under the name that the program's code gives its layer, where the program was read."""
    if owner.layer is None or not any(user_frame(frame.place) for frame in request.frames):
        return owner
    program = capture.surroundings.program()
    if not any(not statement.of_frame for statement in program):
        return owner
    from tfmemlens.attribution.names.program_names import layer_of  # reads trees

    name = layer_of(program, owner.layer, request.shape)
    return replace(owner, layer=name) if name else owner


def _scheduled(incident: Incident, peak: Attribution, scopes: Scopes) -> Timeline | None:
    """A compiled program's schedule with owners for its values: at the peak those of its table."""
    schedule = incident.compiler.schedule if incident.compiler else None
    if schedule is None:
        return None
    owned = scopes.attribution(attribute_table(schedule.table))
    told: dict[str, Owner] = {}
    for known in (owned, peak):
        mine: dict[str, Owner] = {}
        for row, owner in zip(known.table, known.owners, strict=True):
            if row.node:
                first = mine.setdefault(row.node, owner)
                if first.layer != owner.layer:  # one name for values of several layers
                    mine[row.node] = replace(owner, layer=None)
        told.update(mine)
    return schedule.owned(told)
