"""Gradients of kernels that are made for each sample: the second product of a batched matrix product."""

from __future__ import annotations

from tfmemlens.model.case import Request
from tfmemlens.patterns import regex

_SECOND_PRODUCT = regex(
    r"gradient_tape/(?:[\w.]{1,80}/){0,12}?(?P<layer>[\w.]{1,80})/MatMul(?:_\d{1,3})?/MatMul_1\Z"
)
_OF_PAIRS = regex(
    r"(?i)att(?:entio)?n|query|key|score|softmax|\bdot(?:_\d+)?\b|transformer|\bmha\b|similarity|batch_dot"
)
_OF_SAMPLES = 3
"""Axes: samples, inputs, units."""


def layer_of_each_sample(request: Request) -> str | None:
    """The layer whose kernel's gradient is made once for each sample, [samples, inputs, units], and summed
    afterwards; None where the op is no such product. Keras 3 wrote Dense on three axes as a batched product,
    until it took to a flat one. Products of two activations, as attention has them, are named after it.
    """
    failed = request.failed
    match = _SECOND_PRODUCT.search(failed.node or "")
    if match is None or len(failed.shape or ()) != _OF_SAMPLES or _OF_PAIRS.search(failed.node or ""):
        return None
    return match["layer"]
