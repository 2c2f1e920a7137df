"""When each node of a graph runs on several threads, without computing anything.

As TensorFlow's executor does it: see `keras_step.schedule`. Times are guesses from
what a node touches and computes; they only decide what overlaps.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

from tfmemlens.estimation.graph_step.frames import Tagged
from tfmemlens.estimation.graph_step.tokens import Token
from tfmemlens.estimation.keras_step import op_costs
from tfmemlens.estimation.threads import Worker, hand_over, next_for, stolen_at

Begun = TypeVar("Begun")
_CONVOLUTIONS = {
    "Conv2D": 1.0,
    "Conv3D": 1.0,
    "Conv2DBackpropInput": op_costs.INPUT,
    "Conv3DBackpropInputV2": op_costs.INPUT,
    "Conv2DBackpropFilter": op_costs.FILTER,
    "Conv3DBackpropFilterV2": op_costs.FILTER,
}
_PRODUCTS = ("MatMul", "BatchMatMul", "BatchMatMulV2")
_SLOW = ("BiasAddGrad", "MaxPoolGrad", "AvgPoolGrad")


def micros(op: str, inputs: Sequence[Token], outputs: Sequence[Token]) -> float:
    """How long a node takes."""
    touched = sum(token.bytes for token in (*inputs, *outputs))
    if op in _CONVOLUTIONS and outputs:
        shapes = [token.shape for token in (*inputs, *outputs) if len(token.shape) > 3]
        if len(shapes) == 3:
            places = {"Conv2D": (1, 2), "Conv3D": (1, 2)}.get(op, (2, 1) if "Filter" in op else (0, 1))
            filters, image = (shapes[place] for place in places)
            flops = 2.0 * math.prod(image[:-1]) * math.prod(filters)
            touched += int(flops * op_costs.PRODUCT * _CONVOLUTIONS[op])
    elif op in _PRODUCTS and len(inputs) > 1 and outputs:
        inner = math.prod(inputs[0].shape) * math.prod(inputs[1].shape) / max(math.prod(outputs[0].shape), 1)
        flops = 2.0 * math.prod(outputs[0].shape) * math.sqrt(inner)
        touched += int(flops * op_costs.PRODUCT)
    elif op in _SLOW:
        touched = int(touched * op_costs.SLOW)
    return op_costs.OVERHEAD_MICROS + touched / op_costs.BYTES_PER_MICROSECOND


def run(
    roots: Sequence[Tagged],
    start: Callable[[Tagged], tuple[Begun, float]],
    finish: Callable[[Tagged, Begun], Sequence[Tagged]],
    is_expensive: Callable[[Tagged], bool],
    workers: int,
    chance: Random,
) -> None:
    """Execute nodes until none is left: `start` when a thread takes one, which tells how long it runs,
    `finish` when it ends, which returns those that became ready.
    """
    threads: list[Worker[Tagged]] = [Worker() for _ in range(workers)]
    hand_over(roots, threads[0], chance.uniform(*op_costs.STEALING_MICROS), is_expensive)
    running: list[tuple[float, int, Tagged, int, Begun]] = []
    now, serial = 0.0, 0
    while True:
        for number, thread in enumerate(threads):
            tagged = None if thread.busy else next_for(thread, threads, now)
            if tagged is None:
                continue
            begun, lasts = start(tagged)
            lasts *= op_costs.JITTER ** chance.uniform(-1, 1)
            serial += 1
            thread.busy = True
            heapq.heappush(running, (now + lasts, serial, tagged, number, begun))
        if len(running) < len(threads):
            soon = stolen_at(threads)
            if soon is not None and (not running or soon < running[0][0]):
                now = max(soon, now)
                continue
        if not running:
            return
        now, _, tagged, number, begun = heapq.heappop(running)
        ready = finish(tagged, begun)
        threads[number].busy = False
        hand_over(ready, threads[number], now + chance.uniform(*op_costs.STEALING_MICROS), is_expensive)
