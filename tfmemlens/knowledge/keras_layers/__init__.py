"""What each layer makes and owns, from its configuration and what it reads. Confirmed against Keras's own
`count_params()` and shapes in tests/costs.
"""

from __future__ import annotations

from tfmemlens.knowledge.keras_layers import (
    attention,
    convolution,
    core,
    merging,
    normalization,
    operations,
    pooling,
    recurrent,
)
from tfmemlens.knowledge.keras_layers._context import (
    LayerCall,
    LayerSpecs,
    Rule,
    UnsupportedLayer,
    compute_dtype,
    policy,
    variable_dtype,
)

__all__ = [
    "LayerCall",
    "LayerSpecs",
    "UnsupportedLayer",
    "compute_dtype",
    "describe",
    "policy",
    "variable_dtype",
]

RULES: dict[str, Rule] = {
    **core.RULES,
    **convolution.RULES,
    **pooling.RULES,
    **normalization.RULES,
    **recurrent.RULES,
    **attention.RULES,
    **merging.RULES,
}


def describe(asked: LayerCall) -> LayerSpecs:
    """Outputs, weights and formula of one call. Raises Unknown with the reason, whatever the configuration
    holds.
    """
    if operations.is_operation(asked):
        rule: Rule = operations.rule
    elif asked.spec.class_name in RULES:
        rule = RULES[asked.spec.class_name]
    else:
        raise UnsupportedLayer(f"{asked.spec.class_name} is not one of Keras's own layers")
    try:
        told = rule(asked)
        if any(not _possible(size) for kind in told.outputs for size in kind.shape or ()):
            raise ValueError("it would make a tensor of an impossible size")
        return told
    except (
        KeyError,
        TypeError,
        ValueError,
        IndexError,
        AttributeError,
        ZeroDivisionError,
        StopIteration,
    ) as problem:
        raise UnsupportedLayer(
            f"its configuration is not understood ({type(problem).__name__}: {problem})"
        ) from None


def _possible(size: object) -> bool:
    return size is None or (isinstance(size, int) and not isinstance(size, bool) and size >= 0)
