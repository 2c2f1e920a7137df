"""What stands before a step, allocated in the order in which a program makes it.

As profiles from a program's first line show it (TensorFlow 2.11 and 2.21). It decides which regions the pool
takes from the device, and so how much larger than asked the chunks of all later steps are.
"""

from __future__ import annotations

from tfmemlens.estimation.keras_step.tape import TapeValue
from tfmemlens.estimation.keras_step.training_step import TrainingStep
from tfmemlens.knowledge.bfc import Chunk, Pool
from tfmemlens.model.tensor import ITEM_BYTES

_NUMBER_BYTES = 4


def allocate_persistent(pool: Pool, step: TrainingStep) -> dict[int, Chunk]:
    """Chunks by buffer: the model's weights, the optimizer's counters, the arrays of `fit`, slots, constants
    of the graph, the batches. Each variable has a handle beside it.
    """
    chunks: dict[int, Chunk | None] = {}

    def handle(value: TapeValue) -> None:
        if (own := step.handles.get(value.buffer)) is not None:
            chunks[own.buffer] = pool.allocate(own.bytes)

    for _, weight, _ in step.weights:
        chunks[weight.buffer] = _initialized(pool, weight, step.tape.buffers[weight.buffer].node)
        handle(weight)
    for value in step.scalars:
        chunks[value.buffer] = pool.allocate(value.bytes)
        handle(value)
    chunks |= {value.buffer: pool.allocate(value.bytes) for value in step.arrays}
    for _, slot in step.slots:
        chunks[slot.buffer] = pool.allocate(slot.bytes)
        handle(slot)
    late = (*step.tape.constants, *step.inputs, *step.fetched)
    chunks |= {value.buffer: pool.allocate(value.bytes) for value in late}
    return {buffer: chunk for buffer, chunk in chunks.items() if chunk is not None and chunk.size_bytes}


def _initialized(pool: Pool, weight: TapeValue, name: str) -> Chunk | None:
    """A random initialiser draws numbers with a key and a counter, scales and shifts them; a recurrent kernel
    is made orthogonal then.

    Each time the variable keeps the last buffer.
    """
    if len(weight.shape) < 2:
        filler = pool.allocate(_NUMBER_BYTES)
        made = pool.allocate(weight.bytes)
        _free(pool, filler)
        return made
    small = [pool.allocate(_NUMBER_BYTES) for _ in range(4)]
    drawn, scaled, made = (pool.allocate(weight.bytes) for _ in range(3))
    _free(pool, scaled, *small, drawn)
    if "recurrent" not in name:
        return made
    square = min(weight.shape) ** 2 * ITEM_BYTES.get(weight.dtype, 4)
    across, up = pool.allocate(weight.bytes), pool.allocate(square)
    signed = pool.allocate(weight.bytes)
    _free(pool, across)
    turned = pool.allocate(weight.bytes)
    _free(pool, signed)
    kept = pool.allocate(weight.bytes)
    _free(pool, made, turned, up)
    return kept


def _free(pool: Pool, *chunks: Chunk | None) -> None:
    for chunk in chunks:
        if chunk is not None:
            pool.free(chunk)
