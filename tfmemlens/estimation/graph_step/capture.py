"""A training graph to a capture with a predicted timeline: findings, pages and `fit` work on it as on a
measurement.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tfmemlens.errors import Unpredictable, UsageError
from tfmemlens.estimation.conditions import GPU_NOTE, ONEDNN_ERROR, check_no_xla, gpu_shares, settled
from tfmemlens.estimation.error_bar import drawn_in
from tfmemlens.estimation.graph_step.captured_variables import check, effects, is_function, with_variables
from tfmemlens.estimation.graph_step.inlining import inlined
from tfmemlens.estimation.graph_step.kernels import is_known
from tfmemlens.estimation.graph_step.session import candidates, reached, resolved
from tfmemlens.estimation.graph_step.walks import (
    MIN_ERROR_SHARE,
    TRACE_IT,
    StepToWalk,
    Walked,
    further_threads,
    walk_all,
)
from tfmemlens.estimation.needed_limit import (
    LIMIT_NOTE,
    SESSION_LIMIT_NOTE,
    UNTRIED_LIMIT_NOTE,
    arrays_note,
    needed_limit,
)
from tfmemlens.knowledge.ops import roles
from tfmemlens.knowledge.ops.origin import behind
from tfmemlens.knowledge.ops.table import Output, those
from tfmemlens.model.capture import Capture, Hints, Source
from tfmemlens.model.graph import Graph, Node
from tfmemlens.model.line import ReadNote
from tfmemlens.model.settings import StepSettings
from tfmemlens.model.timeline import NeededLimit, Timeline
from tfmemlens.units import human
from tfmemlens.values import replace

_LIMIT_SHARE = 0.13
"""The bar that a limit is found with at least: of 12 graphs of TensorFlow 1.15 with a tenth more than the
peak as their limit three failed, of 16 with a tenth to a sixth more none; with 0.15 those of two further sets
came to 1.29 times their peaks in the median.
"""
_THREAD_ERROR = 0.05
"""For each thread beyond the first: a graph was predicted 8 % too low on two."""
_LOOSE = 0.5
"""How much of what other pasts of the allocator add to the peak the bar reaches up for. Of 135 graphs of all
sets of scripts/benchmarks/predictions.py 33 had pasts that add more than a tenth, up to 44 %. Of these one
lay above half of it and what the bar has beside it (a past of 11 %, the truth 19 % above), as it did with the
whole, and none was lower for it: 96 % of the 135 lie inside either way.
"""
RECORDED_ERROR_SHARE = 0.17
"""Three small subclassed models in TensorFlow 2.11 and 2.21 were predicted 13 to 16 % too high."""
_LATER_MORE = (
    "that is what a step takes after some others: the first take about {}; then TensorFlow has found which"
    " kernels are cheap, runs these first, and what a loop's gradients are summed from waits"
)
"""A language model of two LSTM layers took 93 MiB in its first four steps, and 248 within twelve."""
_MAX_REMARKS = 5
_NO_END = roles.STORED | roles.FEEDS | roles.ASSIGNS | those(lambda op: op.output is Output.NOTHING)
_CHECKPOINTS = frozenset("SaveV2 RestoreV2 MergeV2Checkpoints ShardedFilename".split())
_DATASET_LOOPS = frozenset(("ReduceDataset", "ScanDataset"))


def capture(
    graph: Graph, source: Source, settings: StepSettings, fetches: Sequence[str] = (), recorded: bool = False
) -> Capture:
    """The capture of a step that computes the fetches; without any, of the node that updates most variables,
    else of all that nobody reads.

    `recorded`: the graph was made by our recorder, so Grappler has seen it and the batch lives on the
    allocator. Raises UsageError, and Unpredictable where too much passes through ops that are not known.
    """
    conditions = settled(settings, version=graph.producer)
    settings = conditions.settings
    check_no_xla(settings, source.path)
    graph, chosen = _plain(graph, fetches, recorded)
    held = recorded or is_function(graph)
    graph = with_variables(graph)
    chosen = chosen or (effects(graph) if held and settings.training else []) or _default(graph, settings)
    shapes = _shapes(graph, settings)
    _check(graph, chosen, shapes)
    found = walk_all(StepToWalk(graph, chosen, settings, shapes, recorded, held))
    convolves = settings.device == "cpu" and settings.onednn is not False and _convolves(graph, chosen)
    share, lower, upper = _shares(found, convolves)
    _check_what_is_known(graph, found.step.unknown, round(share * found.timeline.peak_bytes))
    lower, upper = _bar(found, share, lower, upper, convolves)
    needed = _needed_limit(found, share) if settings.device == "cpu" else None
    said = [conditions.line, *([GPU_NOTE] if settings.device == "gpu" else [])]
    if settings.device == "cpu":
        said.insert(0, _limit_note(found.step) if needed else UNTRIED_LIMIT_NOTE)
    if found.first:
        said.append(_LATER_MORE.format(human(found.first.peak_bytes)))
    remarks = found.step.remarks[:_MAX_REMARKS]
    told = [*_notes(graph, chosen, settings, bool(fetches)), *said, *remarks]
    return Capture(
        source,
        timelines=(replace(found.timeline, error_share=upper, lower_error_share=lower, needed_limit=needed),),
        graph=graph,
        notes=tuple(ReadNote(text) for text in told),
        hints=Hints(batch=settings.batch, limit_bytes=settings.limit_bytes),
    )


def _shares(found: Walked, convolves: bool) -> tuple[float, float, float]:
    """What a limit is found with, and how far below and above the peak the truth may lie, as shares of it."""
    made = RECORDED_ERROR_SHARE if found.step.recorded else 0.0
    beside = _THREAD_ERROR * found.step.further + (ONEDNN_ERROR if convolves else 0.0)
    share = min(max(found.below, found.above, made, found.loose) + beside, 1.0)
    lower, upper = (
        min(max(other, made) + beside, 1.0) for other in (found.below, max(found.above, _LOOSE * found.loose))
    )
    return share, lower, upper


def _bar(found: Walked, share: float, lower: float, upper: float, convolves: bool) -> tuple[float, float]:
    """The same with what is known of the device and of kinds of step."""
    settings, peak = found.step.settings, max(found.timeline.peak_bytes, 1)
    if settings.device == "gpu":
        lower, upper = gpu_shares(settings, share)
    elif not found.step.unknown:
        lower, upper = drawn_in(lower, upper)
    if convolves and not settings.onednn:
        least = found.step.walk(onednn=True, seed=0 if found.step.further else None).peak_bytes
        lower = max(lower, 1 - (1 - lower) * least / peak)
    if found.first:
        lower = max(lower, 1 - (1 - MIN_ERROR_SHARE) * found.first.peak_bytes / peak)
    return lower, upper


def _needed_limit(found: Walked, share: float) -> NeededLimit | None:
    step, timeline = found.step, found.timeline
    fed = _fed_bytes(timeline, step.graph) if step.held and not step.settings.samples else 0
    return needed_limit(
        [found.pool.calls, *found.pasts],
        timeline.peak_bytes,
        max(share, _LIMIT_SHARE),
        fed,
        found.pool.first_region_bytes,
        one_by_one=step.held and not step.further,
    )


def _limit_note(step: StepToWalk) -> str:
    if not step.held:
        return SESSION_LIMIT_NOTE
    return arrays_note(step.settings.samples) if step.settings.samples else LIMIT_NOTE


def _fed_bytes(timeline: Timeline, graph: Graph) -> int:
    """What the batch takes of the allocator, where it lives there."""
    inputs = {node.name for node in graph if node.op in roles.PLACEHOLDERS | {"_Arg"}}
    return sum(row.size_bytes for row in timeline.standing if row.node in inputs)


def _convolves(graph: Graph, fetches: Sequence[str]) -> bool:
    return any("Conv" in graph.nodes[name].op for name in reached(graph, fetches))


def _check_what_is_known(graph: Graph, unknown: Mapping[str, int], bar_bytes: int) -> None:
    """Raises Unpredictable where more than the error bar passes through ops that are not known: each may well
    allocate as much again.
    """
    weight = sum(unknown.values())
    if weight <= bar_bytes:
        return
    heaviest = max(unknown, key=lambda name: unknown[name])
    op = graph.nodes[heaviest].op if heaviest in graph.nodes else "an op"
    more = f" and {len(unknown) - 1} more nodes" if len(unknown) > 1 else ""
    raise Unpredictable(
        f"the graph cannot be predicted: {op} ({heaviest}){more} may hold {human(weight)} or more in a way"
        f" that is not known, and the error bar is {human(bar_bytes)}",
        TRACE_IT,
    )


def _plain(graph: Graph, fetches: Sequence[str], recorded: bool) -> tuple[Graph, list[str]]:
    """Without functions: rows, laws and pages then speak of the same nodes."""
    flat, names = inlined(graph, resolved(graph, fetches), calls_stay=recorded)
    return flat, list(names)


def _check(graph: Graph, fetches: Sequence[str], shapes: Mapping[str, Sequence[int | None]]) -> None:
    """Raises UsageError where the step is inside an op that is not followed."""
    names = reached(graph, fetches)
    loops = [name for name in names if graph.nodes[name].op in _DATASET_LOOPS]
    if loops:
        raise UsageError(
            f"the step runs inside {loops[0]}, a tf.data loop (`for batch in dataset:` in a tf.function),"
            " which is not followed",
            "export the function of one step, without the loop round it",
        )
    check(graph, names)
    _check_one_batch(graph, names, shapes)


def _check_one_batch(graph: Graph, names: Sequence[str], shapes: Mapping[str, Sequence[int | None]]) -> None:
    """Raises Unpredictable where an input whose sizes nobody states says to which sample each row belongs:
    rows are then more than samples, and how many each open size stands for is not known.
    """
    for name in names:
        if graph.op_of(name) not in roles.SEGMENT_SUMS or name.startswith("gradients"):
            continue
        ids = graph.sources_of(name)[1:2]
        source = graph.nodes.get(behind(ids[0], graph, roles.SAME_ELEMENTS)) if ids else None
        if source and source.op in roles.PLACEHOLDERS and _is_open(source) and source.name not in shapes:
            raise Unpredictable(
                f"the graph cannot be predicted: {source.name} tells {name} to which sample or node each row"
                " belongs, so the open sizes of its inputs are not one batch",
                _say_all_sizes(graph),
            )


def _is_open(node: Node) -> bool:
    return None in _sizes_of(node)


def _sizes_of(node: Node) -> tuple[int | None, ...]:
    shape = node.attributes.get("shape")
    return shape if isinstance(shape, tuple) else ()


def _say_all_sizes(graph: Graph) -> str:
    """A hint with the inputs whose first size is open, as the option would have them."""
    inputs = [node for node in graph if node.op in roles.PLACEHOLDERS and _sizes_of(node)[:1] == (None,)]
    sizes = ["x".join("N" if size is None else str(size) for size in _sizes_of(node)) for node in inputs]
    words = [f"--input-shape {node.name}={each}" for node, each in zip(inputs, sizes, strict=True)]
    return f"say all sizes of each that is not the batch, the first one too: {' '.join(words)}"


def _default(graph: Graph, settings: StepSettings) -> list[str]:
    updates = candidates(graph) if settings.training else []
    if updates:
        return updates[:1]
    ends = [node.name for node in graph if not graph.consumers.get(node.name) and node.op not in _NO_END]
    ends = [
        name
        for name in ends
        if not any(graph.nodes[each].op in _CHECKPOINTS for each in reached(graph, [name]))
    ]
    if not settings.training:
        ends = [
            name
            for name in ends
            if not effects(Graph({each: graph.nodes[each] for each in reached(graph, [name])}))
        ] or ends
        ends = [name for name in ends if graph.nodes[name].op == "Identity"] or ends
    if not ends:
        raise UsageError(
            "the graph has no node that looks like a step", "name what the step computes with --fetch"
        )
    return ends


def has_open_batch(graph: Graph) -> bool:
    """Whether the inputs leave their first dimension open, so that the graph can be asked at any batch."""
    shapes = [node.attributes.get("shape") for node in graph if node.op in roles.PLACEHOLDERS]
    ranked = [shape for shape in shapes if isinstance(shape, tuple) and len(shape) > 1]
    return bool(ranked) and all(shape[0] is None for shape in ranked)


def _shapes(graph: Graph, settings: StepSettings) -> Mapping[str, tuple[int | None, ...]]:
    """The sizes the user gives, by the names of the graph's inputs; a size without a name is for every input
    that leaves something open. As many as the named input has are all of it, one fewer stand behind the
    batch.
    """
    shapes: dict[str, tuple[int | None, ...]] = {}
    inputs = [node for node in graph if node.op in roles.PLACEHOLDERS | {"_Arg"}]
    names = {node.name for node in inputs}
    for name, sizes in settings.inputs.items():
        if name and name not in names:
            raise UsageError(
                f"the graph has no input {name!r}", f"its inputs are {', '.join(sorted(names)) or 'none'}"
            )
        for node in inputs:
            shape = node.attributes.get("shape")
            is_open = not isinstance(shape, tuple) or None in shape[1:]
            if node.name == name or (
                not name and is_open and node.attributes.get("dtype") not in ("bool", "resource")
            ):
                whole = bool(name) and isinstance(shape, tuple) and len(shape) == len(sizes)
                shapes[node.name] = tuple(sizes) if whole else (settings.batch, *sizes)
    return shapes


def _notes(graph: Graph, fetches: Sequence[str], settings: StepSettings, named: bool) -> Iterator[str]:
    shown = ", ".join(name.removeprefix("^") for name in fetches[:3]) + (
        f" and {len(fetches) - 3} more" if len(fetches) > 3 else ""
    )
    why = "" if named else ", chosen because it updates most variables; --fetch names another"
    further = further_threads(settings)
    at_once = f"up to {1 + further} ops at once" if further else "one op at a time"
    yield (
        f"predicted from the graph, not measured: a step that computes {shown}{why}; {at_once} on a"
        f" {settings.device.upper()} without XLA"
    )
    fixed = sorted(
        {
            str(shape[0])
            for node in graph
            if node.op == "Placeholder"
            and isinstance(shape := node.attributes.get("shape"), tuple)
            and shape
            and shape[0]
        }
    )
    if fixed and str(settings.batch) not in fixed:
        yield (
            f"the graph itself fixes the first dimension of its inputs ({', '.join(fixed)}); --batch changes"
            " only those it leaves open (use `tfmemlens fit` to scale)"
        )
    unknown = sorted(
        {graph.nodes[name].op for name in reached(graph, fetches) if _is_unknown(graph.nodes[name].op)}
    )
    if unknown:
        yield (
            "what these ops allocate is not known, they are taken for elementwise ones:"
            f" {', '.join(unknown[:8])}"
        )


def _is_unknown(op: str) -> bool:
    return not is_known(op) and "Apply" not in op
