"""The words of the page, explained for people who have never read TensorFlow's allocator."""

from __future__ import annotations

import inspect

KINDS = {
    "parameter": (
        "A weight of the model: kernels, biases, embeddings. It stays in memory from the start to the end and"
        " does not grow with the batch."
    ),
    "optimizer-slot": (
        "What the optimizer keeps for each weight. Momentum keeps one copy of every weight, Adam two."
    ),
    "gradient": (
        "A derivative that the backward pass computes. Those of weights are as large as the weights; those of"
        " activations grow with the batch."
    ),
    "activation": (
        "The output of a layer. In training it is kept until the backward pass has used it, so it is usually"
        " the largest part, and it grows with the batch."
    ),
    "layout-copy": (
        "A second copy of a tensor in another order of its dimensions (NHWC or NCHW), made by TensorFlow's"
        " LayoutOptimizer."
    ),
    "temporary-buffer": (
        "Scratch memory of one running op: convolution patches, sorted indices. It is freed as soon as"
        " the op is done."
    ),
    "kept-by-a-loop": (
        "What a while loop keeps of every iteration, so that it can be run backwards. It grows with the"
        " number of iterations."
    ),
    "constant": "A value that is part of the graph.",
    "held-by-python": (
        "A tensor that a list, a dictionary or an attribute of the program holds, counted when it failed."
    ),
    "input": "A batch on its way into the model.",
    "transfer": "A tensor that comes from or goes to another device or the host.",
    "unknown": "Memory whose owner is unknown.",
}

TERMS = {
    "limit": (
        "The most that the allocator may take from the device: the device's memory less what TensorFlow"
        " leaves alone, or a limit that you set."
    ),
    "in use": "Bytes in blocks that somebody holds at this moment.",
    "free": (
        "Bytes that the allocator has or may still take from the device. A tensor needs one block: many small"
        " free blocks cannot hold a large one."
    ),
    "largest free block": (
        "The largest contiguous free block of the pool. A tensor larger than that does not fit, however much"
        " is free in sum."
    ),
    "not in TensorFlow's list": (
        "In use, but not in the list that TensorFlow prints when it fails: weights, slots of earlier steps,"
        " constants, ops that were running, received tensors."
    ),
    "before the step": (
        "What was in use when the traced step began: mostly weights, optimizer slots and constants."
    ),
    "peak": "The highest sum of bytes in use at one instant. It decides whether a step fits.",
    "chunk": (
        "A block of memory that the allocator hands out. It is at least as large as the tensor in it, in"
        " steps of 256 bytes, and may be larger."
    ),
    "region": (
        "A stretch of device memory that the allocator took at once and cut into blocks. Blocks of two"
        " regions never join."
    ),
    "layer": (
        "A scope of your own model, with TensorFlow's additions (gradients/, optimizer names, rewrites) taken"
        " off."
    ),
    "node": "One operation of the graph, by its full name.",
    "exact, up to, about": (
        "How well a figure is known: to the byte; a bound that is not exceeded; an estimate. TensorFlow"
        " rounds what it prints: such sizes are about."
    ),
}


def rule(text: str) -> tuple[str, list[str]]:
    """A rule's docstring as its first sentence and its paragraphs."""
    first, _, rest = inspect.cleandoc(text).partition("\n")
    lines: list[str] = []
    for line in rest.strip().split("\n"):
        if lines and line and not line.startswith(("What it means:", "When it fires:", "What to do:")):
            lines[-1] += " " + line.strip()
        elif line:
            lines.append(line.strip())
    return first, lines
