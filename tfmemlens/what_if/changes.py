"""The changes that can be asked about, by slug."""

from __future__ import annotations

from tfmemlens.model.what_if import Change

SMALLER_BATCH = "smaller-batch"
MIXED_PRECISION = "mixed-precision"
RECOMPUTE = "recompute"
LIGHTER_OPTIMIZER = "lighter-optimizer"
GRADIENT_ACCUMULATION = "gradient-accumulation"
SMALLER_INPUT = "smaller-input"
NO_LAYOUT_COPIES = "no-layout-copies"

CHANGES = {
    each.slug: each
    for each in (
        Change(SMALLER_BATCH, "half the batch"),
        Change(
            MIXED_PRECISION,
            "mixed precision: activations and their gradients in 16 bits, weights in 32 and a 16-bit copy of"
            " them",
        ),
        Change(RECOMPUTE, "recompute activations in the backward pass"),
        Change(LIGHTER_OPTIMIZER, "an optimizer without slots, such as plain SGD"),
        Change(GRADIENT_ACCUMULATION, "gradient accumulation over two half batches"),
        Change(SMALLER_INPUT, "images of half the height and width, or sequences of half the length"),
        Change(
            NO_LAYOUT_COPIES,
            "write the model in the layout that the device computes in: no layout copies",
        ),
    )
}
