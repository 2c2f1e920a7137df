"""Layers as the ops that TensorFlow runs for them: forward, and how gradients come back. Read off the graphs of TensorFlow 2.11 and 2.21 after Grappler."""

from __future__ import annotations

from tfmemlens.costs.layers import operations
from tfmemlens.costs.layers._kit import Asked
from tfmemlens.estimation.lowering import convolution, core, sequence
from tfmemlens.estimation.lowering._kit import Job
from tfmemlens.estimation.tape import Value

__all__ = ["Job", "known", "lower"]

RULES = {**core.RULES, **convolution.RULES, **sequence.RULES}


def known(job: Job) -> bool:
    """Whether the layer's ops are known, or only what goes in and comes out."""
    return _rule(job) is not None


def lower(job: Job) -> list[Value]:
    """Write the ops of one call to the tape; returns its outputs."""
    rule = _rule(job)
    if rule is None or not job.inputs:
        return core.unknown(job)
    try:
        return rule(job)
    except (AssertionError, IndexError, KeyError, TypeError, ValueError, ZeroDivisionError):
        return core.unknown(job)


def _rule(job: Job) -> core.Rule | None:
    asked = Asked(job.spec, ())
    if operations.is_operation(asked):
        return core.OPS.get(operations.name_of(asked))
    return RULES.get(job.spec.class_name)
