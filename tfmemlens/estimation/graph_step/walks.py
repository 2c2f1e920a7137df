"""The ways in which a step of a graph may go: orders in which TensorFlow may visit the readers of a tensor,
threads that overlap, a young training and an old one, slower and faster processors, other pasts of the
allocator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random

from tfmemlens.errors import Unpredictable
from tfmemlens.estimation.allocator_pasts import FEW_PASTS, old_blocks, pasts_to_try
from tfmemlens.estimation.graph_step.executor import NOT_FOLLOWED, TURNS_UNKNOWN
from tfmemlens.estimation.graph_step.rewriting import is_ordered
from tfmemlens.estimation.graph_step.session import STEPS, first_region, of_graph
from tfmemlens.knowledge.bfc import Call, RecordedPool
from tfmemlens.knowledge.ops import roles
from tfmemlens.model.graph import Graph
from tfmemlens.model.settings import StepSettings
from tfmemlens.model.timeline import Timeline
from tfmemlens.units import human
from tfmemlens.values import dataclass, field, replace

MIN_ERROR_SHARE, ONE_ORDER_ERROR_SHARE = 0.10, 0.15
"""With the spread of five orders, but at least 0.05, 94 % of the real peaks were within the bar of nets that
it was made with (scripts/benchmarks/simulate.py), and two of four that it had not seen; for graphs with so
many nodes that one order must do, the second.
"""
_MAX_FURTHER_THREADS = 3
"""Nothing was measured on more than four."""
_SEEDS = 3
"""How often a step is walked through on several threads: ops take longer or shorter each time."""
_FIRST = 2
"""Steps of a training that is young: no kernel has run often enough to count as cheap."""
_ORDERS = 5
_MAX_REORDERED_NODES = 20_000
_PACES = (0.5, 2.0)
"""A kernel counts as cheap by its time: of how many bytes that is was measured on one processor."""
_SURE_SHARE = 0.15
"""What a limit holds beyond the higher figure of two: as much more has served 16 graphs of 16."""
_ONE_FIGURE = 1.5
"""Of 39 graphs with loops two were further apart: one took 141 MiB, of 141 and 391; the other 93 at first and
248 within twelve steps, of 162 and 254.
"""
TRACE_IT = "trace one step with a small batch, and ask `tfmemlens fit` for the others"


@dataclass
class StepToWalk:
    """A step of a graph, and what is asked of every way in which it goes."""

    graph: Graph
    fetches: Sequence[str]
    settings: StepSettings
    shapes: Mapping[str, tuple[int | None, ...]]
    recorded: bool
    """Whether Grappler has seen the graph."""
    held: bool
    """Whether the batch lives on the allocator."""
    late: bool = False
    """Whether all kernels have run as often as in a long training."""
    remarks: list[str] = field(default_factory=list)
    unknown: dict[str, int] = field(default_factory=dict)
    """Bytes that pass through nodes whose ops are not known, by their names."""

    @property
    def further(self) -> int:
        """Threads beyond the first."""
        return further_threads(self.settings)

    def walk(
        self,
        variant: int = 0,
        onednn: bool | None = None,
        recording: RecordedPool | None = None,
        old_blocks: Sequence[int] = (),
        seed: int | None = None,
        late: bool = False,
        steps: int = STEPS,
        pace: float = 1.0,
    ) -> Timeline:
        """The last step, with one node at a time, or with several for as long as the seed has it."""
        asked = self.settings
        return of_graph(
            self.graph, self.fetches, asked.batch, shapes=self.shapes, device=asked.device,
            limit_bytes=asked.limit_bytes, threads=asked.threads or 1, optimized=self.recorded,
            held_inputs=self.held, variant=variant, notes=self.remarks, unknown=self.unknown,
            onednn=bool(asked.onednn) if onednn is None else onednn, l3_bytes=asked.l3_bytes,
            pool=recording, samples=asked.samples, old_blocks=old_blocks,
            workers=1 if seed is None else 1 + self.further, chance=Random(seed),
            late=late or self.late, steps=steps, pace=pace,
        )  # fmt: skip


@dataclass(frozen=True)
class Walked:
    """The likely way, and how far the others lie from it."""

    step: StepToWalk
    timeline: Timeline
    first: Timeline | None
    """In a young training, where later steps take more."""
    below: float
    above: float
    """How much less and more of the peak other orders and processors take."""
    loose: float
    """How much more of the peak other pasts of the allocator add."""
    pool: RecordedPool
    pasts: Sequence[Sequence[Call]]
    """Calls of the allocator after each other past."""


def walk_all(step: StepToWalk) -> Walked:
    """Walk a step in all its ways. Raises Unpredictable where it cannot be followed to its end, and where its
    ways are no one figure.
    """
    pool = RecordedPool(first_region(step.graph.version))
    timeline = alone = step.walk(recording=pool)
    _check_end(step.remarks)
    small = len(alone.executions.node) <= _MAX_REORDERED_NODES
    first, after, paces = None, None, list[int]()
    if small:
        later = RecordedPool(pool.first_region_bytes)
        after = step.walk(recording=later, late=True)
        more = after.peak_bytes > (1 + MIN_ERROR_SHARE) * alone.peak_bytes
        loops = any(node.op in roles.NEXTS for node in step.graph)
        young = step.walk(steps=_FIRST) if more or loops else None
        if young and loops:
            paces = at_other_paces(young.peak_bytes, after.peak_bytes, step.walk)
        if more:
            first, timeline, alone, pool = young, after, after, later
            step = replace(step, late=True)
    if step.further:
        timeline = _middle([step.walk(seed=seed) for seed in range(_SEEDS if small else 1)])
    pasts, loose = further_pasts(alone, pool, step.walk)
    below, above = error_shares(
        timeline,
        lambda variant, late: (
            after
            if after and late and not step.further  # walked already
            else step.walk(variant, seed=variant if step.further else None, late=late)
        ),
        1 if is_ordered(step.graph) and not step.further else _ORDERS,
    )
    apart = [peak / max(timeline.peak_bytes, 1) - 1 for peak in paces]
    below, above = max(below, *(-each for each in apart), 0.0), max(above, *apart, 0.0)
    return Walked(step, timeline, first, below, above, loose, pool, pasts)


def _check_end(remarks: Sequence[str]) -> None:
    """Raises Unpredictable where a step was not followed to its end, since its peak may not have come yet,
    and where it is not known how often a loop runs.
    """
    for remark in remarks:
        if remark.startswith((NOT_FOLLOWED, TURNS_UNKNOWN)):
            raise Unpredictable(f"the graph cannot be predicted: {remark}", TRACE_IT)


def further_threads(settings: StepSettings) -> int:
    """Threads beyond the first that are reckoned with."""
    return min((settings.workers or 1) - 1, _MAX_FURTHER_THREADS) if settings.device == "cpu" else 0


def _middle(timelines: Sequence[Timeline]) -> Timeline:
    """The one whose peak lies in the middle."""
    return sorted(timelines, key=lambda timeline: timeline.peak_bytes)[len(timelines) // 2]


def error_shares(
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


def at_other_paces(young: int, peak: int, walked: Callable[..., Timeline]) -> list[int]:
    """What a step takes, after many others, of a graph with loops on processors that run small kernels
    slower and faster than the one that was measured, and where no kernel counts as cheap yet (`young`).
    Raises Unpredictable where these are no one figure.
    """
    peaks = [*(walked(0, late=True, pace=pace).peak_bytes for pace in _PACES), young]
    low, high = min(peak, *peaks), max(peak, *peaks)
    if high > _ONE_FIGURE * low:
        raise Unpredictable(
            f"the graph cannot be predicted: after some steps it takes about {human(low)} or {human(high)},"
            " by how fast the processor runs the small kernels of its loops",
            "trace one step after a hundred others; most likely a limit of"
            f" {human(round((1 + _SURE_SHARE) * high))} serves either",
        )
    return peaks


def further_pasts(
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
