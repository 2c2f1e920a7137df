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
    MOST,
    ImpossibleSize,
    LayerCall,
    LayerSpecs,
    Rule,
    UnsupportedLayer,
    compute_dtype,
    policy,
    variable_dtype,
)

__all__ = [
    "ImpossibleSize",
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
    """Outputs, weights and formula of one call. Raises UnsupportedLayer with the reason where the
    configuration lacks or contradicts what the rule builds on, ImpossibleSize where it has a size below 0.
    """
    if operations.is_operation(asked):
        rule: Rule = operations.rule
    elif asked.spec.class_name in RULES:
        rule = RULES[asked.spec.class_name]
    else:
        raise UnsupportedLayer(f"{asked.spec.class_name} is not one of Keras's own layers")
    told = rule(asked)
    for size in [size for kind in told.outputs for size in kind.shape or ()]:
        if size is not None and not 0 <= size <= MOST:
            raise UnsupportedLayer(f"it would make a tensor with a side of {size}")
    return told
