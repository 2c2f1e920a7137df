"""A model description to a predicted capture: it walks the same flow as a measurement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tfmemlens.costs import networks
from tfmemlens.costs.bfc import Pool
from tfmemlens.errors import UsageError
from tfmemlens.estimation import optimizers, steps
from tfmemlens.estimation.execution import Life, Run, run
from tfmemlens.estimation.tape import Value
from tfmemlens.model.allocation import OUTPUT, PERSISTENT, TEMPORARY, Allocation, AllocationTable
from tfmemlens.model.network import Network
from tfmemlens.model.settings import Settings
from tfmemlens.model.timeline import BaselineSource, Executions, Timeline


@dataclass(frozen=True)
class Prediction:
    """The step, the network with its shapes, and the timeline of the allocator."""

    network: Network
    """Its shapes have the batch in front."""
    step: steps.Step
    timeline: Timeline
    optimizer: optimizers.Optimizer


def predict(network: Network, settings: Settings) -> Prediction:
    """Lay the step out and walk it through the allocator. Raises UsageError for an unknown optimizer."""
    done = networks.complete(network, settings.batch, _sizes(network, settings), settings.dtype)
    optimizer = optimizers.optimizer(settings.optimizer or "none" if settings.training else "none")
    step = steps.build(done, optimizer, settings.training, settings.device, settings.threads, settings.dtype)
    pool = Pool()
    standing = _stand(pool, step, optimizer)
    kept = frozenset(value.buffer for value in step.outputs) if not settings.training else frozenset()
    result = run(step.tape.ops, step.tape.buffers, pool, kept, settings.threads)
    return Prediction(done, step, _timeline(step, standing, result, settings), optimizer)


def _sizes(network: Network, settings: Settings) -> dict[str, Sequence[int | None]]:
    """The sizes of the inputs that the user names, and the sequence where an input leaves its length open. Raises UsageError."""
    names = {ref.layer for ref in network.inputs}
    for name in settings.inputs:
        if name and name not in names:
            raise UsageError(f"the model has no input {name!r}", f"its inputs are {', '.join(sorted(names)) or 'not known'}")
    sizes = dict(settings.inputs)
    for ref in network.inputs if settings.sequence is not None else ():
        own = network[ref.layer].config.get("batch_shape") or network[ref.layer].config.get("batch_input_shape")
        shape = list(sizes.get(ref.layer, sizes.get("", own[1:] if isinstance(own, list | tuple) else [None])))
        sizes[ref.layer] = [settings.sequence if size is None else size for size in shape[:1]] + shape[1:]
    return sizes


def _stand(pool: Pool, step: steps.Step, optimizer: optimizers.Optimizer) -> list[tuple[Value, int]]:
    """Weights, slots, scalars and the batch take their chunks in the order in which a program makes them."""
    found = []
    for _, weight, _ in step.weights:
        found.append((weight, _initialized(pool, weight)))
    for _, slot in step.slots:
        chunk = pool.allocate(slot.bytes)
        found.append((slot, chunk.size_bytes if chunk else 0))
    for _ in range(optimizer.scalars + 6):
        pool.allocate(4)
    for value in step.inputs:
        chunk = pool.allocate(value.bytes)
        found.append((value, chunk.size_bytes if chunk else 0))
    return found


def _initialized(pool: Pool, weight: Value) -> int:
    """A random initialiser makes numbers, scales and shifts them: the variable keeps the last of three buffers."""
    if len(weight.shape) < 2:
        chunk = pool.allocate(weight.bytes)
        return chunk.size_bytes if chunk else 0
    drawn = pool.allocate(weight.bytes)
    scaled = pool.allocate(weight.bytes)
    if drawn:
        pool.free(drawn)
    shifted = pool.allocate(weight.bytes)
    if scaled:
        pool.free(scaled)
    return shifted.size_bytes if shifted else 0


def _timeline(step: steps.Step, standing: list[tuple[Value, int]], result: Run, settings: Settings) -> Timeline:
    device, allocator = ("GPU:0", "GPU_0_bfc") if settings.device == "gpu" else ("CPU:0", "cpu")
    rows = [_row(step, life, device, allocator) for life in sorted(result.lives, key=lambda life: life.start_micros)]
    buffers = step.tape.buffers
    before = [
        Allocation(
            buffers[value.buffer].node,
            chunk,
            buffers[value.buffer].op,
            device,
            allocator,
            value.bytes,
            shape=value.shape,
            dtype=value.dtype,
            purpose=PERSISTENT,
        )
        for value, chunk in standing
    ]
    owners = {row.node: life.op.owner for row, life in zip(rows, sorted(result.lives, key=lambda life: life.start_micros), strict=True) if row.node}
    owners |= {buffers[value.buffer].node: buffers[value.buffer].owner for value, _ in standing}
    names, starts, ends = zip(*result.executions, strict=True) if result.executions else ((), (), ())
    return Timeline(
        device, allocator, AllocationTable.of(rows), AllocationTable.of(before), result.start_bytes, None, BaselineSource.PREDICTED, settings.limit_bytes, True,
        Executions(names, starts, ends), owners=owners,
    )  # fmt: skip


def _row(step: steps.Step, life: Life, device: str, allocator: str) -> Allocation:
    buffer = step.tape.buffers[life.buffer] if life.buffer is not None else None
    return Allocation(
        life.op.name, life.chunk_bytes, life.op.op, device, allocator, life.requested_bytes, life.start_micros, life.end_micros,
        buffer.shape if buffer else None, buffer.dtype if buffer else None, purpose=OUTPUT if buffer else TEMPORARY,
    )  # fmt: skip
