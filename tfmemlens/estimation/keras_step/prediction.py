"""A model description to a predicted capture: it walks the same flow as a measurement."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random

from tfmemlens.errors import UsageError
from tfmemlens.estimation.allocator_pasts import FEW_PASTS, old_blocks, pasts_to_try
from tfmemlens.estimation.keras_step import optimizers, training_step
from tfmemlens.estimation.keras_step.initial_state import allocate_persistent
from tfmemlens.estimation.keras_step.schedule import Life, ScheduledRun, SchedulePlan, run
from tfmemlens.estimation.keras_step.tape import TapeBuffer
from tfmemlens.estimation.keras_step.update_order import update_order
from tfmemlens.knowledge.bfc import Call, Chunk, Pool, RecordedPool
from tfmemlens.knowledge.keras_layers import model_types
from tfmemlens.model.allocation import OUTPUT, PERSISTENT, TEMPORARY, Allocation, AllocationTable
from tfmemlens.model.attribution import Owner
from tfmemlens.model.network import Network
from tfmemlens.model.settings import StepSettings
from tfmemlens.model.timeline import BaselineSource, Executions, Timeline
from tfmemlens.values import dataclass, replace

_STEPS = ((2_000, 16), (20_000, 8))
"""How many steps are thought through: for steps of fewer ops more of them, else three."""
_LIMITED_STEPS = 3
"""How many steps a limit has to serve; no fewer are ever thought through."""
_FURTHER_STEPS = 4
"""The same after each further past of the allocator, which widens the bar."""
_OUTERMOST = 0.1
"""The share of the ways at either end that the bar leaves out."""
USUAL_THREADS = 4
"""Where nobody says how many threads there are."""
OPEN_SIZE_HINT = (
    "`tfmemlens estimate` and `fit` take --sequence N for a length that is open, --input-shape for all sizes"
)


@dataclass(frozen=True)
class PredictedStep:
    """The step, the network with its shapes, and the timeline of the allocator."""

    network: Network
    """Its shapes have the batch in front."""
    step: training_step.TrainingStep
    timeline: Timeline
    optimizer: optimizers.Optimizer
    low_bytes: int = 0
    high_bytes: int = 0
    """Between them lie the peaks of eight of ten ways in which the step may go, and the likely one: other ops
    overlap each time, and chunks are larger than asked after other pasts of the allocator.
    """
    pasts: Callable[[], Sequence[Sequence[Call]]] = lambda: ((),)
    """Calls of the allocator from the first weight to the end of the third step: first without a past, then
    after each that was thought through; with one op at a time, as they go where memory is short. Called for
    them, since to find them takes a third of the time.
    """


_Settled = tuple[Mapping[int, int], ScheduledRun]
"""What stands before a step, in bytes by buffer, and how the step goes."""


@dataclass(frozen=True)
class _LaidOut:
    """A step before anything runs."""

    network: Network
    step: training_step.TrainingStep
    plan: SchedulePlan
    optimizer: optimizers.Optimizer
    settings: StepSettings

    @property
    def size(self) -> int:
        return len(self.step.tape.ops)

    def settled(self, count: int, history: int = 0) -> tuple[list[_Settled], Sequence[Call]]:
        """As `_settled`."""
        return _settled(self.step, self.plan, self.settings, count, history)

    def likely(self) -> tuple[list[_Settled], Sequence[Call]]:
        """Without a past of the allocator."""
        return self.settled(next((count for ops, count in _STEPS if self.size < ops), _LIMITED_STEPS))


def peak_bytes(network: Network, settings: StepSettings) -> int:
    """The peak of `predict` alone, without what else the allocator may have served before."""
    laid = _laid_out(network, settings)
    runs, _ = laid.likely()
    return _timeline(laid.step, _in_the_middle(runs), settings).peak_bytes


def predict(network: Network, settings: StepSettings) -> PredictedStep:
    """Lay the step out and walk it through the allocator. Raises UsageError for an unknown optimizer and for
    an input whose sizes are not all known.
    """
    laid = _laid_out(network, settings)
    one_at_a_time = (settings.workers or USUAL_THREADS) == 1
    runs, calls = laid.likely()
    pasts, after_others = [calls], []
    for number in range(1, 1 + pasts_to_try(laid.size)):
        further, calls = laid.settled(_FURTHER_STEPS, number)
        after_others += further
        if number <= FEW_PASTS:
            pasts.append(calls)
    middle = _in_the_middle([*runs, *after_others] if one_at_a_time else runs)
    low, high = _most_of([each.peak_bytes for _, each in after_others or runs])

    def alone() -> Sequence[Sequence[Call]]:
        if one_at_a_time:
            return pasts
        one = replace(laid, settings=replace(settings, workers=1))
        return [one.settled(_LIMITED_STEPS, past)[1] for past in range(len(pasts))]

    timeline = _timeline(laid.step, middle, settings)
    peak = timeline.peak_bytes
    return PredictedStep(
        laid.network, laid.step, timeline, laid.optimizer, min(low, peak), max(high, peak), alone
    )


def _in_the_middle(steps: Sequence[_Settled]) -> _Settled:
    """The likely one. With one op at a time all steps after one past look alike, and those without a past may
    be the odd ones out: of 209 cases of ten sets one was off by over 30 % by them, and none by the middle
    of all. With several threads ops that overlap by chance make the difference, and pasts say no more.
    """
    return sorted(steps, key=lambda each: each[1].peak_bytes)[len(steps) // 2]


def _most_of(peaks: Sequence[int]) -> tuple[int, int]:
    """Between which eight of ten lie; of few all do."""
    ordered = sorted(peaks)
    left_out = round(_OUTERMOST * (len(ordered) - 1))
    return ordered[left_out], ordered[-1 - left_out]


def _laid_out(network: Network, settings: StepSettings) -> _LaidOut:
    done = model_types.complete(network, settings.batch, _sizes(network, settings), settings.dtype)
    _check_no_size_is_open(done)
    workers = settings.workers or USUAL_THREADS
    optimizer = optimizers.optimizer(settings.optimizer or "none" if settings.training else "none")
    if network.dialect == "keras-2":
        optimizer = optimizers.of_keras_2(optimizer, network.version)
    if network.optimizer and settings.training and settings.optimizer == network.optimizer:
        optimizer = optimizer.with_options(network.optimizer_options)
    step = training_step.build(
        done,
        optimizer,
        settings.training,
        settings.device,
        settings.threads or workers,
        settings.dtype,
        workers,
        l3_bytes=settings.l3_bytes,
        onednn=bool(settings.onednn),
        fetches=bool(settings.samples),
        open_batch=bool(settings.samples and settings.samples % settings.batch),
    )
    if settings.samples:
        training_step.add_arrays(step, settings.samples)
    kept = frozenset(value.buffer for value in step.outputs) if not settings.training else frozenset()
    updates = update_order(optimizer, step.tape.keras_3, len(step.tape.trainables))
    plan = SchedulePlan(step.tape.ops, step.tape.buffers, kept, updates)
    return _LaidOut(done, step, plan, optimizer, settings)


def _settled(
    step: training_step.TrainingStep,
    plan: SchedulePlan,
    settings: StepSettings,
    count: int,
    history: int = 0,
) -> tuple[list[_Settled], Sequence[Call]]:
    """Several steps, the lowest peak first: chunks depend on the steps before, so the first is left out. With
    the calls up to the end of the first few, where one op runs at a time: with several nobody asks for them.
    Before, the allocator of a `history` other than 0 served a program of which nothing is known.
    """
    workers = settings.workers or USUAL_THREADS
    chance, order = (Random(seed + 3 * history) for seed in range(2))
    pool = Pool() if workers > 1 else RecordedPool()
    most = max((buffer.bytes for buffer in step.tape.buffers), default=0)
    old = [pool.allocate(size) for size in old_blocks(history, most)]
    standing: Mapping[int, Chunk] = allocate_persistent(pool, step)
    for block in old:
        if block is not None:
            pool.free(block)
    calls: Sequence[Call] = ()
    steps: list[_Settled] = []
    for _ in range(count):
        sizes = {buffer: chunk.size_bytes for buffer, chunk in standing.items()}
        result = run(plan, pool, standing, workers, chance if workers > 1 else None, order)
        steps.append((sizes, result))
        standing = {
            buffer: chunk for buffer, chunk in result.standing.items() if step.tape.buffers[buffer].standing
        }
        for buffer, chunk in result.standing.items():
            if buffer not in standing:
                pool.free(chunk)
        if len(steps) == _LIMITED_STEPS and isinstance(pool, RecordedPool):
            calls = tuple(pool.calls)
    return sorted(steps[1:], key=lambda each: each[1].peak_bytes), calls


def _sizes(network: Network, settings: StepSettings) -> dict[str, Sequence[int | None]]:
    """The sizes of the inputs that the user names, and the sequence where an input leaves its length open.
    Raises UsageError.
    """
    names = {ref.layer for ref in network.inputs}
    for name in settings.inputs:
        if name and name not in names:
            raise UsageError(
                f"the model has no input {name!r}",
                f"its inputs are {', '.join(sorted(names)) or 'not known'}",
            )
    own = {ref.layer: _own_sizes(network, ref.layer) for ref in network.inputs}
    sizes: dict[str, Sequence[int | None]] = {
        name: _without_batch(name, given, own, settings.batch) for name, given in settings.inputs.items()
    }
    if settings.sequence is None:
        return sizes
    shapes = {
        name: list(sizes.get(name, sizes.get("", [None] if known is None else known)))
        for name, known in own.items()
    }
    if shapes and all(shape[:1] != [None] for shape in shapes.values()):
        fixed = ", ".join(f"{name} at {shape[0]}" for name, shape in shapes.items() if shape)
        raise UsageError(
            f"the model leaves no length open for --sequence: it fixes {fixed}",
            "--input-shape gives all sizes of an input anew",
        )
    return sizes | {
        name: [*(settings.sequence if size is None else size for size in shape[:1]), *shape[1:]]
        for name, shape in shapes.items()
    }


def _check_no_size_is_open(network: Network) -> None:
    """Raises UsageError: a size taken for 1 would make the answer a hundred times too small."""
    for layer in network.layers:
        shape = layer.outputs[0].shape if layer.class_name == "InputLayer" and layer.outputs else None
        if shape is not None and None in shape[1:]:
            sizes = "x".join("N" if size is None else str(size) for size in shape[1:])
            raise UsageError(f"the input {layer.name} leaves a size open: {sizes}", OPEN_SIZE_HINT)


def _own_sizes(network: Network, name: str) -> list[int | None] | None:
    """What the model says of its input, without the batch."""
    config = network[name].config
    shape = config.get("batch_shape") or config.get("batch_input_shape")
    return list(shape[1:]) if isinstance(shape, list | tuple) else None


def _without_batch(
    name: str, given: Sequence[int | None], own: Mapping[str, list[int | None] | None], batch: int
) -> Sequence[int | None]:
    """The sizes as they are asked for; elsewhere `--input-shape` has the batch in front, so one too many may
    be that. Raises UsageError.
    """
    known = {each: sizes for each, sizes in own.items() if sizes is not None and name in ("", each)}
    if not known or any(len(sizes) == len(given) for sizes in known.values()):
        return given
    where, sizes = next(iter(known.items()))
    if len(given) != len(sizes) + 1:
        example = "x".join(str(size or "N") for size in sizes)
        raise UsageError(
            f"the input {where} takes {len(sizes)} sizes, and --input-shape gives {len(given)}",
            f"leave the batch out, as in --input-shape {example}",
        )
    if given[0] not in (None, batch):
        rest = "x".join(str(size) for size in given[1:])
        raise UsageError(
            f"--input-shape leaves the batch out here, and the batch is {batch}",
            f"write --input-shape {rest} --batch {given[0]}",
        )
    return given[1:]


def _timeline(step: training_step.TrainingStep, settled: _Settled, settings: StepSettings) -> Timeline:
    device, allocator = ("GPU:0", "GPU_0_bfc") if settings.device == "gpu" else ("CPU:0", "cpu")
    standing, result = settled
    buffers = step.tape.buffers
    lives = sorted(result.lives, key=lambda life: life.start_micros)
    rows = [_row(buffers, life, device, allocator) for life in lives]
    gone = {life.buffer for life in lives if life.op is None}
    before = [
        _standing_row(buffers[index], size, device, allocator)
        for index, size in standing.items()
        if index not in gone
    ]
    owners = {
        row.node: _owner(buffers, life) for row, life in zip(rows, lives, strict=True) if row.node and life.op
    }
    owners |= {buffers[index].node: buffers[index].owner for index in standing}
    names, starts, ends = zip(*result.executions, strict=True) if result.executions else ((), (), ())
    return Timeline(
        device, allocator, AllocationTable.of(rows), AllocationTable.of(before), result.start_bytes, None,
        BaselineSource.PREDICTED, settings.limit_bytes, True,
        Executions(names, starts, ends), owners=owners,
    )  # fmt: skip


def _owner(buffers: Sequence[TapeBuffer], life: Life) -> Owner:
    """The op's, but a variable that an update copies stays what it was: a weight in a new place."""
    assert life.op is not None
    moved = life.buffer is not None and life.op.updates == life.buffer
    return buffers[life.buffer].owner if moved and life.buffer is not None else life.op.owner


def _standing_row(buffer: TapeBuffer, chunk_bytes: int, device: str, allocator: str) -> Allocation:
    return Allocation(
        buffer.node,
        chunk_bytes,
        buffer.op,
        device,
        allocator,
        buffer.bytes,
        shape=buffer.shape,
        dtype=buffer.dtype,
        purpose=PERSISTENT,
    )


def _row(buffers: Sequence[TapeBuffer], life: Life, device: str, allocator: str) -> Allocation:
    buffer = buffers[life.buffer] if life.buffer is not None else None
    name, op = (buffer.node, buffer.op) if buffer else (None, None)
    if life.op:
        name, op = life.op.name, life.op.op
    return Allocation(
        name, life.chunk_bytes, op, device, allocator, life.requested_bytes, life.start_micros,
        life.end_micros,
        buffer.shape if buffer else None, buffer.dtype if buffer else None,
        purpose=OUTPUT if buffer else TEMPORARY,
    )  # fmt: skip
