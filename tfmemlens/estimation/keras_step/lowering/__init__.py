"""Layers as the ops that TensorFlow runs for them: forward, and how gradients come back. Read off the graphs
of TensorFlow 2.11 and 2.21 after Grappler.
"""

from __future__ import annotations

from tfmemlens.estimation.keras_step.lowering import convolution, core, sequence
from tfmemlens.estimation.keras_step.lowering._context import LoweringContext
from tfmemlens.estimation.keras_step.tape import TapeValue
from tfmemlens.knowledge.keras_layers import operations
from tfmemlens.knowledge.keras_layers._context import LayerCall

__all__ = ["LoweringContext", "known", "lower"]

RULES = {**core.RULES, **convolution.RULES, **sequence.RULES}


def known(job: LoweringContext) -> bool:
    """Whether the layer's ops are known, or only what goes in and comes out."""
    return _rule(job) is not None


def lower(job: LoweringContext) -> list[TapeValue]:
    """Write the ops of one call to the tape; returns its outputs."""
    rule = _rule(job)
    if rule is None or not job.inputs:
        return core.unknown(job)
    try:
        return rule(job)
    except (AssertionError, IndexError, KeyError, TypeError, ValueError, ZeroDivisionError):
        return core.unknown(job)


def _rule(job: LoweringContext) -> core.Rule | None:
    asked = LayerCall(job.spec, ())
    if operations.is_operation(asked):
        return core.OPS.get(operations.name_of(asked))
    return RULES.get(job.spec.class_name)
