"""Layers as the ops that TensorFlow runs for them: forward, and how gradients come back. Read off the graphs
of TensorFlow 2.11 and 2.21 after Grappler.
"""

from __future__ import annotations

from tfmemlens.estimation.keras_step.lowering import (
    convolution,
    core,
    dot,
    locally_connected,
    normalization,
    sequence,
)
from tfmemlens.estimation.keras_step.lowering._context import LoweringContext, NotLowered, Rule
from tfmemlens.estimation.keras_step.tape import TapeValue
from tfmemlens.knowledge.keras_layers import operations
from tfmemlens.knowledge.keras_layers._context import LayerCall
from tfmemlens.values import replace

__all__ = ["LoweringContext", "known", "lower"]

RULES = {
    **core.RULES,
    **convolution.RULES,
    **normalization.RULES,
    **sequence.RULES,
    **locally_connected.RULES,
    **dot.RULES,
}


def known(job: LoweringContext) -> bool:
    """Whether the layer's ops are known, or only what goes in and comes out."""
    return _rule(job) is not None


_HAND_MASKS_ON = frozenset(
    (
        *("LSTM", "GRU", "SimpleRNN", "RNN", "Bidirectional", "TimeDistributed"),
        *("Dense", "Activation", "Add", "Concatenate", "LayerNormalization", "BatchNormalization"),
        *("Dropout", "SpatialDropout1D", "GaussianDropout", "GaussianNoise", "AlphaDropout"),
    )
)
"""Layers whose outputs have the mask of their inputs."""


def lower(job: LoweringContext) -> list[TapeValue]:
    """Write the ops of one call to the tape; returns its outputs. Where the description leaves out what the
    ops depend on, inputs and outputs stand for the layer, and `job.not_understood` says why.
    """
    rule = _rule(job)
    if rule is None or not job.inputs:
        return core.unknown(job)
    try:
        _check(job)
        made = rule(job)
    except NotLowered as problem:
        job.not_understood = str(problem)
        return core.unknown(job)
    if _is_masked(job):
        job.tape.masked.update(each.index for each in made)
    return made


def _is_masked(job: LoweringContext) -> bool:
    """Whether what a layer gives comes with a mask: of its own making, or handed on."""
    if job.spec.class_name == "Embedding":
        return bool(job.config.get("mask_zero"))
    given = any(each.index in job.tape.masked for each in job.inputs)
    return job.spec.class_name == "Masking" or (given and job.spec.class_name in _HAND_MASKS_ON)


def _check(job: LoweringContext) -> None:
    """Raises NotLowered for what no rule can work on."""
    if job.spec.problem:
        raise NotLowered("its configuration is not understood")
    if not job.outputs or any(kind.shape is None for kind in job.outputs):
        raise NotLowered("the shape of its output is not known")
    if any(0 in weight.shape for weight in job.weights.values()):
        raise NotLowered("one of its weights has a size of 0")
    if not operations.is_operation(LayerCall(job.spec, ())) and not all(each.shape for each in job.inputs):
        raise NotLowered("the shape of its input is not known")


def _wrapped(job: LoweringContext) -> list[TapeValue]:
    """`SpectralNormalization` writes its kernel anew before all else; then each calls its layer."""
    inner = replace(job, spec=job.spec.inner[0])
    made = lower(inner)
    job.not_understood = inner.not_understood
    return made


def _rule(job: LoweringContext) -> Rule | None:
    call = LayerCall(job.spec, ())
    inner = job.spec.inner[0] if job.spec.inner else None
    if job.spec.class_name in ("SpectralNormalization", "Wrapper") and inner and not inner.network:
        return _wrapped if known(replace(job, spec=inner)) else None
    if operations.is_operation(call):
        return core.OPS.get(operations.name_of(call))
    return RULES.get(job.spec.class_name)
