"""A training graph to a capture with a predicted timeline: findings, pages and `fit` work on it as on a
measurement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from random import Random

from tfmemlens.errors import Unpredictable, UsageError
from tfmemlens.estimation.allocator_pasts import FEW_PASTS, old_blocks, pasts_to_try
from tfmemlens.estimation.conditions import GPU_NOTE, ONEDNN_ERROR, check_no_xla, gpu_shares, settled
from tfmemlens.estimation.error_bar import drawn_in
from tfmemlens.estimation.graph_step.captured_variables import check, effects, is_function, with_variables
from tfmemlens.estimation.graph_step.executor import NOT_FOLLOWED, TURNS_UNKNOWN
from tfmemlens.estimation.graph_step.inlining import inlined
from tfmemlens.estimation.graph_step.kernels import is_known
from tfmemlens.estimation.graph_step.rewriting import is_ordered
from tfmemlens.estimation.graph_step.session import (
    STEPS,
    candidates,
    first_region,
    of_graph,
    reached,
    resolved,
)
from tfmemlens.estimation.needed_limit import (
    LIMIT_NOTE,
    SESSION_LIMIT_NOTE,
    UNTRIED_LIMIT_NOTE,
    arrays_note,
    needed_limit,
)
from tfmemlens.knowledge.bfc import Call, RecordedPool
from tfmemlens.knowledge.ops import roles
from tfmemlens.knowledge.ops.origin import behind
from tfmemlens.knowledge.ops.table import Output, those
from tfmemlens.model.capture import Capture, Hints, Source
from tfmemlens.model.graph import Graph, Node
from tfmemlens.model.line import ReadNote
from tfmemlens.model.settings import StepSettings
from tfmemlens.model.timeline import Timeline
from tfmemlens.units import human
from tfmemlens.values import replace

MIN_ERROR_SHARE, ONE_ORDER_ERROR_SHARE = 0.10, 0.15
"""With the spread of five orders, but at least 0.05, 94 % of the real peaks were within the bar of nets that
it was made with (scripts/benchmarks/simulate.py), and two of four that it had not seen; for graphs with so
many nodes that one order must do, the second.
"""
_THREAD_ERROR = 0.05
"""For each thread beyond the first: a graph was predicted 8 % too low on two."""
_MAX_FURTHER_THREADS = 3
"""Nothing was measured on more than four."""
_SEEDS = 3
"""How often a step is walked through on several threads: ops take longer or shorter each time."""
_LOOSE = 0.5
"""How much of what other pasts of the allocator add to the peak the bar reaches up for. Of 135 graphs of all
sets of scripts/benchmarks/predictions.py 33 had pasts that add more than a tenth, up to 44 %. Of these one
lay above half of it and what the bar has beside it (a past of 11 %, the truth 19 % above), as it did with the
whole, and none was lower for it: 96 % of the 135 lie inside either way.
"""
_LIMIT_SHARE = 0.13
"""The bar that a limit is found with at least: of 12 graphs of TensorFlow 1.15 with a tenth more than the
peak as their limit three failed, of 16 with a tenth to a sixth more none; with 0.15 those of two further sets
came to 1.29 times their peaks in the median.
"""
RECORDED_ERROR_SHARE = 0.17
"""Three small subclassed models in TensorFlow 2.11 and 2.21 were predicted 13 to 16 % too high."""
_FIRST = 2
"""Steps of a training that is young: no kernel has run often enough to count as cheap."""
_LATER_MORE = (
    "that is what a step takes after some others: the first take about {}; then TensorFlow has found which"
    " kernels are cheap, runs these first, and what a loop's gradients are summed from waits"
)
"""A language model of two LSTM layers took 93 MiB in its first four steps, and 248 within twelve."""
_ORDERS = 5
_MAX_REORDERED_NODES = 20_000
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
    remarks: list[str] = []
    unknown: dict[str, int] = {}

    pool = RecordedPool(first_region(graph.version))
    further = _further_threads(settings)

    def walked(
        variant: int,
        onednn: bool = bool(settings.onednn),
        recording: RecordedPool | None = None,
        old_blocks: Sequence[int] = (),
        seed: int | None = None,
        late: bool = False,
        steps: int = STEPS,
        pace: float = 1.0,
    ) -> Timeline:
        """With one node at a time, or with several for as long as the seed has it."""
        return of_graph(
            graph, chosen, settings.batch, shapes=shapes, device=settings.device,
            limit_bytes=settings.limit_bytes,
            threads=settings.threads or 1, optimized=recorded, held_inputs=held, variant=variant,
            notes=remarks, unknown=unknown, onednn=onednn, l3_bytes=settings.l3_bytes, pool=recording,
            samples=settings.samples, old_blocks=old_blocks,
            workers=1 if seed is None else 1 + further, chance=Random(seed), late=late, steps=steps,
            pace=pace,
        )  # fmt: skip

    timeline = alone = walked(0, recording=pool)
    _check_end(remarks)
    small = len(alone.executions.node) <= _MAX_REORDERED_NODES
    first, after, paces = None, None, list[int]()
    if small:
        later = RecordedPool(pool.first_region_bytes)
        after = walked(0, recording=later, late=True)
        paces = _at_other_paces(graph, after.peak_bytes, walked)
        if after.peak_bytes > (1 + MIN_ERROR_SHARE) * alone.peak_bytes:
            first, timeline, alone, pool = walked(0, steps=_FIRST), after, after, later
            walked = partial(walked, late=True)
    if further:
        timeline = _middle([walked(0, seed=seed) for seed in range(_SEEDS if small else 1)])
    pasts, loose = _further_pasts(alone, pool, walked)
    others = _error_shares(
        timeline,
        lambda variant, late: (
            after
            if after and late and not further  # walked already
            else walked(variant, seed=variant if further else None, late=late or bool(first))
        ),
        1 if is_ordered(graph) and not further else _ORDERS,
    )
    apart = [peak / max(timeline.peak_bytes, 1) - 1 for peak in paces]
    others = max(others[0], *(-each for each in apart), 0.0), max(others[1], *apart, 0.0)
    made = RECORDED_ERROR_SHARE if recorded else 0.0
    beside = _THREAD_ERROR * further
    convolves = settings.device == "cpu" and settings.onednn is not False and _convolves(graph, chosen)
    if convolves:
        beside += ONEDNN_ERROR
    share = min(max(*others, made, loose) + beside, 1.0)
    lower, upper = (
        min(max(other, made) + beside, 1.0) for other in (others[0], max(others[1], _LOOSE * loose))
    )
    _check_what_is_known(graph, unknown, round(share * timeline.peak_bytes))
    if settings.device == "gpu":
        lower, upper = gpu_shares(settings, share)
    elif not unknown:
        lower, upper = drawn_in(lower, upper)
    if convolves and not settings.onednn:
        least = walked(0, onednn=True, seed=0 if further else None).peak_bytes
        lower = max(lower, 1 - (1 - lower) * least / max(timeline.peak_bytes, 1))
    if first:
        lower = max(lower, 1 - (1 - MIN_ERROR_SHARE) * first.peak_bytes / max(timeline.peak_bytes, 1))
    said = [conditions.line, *([GPU_NOTE] if settings.device == "gpu" else [])]
    needed = None
    if settings.device == "cpu":
        fed = _fed_bytes(timeline, graph) if held and not settings.samples else 0
        needed = needed_limit(
            [pool.calls, *pasts],
            timeline.peak_bytes,
            max(share, _LIMIT_SHARE),
            fed,
            pool.first_region_bytes,
            one_by_one=held and not further,
        )
        note = SESSION_LIMIT_NOTE
        if held:
            note = arrays_note(settings.samples) if settings.samples else LIMIT_NOTE
        said.insert(0, note if needed else UNTRIED_LIMIT_NOTE)
    if first:
        said.append(_LATER_MORE.format(human(first.peak_bytes)))
    told = [*_notes(graph, chosen, settings, bool(fetches)), *said, *remarks[:_MAX_REMARKS]]
    notes = tuple(ReadNote(text) for text in told)
    return Capture(
        source,
        timelines=(replace(timeline, error_share=upper, lower_error_share=lower, needed_limit=needed),),
        graph=graph,
        notes=notes,
        hints=Hints(batch=settings.batch, limit_bytes=settings.limit_bytes),
    )


def _further_threads(settings: StepSettings) -> int:
    return min((settings.workers or 1) - 1, _MAX_FURTHER_THREADS) if settings.device == "cpu" else 0


def _middle(timelines: Sequence[Timeline]) -> Timeline:
    """The one whose peak lies in the middle."""
    return sorted(timelines, key=lambda timeline: timeline.peak_bytes)[len(timelines) // 2]


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
        _TRACE_IT,
    )


def _check_end(remarks: Sequence[str]) -> None:
    """Raises Unpredictable where a step was not followed to its end, since its peak may not have come yet,
    and where it is not known how often a loop runs.
    """
    for remark in remarks:
        if remark.startswith((NOT_FOLLOWED, TURNS_UNKNOWN)):
            raise Unpredictable(f"the graph cannot be predicted: {remark}", _TRACE_IT)


_TRACE_IT = "trace one step with a small batch, and ask `tfmemlens fit` for the others"


def _plain(graph: Graph, fetches: Sequence[str], recorded: bool) -> tuple[Graph, list[str]]:
    """Without functions: rows, laws and pages then speak of the same nodes."""
    flat, names = inlined(graph, resolved(graph, fetches), calls_stay=recorded)
    return flat, list(names)


def _error_shares(
    timeline: Timeline, walked: Callable[[int, bool], Timeline], orders: int
) -> tuple[float, float]:
    """How far below and above the peak those of other orders lie in which TensorFlow may visit the readers of
    a tensor, and that of a step after many others.
    """
    if len(timeline.executions.node) > _MAX_REORDERED_NODES:
        return ONE_ORDER_ERROR_SHARE, ONE_ORDER_ERROR_SHARE
    others = [walked(variant, False).peak_bytes for variant in range(1, orders)]
    others.append(walked(0, True).peak_bytes)
    apart = [round(other / max(timeline.peak_bytes, 1) - 1, 3) for other in others]
    return max(MIN_ERROR_SHARE, *(-share for share in apart)), min(max(MIN_ERROR_SHARE, *apart), 1.0)


def _at_other_paces(graph: Graph, peak: int, walked: Callable[..., Timeline]) -> list[int]:
    """What a step takes, after many others, of a graph with loops on processors that run small kernels
    slower and faster than the one that was measured, and where no kernel counts as cheap yet. Raises
    Unpredictable where these are no one figure.
    """
    if not any(node.op in roles.NEXTS for node in graph):
        return []
    peaks = [walked(0, late=True, pace=pace).peak_bytes for pace in _PACES]
    peaks.append(walked(0, steps=_FIRST).peak_bytes)
    low, high = min(peak, *peaks), max(peak, *peaks)
    if high > _ONE_FIGURE * low:
        raise Unpredictable(
            f"the graph cannot be predicted: after some steps it takes about {human(low)} or {human(high)},"
            " by how fast the processor runs the small kernels of its loops",
            "trace one step after a hundred others; most likely a limit of"
            f" {human(round((1 + _SURE_SHARE) * high))} serves either",
        )
    return peaks


_PACES = (0.5, 2.0)
"""A kernel counts as cheap by its time: of how many bytes that is was measured on one processor."""
_SURE_SHARE = 0.15
"""What a limit holds beyond the higher figure of two: as much more has served 16 graphs of 16."""
_ONE_FIGURE = 1.5
"""Of 39 graphs with loops two were further apart: one took 141 MiB, of 141 and 391; the other 93 at first and
248 within twelve steps, of 162 and 254.
"""


def _further_pasts(
    timeline: Timeline, pool: RecordedPool, walked: Callable[..., Timeline]
) -> tuple[list[Sequence[Call]], float]:
    """The calls of the same step after other pasts of the allocator, and how much more of the peak its chunks
    take after these than after none: one of up to twice the request is not split.
    """
    largest = max(timeline.table.size_bytes, default=0)
    count = min(pasts_to_try(len(timeline.executions.node)), FEW_PASTS)
    pasts: list[Sequence[Call]] = []
    highest = timeline.peak_bytes
    for number in range(1, 1 + count):
        other = RecordedPool(pool.first_region_bytes)
        found = walked(0, recording=other, old_blocks=old_blocks(number, largest))
        highest = max(highest, found.peak_bytes)
        pasts.append(other.calls)
    return pasts, min(highest / max(timeline.peak_bytes, 1) - 1, 1.0)


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
    further = _further_threads(settings)
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
